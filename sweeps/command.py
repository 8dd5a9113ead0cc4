"""The entry point of `capsweep`, and what sweeps need beyond what capsmodel does."""

import os
import sys
from pathlib import Path

NEEDED = ("mlflow", "optuna", "pandas", "psutil", "ray", "typer")
"""Names to import. Where these are installed, the whole extra `sweeps` is."""
_NO_HOME = "/nonexistent"  # as Debian gives it to users who have none


def main_process() -> None:
    """Run the command line; exit code 2 and one sentence if it cannot be run here."""
    try:
        prepare_process()
    except ImportError as error:
        sys.stderr.write(f"capsweep: {error}\n")  # the console itself needs these packages
        raise SystemExit(2) from error
    from sweeps.cli import main_process as run

    run()


def prepare_process() -> None:
    """Check that sweeps can run in this process, and give it a HOME if the user has none.

    MLflow and Ray ask for a home when they are imported, and a number without a name, as in a
    container, has none. Imports none of the packages.

    Raises:
        ImportError: If this is Windows, or a package is missing; says what to do.
    """
    if sys.platform == "win32":
        raise ImportError(
            "Sweeps run on Linux and macOS, and this is Windows: install capsweep in WSL 2, "
            "Microsoft's Linux for Windows, and run it there."
        )
    _check_installed()
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = _NO_HOME


def _check_installed() -> None:
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        verb = "are" if len(missing) > 1 else "is"
        raise ImportError(
            f"Sweeps need packages that capsmodel does without, and {', '.join(missing)} {verb} "
            f'not installed: pip install "capsweep[sweeps]".'
        )
