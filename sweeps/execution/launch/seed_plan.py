"""How many seeds a sweep needs to find a difference, which ones, and what they cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol

from sweeps.aggregation.results.prediction_files import read_predictions
from sweeps.aggregation.seed_planning import (
    MOST_PILOT_SEEDS,
    Pilot,
    SeedsNeeded,
    TrainedArms,
    seeds_needed,
)
from sweeps.execution.engine.capacity import capacity_of
from sweeps.execution.launch_options import LaunchOptions, with_keyword_options
from sweeps.execution.plan.definition import Launchable, SweepDefinition, define
from sweeps.execution.survey.estimate import Estimate, estimate, timings_of_cells
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.execution.survey.surveyed_cells import surveyed
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import points_text
from sweeps.tracking.store import RecordStore

_Options = ParamSpec("_Options")
_LOOKED_FOR = range(MOST_PILOT_SEEDS)  # and the seeds of the sweep
_MOST_POINTS = 50
_LEAST_POWER, _MOST_POWER = 0.5, 0.99
_PERCENT = 100


@dataclass(frozen=True)
class SeedPlan:
    """Seeds and images that a sweep needs to find a difference in each of its arms.

    The planned seeds are fresh: the seeds that determined the number stay out of the table, as if
    the number had been known from the start.

    Attributes:
        sweep: Its name.
        baseline: The arm that the others are compared with.
        num_arms: Number of arms, with the baseline.
        effect_points: The difference of test errors, in percentage points; below 0 if only arms
            that err less are to be found.
        power: Probability that an arm with this difference is found to differ.
        if_more: What finds arms that err more; None if the store has no spread to compute it from,
            none is to be found, or none can err so much more.
        if_less: The same of arms that err less.
        baseline_error: Mean test error of the baseline, a fraction; None without a spread.
        why_no_spread: Why it has none, "" if it has.
        pilot_seeds: Seeds that would give a spread; empty if it is known.
        declared_seeds: The sweep's seeds, with the changes of the launch.
        launched_seeds: The seeds of the last launch of this name; empty if there was none.
        seeds: The planned seeds; None if no number is enough, or nothing is known.
        margin_points: The margin that the sweep declares, None if it declares none.
        num_trainings: Trainings that the planned seeds, or the pilot's, take.
        estimate: How long those take.
    """

    sweep: str
    baseline: str
    num_arms: int
    effect_points: float
    power: float
    if_more: SeedsNeeded | None
    if_less: SeedsNeeded | None
    baseline_error: float | None
    why_no_spread: str
    pilot_seeds: tuple[int, ...]
    declared_seeds: tuple[int, ...]
    launched_seeds: tuple[int, ...]
    seeds: tuple[int, ...] | None
    margin_points: float | None
    num_trainings: int
    estimate: Estimate

    @property
    def needed(self) -> SeedsNeeded | None:
        """What finds arms of the direction that takes more seeds; None if nothing is known."""
        return _larger([needed for needed in (self.if_more, self.if_less) if needed])

    @property
    def is_declared(self) -> bool:
        """Whether the declared seeds are the planned ones."""
        return self.seeds == self.declared_seeds

    @property
    def new_margin(self) -> float | None:
        """The effect as a margin of equivalence; None if one is declared, or it is too late."""
        is_too_late = self.is_declared and self.launched_seeds
        return None if self.margin_points is not None or is_too_late else abs(self.effect_points)


class SeedPlanner(Protocol[_Options]):
    """`plan_seeds` with the options of a launch as its keyword arguments."""

    def __call__(
        self,
        sweep: Launchable,
        effect_points: float,
        power: float = 0.8,
        *args: _Options.args,
        **options: _Options.kwargs,
    ) -> SeedPlan:
        """Call it."""
        ...


def _takes_options(
    declared: Callable[_Options, LaunchOptions],
) -> Callable[[Callable[..., SeedPlan]], SeedPlanner[_Options]]:
    del declared
    return with_keyword_options


@_takes_options(LaunchOptions)
def plan_seeds(
    sweep: Launchable, effect_points: float, power: float = 0.8, *, options: LaunchOptions
) -> SeedPlan:
    """Return how many seeds and test images it takes to find a difference. Writes nothing.

    It is computed from the spread of the trials in the store, whatever sweep trained them: of the
    sweep's seeds, or those of `seeds`, and of the first ten. Which arm was better is not used.

    `sweep` is a design, `effect_points` the difference of test errors in percentage points, and
    `power` how often each arm that differs so much is found to be different. Planned are the seeds
    that find arms that err so much more and arms that err so much less; below 0, such as -0.5, only
    those that find arms that err half a point less. The options are those of `plan`.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be planned.
        sweeps.StoreUnreachable: If the tracking store does not answer.
    """
    _check_aim(effect_points, power)
    survey = survey_of(sweep, options, capacity_of(options.resources), reads_all_sweeps=True)
    manifest = survey.definition.manifest
    _check_plan(manifest)
    launched = survey.current.seeds if survey.current else ()
    every = dict.fromkeys([*manifest.seeds, *launched, *_LOOKED_FOR])
    wide = options.model_copy(update={"seeds": tuple(every), "add_seeds": None})
    arms = trained_arms(define(sweep, wide, ()).manifest, survey.store)
    spread = arms.spread
    if_more, if_less = _both_directions(spread, effect_points, power, manifest.baseline)
    needed = _larger([direction for direction in (if_more, if_less) if direction])
    seeds = _planned(needed, manifest, {*arms.seeds, *launched})
    pilot_seeds = arms.pilot_seeds if needed is None else ()
    new = tuple(seed for seed in (*(seeds or ()), *pilot_seeds) if seed not in arms.seeds)
    to_train = define(sweep, wide.model_copy(update={"seeds": new}), ()) if new else None
    return SeedPlan(
        sweep=manifest.sweep,
        baseline=manifest.baseline,
        num_arms=len(manifest.arms),
        effect_points=effect_points,
        power=power,
        if_more=if_more,
        if_less=if_less,
        baseline_error=None if isinstance(spread, str) else spread.baseline_error,
        why_no_spread=spread if isinstance(spread, str) else "",
        pilot_seeds=pilot_seeds,
        declared_seeds=manifest.seeds,
        launched_seeds=launched,
        seeds=seeds,
        margin_points=manifest.margin_points,
        num_trainings=len(new) * len(manifest.arms),
        estimate=_estimate(to_train, arms, survey),
    )


def _both_directions(
    spread: Pilot | str, effect_points: float, power: float, baseline: str
) -> tuple[SeedsNeeded | None, SeedsNeeded | None]:
    """Return what finds arms that err more and arms that err less, as far as these are asked for.

    Raises:
        sweeps.BadInput: If no arm can differ so much.
    """
    if isinstance(spread, str):
        return None, None
    distance = abs(effect_points) / _PERCENT
    asked = (None if effect_points < 0 else distance, -distance)
    if_more, if_less = (
        seeds_needed(spread, effect, power) if effect and spread.allows(effect) else None
        for effect in asked
    )
    if if_more is None and if_less is None:
        error = _PERCENT * spread.baseline_error
        direction = "less" if effect_points < 0 else "more or less"
        raise BadInput(
            f"No arm can err {points_text(abs(effect_points))} {direction} than '{baseline}', "
            f"which errs on {error:.2f} % of the test images: give a smaller difference, such as "
            f"{math.copysign(error / 2, effect_points):.2g}."
        )
    return if_more, if_less


def _larger(needed: Sequence[SeedsNeeded]) -> SeedsNeeded | None:
    """Return what takes more seeds, the first of equals; None for nothing."""
    return max(needed, key=lambda seeds: _number(seeds.all_arms.planned), default=None)


def _number(seeds: int | None) -> float:
    return math.inf if seeds is None else seeds


def trained_arms(manifest: Manifest, store: RecordStore) -> TrainedArms:
    """Return the finished trainings of a manifest, for the seeds that any arm has finished."""
    keys = [cell.trial_key for cell in manifest.cells]
    records = store.records(keys) if store.exists() else {}
    predictions = read_predictions(store, records.values()) if records else {}
    seeds = {cell.seed for cell in manifest.cells if cell.trial_key in records}
    recorded = {
        "seeds": tuple(seed for seed in manifest.seeds if seed in seeds),
        "cells": tuple(cell for cell in manifest.cells if cell.seed in seeds),
    }
    return TrainedArms(manifest.model_copy(update=recorded), records, predictions)


def _estimate(to_train: SweepDefinition | None, arms: TrainedArms, survey: Survey) -> Estimate:
    """Return how long some cells take to train."""
    if to_train is None:
        return Estimate(0.0)
    timings = {**survey.timings, **timings_of_cells(arms.manifest, {}, arms.records)}
    cells = surveyed(to_train.manifest.cells, {}, {})
    at_once, device = survey.capacity.num_concurrent, survey.estimate.device
    return estimate(cells, to_train.epochs, timings, at_once, device=device)


def _planned(
    needed: SeedsNeeded | None, manifest: Manifest, seen: set[int]
) -> tuple[int, ...] | None:
    """Return the declared seeds if they are enough, else fresh ones."""
    if needed is None:
        return None
    num_seeds = needed.with_pilot_seeds if manifest.planned_seeds else needed.all_arms
    if num_seeds.planned is not None and len(manifest.seeds) >= num_seeds.planned:
        return manifest.seeds
    if needed.all_arms.planned is None:
        return None
    first = max(seen, default=-1) + 1
    return tuple(range(first, first + needed.all_arms.planned))


def _check_aim(effect_points: float, power: float) -> None:
    if not (math.isfinite(effect_points) and 0 < abs(effect_points) <= _MOST_POINTS):
        raise BadInput(
            f"An effect is a difference of test errors of up to {_MOST_POINTS} points, and not 0; "
            f"given was {effect_points:g}: try 0.5, or -0.5 for arms that err half a point less."
        )
    if not _LEAST_POWER <= power <= _MOST_POWER:
        raise BadInput(
            f"A power lies between {_LEAST_POWER:g} and {_MOST_POWER:g}, as it says how often a "
            f"true difference is found, given was {power:g}: try 0.8."
        )


def _check_plan(manifest: Manifest) -> None:
    if manifest.plan and manifest.plan.seeds_at_looks:
        raise BadInput(
            f"The sweep '{manifest.sweep}' gets seeds until its verdicts are decided, so that none "
            f"are to be planned: leave --effect out, and see how many trainings to expect."
        )
    if manifest.search or manifest.is_growing:
        raise BadInput(
            f"The sweep '{manifest.sweep}' chooses its arms as it runs, so that no number of seeds "
            f"can be planned for them: plan a design of the arms that are to be compared."
        )
    if manifest.splits:
        raise BadInput(
            f"The sweep '{manifest.sweep}' runs over splits, and how far these spread is not "
            f"planned for: plan it without split_seeds, and give each split one of those seeds."
        )
    if len(manifest.arms) == 1:
        raise BadInput(
            f"The sweep '{manifest.sweep}' has one arm and nothing to compare it with: add an arm."
        )
