"""Selection by validation: which of several arms is best. For plans that run in stages."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from capsmodel.metrics import VALIDATION_ERROR, VALIDATION_LOSS
from search_spaces.plans.decisions import Cell
from search_spaces.plans.known import Known, KnownTrial

CHOOSING_SEEDS = (101, 102)
"""Default seeds on which arms are selected."""


def has_ended(known: Known, cells: Sequence[Cell]) -> bool:
    """Return whether all trials of some cells have ended."""
    return not any(known.trial(*cell.place).is_open for cell in cells)


def best_of(
    known: Known, arms: Sequence[str], seeds: Sequence[int], *, by_loss: bool = True
) -> str:
    """Return the arm with the lowest mean last-epoch validation error over the seeds.

    Ties go to the lower mean validation loss, then to the arm that was declared first. An arm with
    a diverged trial ranks behind all arms without one; an arm with a failed trial ranks last.

    Args:
        known: What is known, with all trials of the arms ended.
        arms: At least one arm, in the order of declaration.
        seeds: The seeds of every arm.
        by_loss: Whether losses of the arms are comparable.
    """

    def rank(arm: str) -> tuple[float, ...]:
        trials = [known.trial(arm, seed) for seed in seeds]
        num_failed = sum(trial.ended == "failed" for trial in trials)
        num_diverged = sum(trial.ended == "diverged" for trial in trials)
        loss = _mean(trials, VALIDATION_LOSS.name) if by_loss else 0.0
        return num_failed, num_diverged, _mean(trials, VALIDATION_ERROR.name), loss

    return min(arms, key=rank)


def missing(known: Known, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells that were not proposed yet."""
    return tuple(cell for cell in cells if cell.place not in known.cells)


def check_seeds_apart(seeds: Sequence[int], choosing_seeds: Sequence[int]) -> None:
    """Check that no seed both selects and compares.

    Raises:
        ValueError: For the first seed that does.
    """
    if both := sorted({*seeds} & {*choosing_seeds}):
        raise ValueError(
            f"The seed {both[0]} is one of those that choose and of those that compare, which are "
            f"to be fresh: take others for one of them ({_listed(choosing_seeds)} choose)."
        )


def _mean(trials: Sequence[KnownTrial], metric: str) -> float:
    values = [_number(trial.last, metric) for trial in trials if trial.ended == "finished"]
    return round(math.fsum(values) / len(values), 12) if values else math.inf


def _number(metrics: Mapping[str, Any], name: str) -> float:
    value = float(metrics.get(name, math.inf))
    return value if math.isfinite(value) else math.inf


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
