"""Tables and figures that a sweep declares, as values.

A declaration loads neither torch nor ray, so manifests store it and aggregation reads it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, Union, cast

from pydantic import (
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from capsmodel.metrics import METRIC_NAME
from capsmodel.settings.constructed import Constructed
from capsmodel.settings.parts import later

FileName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$"),
    Field(
        description="a text of up to 64 small letters, digits, _ and - that begins with a letter "
        "or a digit"
    ),
]
MetricName = Annotated[
    str,
    StringConstraints(pattern=METRIC_NAME),
    Field(
        description="a text of up to 200 letters, digits, _, . and - that begins with a small "
        "letter"
    ),
]
GridMetric = Annotated[
    str,
    StringConstraints(
        pattern=r"^(validation_[a-z0-9_]{1,64}|test_error(\.[a-z0-9][a-z0-9_-]{0,63})?)$"
    ),
    Field(
        description="test_error, test_error. with the name of an extra test, or a metric of "
        "validation such as validation_error"
    ),
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
LONGEST_REASON = 1000


NAMES_OF_REPORTS = ("cost", "trials")
"""Every report has files of these names."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class FrozenValue(Constructed):
    """A frozen value that rejects unknown fields and numbers that are not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DeclaredTable(FrozenValue):
    """One table or figure of a sweep.

    Attributes:
        kind: Its kind; each class narrows it to a Literal.
        name: The name of its files.
    """

    kind: Any
    name: FileName

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it names, each once, in order."""
        return ()

    @property
    def curves(self) -> tuple[str, ...]:
        """The metrics that it plots over the epochs."""
        return ()

    @property
    def errors(self) -> tuple[str, ...]:
        """The metrics that it shows in percent, each once, in order."""
        return ()


MOST_ARMS_IN_PAIRS = 8
"""Arms of which all pairs are compared: more have so many pairs that little would be found."""


class AblationTable(DeclaredTable):
    """The test error of each arm, and its difference from the baseline.

    Attributes:
        all_pairs: Whether a second table compares each arm with each other one, at most
            `MOST_ARMS_IN_PAIRS` of them. Verdicts of the first table are the same with and without.
    """

    kind: Literal["ablation"] = "ablation"
    name: FileName = "ablation"
    all_pairs: bool = later(False)


class SensitivityTable(DeclaredTable):
    """How much each searched setting matters, with its figures."""

    kind: Literal["sensitivity"] = "sensitivity"
    name: FileName = "sensitivity"


class ConfirmationTable(DeclaredTable):
    """The best arms of a search on seeds that had no part in choosing them."""

    kind: Literal["confirmation"] = "confirmation"
    name: FileName = "confirmation"


class CurvesFigure(DeclaredTable):
    """A metric over the epochs: one line per arm, with a band over its seeds."""

    kind: Literal["curves"] = "curves"
    name: FileName = "curves"
    metric: MetricName = "validation_error"

    @property
    def curves(self) -> tuple[str, ...]:
        """Its metric."""
        return (self.metric,)


class PublishedRow(FrozenValue):
    """One row of a published table.

    Attributes:
        labels: One text for each of the table's headings.
        arm: The arm that reproduces this row; None if the sweep has none.
        published: The published value, in percent.
        spread: The published spread, in the same unit.
        trust: Where the value comes from and how far to trust it, in a few words.
    """

    labels: tuple[Text, ...]
    arm: Text | None
    published: float | None = None
    spread: float | None = None
    trust: str = ""


class PublishedTable(DeclaredTable):
    """A table of a paper with the paper's rows and columns: our values beside the published ones.

    Attributes:
        title: Which table of which paper.
        headings: Headings of the columns that label a row.
        rows: The rows, in the paper's order.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: The data set of the published values, such as "smallNORB". If the sweep
            uses another one, the table's first line says so.
        paper_prints: What the paper prints. The values here are errors in any case; the table
            in the paper's style converts them.
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


class GridCell(FrozenValue):
    """One cell of a grid.

    Attributes:
        arm: The arm that reproduces this cell; None if the sweep has none.
        metric: Which error: "test_error", "test_error.familiar" of the extra test with that name,
            "validation_error", or another fraction that a part of the sweep measures.
        published: The published value, in percent.
        spread: The published spread, in the same unit.
    """

    arm: Text | None
    metric: GridMetric = "test_error"
    published: float | None = None
    spread: float | None = None


class GridRow(FrozenValue):
    """One row of a grid.

    Attributes:
        label: The text in its first column.
        cells: One cell for each of the table's columns.
    """

    label: Text
    cells: tuple[GridCell, ...]


class GridTable(DeclaredTable):
    """A table of a paper whose rows and columns are both factors.

    Attributes:
        title: Which table of which paper.
        columns: The headings of the columns, in the paper's order.
        rows: The rows, in the paper's order.
        heading: The heading above the rows' labels.
        spread: What the published spread is, in words.
        notes: Sentences that a reader needs before comparing.
        published_data: The data set of the published values, such as "smallNORB". If the sweep
            uses another one, the table's first line says so.
        paper_prints: What the paper prints. The values here are errors in any case; the table
            in the paper's style converts them.
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
    def _rows_are_complete_and_distinct(self) -> Self:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"The row '{row.label}' of '{self.name}' has {len(row.cells)} cells for "
                    f"{len(self.columns)} columns ({', '.join(self.columns)}): give it a cell a "
                    f"column, GridCell(arm=None) where there is none."
                )
        for axis, names in (("rows", [row.label for row in self.rows]), ("columns", self.columns)):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(
                    f"Two {axis} of '{self.name}' are called '{twice[0]}': give one another name."
                )
        return self


class EvaluationsTable(DeclaredTable):
    """Arms compared by each evaluation; a sweep with evaluations always has it.

    The curve of an evaluation is drawn with it, unless the sweep declares a `Curve` that shows it.
    """

    kind: Literal["evaluations"] = "evaluations"
    name: FileName = "evaluations"


class Curve(DeclaredTable):
    """A metric over a coordinate of an evaluation: one line per arm, with a band.

    Attributes:
        x: Name of the coordinate, such as "epsilon" or "shift".
        evaluation: Kind of the evaluation; "" for every one with a curve over it.
        name: The name of its files, by default `curve-` and the coordinate.
    """

    kind: Literal["curve"] = "curve"
    name: FileName = ""
    x: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$"),
        Field(
            description="a text of up to 32 small letters, digits and _ that begins with a letter"
        ),
    ]
    evaluation: Annotated[str, StringConstraints(max_length=64)] = ""

    @model_validator(mode="before")
    @classmethod
    def _named_after_its_axis(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and not data.get("name") and isinstance(data.get("x"), str):
            return {**data, "name": f"curve-{data['x']}"}
        return data


class EffectsTable(DeclaredTable):
    """The effects of a design's factors on the test error, alone and in pairs."""

    kind: Literal["effects"] = "effects"
    name: FileName = "effects"


class ComponentsTable(DeclaredTable):
    """Which arm has which component, with its test error and difference from the baseline."""

    kind: Literal["components"] = "components"
    name: FileName = "components"


class DataSetsTable(DeclaredTable):
    """Arms by the data sets of a sweep across several, with a figure of their differences.

    Attributes:
        primary_of: Kind of the evaluation whose primary figure stands in place of the test error.
        other_data_sets: Whether to judge also what would hold on other data sets like these, which
            takes six.
        ranks: Whether to draw the average ranks of the arms.
        published: Data set -> arm -> published test error, in percent.
        published_in: Where the published values come from.
    """

    kind: Literal["data_sets"] = "data_sets"
    name: FileName = "data_sets"
    primary_of: Annotated[str, StringConstraints(max_length=64)] = ""
    other_data_sets: bool = False
    ranks: bool = False
    published: dict[Text, dict[Text, Annotated[float, Field(ge=0, le=100)]]] = Field(
        default_factory=dict
    )
    published_in: str = ""


def column_sweep_name(sweep: str, data_set: str) -> str:
    """Return the name of the sweep of one data set: `routings_across--cifar-10`."""
    return f"{sweep}--{_NOT_IN_NAMES.sub('-', data_set.lower()).strip('-')}"


class PartOfAcross(FrozenValue):
    """What the sweep of one data set knows of the sweep across several that it belongs to.

    Attributes:
        sweep: Name of the sweep across data sets.
        data_set: Name of this data set.
        data_sets: Names of all, in the order of the table's columns.
        definition: Hash of the base that all data sets change, and of the user's parts.
        images_of: Names of the data sets whose images this one shows, changed or not.
        table: The table over all data sets.
        revision: Raised by each launch that changes data sets, table or `left_out`: the largest one
            counts.
        left_out: Data set -> why the last launch did not launch it.
    """

    sweep: FileName
    data_set: Text
    data_sets: Annotated[tuple[Text, ...], Field(min_length=1, max_length=100)]
    definition: Annotated[str, StringConstraints(max_length=64)]
    images_of: Annotated[tuple[Text, ...], Field(max_length=10)] = ()
    table: DataSetsTable = DataSetsTable()
    revision: Annotated[int, Field(ge=1)] = 1
    left_out: dict[Text, Annotated[str, StringConstraints(max_length=LONGEST_REASON)]] = later({})

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.data_set not in self.data_sets:
            raise ValueError(f"the data set {self.data_set!r} is not one of {self.data_sets}")
        return self


class FrontTable(DeclaredTable):
    """The proposals that no other one beats in both objective and cost, among all proposals."""

    kind: Literal["front"] = "front"
    name: FileName = "front"


class CustomTable(DeclaredTable, ABC):
    """A table or figure that a user defines in a sweep's file.

    The sweep's manifest stores the declaration as plain JSON. Rebuilding the table needs the class,
    so give the sweep's file when you rebuild the report: nothing is imported because a record
    says so.

    Attributes:
        kind: A new kind: `kind: Literal["worst"] = "worst"`.
        name: The name of its files: `name: str = "worst"`.
    """

    @abstractmethod
    def make(self, results: Any) -> Any:
        """Return a `sweeps.Section` of tables and figures.

        Args:
            results: A `sweeps.Results`: the manifest, the records, and metric histories on request.
        """


class UnknownTable(DeclaredTable):
    """A declaration of a kind that is not built in, as plain JSON."""

    model_config = ConfigDict(extra="allow")

    kind: Text


TABLES: tuple[type[DeclaredTable], ...] = (
    AblationTable,
    SensitivityTable,
    ConfirmationTable,
    CurvesFigure,
    PublishedTable,
    GridTable,
    EvaluationsTable,
    Curve,
    EffectsTable,
    ComponentsTable,
    FrontTable,
)


@dataclass(frozen=True)
class OneKind:
    """Annotation of a field that holds a declared table of one of several kinds.

    A table is accepted as it is; plain JSON is parsed by its kind.

    Attributes:
        keeps_unknown: Whether plain JSON of an unknown kind is accepted, as an `UnknownTable`.
    """

    kinds: tuple[type[DeclaredTable], ...]
    keeps_unknown: bool = False

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the union of the kinds."""
        known = {kind_of(kind) for kind in self.kinds}

        def choose(value: object, read: core_schema.ValidatorFunctionWrapHandler) -> DeclaredTable:
            if isinstance(value, DeclaredTable):
                return value
            kind = cast(Any, value).get("kind") if isinstance(value, Mapping) else None
            if self.keeps_unknown and isinstance(kind, str) and kind not in known:
                return UnknownTable.model_validate(value)
            return read(value)

        union: Any = Annotated[Union[self.kinds], Field(discriminator="kind")]  # noqa: UP007
        return core_schema.no_info_wrap_validator_function(
            choose,
            handler.generate_schema(union),
            serialization=core_schema.plain_serializer_function_ser_schema(_written, info_arg=True),
        )


Table = Annotated[DeclaredTable, OneKind(TABLES)]
RecordedTable = Annotated[DeclaredTable, OneKind(TABLES, keeps_unknown=True)]


def kind_of(table: type[DeclaredTable]) -> str:
    """Return the kind of a class of tables."""
    return str(table.model_fields["kind"].default)


def custom_table_classes(tables: Iterable[DeclaredTable]) -> tuple[type[CustomTable], ...]:
    """Return the classes of the tables that a user defined, each once.

    Raises:
        ValueError: If one has the kind of another or a built-in kind, or is no `CustomTable`.
    """
    built_in = {kind_of(kind) for kind in TABLES}
    classes: dict[str, type[CustomTable]] = {}
    for table in tables:
        if isinstance(table, TABLES):
            continue
        table_class = type(table)
        if not isinstance(table, CustomTable):
            raise ValueError(f"{table_class.__name__} cannot be made: derive it from CustomTable.")
        if table.kind in built_in:
            raise ValueError(
                f"The kind '{table.kind}' of {table_class.__name__} is built in and cannot be "
                f"overridden: choose another kind."
            )
        if classes.setdefault(str(table.kind), type(table)) is not table_class:
            raise ValueError(
                f"Two tables of your own are of the kind '{table.kind}': choose another kind."
            )
    return tuple(classes.values())


def _written(table: DeclaredTable, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return table.model_dump(mode=info.mode)
