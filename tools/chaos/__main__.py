"""Chaos: is a sweep's table right, whatever was done to the sweep while it ran?

    python -m tools.chaos --seed 1 [--minutes 8] [--figures FILE]

A design is swept on a Ray cluster of three nodes on this machine and then a search by a Ray that
its driver starts, both recorded by a real MLflow server behind a proxy. Meanwhile what a plan drawn
from the seed says is done to them: processes are killed and stopped, nodes lost and replaced, the
server goes away, errs, is silent, or loses its answers, a link is cut, a disk is full, a clock
steps back; what the machine has no means for is skipped. The same command is given again
until it ends with exit code 0. Then tables, records, processes, locks and files are looked at.

The exit code is 1 if anything is not as an undisturbed run leaves it. Run it in the repository.
"""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from tools.chaos.run import run


def main() -> int:
    """Run one seed, report its outcome and record its figures."""

    options = _parsed_options()
    signal.signal(
        signal.SIGTERM, lambda _number, _frame: sys.exit(143)
    )  # so that what was started is ended
    figures = run(options)
    line = json.dumps(figures)
    print(line)
    if options.figures:
        with options.figures.open("a") as file:
            file.write(line + "\n")
    return 1 if figures["problems"] else 0


def _parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.chaos", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=8.0, help="the run may take, at most")
    parser.add_argument(
        "--short", action="store_true", help="a design of fewer trials, fewer events, no search"
    )
    parser.add_argument("--figures", type=Path, help="gets a line of JSON")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "chaos-of-sweeps",
        help="scratch; the reference is kept there, and a seed that fails",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
