"""The tables and figures that a manifest declares."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from capsmodel.metrics import METRIC_NAME
from sweeps.records.trial_record import SLUG, Slug, Text

MetricName = Annotated[str, StringConstraints(pattern=METRIC_NAME)]
GridMetric = Annotated[
    str,
    StringConstraints(pattern=rf"^(validation_[a-z0-9_]{{1,64}}|test_error(\.{SLUG.pattern})?)$"),
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AblationTable(_Frozen):
    """Test error of each arm, and its difference from the baseline. Its name is its files'."""

    kind: Literal["ablation"] = "ablation"
    name: Slug = "ablation"


class SensitivityTable(_Frozen):
    """How much each searched setting matters, with its figures."""

    kind: Literal["sensitivity"] = "sensitivity"
    name: Slug = "sensitivity"


class ConfirmationTable(_Frozen):
    """The best arms of a search on seeds that had no part in choosing them."""

    kind: Literal["confirmation"] = "confirmation"
    name: Slug = "confirmation"


class CurvesFigure(_Frozen):
    """A metric over the epochs, one line an arm, with a band over its seeds."""

    kind: Literal["curves"] = "curves"
    name: Slug = "curves"
    metric: MetricName = "validation_error"


class PublishedRow(_Frozen):
    """One row of a published table.

    Attributes:
        labels: Its words, one for each of the table's headings.
        arm: The arm that stands for it; None where ours has none.
        published: The figure as published, in the metric's unit for readers (percent).
        spread: As published beside it, in the same unit.
        trust: Where the figure is from and how far it is to be trusted, in a few words.
    """

    labels: tuple[Text, ...]
    arm: Text | None
    published: float | None = None
    spread: float | None = None
    trust: str = ""


class PublishedTable(_Frozen):
    """A table of a paper in its own rows and columns, with our figures beside the published.

    Attributes:
        title: Which table of which paper.
        headings: Of the columns that name a row.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published figures are of.
    """

    kind: Literal["published"] = "published"
    name: Slug
    title: Text
    headings: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[PublishedRow, ...], Field(min_length=1)]
    spread: str = ""
    notes: tuple[str, ...] = ()
    published_data: str = ""


class GridCell(_Frozen):
    """One place of a grid.

    Attributes:
        arm: The arm that stands for it; None where ours has none.
        metric: Which of its errors: of the test, of an extra test by its name, of validation.
        published: The figure as published, in percent.
        spread: As published beside it, in the same unit.
    """

    arm: Text | None
    metric: GridMetric = "test_error"
    published: float | None = None
    spread: float | None = None


class GridRow(_Frozen):
    """One row of a grid: its label, and a cell a column."""

    label: Text
    cells: tuple[GridCell, ...]


class GridTable(_Frozen):
    """A table of a paper whose rows and columns are both factors, ours beside the published.

    Attributes:
        title: Which table of which paper.
        columns: Their headings.
        heading: Of the rows' labels.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published figures are of.
    """

    kind: Literal["grid"] = "grid"
    name: Slug
    title: Text
    columns: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[GridRow, ...], Field(min_length=1)]
    heading: str = ""
    spread: str = ""
    notes: tuple[str, ...] = ()
    published_data: str = ""

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        if any(len(row.cells) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of the grid {self.name!r} has not a cell a column")
        return self


ManifestTable = Annotated[
    AblationTable
    | SensitivityTable
    | ConfirmationTable
    | CurvesFigure
    | PublishedTable
    | GridTable,
    Field(discriminator="kind"),
]
