"""Whether the statistics of tables hold what they say, in tables of networks that are drawn.

    python -m tools.acceptance.statistics [--draws 10000] [--only null ...] [--figures FILE]

Networks err on images by a law (`tools/acceptance/networks.py`), so that the difference over
all seeds and all images is known; the product's own functions judge what they err on, without a
training. Prints a table a criterion. The exit code is 1 if anything does not hold.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial

from sweeps.records.trial_record import Outcome
from tools.acceptance import (
    all_pairs,
    best_arms,
    best_epochs,
    criteria,
    looks,
    lost_trials,
    planned_seeds,
    reaches,
    unlike_arms,
)
from tools.acceptance.counting import Job, count_and_print
from tools.acceptance.criteria import Limits
from tools.acceptance.logit_networks import (
    ASTRAY,
    FEW,
    LOGIT_GENERATORS,
    ONE_WIDE,
    PAIRED,
    SKEWED,
    UNEQUAL,
    WIDE_BASELINE,
    LogitGenerator,
)
from tools.acceptance.logit_networks import SEEDS as LOGIT_SEEDS
from tools.acceptance.networks import (
    BOTH_MATTER,
    FEW_ERRORS,
    GENERATORS,
    HEAVY_TAILS,
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
NUM_ARMS = (3, 5, 8)


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
    yield partial(criteria.power, FEW, 10, IMAGES[0], draws, 1)


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


def lost(draws: int) -> Iterator[Job]:
    for generator in (SEEDS_DOMINATE, FEW):
        for seeds in SEEDS:
            for compared in (1, 5):
                for outcome in (Outcome.DIVERGED, Outcome.FAILED):
                    for law in lost_trials.LAWS:
                        for share in (0.1, 0.4):
                            yield partial(
                                lost_trials.lost_trials,
                                *(generator, seeds, IMAGES[0], draws),
                                compared=compared,
                                share=share,
                                outcome=outcome,
                                law=law,
                            )


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
    for generator in LOGIT_GENERATORS:
        for images in IMAGES:
            yield partial(planned_seeds.true_plans, generator, 5, 5, images, draws)


def pilots(draws: int) -> Iterator[Job]:
    for generator in (SEEDS_MATTER, BOTH_MATTER, HEAVY_TAILS, SKEWED, UNEQUAL, PAIRED, ASTRAY):
        for compared in (1, 5, 11):
            for errs_more in (True, False):
                case = (generator, compared, IMAGES[0], max(draws // 20, 20))
                yield partial(planned_seeds.pilot_plans, *case, errs_more=errs_more)


def fresh(draws: int) -> Iterator[Job]:
    for generator, effect in ((IMAGES_DOMINATE, 0.035), (SEEDS_MATTER, 0.08)):
        case = (generator, effect, 1, IMAGES[0], max(draws // 10, 20))
        yield partial(planned_seeds.fresh_tables, *case)


def unlike(draws: int) -> Iterator[Job]:
    for spread in unlike_arms.SPREADS:
        for ratio in unlike_arms.RATIOS:
            for seeds in SEEDS:
                for compared in (1, 5, 11) if ratio == 1 else (5, 11):
                    case = (spread, ratio, seeds, IMAGES[0], draws, compared)
                    yield partial(unlike_arms.unlike_arms, *case)


def reach(draws: int) -> Iterator[Job]:
    for generator in (*LOGIT_GENERATORS, *GENERATORS):
        for seeds in SEEDS:
            for compared in (1, 5):
                sizes = (images_of(generator),) if isinstance(generator, Generator) else IMAGES
                for images in sizes if compared > 1 else sizes[:1]:
                    case = (generator, seeds, images, draws, compared)
                    yield partial(reaches.both_directions, *case)


def best_weights(draws: int) -> Iterator[Job]:
    for spread in best_epochs.SPREADS:
        for ratio in (1, 5):
            for seeds in SEEDS:
                for images in IMAGES[:1] if ratio > 1 else IMAGES:
                    for compared in (1, 5, 11) if images == IMAGES[0] else (5,):
                        case = (spread, ratio, seeds, images, draws, compared)
                        yield partial(best_epochs.best_epochs, *case)


def pairs(draws: int) -> Iterator[Job]:
    for images in (*IMAGES, MANY):
        for arms in NUM_ARMS if images in IMAGES else NUM_ARMS[:1]:
            for generator in LOGIT_GENERATORS:
                for seeds in SEEDS:
                    errors, shape = [generator.error] * arms, (draws, seeds, images)
                    wild = {"is_wild": generator is ONE_WIDE}
                    yield partial(all_pairs.under_null, generator, errors, shape, **wild)


def pairs_unlike(draws: int) -> Iterator[Job]:
    for spread, generator in unlike_arms.SPREADS.items():
        for ratio in unlike_arms.RATIOS[1:]:
            for seeds in SEEDS:
                for arms in NUM_ARMS:
                    levels = [generator.error * (ratio if arm % 2 else 1) for arm in range(arms)]
                    shape = (draws, seeds, IMAGES[0])
                    more = {"case": f", levels 1 : {ratio}", "is_wild": spread == "one wild"}
                    yield partial(all_pairs.under_null, generator, levels, shape, **more)


def pairs_found(draws: int) -> Iterator[Job]:
    for generator in LOGIT_GENERATORS:
        for seeds in SEEDS:
            for arms in NUM_ARMS:
                yield partial(all_pairs.power, generator, arms, seeds, IMAGES[0], draws)


def pairs_more(draws: int) -> Iterator[Job]:
    for generator in (FEW, LOGIT_SEEDS, UNEQUAL, WIDE_BASELINE):
        for arms in NUM_ARMS[:2]:
            for seeds in SEEDS:
                case = (generator, arms, seeds, IMAGES[0], draws, 0.02)
                yield partial(all_pairs.equivalence, *case)
            for planned, step in ((3, 1), (5, 5)):
                looks = tuple(range(planned, planned + 10 * step, step))
                yield partial(all_pairs.peeking, generator, arms, looks, IMAGES[0], draws)


PARTS: dict[str, Callable[[int], Iterator[Job]]] = {
    "null": null,
    "means": means,
    "off-null": off_null,
    "power": power,
    "side-by-side": side_by_side,
    "equivalence": equivalence,
    "divergence": divergence,
    "lost": lost,
    "peeking": peeking,
    "best": best,
    "planning": planning,
    "pilots": pilots,
    "fresh": fresh,
    "unlike": unlike,
    "best-weights": best_weights,
    "looks": looks.jobs,
    "reach": reach,
    "pairs": pairs,
    "pairs-unlike": pairs_unlike,
    "pairs-power": pairs_found,
    "pairs-more": pairs_more,
}


if __name__ == "__main__":
    sys.exit(count_and_print(PARTS, __doc__ or ""))
