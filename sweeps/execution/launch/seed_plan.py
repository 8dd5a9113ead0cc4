"""How many seeds a sweep needs to find a difference, which ones, and what they cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, Protocol

from sweeps.aggregation.results.prediction_files import read_predictions
from sweeps.aggregation.seed_planning import (
    MOST_PILOT_SEEDS,
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
        effect_points: The difference of test errors, in percentage points.
        power: Probability that an arm with this difference is found to differ.
        needed: None if the store has no spread to compute it from.
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
    needed: SeedsNeeded | None
    why_no_spread: str
    pilot_seeds: tuple[int, ...]
    declared_seeds: tuple[int, ...]
    launched_seeds: tuple[int, ...]
    seeds: tuple[int, ...] | None
    margin_points: float | None
    num_trainings: int
    estimate: Estimate

    @property
    def is_declared(self) -> bool:
        """Whether the declared seeds are the planned ones."""
        return self.seeds == self.declared_seeds

    @property
    def new_margin(self) -> float | None:
        """The effect as a margin of equivalence; None if one is declared, or it is too late."""
        is_too_late = self.is_declared and self.launched_seeds
        return None if self.margin_points is not None or is_too_late else self.effect_points


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
    `power` how often each arm that differs so much is found to be different. The options are those
    of `plan`.

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
    arms = _trained(define(sweep, wide, ()).manifest, survey.store)
    spread = arms.spread
    effect = effect_points / _PERCENT
    needed = None if isinstance(spread, str) else seeds_needed(spread, effect, power)
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
        needed=needed,
        why_no_spread=spread if isinstance(spread, str) else "",
        pilot_seeds=pilot_seeds,
        declared_seeds=manifest.seeds,
        launched_seeds=launched,
        seeds=seeds,
        margin_points=manifest.margin_points,
        num_trainings=len(new) * len(manifest.arms),
        estimate=_estimate(to_train, arms, survey),
    )


def _trained(manifest: Manifest, store: RecordStore) -> TrainedArms:
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
    if num_seeds.safe is not None and len(manifest.seeds) >= num_seeds.safe:
        return manifest.seeds
    if needed.all_arms.safe is None:
        return None
    first = max(seen, default=-1) + 1
    return tuple(range(first, first + needed.all_arms.safe))


def _check_aim(effect_points: float, power: float) -> None:
    if not (math.isfinite(effect_points) and 0 < effect_points <= _MOST_POINTS):
        raise BadInput(
            f"An effect is a difference of test errors above 0 and up to {_MOST_POINTS} points, "
            f"given was {effect_points:g}: try 0.5."
        )
    if not _LEAST_POWER <= power <= _MOST_POWER:
        raise BadInput(
            f"A power lies between {_LEAST_POWER:g} and {_MOST_POWER:g}, as it says how often a "
            f"true difference is found, given was {power:g}: try 0.8."
        )


def _check_plan(manifest: Manifest) -> None:
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
