"""A table of a paper whose rows and columns are both factors."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from capsmodel.settings.later_field import later
from search_spaces.tables.declared import Declared, DeclaredTable, FileName, Text

GridMetric = Annotated[
    str,
    StringConstraints(
        pattern=r"^(validation_[a-z0-9_]{1,64}|test_error(\.[a-z0-9][a-z0-9_-]{0,63})?)$"
    ),
]


class GridCell(Declared):
    """One place of a grid.

    Attributes:
        arm: The arm that stands for it; None where ours has none.
        metric: Which of its errors: "test_error", "test_error.familiar" of the extra test of that
            name, "validation_error", or another fraction that a part of the sweep measures.
        published: The value as published, in percent.
        spread: As published beside it, in the same unit.
    """

    arm: Text | None
    metric: GridMetric = "test_error"
    published: float | None = None
    spread: float | None = None


class GridRow(Declared):
    """One row of a grid.

    Attributes:
        label: Its words.
        cells: One for each of the table's columns.
    """

    label: Text
    cells: tuple[GridCell, ...]


class GridTable(DeclaredTable):
    """A table of a paper whose rows and columns are both factors, ours beside the published.

    Attributes:
        title: Which table of which paper.
        columns: Their headings, in the paper's order.
        rows: In the paper's order.
        heading: Of the rows' labels.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published values are of, "smallNORB". The
            table's first line names it where ours are of another.
        paper_prints: What the paper itself prints. Values here are errors all the same; a table
            of ours in the paper style follows it.
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
    paper_prints: Literal["error", "accuracy"] = later("error")

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of its cells."""
        named = (cell.arm for row in self.rows for cell in row.cells)
        return tuple(dict.fromkeys(arm for arm in named if arm is not None))

    @property
    def errors(self) -> tuple[str, ...]:
        """The metrics of its cells."""
        return tuple(dict.fromkeys(cell.metric for row in self.rows for cell in row.cells))

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
