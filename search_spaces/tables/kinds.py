"""All kinds of tables and figures of the package, and fields that hold one of them."""

from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from search_spaces.tables.ablation import AblationTable
from search_spaces.tables.confirmation import ConfirmationTable
from search_spaces.tables.curves import CurvesFigure
from search_spaces.tables.declared import DeclaredTable
from search_spaces.tables.grid import GridTable
from search_spaces.tables.published import PublishedTable
from search_spaces.tables.sensitivity import SensitivityTable

TABLES: tuple[type[DeclaredTable], ...] = (
    AblationTable,
    SensitivityTable,
    ConfirmationTable,
    CurvesFigure,
    PublishedTable,
    GridTable,
)


@dataclass(frozen=True)
class OneKind:
    """Annotation of a field that holds a declared table of one of some kinds.

    A table is taken as it is; plain JSON is read by its kind.
    """

    kinds: tuple[type[DeclaredTable], ...]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the union of the kinds."""
        union: Any = Annotated[Union[self.kinds], Field(discriminator="kind")]  # noqa: UP007
        return core_schema.no_info_wrap_validator_function(
            _as_it_is,
            handler.generate_schema(union),
            serialization=core_schema.plain_serializer_function_ser_schema(_written, info_arg=True),
        )


Table = Annotated[DeclaredTable, OneKind(TABLES)]


def _as_it_is(value: object, read: core_schema.ValidatorFunctionWrapHandler) -> DeclaredTable:
    return value if isinstance(value, DeclaredTable) else read(value)


def _written(table: DeclaredTable, info: core_schema.SerializationInfo) -> dict[str, Any]:
    return table.model_dump(mode=info.mode)
