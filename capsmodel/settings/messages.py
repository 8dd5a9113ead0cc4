"""Messages about invalid settings: what is wrong, what was given, what is allowed.

Settings are built on this module, so it knows parts and families by what they declare.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol, get_args, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from capsmodel.spelling import unknown as unknown

_NO_TEXT = "a valid value"


@runtime_checkable
class _OneOf(Protocol):
    """The annotation of a field that holds one member of a family."""

    @property
    def members(self) -> tuple[type[BaseModel], ...]: ...


class _Place(NamedTuple):
    """Where an error is: the class that owns the setting, the setting, and the item in it."""

    owner: type[BaseModel] | None
    field: FieldInfo | None
    name: str
    path: str
    items: tuple[int, ...]
    is_part: bool


def explain(
    error: ValidationError, owner: type[BaseModel] | None = None, above: Sequence[str] = ()
) -> str:
    """Turn pydantic's account of bad settings into one sentence a user can act on.

    Args:
        error: The error of pydantic.
        owner: The settings that were validated; by default the class that raised the error.
        above: Their path in the whole config.
    """
    owner = owner or _class_validated(error)
    details = error.errors(include_url=False)
    places = [_locate(owner, detail["loc"], above) for detail in details]
    # a misspelt name is why another one is missing
    first = next((n for n, detail in enumerate(details) if detail["type"] == "extra_forbidden"), 0)
    sentence = _sentence(places[first], details[first])
    others = {place.path for place in places} - {places[first].path}
    return sentence if not others else f"{sentence} (And {len(others)} more.)"


def allowed(field: FieldInfo) -> str:
    """Say in words which values a setting takes: "an integer from 1 to 100"."""
    if family := _one_of(field):
        return "one of " + ", ".join(_kind(part) for part in family.members)
    annotation: Any = field.annotation
    for extra in field.metadata:
        annotation = Annotated[annotation, extra]
    schema = TypeAdapter[Any](annotation).json_schema()
    if "pattern" in schema and field.description:
        return field.description
    return _value_text(schema)


def _value_text(schema: Mapping[str, Any]) -> str:
    if choices := [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]:
        return " or ".join(map(_value_text, choices))
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return _list_text(schema)
    if schema.get("additionalProperties"):
        return _dict_text(schema)
    noun = {
        "integer": "an integer",
        "number": "a number",
        "boolean": "true or false",
        "string": "a text",
    }.get(str(schema.get("type")), _NO_TEXT)
    if "pattern" in schema:
        noun += f" of the form {schema['pattern']}"
    lowest = "from" if "maximum" in schema else "at least"
    highest = "to" if "minimum" in schema else "at most"
    bounds = [
        f"{word} {schema[key]:,}".replace(",", "")
        for key, word in (
            ("minimum", lowest),
            ("exclusiveMinimum", "above"),
            ("maximum", highest),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    return " ".join([noun, *bounds])


def _list_text(schema: Mapping[str, Any]) -> str:
    least = _least_text(schema, "minItems")
    each = f", each {_value_text(schema['items'])}" if "items" in schema else ""
    return f"a list{least}{each}"


def _dict_text(schema: Mapping[str, Any]) -> str:
    least, values = _least_text(schema, "minProperties"), schema["additionalProperties"]
    value_text = _NO_TEXT if isinstance(values, bool) else _value_text(values)
    return f"a dict{least}" if _NO_TEXT in value_text else f"a dict{least}, each value {value_text}"


def _least_text(schema: Mapping[str, Any], key: str) -> str:
    return f" of at least {schema[key]}" if key in schema else ""


def _one_of(field: FieldInfo) -> _OneOf | None:
    return next((extra for extra in field.metadata if isinstance(extra, _OneOf)), None)


def _sentence(place: _Place, detail: ErrorDetails) -> str:
    owner, field, value = place.owner, place.field, detail["input"]
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden" and owner is not None:
        return unknown(f"setting of {_label(owner)}", place.name, settings_of(owner))
    if detail["type"] == "union_tag_invalid" and field is not None:
        return _unknown_kind(field, detail.get("ctx", {}).get("tag", ""))
    if detail["type"] == "missing" and place.name == "kind":
        owner_name = owner.__name__ if owner else "A part"
        return f"{owner_name} has no kind: give it one, kind: Literal['mine'] = 'mine'."
    if place.name == "kind" and owner is not None and _is_part(owner):
        return unknown(_family(owner), str(value), [_kind(owner)])
    if detail["type"] == "value_error":
        return f"{place.path}: {message}" if place.is_part and place.path else message
    if field is None or (text := _allowed_text(field)) is None:
        return f"{place.path}: {message}."
    if detail["type"] == "missing":
        return f"{place.path} is missing: it must be {text}."
    where = f" at place {place.items[0] + 1}" if place.items else ""
    return f"{place.path} must be {text}, got {value!r}{where}."


def _allowed_text(field: FieldInfo) -> str | None:
    """Return None if the field takes an object that is not a plain value."""
    try:
        text = allowed(field)
    except PydanticInvalidForJsonSchema:
        return None
    return None if _NO_TEXT in text else text


def _unknown_kind(field: FieldInfo, tag: str) -> str:
    one_of = _one_of(field) or next(
        extra
        for item in get_args(field.annotation)
        for extra in getattr(item, "__metadata__", ())
        if isinstance(extra, _OneOf)
    )
    return unknown(_family(one_of.members[0]), tag, [_kind(part) for part in one_of.members])


def settings_of(owner: type[BaseModel]) -> list[str]:
    """Return the names of the settings a class has, without its kind."""
    return [name for name in owner.model_fields if name != "kind"]


def _is_part(owner: type[BaseModel] | None) -> bool:
    return isinstance(getattr(owner, "family", None), str)


def _kind(part: type[BaseModel]) -> str:
    return str(part.model_fields["kind"].default)


def _family(part: type[BaseModel]) -> str:
    return getattr(part, "family", "part")


def _label(owner: type[BaseModel]) -> str:
    if _is_part(owner):
        return f"{_family(owner)} '{_kind(owner)}'"
    return "the training" if owner.__name__ == "TrainingConfig" else owner.__name__


def _locate(
    owner: type[BaseModel] | None, loc: tuple[int | str, ...], above: Sequence[str]
) -> _Place:
    """Follow an error's location through the parts."""
    path, following, field = list(above), None, None
    is_part = _is_part(owner)
    for index, step in enumerate(loc):
        if following is not None:
            chosen = [part for part in following.members if _kind(part) == step]
            owner = chosen[0] if chosen else following.members[0]
            following = None
            if chosen:
                continue
        field = owner.model_fields.get(str(step)) if owner else None
        path.append(str(step))
        following = _one_of(field) if field else None
        is_part = following is not None
        if field is not None and following is None:
            items = tuple(item for item in loc[index + 1 :] if isinstance(item, int))
            return _Place(owner, field, str(step), ".".join(path), items, is_part)
    return _Place(owner, field, path[-1] if path else "", ".".join(path), (), is_part)


def _class_validated(error: ValidationError) -> type[BaseModel] | None:
    """Return the class whose validation failed, or None if it is no settings class.

    The error itself knows only the class's bare name, which a user's own class may share with
    another; the innermost frame of its traceback is pydantic's, and holds the class or an object.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    variables = trace.tb_frame.f_locals
    owner: object = type(variables["self"]) if "self" in variables else variables.get("cls")
    return owner if isinstance(owner, type) and issubclass(owner, BaseModel) else None
