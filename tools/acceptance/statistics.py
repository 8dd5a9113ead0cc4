"""Whether the statistics of tables hold what they say, in tables of networks that are drawn.

    python -m tools.acceptance.statistics [--draws 10000] [--only null ...] [--figures FILE]

Networks err on images by a law (`tools/acceptance/networks.py`), so that the difference over
all seeds and all images is known; the product's own functions judge what they err on, without a
training. Prints a table a criterion. The exit code is 1 if anything does not hold.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tools.acceptance import best_arms, criteria, planned_seeds
from tools.acceptance.criteria import Limits
from tools.acceptance.figures import Figure
from tools.acceptance.logit_networks import (
    ASTRAY,
    LOGIT_GENERATORS,
    ONE_WIDE,
    LogitGenerator,
)
from tools.acceptance.networks import (
    FEW_ERRORS,
    GENERATORS,
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    SEEDS_MATTER,
    SELDOM_WRONG,
    Generator,
    images_of,
)

SEEDS = (3, 5, 10)
IMAGES = (360, 2_000)
MANY = 10_000
Job = Callable[[], Iterator[Figure]]


def null(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in (2, *SEEDS):
            yield partial(criteria.under_null, generator, seeds, images_of(generator), draws)
    for generator in LOGIT_GENERATORS:
        for seeds in SEEDS:
            for images in (*IMAGES, MANY):
                for compared in (1, 5, 11) if images in IMAGES else (5,):
                    case = (generator, seeds, images, draws, compared)
                    yield partial(criteria.under_null, *case, limits=_limits(generator, compared))


def means(draws: int) -> Iterator[Job]:
    for generator in (*GENERATORS, SELDOM_WRONG):
        for seeds in SEEDS:
            for images in (images_of(generator), 10_000):
                yield partial(criteria.means, generator, seeds, images, draws)


def _limits(generator: LogitGenerator, compared: int) -> Limits:
    """Return what is asked where one comparison stands alone, or one arm varies far more."""
    if generator is ONE_WIDE:
        return Limits(0.92, 0.06)
    return Limits(most=0.065) if compared == 1 else Limits()


def side_by_side(draws: int) -> Iterator[Job]:
    for generator in LOGIT_GENERATORS:
        for images in (*IMAGES, MANY):
            yield partial(criteria.side_by_side, generator, images, draws)


def off_null(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            yield partial(criteria.off_null, generator, seeds, images_of(generator), draws)


def power(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for compared in (1, criteria.COMPARED):
                yield partial(
                    criteria.power, generator, seeds, images_of(generator), draws, compared
                )
    for generator in LOGIT_GENERATORS:
        for seeds in SEEDS:
            for images in IMAGES:
                yield partial(criteria.power, generator, seeds, images, draws, 5)


def equivalence(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for margin in (0.01, 0.02, 0.04):
                images = images_of(generator)
                yield partial(criteria.equivalence, generator, seeds, images, draws, margin)
    for generator in LOGIT_GENERATORS:
        for seeds in SEEDS:
            for margin in (0.01, 0.02):
                most = 0.06 if generator is ASTRAY else 0.05
                case = (generator, seeds, IMAGES[0], draws, margin, most)
                yield partial(criteria.equivalence_together, *case)


def divergence(draws: int) -> Iterator[Job]:
    for generator in (IMAGES_DOMINATE, SEEDS_DOMINATE, FEW_ERRORS):
        for base, factor in ((0.02, 0.1), (0.2, 0.1), (0.5, 0.1), (0.85, 0.01)):
            yield partial(criteria.divergence, generator, base, factor, images_of(generator), draws)


def peeking(draws: int) -> Iterator[Job]:
    for generator in (*GENERATORS, *LOGIT_GENERATORS):
        images = images_of(generator) if isinstance(generator, Generator) else IMAGES[0]
        for planned, step in ((3, 1), (5, 5), (10, 2)):
            looks = tuple(range(planned, planned + 10 * step, step))
            for compared in (1, 5):
                yield partial(criteria.peeking, generator, looks, images, draws, compared)


def best(draws: int) -> Iterator[Job]:
    cases = ((FEW_ERRORS, (180, 360, 5000)), (IMAGES_DOMINATE, (360,)), (SEEDS_MATTER, (360,)))
    for generator, sizes in cases:
        for images in sizes:
            for seeds in SEEDS:
                for spacing in (0.0, 0.0005, 0.001):
                    yield partial(best_arms.sets_of_best, generator, spacing, seeds, images, draws)


def planning(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in (5, 12):
            for compared in (1, criteria.COMPARED):
                case = (generator, seeds, compared, images_of(generator))
                yield partial(planned_seeds.true_plans, *case, draws)
                yield partial(planned_seeds.pilot_plans, *case, max(draws // 20, 20))
    for generator in LOGIT_GENERATORS:
        for images in IMAGES:
            yield partial(planned_seeds.true_plans, generator, 5, 5, images, draws)


PARTS: dict[str, Callable[[int], Iterator[Job]]] = {
    "null": null,
    "means": means,
    "off-null": off_null,
    "power": power,
    "side-by-side": side_by_side,
    "equivalence": equivalence,
    "divergence": divergence,
    "peeking": peeking,
    "best": best,
    "planning": planning,
}


def main() -> int:
    """Count what is asked for, and print it."""

    given = _given()
    start, by_criterion = time.perf_counter(), dict[str, list[Figure]]()
    jobs = [job for part in given.only or PARTS for job in PARTS[part](given.draws)]
    with ProcessPoolExecutor(given.processes) as pool:
        for figures in pool.map(_counted, jobs):
            for figure in figures:
                by_criterion.setdefault(figure.criterion, []).append(figure)
                print(f"{time.perf_counter() - start:6.0f} s {figure.as_line()}", file=sys.stderr)
    for criterion, figures in by_criterion.items():
        print(f"\n**{criterion}**\n")
        print("| networks | seeds | images | rate | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for figure in figures:
            print(figure.as_line())
    everything = [figure for figures in by_criterion.values() for figure in figures]
    if given.figures:
        lines = (json.dumps(figure.as_record()) for figure in everything)
        given.figures.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all(figure.holds for figure in everything) else 1


def _counted(job: Job) -> list[Figure]:
    return list(job())


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="tables a rate")
    parser.add_argument("--processes", type=int, default=1, help="that count at once")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts")
    parser.add_argument("--figures", type=Path, help="gets a line of JSON a rate")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
