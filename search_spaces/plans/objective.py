"""The objective of a search, and whether losses of different arms are comparable."""

from collections.abc import Sequence

from capsmodel.metrics import VALIDATION_ERROR, VALIDATION_LOSS, Objective, find_metric, why_unseen
from capsmodel.settings.measures import declared_metrics
from capsmodel.settings.messages import unknown
from search_spaces.plans.base import Definition
from search_spaces.space.settings_tree import is_at_or_below

DEFAULT_OBJECTIVE = VALIDATION_ERROR.name
BUILT_IN = (VALIDATION_ERROR.name, VALIDATION_LOSS.name)
_WEIGH_THE_LOSS = ("loss", "model.reconstruction")


def check_objective(name: str) -> None:
    """Check that an objective is an epoch metric of the validation split.

    A name that is not built in is left to `measured_objective`, since a part may declare it.

    Raises:
        ValueError: If it is not.
    """
    metric = find_metric(name)
    if metric and (why := why_unseen(metric)):
        raise ValueError(f"The objective is {name}, but {why}: choose {' or '.join(BUILT_IN)}.")
    if metric and metric.name not in BUILT_IN:
        raise ValueError(unknown("objective of a search", metric.name, BUILT_IN))


def measured_objective(name: str, definition: Definition) -> Objective:
    """Return the objective of a sweep by its name.

    Raises:
        ValueError: If it is neither built in nor declared by a part of the sweep.
    """
    metrics = declared_metrics(definition.base, definition.parts)
    metric = find_metric(name, metrics)
    if metric is None:
        known = [*BUILT_IN, *(metric.name for metric in metrics)]
        raise ValueError(unknown("objective of a search", name, known))
    return Objective(metric)


def weighing_the_loss(paths: Sequence[str]) -> list[str]:
    """Return the settings among these that change what a loss measures."""
    return [
        path
        for path in paths
        if any(
            is_at_or_below(path, setting) or is_at_or_below(setting, path)
            for setting in _WEIGH_THE_LOSS
        )
    ]


def losses_compare(paths: Sequence[str]) -> bool:
    """Return whether losses are comparable between arms that differ in some settings."""
    return not weighing_the_loss(paths)
