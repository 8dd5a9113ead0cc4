"""Whether a search misleads: what it confirms, where it returns to, whom it stops.

    python -m tools.acceptance.search [--only null stops ...] [--draws 10000] [--searches 400]

Trainings are drawn, the product's own code proposes, judges, chooses and compares. Prints a table
a criterion. The exit code is 1 if anything does not hold.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import product

from search_spaces import Median
from search_spaces.plans.scheduler import Asha
from tools.acceptance import early_stops, networks, null_search, regrets, searched_functions
from tools.acceptance.figures import Figure
from tools.acceptance.null_search import Bias
from tools.acceptance.regrets import Regrets

Row = Figure | Bias | Regrets
HEADS: dict[type[Row], str] = {
    Figure: "| case | seeds | images | rate | 95 % | holds | beside |",
    Bias: "| networks | seeds | images | points | 95 % | holds | beside |",
    Regrets: "| function | cases | median | other | p worse | p better | holds | beside |",
}


def main() -> int:
    """Count what is asked for, and print it."""
    options = _parsed_options()
    start, by_criterion = time.perf_counter(), dict[str, list[Row]]()
    for part in options.only or PARTS:
        for row in PARTS[part](options):
            by_criterion.setdefault(row.criterion, []).append(row)
            print(f"{time.perf_counter() - start:6.0f} s {row.as_line()}", file=sys.stderr)
    for criterion, rows in by_criterion.items():
        spec = HEADS[type(rows[0])]
        print(f"\n**{criterion}**\n\n{spec}\n|{' :--- |' * (spec.count('|') - 1)}")
        for row in rows:
            print(row.as_line())
    return 0 if all(row.holds for rows in by_criterion.values() for row in rows) else 1


def null(options: argparse.Namespace) -> Iterator[Row]:

    kinds = (
        networks.IMAGES_DOMINATE,
        networks.SEEDS_DOMINATE,
        networks.BOTH_MATTER,
        networks.FEW_ERRORS,
    )
    for generator, images in [*product(kinds, (359,)), (networks.IMAGES_DOMINATE, 718)]:
        yield from null_search.drawn(generator, images, options.draws)


def searched(options: argparse.Namespace) -> Iterator[Row]:

    yield from null_search.searched(networks.IMAGES_DOMINATE, 359, options.searches)


def divergence(options: argparse.Namespace) -> Iterator[Row]:

    for function in searched_functions.DIVERGING:
        yield from regrets.compared_where_rare(function, range(options.cases))


def regret(options: argparse.Namespace) -> Iterator[Row]:

    functions = (
        searched_functions.SMOOTH,
        searched_functions.CONDITIONS,
        *searched_functions.DIVERGING,
    )
    for function in functions:
        yield from regrets.against_optuna(function, range(options.cases))


def stops(options: argparse.Namespace) -> Iterator[Row]:

    for reduction, seeds in product((2, 3), (1, 2, 3, 4, 5)):
        yield from early_stops.rung_survivors(reduction, seeds, 1, options.searches)
    for reduction in (2, 3):
        yield from early_stops.rung_survivors(reduction, 3, 4, options.searches)
    for seeds in (1, 3):
        yield from early_stops.tied(seeds, options.searches)


def median(options: argparse.Namespace) -> Iterator[Row]:

    for epochs, falls_by, seeds in product((8, 30), (0.0, 0.3), (1, 3)):
        yield from early_stops.survivors(epochs, falls_by, seeds, options.searches // 4)


def saving(options: argparse.Namespace) -> Iterator[Row]:

    for scheduler, (seeds, slots) in product(
        (Asha(), Asha(reduction_factor=2), Median()), ((1, 1), (3, 1), (3, 2), (3, 3), (3, 4))
    ):
        yield from early_stops.saved(scheduler, seeds, slots, options.searches // 8)


PARTS = {
    "null": null,
    "searched": searched,
    "divergence": divergence,
    "regret": regret,
    "stops": stops,
    "median": median,
    "saving": saving,
}


def _parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="searches drawn at once, a rate")
    parser.add_argument("--searches", type=int, default=400, help="made one by one, a rate")
    parser.add_argument("--cases", type=int, default=60, help="functions searched, a comparison")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
