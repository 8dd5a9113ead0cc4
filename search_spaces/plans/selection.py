"""What designs that choose share: which of some configurations is best on validation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from capsmodel.metrics import VALIDATION_ERROR, VALIDATION_LOSS
from search_spaces.plans.decisions import Cell
from search_spaces.plans.known import Known, KnownTrial

CHOOSING_SEEDS = (101, 102)


"""What choosing is done on where nothing else is said."""


def has_ended(known: Known, cells: Sequence[Cell]) -> bool:
    """Return whether no trial of some cells is open."""
    return not any(known.trial(*cell.place).is_open for cell in cells)


def best_of(
    known: Known, arms: Sequence[str], seeds: Sequence[int], *, by_loss: bool = True
) -> str:
    """Return the arm with the lowest mean last-epoch validation error over the seeds.

    Ties go to the lower mean validation loss, then to the arm that was declared first. An arm of
    which a trial diverged stands behind all that did not, one of which a trial failed behind these.

    Args:
        known: In which all of their trials have ended.
        arms: In the order of their declaration, at least one.
        seeds: Of every arm.
        by_loss: Whether their losses compare.
    """

    def place(arm: str) -> tuple[float, ...]:
        trials = [known.trial(arm, seed) for seed in seeds]
        num_failed = sum(trial.ended == "failed" for trial in trials)
        num_diverged = sum(trial.ended == "diverged" for trial in trials)
        loss = _mean(trials, VALIDATION_LOSS.name) if by_loss else 0.0
        return num_failed, num_diverged, _mean(trials, VALIDATION_ERROR.name), loss

    return min(arms, key=place)


def missing(known: Known, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return those of some cells that were not proposed yet."""
    return tuple(cell for cell in cells if cell.place not in known.cells)


def refuse_seeds(seeds: Sequence[int], choosing_seeds: Sequence[int]) -> None:
    """Refuse to compare on seeds that choose.

    Raises:
        ValueError: Naming the first.
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
