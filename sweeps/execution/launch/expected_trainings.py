"""How many trainings a plan of looks takes on average, by the spread of trained arms."""

from dataclasses import dataclass

import numpy as np

from sweeps.aggregation.results.planned_looks import margin_of
from sweeps.aggregation.statistics.looks import mean_trainings
from sweeps.aggregation.statistics.power import VarianceParts
from sweeps.execution.launch.seed_plan import trained_arms
from sweeps.execution.plan.definition import manifest_cells
from sweeps.execution.survey.survey import Survey

_DEVIATIONS = 2.0
_PERCENT = 100


@dataclass(frozen=True)
class ExpectedTrainings:
    """Mean numbers of trainings, with those that are there.

    Attributes:
        if_none_differs: Where all arms err as the baseline does.
        if_all_differ: Where all differ from it by `difference_points`.
        difference_points: The margin, or two standard deviations of a seed where none is declared.
        is_margin: Whether it is the margin.
    """

    if_none_differs: int
    if_all_differ: int
    difference_points: float
    is_margin: bool


def expected_trainings(survey: Survey) -> ExpectedTrainings | None:
    """Return how many trainings to expect of a sweep with a plan of looks.

    Args:
        survey: Of the sweep; its store is read.

    Returns:
        None where no spread is known: it takes three trained seeds of an arm and the baseline.
    """
    manifest, sweep = survey.definition.manifest, survey.definition.sweep
    assert manifest.plan is not None
    arms = {arm.name: arm for arm in sweep.initial_arms()}
    places = [(name, seed) for seed in manifest.seeds for name in arms]
    every = {"plan": None, "cells": tuple(manifest_cells(arms, places))}
    spread = trained_arms(manifest.model_copy(update=every), survey.store).spread
    if isinstance(spread, str):
        return None
    parts = [VarianceParts.of(arm.way) for arm in spread.arms]
    middle = VarianceParts(
        of_seeds=float(np.mean([part.of_seeds for part in parts])),
        of_images=float(np.mean([part.of_images for part in parts])),
        of_pairs=float(np.mean([part.of_pairs for part in parts])),
    )
    margin = margin_of(manifest)
    difference = margin or _DEVIATIONS * float(np.sqrt(middle.of_seeds / 2))

    def mean(differs: float) -> int:
        ways = [middle.way(number, spread.num_clusters) for number in seeds_at_looks]
        num_compared = len(arms) - 1
        return round(
            mean_trainings(ways, num_compared, differs, margin, num_data_sets=num_data_sets)
        )

    seeds_at_looks = manifest.plan.seeds_at_looks
    num_data_sets = manifest.plan.num_data_sets
    return ExpectedTrainings(
        mean(0.0), mean(difference), difference * _PERCENT, is_margin=margin is not None
    )
