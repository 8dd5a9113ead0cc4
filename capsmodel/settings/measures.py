"""Metrics that the parts of a training measure after each epoch."""

from collections.abc import Iterable, Iterator
from typing import Any

from capsmodel.metrics import Metric, find_metric, is_name_of_part_metric
from capsmodel.settings.parts import Part, Settings


def parts_in(settings: Settings) -> Iterator[Part]:
    """Yield every part of a tree of settings, an outer one before those in it."""
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Part):
            yield value
            yield from [value.inner_part] if value.inner_part else []
        if isinstance(value, Settings):
            yield from parts_in(value)


def own_metrics(settings: Settings) -> tuple[Metric, ...]:
    """Return the epoch metrics that the parts of a tree of settings declare, in its order.

    Raises:
        ValueError: In one sentence, if one is not valid.
    """
    declared = [metric for part in parts_in(settings) for metric in _metrics_of(type(part))]
    check_part_metrics(declared)
    return tuple(declared)


def _metrics_of(part: type[Part]) -> tuple[Metric, ...]:
    """Return the epoch metrics that a class declares.

    Raises:
        ValueError: If they are something else than a tuple of metrics.
    """
    declared: Any = part.epoch_metrics
    if isinstance(declared, tuple | list) and all(isinstance(each, Metric) for each in declared):
        return tuple(declared)
    raise ValueError(
        f"epoch_metrics of {part.__name__} must be a tuple of Metric, got {declared!r:.80}: write "
        f"epoch_metrics = (Metric(name='validation_f1', unit='fraction', direction='larger'),)."
    )


def declared_metrics(base: Settings, parts: Iterable[type[Part]]) -> tuple[Metric, ...]:
    """Return the epoch metrics of settings and of classes that they may contain.

    Raises:
        ValueError: If two different ones have the same name.
    """
    metrics: dict[str, Metric] = {}
    for metric in (
        *own_metrics(base),
        *(metric for part in parts for metric in _metrics_of(part)),
    ):
        if metrics.setdefault(metric.name, metric) != metric:
            raise ValueError(
                f"Two parts declare the metric {metric.name} and do not say the same of it: "
                f"rename one."
            )
    return tuple(metrics.values())


def check_is_measured(name: str, settings: Settings) -> None:
    """Check that a metric is built in or measured by a part of the settings.

    Raises:
        ValueError: If it is neither.
    """
    if find_metric(name, own_metrics(settings)) is None:
        raise ValueError(f"No part of it measures the objective {name}.")


def check_part_metrics(declared: Iterable[Metric]) -> None:
    """Check the metrics that parts declare.

    Raises:
        ValueError: If one is not of the validation images after an epoch, is called as a
            built-in one, or as another.
    """
    names: set[str] = set()
    for metric in declared:
        if metric.split != "validation" or metric.moment != "epoch":
            raise ValueError(
                f"The metric {metric.name} is of the {metric.split} split and of the "
                f"{metric.moment}, but a part measures the validation images after each epoch: "
                f"declare it so, or leave it out."
            )
        if find_metric(metric.name):
            raise ValueError(
                f"The metric {metric.name} is built in and cannot be declared: choose another name."
            )
        if not is_name_of_part_metric(metric.name):
            raise ValueError(
                f"The metric {metric.name} does not say in its name that it is of the validation "
                f"images: call it validation_ and a word of small letters, digits and underlines."
            )
        if metric.name in names:
            raise ValueError(f"Two parts declare the metric {metric.name}: rename one.")
        names.add(metric.name)
