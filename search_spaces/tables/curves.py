"""The figure of a metric over the epochs."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from capsmodel.metrics import METRIC_NAME
from search_spaces.tables.declared import DeclaredTable, FileName

MetricName = Annotated[str, StringConstraints(pattern=METRIC_NAME)]


class CurvesFigure(DeclaredTable):
    """A metric over the epochs, one line an arm, with a band over its seeds."""

    kind: Literal["curves"] = "curves"
    name: FileName = "curves"
    metric: MetricName = "validation_error"

    @property
    def curves(self) -> tuple[str, ...]:
        """Its metric."""
        return (self.metric,)
