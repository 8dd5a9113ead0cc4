"""Tables and figures that a sweep is for, as values: what is rebuilt from its records."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from capsmodel.parts import Settings

FileName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]


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
    metric: Literal["train_loss", "validation_loss", "validation_error"] = "validation_error"


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
    """

    kind: Literal["published"] = "published"
    name: FileName
    title: Text
    headings: Annotated[tuple[Text, ...], Field(min_length=1)]
    rows: Annotated[tuple[PublishedRow, ...], Field(min_length=1)]
    spread: str = ""
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _rows_fit_the_headings(self) -> Self:
        for row in self.rows:
            if len(row.labels) != len(self.headings):
                raise ValueError(
                    f"A row of '{self.name}' has {len(row.labels)} labels ({', '.join(row.labels)})"
                    f" for {len(self.headings)} headings ({', '.join(self.headings)})."
                )
        return self


Table = Annotated[
    AblationTable | SensitivityTable | ConfirmationTable | CurvesFigure | PublishedTable,
    Field(discriminator="kind"),
]
