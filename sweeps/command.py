"""The entry point of `capsweep`, and the packages that sweeps need beyond those of capsmodel."""

import sys

NEEDED = ("mlflow", "optuna", "pandas", "psutil", "ray", "typer")
"""Names to import. Where these are installed, the whole extra `sweeps` is."""


def main_process() -> None:
    """Run the command line; exit code 2 and one sentence if packages are missing."""
    try:
        check_installed()
    except ImportError as error:
        sys.stderr.write(f"capsweep: {error}\n")  # the console itself needs these packages
        raise SystemExit(2) from error
    from sweeps.cli import main_process as run

    run()


def check_installed() -> None:
    """Check that the packages are installed. Imports none of them.

    Raises:
        ImportError: If any is missing; says what to install.
    """
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        verb = "are" if len(missing) > 1 else "is"
        raise ImportError(
            f"Sweeps need packages that capsmodel does without, and {', '.join(missing)} {verb} "
            f'not installed: pip install "capsweep[sweeps]".'
        )
