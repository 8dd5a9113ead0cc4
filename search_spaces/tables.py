"""Tables and figures that a sweep is for, as values: what is rebuilt from its records."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from capsmodel.metrics import METRIC_NAME
from capsmodel.settings.parts import Settings

FileName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
MetricName = Annotated[str, StringConstraints(pattern=METRIC_NAME)]
GridMetric = Annotated[
    str,
    StringConstraints(
        pattern=r"^(validation_[a-z0-9_]{1,64}|test_error(\.[a-z0-9][a-z0-9_-]{0,63})?)$"
    ),
]


class AblationTable(Settings):
    """Test error of each arm, and its difference from the baseline.

    Attributes:
        name: Of its files, as in every table and figure.
    """

    kind: Literal["ablation"] = "ablation"
    name: FileName = "ablation"


class SensitivityTable(Settings):
    """How much each searched setting matters, with its figures."""

    kind: Literal["sensitivity"] = "sensitivity"
    name: FileName = "sensitivity"


class ConfirmationTable(Settings):
    """The best arms of a search on seeds that had no part in choosing them."""

    kind: Literal["confirmation"] = "confirmation"
    name: FileName = "confirmation"


class CurvesFigure(Settings):
    """A metric over the epochs, one line an arm, with a band over its seeds."""

    kind: Literal["curves"] = "curves"
    name: FileName = "curves"
    metric: MetricName = "validation_error"


class PublishedRow(Settings):
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


class PublishedTable(Settings):
    """A table of a paper in its own rows and columns, with our figures beside the published.

    Attributes:
        title: Which table of which paper.
        headings: Of the columns that name a row.
        rows: In the paper's order.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published figures are of, "smallNORB". The
            table's first line names it where ours are of another.
    """

    kind: Literal["published"] = "published"
    name: FileName
    title: Text
    headings: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[PublishedRow, ...], Field(min_length=1)]
    spread: str = ""
    notes: tuple[str, ...] = ()
    published_data: str = ""

    @model_validator(mode="after")
    def _rows_fit_the_headings(self) -> Self:
        for row in self.rows:
            if len(row.labels) != len(self.headings):
                raise ValueError(
                    f"A row of '{self.name}' has {len(row.labels)} labels ({', '.join(row.labels)})"
                    f" for {len(self.headings)} headings ({', '.join(self.headings)})."
                )
        return self


class GridCell(Settings):
    """One place of a grid.

    Attributes:
        arm: The arm that stands for it; None where ours has none.
        metric: Which of its errors: "test_error", "test_error.familiar" of the extra test of that
            name, "validation_error", or another fraction that a part of the sweep measures.
        published: The figure as published, in percent.
        spread: As published beside it, in the same unit.
    """

    arm: Text | None
    metric: GridMetric = "test_error"
    published: float | None = None
    spread: float | None = None


class GridRow(Settings):
    """One row of a grid.

    Attributes:
        label: Its words.
        cells: One for each of the table's columns.
    """

    label: Text
    cells: tuple[GridCell, ...]


class GridTable(Settings):
    """A table of a paper whose rows and columns are both factors, ours beside the published.

    Attributes:
        title: Which table of which paper.
        columns: Their headings, in the paper's order.
        rows: In the paper's order.
        heading: Of the rows' labels.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published figures are of, "smallNORB". The
            table's first line names it where ours are of another.
    """

    kind: Literal["grid"] = "grid"
    name: FileName
    title: Text
    columns: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[GridRow, ...], Field(min_length=1)]
    heading: str = ""
    spread: str = ""
    notes: tuple[str, ...] = ()
    published_data: str = ""

    @model_validator(mode="after")
    def _rows_are_whole_and_told_apart(self) -> Self:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"The row '{row.label}' of '{self.name}' has {len(row.cells)} cells for "
                    f"{len(self.columns)} columns ({', '.join(self.columns)}): give it a cell a "
                    f"column, GridCell(arm=None) where there is none."
                )
        for what, names in (("rows", [row.label for row in self.rows]), ("columns", self.columns)):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(
                    f"Two {what} of '{self.name}' are called '{twice[0]}': give one another name."
                )
        return self


Table = Annotated[
    AblationTable
    | SensitivityTable
    | ConfirmationTable
    | CurvesFigure
    | PublishedTable
    | GridTable,
    Field(discriminator="kind"),
]


def curves_of(table: Table) -> tuple[str, ...]:
    """Return the metrics that a table shows over the epochs."""
    return (table.metric,) if isinstance(table, CurvesFigure) else ()


def errors_of(table: Table) -> tuple[str, ...]:
    """Return the metrics that a table shows in percent, each once, in its order."""
    cells = (
        [cell for row in table.rows for cell in row.cells] if isinstance(table, GridTable) else []
    )
    return tuple(dict.fromkeys(cell.metric for cell in cells))


def arms_of(table: Table) -> tuple[str, ...]:
    """Return the arms that a table names, each once, in its order."""
    match table:
        case PublishedTable():
            named = [row.arm for row in table.rows]
        case GridTable():
            named = [cell.arm for row in table.rows for cell in row.cells]
        case _:
            named = []
    return tuple(dict.fromkeys(arm for arm in named if arm is not None))
