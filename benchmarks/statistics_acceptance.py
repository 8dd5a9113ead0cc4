"""Whether the statistics of tables hold what they say, in tables of networks that are drawn.

    python benchmarks/statistics_acceptance.py [--draws 10000] [--only null ...] [--figures FILE]

Networks err on images by a law (`benchmarks/simulated/networks.py`), so that the difference over
all seeds and all images is known; the product's own functions judge what they err on, without a
training. Prints a table a criterion. The exit code is 1 if anything does not hold.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]

if TYPE_CHECKING:
    from benchmarks.simulated.figures import Figure

PARTS = (
    "null",
    "off-null",
    "power",
    "equivalence",
    "divergence",
    "peeking",
    "best",
    "chances",
    "planning",
)


def main() -> int:
    """Count what is asked for, and print it."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.simulated import cases

    given = _given()
    start, found = time.perf_counter(), dict[str, list["Figure"]]()
    for part in given.only or PARTS:
        make: Callable[[int], Iterator[Figure]] = getattr(cases, part.replace("-", "_"))
        for figure in make(given.draws):
            found.setdefault(figure.criterion, []).append(figure)
            print(f"{time.perf_counter() - start:6.0f} s {figure.as_line()}", file=sys.stderr)
    for criterion, figures in found.items():
        print(f"\n**{criterion}**\n")
        print("| networks | seeds | images | rate | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for figure in figures:
            print(figure.as_line())
    everything = [figure for figures in found.values() for figure in figures]
    if given.figures:
        lines = (json.dumps(figure.as_record()) for figure in everything)
        given.figures.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all(figure.holds for figure in everything) else 1


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="tables a rate")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts")
    parser.add_argument("--figures", type=Path, help="gets a line of JSON a rate")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
