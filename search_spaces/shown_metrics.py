"""Whether a sweep has the metrics that its tables show."""

from collections.abc import Iterable

from capsmodel.metrics import Metric, find_metric, metric_names
from capsmodel.settings.messages import unknown
from search_spaces.tables import Table


def refuse_unknown_metrics(table: Table, own: Iterable[Metric]) -> None:
    """Refuse a table of metrics that no epoch has, or that are no fraction where they must be.

    Args:
        table: As a sweep declares it.
        own: The metrics that the sweep's parts declare.

    Raises:
        ValueError: Naming the first, and those that it could be.
    """
    metrics = tuple(own)
    names = metric_names(metric.name for metric in metrics)
    for name in table.curves:
        metric = find_metric(name, metrics)
        known = [
            other
            for other in names
            if (candidate := find_metric(other, metrics)) and _is_curve(candidate)
        ]
        if metric is None or not _is_curve(metric):
            raise ValueError(unknown(f"epoch metric in the figure '{table.name}'", name, known))
    for name in table.errors:
        metric = find_metric(name, metrics)
        known = [
            other
            for other in names
            if (candidate := find_metric(other, metrics)) and candidate.is_fraction
        ]
        if metric is None or not metric.is_fraction:
            raise ValueError(unknown(f"error in the table '{table.name}'", name, known))


def _is_curve(metric: Metric) -> bool:
    return metric.moment == "epoch"
