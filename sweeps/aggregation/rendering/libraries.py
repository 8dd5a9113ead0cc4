"""What computes and draws a report, loaded before one is asked for."""

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
    """Load the libraries that a report takes: half a second, once a process."""
    for name in _LOADED:
        import_module(name)
