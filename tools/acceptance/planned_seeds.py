"""How many seeds are planned: whether as many find what they are planned for, and not too many."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.results.comparisons import few_errors
from sweeps.aggregation.seed_planning import (
    FEWEST_IF_LESS,
    MOST_SEEDS,
    PLANNED,
    Pilot,
    num_seeds_to_find,
)
from sweeps.aggregation.statistics.arm_spread import with_tails
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import (
    FEWEST_ERRORS,
    POWER,
    Requirement,
    VarianceParts,
    power_of_rule,
)
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way
from tools.acceptance.criteria import AnyGenerator
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import judged_tables, minus_first, part_of

PILOT = 3
_MANY_SEEDS = 40
_TRUE_DRAWS = 60
_ROUNDS = 4
_MOST_PLANNED = 30
_SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 28, 40)
_TABLES = 400
_SEEDS_NEEDED = 8
_MOST_FRESH = 15
_CLOSE_POWER = 0.65


def true_plans(
    generator: AnyGenerator, seeds: int, compared: int, images: int, draws: int
) -> Iterator[Figure]:
    """Count bold in tables of as many seeds as are planned, and of fewer.

    They are planned by the true parts of arms that are alike, as a pilot sees them. The difference
    is about what `seeds` find.
    """
    if generator.error * PILOT * images < FEWEST_ERRORS:
        return
    effect = findable(generator, seeds, compared, images)
    alike = [_parts(generator, 0.0, compared, images)]
    planned = planned_by(alike, generator, effect, compared, images)
    if planned is None or planned > _MOST_PLANNED:
        return
    rates = {
        num: _bold(generator, effect, (num, images), compared, draws)
        for num in range(max(planned - 2, 2), planned + 1)
    }
    criterion = "power with as many seeds as are planned from the true parts, at least .78"
    case = f"{generator.name}, {100 * effect:.1f} points, {compared} compared"
    context = {
        f"{planned - num} fewer": rate.mean() for num, rate in rates.items() if num < planned
    }
    yield Figure(criterion, case, planned, images, *counted(rates[planned]), 0.78, context=context)


def pilot_plans(
    generator: AnyGenerator, compared: int, images: int, draws: int, *, errs_more: bool
) -> Iterator[Figure]:
    """Count pilots by which as many seeds are planned as find a difference with power .8.

    How many are needed is counted in tables that are drawn, and so is the power of those planned.
    One arm of some pilots is the arm that is to be found; in the others all arms err alike.
    """
    distance = findable(generator, _SEEDS_NEEDED, compared, images, errs_more=errs_more)
    effect = distance if errs_more else -distance
    error = generator.error + effect
    if not 0.1 * generator.error < error < 1:
        return
    found = _found(generator, effect, compared, images)
    direction = "more" if errs_more else "less"
    label = f"{generator.name}, {100 * distance:.1f} points {direction}, {compared} compared"
    for seeds, of_arm in product((PILOT, 5), (generator.error, error)):
        errors = [generator.error, of_arm] + [generator.error] * (compared - 1)
        planned, tails = numbers_planned(generator, errors, effect, (draws, seeds, images))
        reached = power_with(found, planned)
        truly = fewest_that_find(found)
        context = {
            "needed": truly,
            "median planned / needed": float(np.median(planned)) / truly,
            "mean power": float(reached.mean()),
            "power .65 or more": float((reached >= _CLOSE_POWER).mean()),
            "with a tail": float(np.mean(tails)),
        }
        criterion = "pilots by which the power of the seeds planned is .8 or more, reported"
        case = label + ", pilot with it" * (of_arm == error)
        is_enough = reached >= POWER
        yield Figure(criterion, case, seeds, images, *counted(is_enough), context=context)


def fresh_tables(
    generator: AnyGenerator, effect: float, compared: int, images: int, draws: int
) -> Iterator[Figure]:
    """Count bold in tables of as many fresh seeds as a pilot on the same images asks for.

    All arms err alike. The number depends on what the pilot's arms err on these images.
    """
    bold, case = list[bool](), f"fresh {compared}"
    errors, shape = [generator.error] * (compared + 1), (draws, PILOT + _MOST_FRESH, images)
    for wrong in generator.parts(case, errors, shape):
        for one in wrong:
            pilot = pilot_from(one[:, :PILOT], generator)
            if not has_spread(pilot):
                continue
            arms = [*pilot.parts(PLANNED, effect).values()]
            planned = planned_by(arms, generator, effect, compared, images) or _MOST_FRESH
            fresh = one[None, :, PILOT : PILOT + min(planned, _MOST_FRESH)]
            bold.append(bool(judged_tables(fresh).is_bold.any()))
    criterion = "any bold in tables of fresh seeds, as many as a pilot plans, at most .06"
    label = f"{generator.name}, planned for {100 * effect:.1f} points, {compared} compared"
    yield Figure(criterion, label, PILOT, images, *counted(np.asarray(bold)), most=0.06)


def numbers_planned(
    generator: AnyGenerator, errors: Sequence[float], effect: float, shape: tuple[int, int, int]
) -> tuple[list[float], list[bool]]:
    """Return how many seeds are planned by each of many pilots, and whether it shows a tail."""
    planned, tails = list[float](), list[bool]()
    fewest = FEWEST_SEEDS if effect > 0 else FEWEST_IF_LESS
    compared, images = len(errors) - 1, shape[-1]
    for wrong in generator.parts(f"pilots {shape[1]} {compared}", errors, shape):
        for of_pilot in wrong:  # the product's own functions are of one pilot
            pilot = pilot_from(of_pilot, generator)
            if not has_spread(pilot) or few_errors(images, pilot.arms[0].baseline.values()):
                continue
            arms = [*pilot.parts(PLANNED, effect).values()]
            number = num_seeds_to_find(
                arms,
                generator.num_objects or images,
                effect=abs(effect),
                requirement=_asked(compared),
                fewest=fewest,
            )
            planned.append(MOST_SEEDS if number is None else number)
            tails.append(any(arm.is_apart for arm in pilot.arms))
    return planned, tails


@cache
def _found(
    generator: AnyGenerator, effect: float, compared: int, images: int
) -> Float[np.ndarray, " sizes"]:
    """Return how often tables of `_SIZES` seeds find an arm that differs by an effect."""
    found = [_bold(generator, effect, (num, images), compared, _TABLES).mean() for num in _SIZES]
    return np.maximum.accumulate(np.asarray(found))


def power_with(
    found: Float[np.ndarray, " sizes"], seeds: Sequence[float]
) -> Float[np.ndarray, " pilots"]:
    """Return the power of some numbers of seeds, between those of `_SIZES` in logarithms."""
    return np.interp(np.log(seeds), np.log(_SIZES), found)


def fewest_that_find(found: Float[np.ndarray, " sizes"]) -> float:
    """Return the fewest seeds that find the difference with power .8, the last of `_SIZES` else."""
    numbers = np.arange(_SIZES[0], _SIZES[-1] + 1)
    is_enough = power_with(found, numbers.tolist()) >= POWER
    return float(numbers[is_enough.argmax()] if is_enough.any() else numbers[-1])


def findable(
    generator: AnyGenerator, seeds: int, compared: int, images: int, *, errs_more: bool = True
) -> float:
    """Return a difference that so many seeds find about four times of five."""
    from scipy.optimize import brentq

    clusters, effect = generator.num_objects or images, 0.0
    for _ in range(_ROUNDS if errs_more else 1):  # an arm that errs more varies more
        parts, others = _parts(generator, effect, compared, images)

        def missing(
            trial: float, parts: VarianceParts = parts, others: VarianceParts = others
        ) -> float:
            asked = _asked(compared)
            true = parts if errs_more else parts.erring_less(trial)
            power = power_of_rule(true, seeds, clusters, trial, requirement=asked, others=others)
            return power - POWER

        root: Any = brentq(missing, 1e-5, 1.0, xtol=1e-5)
        effect = float(root)
    return effect


def planned_by(
    parts: Sequence[tuple[VarianceParts, VarianceParts]],
    generator: AnyGenerator,
    effect: float,
    compared: int,
    images: int,
) -> int | None:
    """Return the number of seeds that is planned by some variance parts."""
    clusters = generator.num_objects or images
    return num_seeds_to_find(parts, clusters, effect=effect, requirement=_asked(compared))


def has_spread(pilot: Pilot) -> bool:
    """Return whether anything can be reckoned from a pilot, as `pilot_of` does."""
    return any(arm.of_seeds for arm in pilot.arms)


def pilot_from(wrong: Bool[np.ndarray, "arms seeds images"], generator: AnyGenerator) -> Pilot:
    """Return the pilot that drawn networks are, the first arm as the baseline."""
    tables = judged_tables(wrong[None], generator.objects(wrong.shape[-1]))
    arms = with_tails(tables.spreads(0))
    return Pilot(arms, len(arms), wrong.shape[-1])


@cache
def _parts(
    generator: AnyGenerator, effect: float, compared: int, images: int
) -> tuple[VarianceParts, VarianceParts]:
    """Return what makes an arm that differs by an effect vary, as many networks have it.

    With the same of the other arms of its table, which err as the baseline does. Where the arm
    differs its parts are those of this difference, else they change with it.
    """
    errors = [generator.error, generator.error + effect] + [generator.error] * (compared - 1)
    clusters = generator.num_objects or images
    seen, by_seed = list[tuple[VarianceParts, VarianceParts]](), list[Float[np.ndarray, "..."]]()
    every = slice(None)
    for wrong in generator.parts("parts", errors, (_TRUE_DRAWS, _MANY_SEEDS, images)):
        way = two_way(minus_first(wrong), generator.objects(images))
        arm, rest = (part_of(way, (every, arms)) for arms in (slice(0, 1), slice(1, None)))
        seen.append((VarianceParts.of(arm), VarianceParts.of(rest if compared > 1 else arm)))
        of_seeds = wrong[:, :2].mean(axis=-1)
        by_seed.append(of_seeds - of_seeds.mean(axis=-1, keepdims=True))
    parts, others = map(_mean_of, zip(*seen, strict=True))
    if effect:
        return parts, others
    of_baseline, of_arm = generator.error + np.concatenate(by_seed).swapaxes(0, 1).reshape(2, -1)
    return parts.with_errors(of_baseline.tolist(), [of_arm.tolist()], clusters), others


def _mean_of(every: Sequence[VarianceParts]) -> VarianceParts:
    names = ("of_seeds", "of_images", "of_pairs", "clustering")
    of_seeds, of_images, of_pairs, clustering = (
        float(np.mean([getattr(parts, name) for parts in every])) for name in names
    )
    return VarianceParts(of_seeds, of_images, of_pairs, clustering=clustering)


def _bold(
    generator: AnyGenerator, effect: float, shape: tuple[int, int], compared: int, draws: int
) -> Bool[np.ndarray, " draws"]:
    errors = [generator.error, generator.error + effect] + [generator.error] * (compared - 1)
    case = f"planned {shape[0]} {compared}"
    return np.concatenate(
        [
            judged_tables(wrong, generator.objects(shape[1])).is_bold[:, 0]
            for wrong in generator.parts(case, errors, (draws, *shape))
        ]
    )


def _asked(compared: int) -> Requirement:
    return Requirement(SIGNIFICANCE / compared, num_sharing=compared)
