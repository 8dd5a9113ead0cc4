"""The libraries of a report, loaded ahead of time."""

from importlib import import_module

_LOADED = (
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.special",
)


def load_libraries() -> None:
    """Load the libraries that a report needs: half a second, once a process."""
    for name in _LOADED:
        import_module(name)
