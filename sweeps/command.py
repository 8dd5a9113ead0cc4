"""The entry point of `capsweep`, which answers also where only capsmodel can be used."""

import sys

from sweeps.requirements import missing, sentence


def main_process() -> None:
    """Run the command line; exit code 2 and one sentence where packages are not installed."""
    if names := missing():
        print(f"capsweep: {sentence(names)}", file=sys.stderr)  # noqa: T201 - no console without them
        raise SystemExit(2)
    from sweeps.cli import main_process as run

    run()
