"""What the store has of a sweep's arms, and how long more of the kind would take."""

from collections.abc import Sequence
from dataclasses import dataclass

from sweeps.aggregation.planning.trained_arms import TrainedArms
from sweeps.aggregation.results.predictions import read_predictions
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.plan.definition import Launchable, define
from sweeps.execution.plan.planner import estimate_seconds, seconds_per_epoch, surveyed

_LOOKED_FOR = range(10)  # beside the seeds of the sweep: where pilots are


@dataclass(frozen=True)
class Trained:
    """What the store has of a sweep's arms.

    Attributes:
        sweep: As it was given.
        options: Of the launch, with all seeds that were looked for.
        num_concurrent: Trials at once.
        arms: With what was found.
    """

    sweep: Launchable
    options: LaunchOptions
    num_concurrent: int
    arms: TrainedArms

    def seconds_of(self, seeds: Sequence[int]) -> float | None:
        """Return how long trainings of all arms with some seeds take, None where it is unknown."""
        if not seeds:
            return 0.0
        options = self.options.model_copy(update={"seeds": tuple(seeds)})
        definition = define(self.sweep, options, ())
        speed = seconds_per_epoch(self.arms.manifest, {}, self.arms.records)
        cells = surveyed(definition.manifest.cells, {}, {})
        return estimate_seconds(cells, definition.epochs, speed, self.num_concurrent)


def trained(sweep: Launchable, options: LaunchOptions, survey: Survey) -> Trained:
    """Look for a sweep's seeds, those that it was launched with, and the first ten."""
    launched = survey.current.seeds if survey.current else ()
    seeds = dict.fromkeys([*survey.definition.manifest.seeds, *launched, *_LOOKED_FOR])
    wide = options.model_copy(update={"seeds": tuple(seeds), "add_seeds": None})
    manifest = define(sweep, wide, ()).manifest
    store = survey.store
    keys = [cell.trial_key for cell in manifest.cells]
    records = store.records(keys) if store.is_there() else {}
    predictions = read_predictions(store, records.values()) if records else {}
    there = {cell.seed for cell in manifest.cells if cell.trial_key in records}
    own = {
        "seeds": tuple(seed for seed in manifest.seeds if seed in there),
        "cells": tuple(cell for cell in manifest.cells if cell.seed in there),
    }
    arms = TrainedArms(manifest.model_copy(update=own), records, predictions)
    return Trained(sweep, wide, survey.capacity.num_concurrent, arms)
