"""What may vary: sweeps as typed Python values. Names are loaded when they are first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_spaces.design import Arm as Arm
    from search_spaces.design import ListedArms as ListedArms
    from search_spaces.sweep import Sweep as Sweep

_HOMES = {
    "Arm": "search_spaces.design",
    "ListedArms": "search_spaces.design",
    "Sweep": "search_spaces.sweep",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home, so that listing sweeps does not load torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'search_spaces' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
