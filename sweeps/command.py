"""The entry point of `capsweep`, which answers also where only capsmodel can be used."""

import sys

from sweeps.requirements import missing, sentence


def main_process() -> None:
    """Run the command line; exit code 2 and one sentence where packages are not installed."""
    if names := missing():
        sys.stderr.write(f"capsweep: {sentence(names)}\n")  # the console needs these packages
        raise SystemExit(2)
    from sweeps.cli import main_process as run

    run()
