"""Sentences about settings that cannot be: what is wrong, what was given, what is allowed."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from capsmodel.parts import OneOf, Part, Settings, kind_of


def explain(error: ValidationError) -> str:
    """Turn pydantic's account of bad settings into one sentence a user can act on."""
    details = error.errors(include_url=False)
    sentence = _sentence(error.title, details[0])
    return sentence if len(details) == 1 else f"{sentence} (And {len(details) - 1} more.)"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest one and all that are."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"Unknown {what} '{name}'.{hint} Known: {', '.join(names) or 'none'}."


def allowed(field: FieldInfo) -> str:
    """Say in words which values a setting takes: "an integer from 1 to 100"."""
    if family := _one_of(field):
        return "one of " + ", ".join(kind_of(part) for part in family.members)
    annotation: Any = field.annotation
    for extra in field.metadata:
        annotation = Annotated[annotation, extra]
    return _in_words(TypeAdapter[Any](annotation).json_schema())


def _in_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    noun = {
        "integer": "an integer",
        "number": "a number",
        "boolean": "true or false",
        "string": "a text",
        "array": "a list",
    }.get(str(schema.get("type")), "a valid value")
    if schema.get("type") == "array" and "items" in schema:
        noun = f"a list, each {_in_words(schema['items'])}"
    lowest = "from" if "maximum" in schema else "at least"
    highest = "to" if "minimum" in schema else "at most"
    bounds = [
        f"{word} {schema[key]:g}"
        for key, word in (
            ("minimum", lowest),
            ("exclusiveMinimum", "above"),
            ("maximum", highest),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    return " ".join([noun, *bounds])


def _one_of(field: FieldInfo) -> OneOf | None:
    return next((extra for extra in field.metadata if isinstance(extra, OneOf)), None)


def _sentence(title: str, detail: ErrorDetails) -> str:
    owner, path = _locate(title, detail["loc"])
    name = path[-1] if path else title
    dotted = ".".join(path)
    field = owner.model_fields.get(name) if owner else None
    if detail["type"] == "extra_forbidden" and owner is not None:
        return unknown(f"setting of {_label(owner)}", name, settings_of(owner))
    if detail["type"] == "union_tag_invalid" and field is not None:
        return _unknown_kind(field, detail.get("ctx", {}).get("tag", ""))
    if detail["type"] == "literal_error" and owner is not None and issubclass(owner, Part):
        return unknown(owner.family, str(detail["input"]), [kind_of(owner)])
    if field is not None and not detail["type"].startswith(("value_error", "assertion")):
        return f"{dotted} must be {allowed(field)}, got {detail['input']!r}."
    message = detail["msg"].removeprefix("Value error, ")
    return message if detail["type"] == "value_error" else f"{dotted}: {message}."


def _unknown_kind(field: FieldInfo, tag: str) -> str:
    one_of = _one_of(field)
    assert one_of is not None
    return unknown(one_of.members[0].family, tag, [kind_of(part) for part in one_of.members])


def settings_of(owner: type[BaseModel]) -> list[str]:
    """Return the names of the settings a class has, without its kind."""
    return [name for name in owner.model_fields if name != "kind"]


def _label(owner: type[BaseModel]) -> str:
    return f"{owner.family} '{kind_of(owner)}'" if issubclass(owner, Part) else "the training"


def _locate(title: str, loc: tuple[int | str, ...]) -> tuple[type[BaseModel] | None, list[str]]:
    """Follow an error's location through the parts: the class that owns its last name, the path."""
    owner = _class_named(title)
    path: list[str] = []
    following: OneOf | None = None
    for step in map(str, loc):
        if following is not None:
            chosen = [part for part in following.members if kind_of(part) == step]
            following, before = None, following
            if chosen:
                owner = chosen[0]
                continue
            owner = before.members[0] if len(before.members) == 1 else None
        path.append(step)
        field = owner.model_fields.get(step) if owner else None
        following = _one_of(field) if field else None
    return owner, path


def _class_named(title: str) -> type[BaseModel] | None:
    waiting: list[type[BaseModel]] = [Settings]
    while waiting:
        candidate = waiting.pop()
        if candidate.__name__ == title:
            return candidate
        waiting.extend(candidate.__subclasses__())
    return None
