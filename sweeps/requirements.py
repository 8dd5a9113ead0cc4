"""The packages that sweeps needs beyond those of capsmodel: the extra `sweeps`."""

NEEDED = ("mlflow", "optuna", "pandas", "psutil", "ray", "typer")
"""Names to import; whoever has these has the whole extra."""


def check_installed() -> None:
    """Check that the packages are installed.

    Raises:
        ImportError: If any is not; says what to install.
    """
    if names := missing():
        raise ImportError(sentence(names))


def missing() -> tuple[str, ...]:
    """Return those of the packages that are not installed. None is imported."""
    from importlib.util import find_spec

    return tuple(name for name in NEEDED if find_spec(name) is None)


def sentence(names: tuple[str, ...]) -> str:
    """Return what is wrong where packages are missing, and what to do."""
    verb = "are" if len(names) > 1 else "is"
    return (
        f"Sweeps need packages that capsmodel does without, and {', '.join(names)} {verb} not "
        f'installed: pip install "capsweep[sweeps]".'
    )
