"""How many seeds are planned: whether as many find what they are planned for, and not too many."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.seed_planning import (
    LIKELY,
    SAFE,
    Pilot,
    num_seeds_to_find,
)
from sweeps.aggregation.statistics.arm_spread import set_apart, with_others
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import (
    FEWEST_ERRORS,
    POWER,
    Requirement,
    VarianceParts,
    power_of_rule,
)
from sweeps.aggregation.statistics.two_way import two_way
from tools.acceptance.criteria import AnyGenerator
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import judged_tables, minus_first, part_of

PILOT = 3
_MANY_SEEDS = 40
_TRUE_DRAWS = 60
_ROUNDS = 4
_MOST_PLANNED = 30


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
    generator: AnyGenerator, seeds: int, compared: int, images: int, draws: int
) -> Iterator[Figure]:
    """Count pilots of three seeds by which enough seeds are planned, or none are said to be."""
    effect = findable(generator, seeds, compared, images)
    parts, others = _parts(generator, effect, compared, images)
    truly = planned_by([(parts, others)], generator, effect, compared, images)
    assert truly is not None
    errors = [generator.error, generator.error + effect] + [generator.error] * (compared - 1)
    plans: dict[float, list[float]] = {LIKELY: [], SAFE: []}
    case = f"pilots {seeds} {compared}"
    for wrong in generator.parts(case, errors, (draws, PILOT, images)):
        for of_pilot in wrong:  # the product's own functions are of one pilot
            pilot = pilot_from(of_pilot, generator)
            for sure, numbers in plans.items():
                every = pilot.parts(sure) if has_spread(pilot) else {}
                pilot_parts = with_others(every)
                planned = (
                    planned_by([*pilot_parts.values()], generator, effect, compared, images)
                    if pilot_parts
                    else None
                )
                numbers.append(np.inf if planned is None else planned)
    likely, safe = (np.array(numbers) for numbers in plans.values())
    clusters, asked = generator.num_objects or images, _asked(compared)
    reached = [
        power_of_rule(parts, int(num), clusters, effect, requirement=asked, others=others)
        for num in safe[np.isfinite(safe)]
    ]
    context = {
        "likely is enough": (likely >= truly).mean(),
        "median likely": float(np.median(likely)),
        "median planned": float(np.median(safe)),
        "none suffices": np.isinf(safe).mean(),
        "mean power else": float(np.mean(reached)),
    }
    criterion = "pilots of three seeds by which enough seeds are planned, reported"
    label = f"{generator.name}, {100 * effect:.1f} points, {compared} compared"
    yield Figure(criterion, label, truly, images, *counted(safe >= truly), context=context)


def findable(generator: AnyGenerator, seeds: int, compared: int, images: int) -> float:
    """Return a difference that so many seeds find about four times of five."""
    from scipy.optimize import brentq

    clusters, effect = generator.num_objects or images, 0.0
    for _ in range(_ROUNDS):  # an arm that differs more varies more
        parts, others = _parts(generator, effect, compared, images)

        def missing(
            trial: float, parts: VarianceParts = parts, others: VarianceParts = others
        ) -> float:
            asked = _asked(compared)
            power = power_of_rule(parts, seeds, clusters, trial, requirement=asked, others=others)
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
    return num_seeds_to_find(parts, clusters, effect, requirement=_asked(compared))


def has_spread(pilot: Pilot) -> bool:
    """Return whether anything can be reckoned from a pilot, as `pilot_of` does."""
    return any(arm.of_seeds for arm in pilot.arms)


def pilot_from(wrong: Bool[np.ndarray, "arms seeds images"], generator: AnyGenerator) -> Pilot:
    """Return the pilot that drawn networks are, the first arm as the baseline."""
    tables = judged_tables(wrong[None], generator.objects(wrong.shape[-1]))
    arms = set_apart(tables.spreads(0))
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
