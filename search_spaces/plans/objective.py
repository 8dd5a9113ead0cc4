"""What arms are chosen by: an epoch metric of the validation split, and whether losses compare."""

from collections.abc import Sequence

from capsmodel.metrics import VALIDATION_ERROR, VALIDATION_LOSS, Objective, find_metric, why_unseen
from capsmodel.settings.measures import declared_metrics
from capsmodel.settings.messages import unknown
from search_spaces.plans.base import Definition
from search_spaces.space.settings_tree import is_at_or_below

DEFAULT_OBJECTIVE = VALIDATION_ERROR.name
BUILT_IN = (VALIDATION_ERROR.name, VALIDATION_LOSS.name)
_WEIGH_THE_LOSS = ("loss", "model.reconstruction")


def refuse_objective(name: str) -> None:
    """Refuse a metric that is not of the validation split, or that is no epoch's.

    A name that is not built in is left for `measured_objective`, as a part may measure it.

    Raises:
        ValueError: In one sentence.
    """
    metric = find_metric(name)
    if metric and (why := why_unseen(metric)):
        raise ValueError(f"The objective is {name}, but {why}: choose {' or '.join(BUILT_IN)}.")
    if metric and metric.name not in BUILT_IN:
        raise ValueError(unknown("objective of a search", metric.name, BUILT_IN))


def measured_objective(name: str, definition: Definition) -> Objective:
    """Return what the proposals of a sweep are chosen by.

    Raises:
        ValueError: If it is neither built in nor what a part of the sweep measures.
    """
    metrics = declared_metrics(definition.base, definition.parts)
    metric = find_metric(name, metrics)
    if metric is None:
        known = [*BUILT_IN, *(metric.name for metric in metrics)]
        raise ValueError(unknown("objective of a search", name, known))
    return Objective(metric)


def weighing_the_loss(paths: Sequence[str]) -> list[str]:
    """Return those of some settings that change what a loss measures."""
    return [
        path
        for path in paths
        if any(is_at_or_below(path, one) or is_at_or_below(one, path) for one in _WEIGH_THE_LOSS)
    ]


def losses_compare(paths: Sequence[str]) -> bool:
    """Return whether arms that differ in some settings still have the same loss."""
    return not weighing_the_loss(paths)
