"""All kinds of tables and figures of the package, and fields that hold one of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from search_spaces.tables.ablation import AblationTable
from search_spaces.tables.components import ComponentsTable
from search_spaces.tables.confirmation import ConfirmationTable
from search_spaces.tables.curves import CurvesFigure
from search_spaces.tables.declared import DeclaredTable
from search_spaces.tables.effects import EffectsTable
from search_spaces.tables.evaluations import EvaluationsTable
from search_spaces.tables.front import FrontTable
from search_spaces.tables.grid import GridTable
from search_spaces.tables.own import OwnTable, UnknownTable
from search_spaces.tables.published import PublishedTable
from search_spaces.tables.sensitivity import SensitivityTable

TABLES: tuple[type[DeclaredTable], ...] = (
    AblationTable,
    SensitivityTable,
    ConfirmationTable,
    CurvesFigure,
    PublishedTable,
    GridTable,
    EvaluationsTable,
    EffectsTable,
    ComponentsTable,
    FrontTable,
)


@dataclass(frozen=True)
class OneKind:
    """Annotation of a field that holds a declared table of one of some kinds.

    A table is taken as it is; plain JSON is read by its kind.

    Attributes:
        keeps_unknown: Whether plain JSON of another kind stays plain JSON, or is refused.
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
    """Return the kind that a class declares."""
    return str(table.model_fields["kind"].default)


def own_kinds(tables: Iterable[DeclaredTable]) -> tuple[type[OwnTable], ...]:
    """Return the classes of those tables that are a user's own, each once.

    Raises:
        ValueError: In one sentence, if one has the kind of another or of the package, or no maker.
    """
    built_in = {kind_of(kind) for kind in TABLES}
    classes: dict[str, type[OwnTable]] = {}
    for table in tables:
        if isinstance(table, TABLES):
            continue
        own = type(table)
        if not isinstance(table, OwnTable):
            raise ValueError(f"{own.__name__} cannot be made: derive it from OwnTable.")
        if table.kind in built_in:
            raise ValueError(
                f"The kind '{table.kind}' of {own.__name__} is built in and cannot be overridden: "
                f"choose another kind."
            )
        if classes.setdefault(str(table.kind), type(table)) is not own:
            raise ValueError(
                f"Two tables of your own are of the kind '{table.kind}': choose another kind."
            )
    return tuple(classes.values())


def _written(table: DeclaredTable, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return table.model_dump(mode=info.mode)
