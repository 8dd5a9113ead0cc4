"""Changing the kind of a part alone."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

Context = Mapping[str, Any] | None

KIND = "kind"


def fields_of(settings: BaseModel) -> dict[str, Any]:
    """Return the values of settings by their names, parts as objects."""
    return {name: getattr(settings, name) for name in type(settings).model_fields}


def of_kind(owner: type[BaseModel], name: str, part: Any, kind: str, *, context: Context) -> Any:
    """Return a part with another kind, and those of its settings that both kinds have.

    A value that is the default of the old kind, or not valid in the new one, gives way to the
    default of the new one; so do all of them where they do not go together there.

    Args:
        owner: The class of the settings that hold the part.
        name: The field that it is in.
        part: As it is.
        kind: The new one.
        context: Of validation.

    Raises:
        ValidationError: If there is no such kind.
    """
    if part.kind == kind:
        return part
    field = owner.model_fields[name]
    annotation: Any = field.annotation
    for extra in field.metadata:
        annotation = Annotated[annotation, extra]
    family = TypeAdapter[Any](annotation)
    fields = type(part).model_fields
    kept = {name: v for name, v in fields_of(part).items() if v != fields[name].default}
    while True:
        try:
            return family.validate_python({**kept, KIND: kind}, context=context)
        except ValidationError as error:
            refused = _refused(error, kept)
            if not refused:
                raise
            kept = {field: value for field, value in kept.items() if field not in refused}


def _refused(error: ValidationError, kept: Mapping[str, Any]) -> set[str]:
    """Return the settings that a kind refuses; all of them where they do not go together."""
    names = set(kept) - {KIND}
    refused = {str(step) for detail in error.errors() for step in detail["loc"]} & names
    is_of_all = any(detail["type"] == "value_error" for detail in error.errors())
    return names if is_of_all and not refused else refused
