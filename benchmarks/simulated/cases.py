"""Which networks, seeds, images and margins each criterion is counted for: the long form."""

from collections.abc import Iterator

from benchmarks.simulated import best_arms, criteria, planned_seeds
from benchmarks.simulated.figures import Figure
from benchmarks.simulated.networks import (
    FEW_ERRORS,
    GENERATORS,
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    SEEDS_MATTER,
    Generator,
)

SEEDS = (3, 5, 10)


def null(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        for seeds in (2, *SEEDS):
            yield from criteria.under_null(generator, seeds, images_of(generator), draws)


def off_null(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            yield from criteria.off_null(generator, seeds, images_of(generator), draws)


def power(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for compared in (1, criteria.COMPARED):
                images = images_of(generator)
                yield from criteria.power(generator, seeds, images, draws, compared)


def equivalence(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for margin in (0.01, 0.02, 0.04):
                images = images_of(generator)
                yield from criteria.equivalence(generator, seeds, images, draws, margin)


def divergence(draws: int) -> Iterator[Figure]:
    for generator in (IMAGES_DOMINATE, SEEDS_DOMINATE, FEW_ERRORS):
        for base, factor in ((0.02, 0.1), (0.2, 0.1), (0.5, 0.1), (0.85, 0.01)):
            yield from criteria.divergence(generator, base, factor, images_of(generator), draws)


def peeking(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        yield from criteria.peeking(generator, images_of(generator), draws)


def best(draws: int) -> Iterator[Figure]:
    cases = ((FEW_ERRORS, (180, 360, 5000)), (IMAGES_DOMINATE, (360,)), (SEEDS_MATTER, (360,)))
    for generator, sizes in cases:
        for images in sizes:
            for seeds in SEEDS:
                for spacing in (0.0, 0.0005, 0.001):
                    yield from best_arms.sets_of_best(generator, spacing, seeds, images, draws)


def chances(draws: int) -> Iterator[Figure]:
    for seeds in SEEDS:
        for spacing in (0.001, 0.005):
            yield from best_arms.chances(FEW_ERRORS, spacing, seeds, 360, draws // 20)


def planning(draws: int) -> Iterator[Figure]:
    for generator in GENERATORS:
        for seeds in (5, 12):
            for compared in (1, criteria.COMPARED):
                case = (generator, seeds, compared, images_of(generator))
                yield from planned_seeds.true_plans(*case, draws)
                yield from planned_seeds.pilot_plans(*case, max(draws // 20, 20))


def images_of(generator: Generator) -> int:
    """Return the number of images: 360, or as many views of each object."""
    return 15 * generator.num_objects if generator.num_objects else 360
