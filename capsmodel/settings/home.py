"""Where a class is imported from by those who use it."""

from importlib import import_module


def home_of(cls: type) -> str:
    """Return the package nearest to the top that has a class: `capsmodel.routing`."""
    steps = cls.__module__.split(".")
    homes = (".".join(steps[:end]) for end in range(1, len(steps) + 1))
    return next(home for home in homes if getattr(import_module(home), cls.__name__, None) is cls)
