"""A table of a paper in its own rows and columns."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from capsmodel.settings.later_field import later
from search_spaces.tables.declared import Declared, DeclaredTable, FileName, Text


class PublishedRow(Declared):
    """One row of a published table.

    Attributes:
        labels: Its words, one for each of the table's headings.
        arm: The arm that stands for it; None where ours has none.
        published: The value as published, in the metric's unit for readers (percent).
        spread: As published beside it, in the same unit.
        trust: Where the value is from and how far it is to be trusted, in a few words.
    """

    labels: tuple[Text, ...]
    arm: Text | None
    published: float | None = None
    spread: float | None = None
    trust: str = ""


class PublishedTable(DeclaredTable):
    """A table of a paper in its own rows and columns, with our values beside the published.

    Attributes:
        title: Which table of which paper.
        headings: Of the columns that name a row.
        rows: In the paper's order.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: Name of the data set that the published values are of, "smallNORB". The
            table's first line names it where ours are of another.
        paper_prints: What the paper itself prints. Values here are errors all the same; a table
            of ours in the paper style follows it.
    """

    kind: Literal["published"] = "published"
    name: FileName
    title: Text
    headings: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[PublishedRow, ...], Field(min_length=1)]
    spread: str = ""
    notes: tuple[str, ...] = ()
    published_data: str = ""
    paper_prints: Literal["error", "accuracy"] = later("error")

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of its rows."""
        return tuple(dict.fromkeys(row.arm for row in self.rows if row.arm is not None))

    @model_validator(mode="after")
    def _rows_fit_the_headings(self) -> Self:
        for row in self.rows:
            if len(row.labels) != len(self.headings):
                raise ValueError(
                    f"A row of '{self.name}' has {len(row.labels)} labels ({', '.join(row.labels)})"
                    f" for {len(self.headings)} headings ({', '.join(self.headings)})."
                )
        return self
