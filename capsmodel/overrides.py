"""Changing settings by their path: `model.routing.iterations`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from capsmodel.messages import explain, settings_of, unknown
from capsmodel.parts import OneOf, Part, Settings, family_class, family_parts, kind_of

S = TypeVar("S", bound=Settings)


def with_settings(config: S, changes: Mapping[str, Any], parts: Sequence[type[Part]] = ()) -> S:
    """Return a copy of settings with some changed.

    Args:
        config: What to start from; it stays as it is.
        changes: Path to value. A value for a part is an object, a kind, or plain JSON.
        parts: A user's own parts that a kind may name.

    Raises:
        ValueError: In one sentence, if a path leads nowhere or a value is not allowed.
    """
    for path, value in changes.items():
        config = _changed(config, path.split("."), value, (path, tuple(parts)))
    return config


def _changed(
    settings: S, steps: Sequence[str], value: Any, asked: tuple[str, tuple[type[Part], ...]]
) -> S:
    name, *rest = steps
    path, parts = asked
    if name == "kind" or name not in type(settings).model_fields:
        raise ValueError(_no_such_setting(settings, name, path))
    current = getattr(settings, name)
    if rest and not isinstance(current, Settings):
        raise ValueError(f"'{path}' leads nowhere: '{name}' is a value, not a part.")
    if rest:
        value = _changed(cast(Settings, current), rest, value, asked)
    else:
        value = _as_part(settings, name, value, parts)
    fields = {field: getattr(settings, field) for field in type(settings).model_fields}
    try:
        return type(settings).model_validate({**fields, name: value}, context={"parts": parts})
    except ValidationError as error:
        sentence = explain(error)
        raise ValueError(sentence.replace(f"{name} must", f"{path} must", 1)) from error


def family_of(settings: Settings, name: str) -> OneOf | None:
    """Return the members a field chooses from, None where it holds a plain value."""
    metadata = type(settings).model_fields[name].metadata
    return next((extra for extra in metadata if isinstance(extra, OneOf)), None)


def _as_part(settings: Settings, name: str, value: Any, parts: tuple[type[Part], ...]) -> Any:
    """Read a part given by its kind alone, and name the known kinds where there is no such."""
    one_of = family_of(settings, name)
    if one_of is None or isinstance(value, Part):
        return value
    given = {"kind": value} if isinstance(value, str) else value
    family = family_class(one_of.members[0])
    kinds = [kind_of(part) for part in (*one_of.members, *family_parts(family, {"parts": parts}))]
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if kind not in kinds:
        raise ValueError(unknown(one_of.members[0].family, str(kind or value), kinds))
    return given


def _no_such_setting(settings: Settings, name: str, path: str) -> str:
    own = settings_of(type(settings))
    if not isinstance(settings, Part):
        return unknown("setting", name, own)
    label = f"{settings.family} '{settings.kind}'"
    relatives = [kind_of(part) for part in _siblings(settings) if name in part.model_fields]
    if relatives and name != "kind":
        return (
            f"'{path}' has no effect: the {label} has no setting '{name}' "
            f"(only {', '.join(relatives)} has)."
        )
    return unknown(f"setting of the {label}", name, own)


def _siblings(part: Part) -> list[type[Part]]:
    family = family_class(type(part))
    return [other for other in family.__subclasses__() if other is not type(part)]
