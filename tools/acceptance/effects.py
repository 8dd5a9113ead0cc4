"""Whether tables of effects hold what they say, in tables of networks that are drawn.

    python -m tools.acceptance.effects [--draws 10000] [--only null power]

Networks err on images by a law (`tools/acceptance/networks.py`), in grids of two factors or
three; the product's own functions judge what they err on, without a training. Prints a table a
criterion. The exit code is 1 if anything does not hold.
"""

import argparse
import sys
import time
from collections.abc import Iterator

from tools.acceptance import effect_criteria as criteria
from tools.acceptance.figures import Figure
from tools.acceptance.networks import GENERATORS, images_of

PARTS = ("null", "power")
SEEDS = (3, 5, 10)


def main() -> int:
    """Count what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="tables a rate")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts")
    given = parser.parse_args()
    start, by_criterion = time.perf_counter(), dict[str, list[Figure]]()
    for part in given.only or PARTS:
        for figure in {"null": null, "power": power}[part](given.draws):
            by_criterion.setdefault(figure.criterion, []).append(figure)
            print(f"{time.perf_counter() - start:6.0f} s {figure.as_line()}", file=sys.stderr)
    for criterion, figures in by_criterion.items():
        print(f"\n**{criterion}**\n")
        print("| networks | seeds | images | rate | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for figure in figures:
            print(figure.as_line())
    return 0 if all(one.holds for figures in by_criterion.values() for one in figures) else 1


def null(draws: int) -> "Iterator[Figure]":

    for generator in GENERATORS:
        for seeds in SEEDS:
            for grid in criteria.GRIDS:
                shape = (draws, seeds, images_of(generator))
                yield from criteria.under_null(generator, grid, shape)


def power(draws: int) -> "Iterator[Figure]":

    cases = ((criteria.SMALL, 0), (criteria.SMALL, 3), (criteria.MIXED, 1), (criteria.MIXED, 2))
    for generator in GENERATORS:
        for seeds in SEEDS[:2]:
            for grid, term in cases:
                shape = (draws, seeds, images_of(generator))
                yield from criteria.power(generator, grid, term, shape)


if __name__ == "__main__":
    sys.exit(main())
