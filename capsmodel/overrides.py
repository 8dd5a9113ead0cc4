"""Changing settings by their path: `model.routing.iterations`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from capsmodel.messages import explain, settings_of, unknown
from capsmodel.parts import (
    OneOf,
    Part,
    Settings,
    built_in_members,
    family_class,
    family_parts,
    kind_of,
)

S = TypeVar("S", bound=Settings)
Path = tuple[str, ...]
Parts = tuple[type[Part], ...]


def with_settings(config: S, changes: Mapping[str, Any], parts: Sequence[type[Part]] = ()) -> S:
    """Return a copy of settings with some changed, all at once: their order does not matter.

    Args:
        config: What to start from; it stays as it is.
        changes: Path to value. A value for a part is an object, a kind, or plain JSON; the changes
            of settings below it are made to it.
        parts: A user's own parts that a kind may name.

    Raises:
        ValueError: In one sentence, if a path leads nowhere or a value is not allowed.
    """
    paths = {tuple(path.split(".")): value for path, value in changes.items()}
    return _changed(config, paths, (), tuple(parts))


def _changed(settings: S, changes: Mapping[Path, Any], above: Path, parts: Parts) -> S:
    whole: dict[str, Any] = {}
    within: dict[str, dict[Path, Any]] = {}
    for (name, *rest), value in changes.items():
        _refuse_unknown(settings, name, (*above, name, *rest), parts)
        if rest:
            within.setdefault(name, {})[tuple(rest)] = value
        else:
            whole[name] = _as_part(settings, name, value, parts)
    settings = _validated(settings, whole, above, parts)
    inner: dict[str, Any] = {}
    for name, below in within.items():
        part = getattr(settings, name)
        if not isinstance(part, Settings):
            path = ".".join((*above, name, *next(iter(below))))
            raise ValueError(f"'{path}' leads nowhere: '{name}' is a value, not a part.")
        inner[name] = _changed(part, below, (*above, name), parts)
    return _validated(settings, inner, above, parts)


def _validated(settings: S, values: Mapping[str, Any], above: Path, parts: Parts) -> S:
    if not values:
        return settings
    fields = {field: getattr(settings, field) for field in type(settings).model_fields}
    try:
        return type(settings).model_validate({**fields, **values}, context={"parts": parts})
    except ValidationError as error:
        raise ValueError(explain(error, type(settings), above)) from error


def family_of(settings: Settings, name: str) -> OneOf | None:
    """Return the members a field chooses from, None where it holds a plain value."""
    metadata = type(settings).model_fields[name].metadata
    return next((extra for extra in metadata if isinstance(extra, OneOf)), None)


def _as_part(settings: Settings, name: str, value: Any, parts: Parts) -> Any:
    """Read a part given by its kind alone, and name the known kinds where there is no such."""
    one_of = family_of(settings, name)
    if one_of is None or isinstance(value, Part):
        return value
    given = {"kind": value} if isinstance(value, str) else value
    family = family_class(one_of.members[0])
    kinds = [kind_of(part) for part in (*one_of.members, *family_parts(family, {"parts": parts}))]
    kind = cast(Any, given).get("kind") if isinstance(given, Mapping) else None
    if kind not in kinds:
        raise ValueError(unknown(family.family, str(kind or value), kinds))
    return given


def _refuse_unknown(settings: Settings, name: str, path: Path, parts: Parts) -> None:
    own = settings_of(type(settings))
    if name in own:
        return
    if not isinstance(settings, Part):
        raise ValueError(unknown("setting", name, own))
    label = f"{settings.family} '{settings.kind}'"
    if name == "kind":
        part = ".".join(path[:-1])
        raise ValueError(f"The kind of a part is set by the part's own path: '{part}', not .kind.")
    relatives = [kind_of(part) for part in _siblings(settings, parts) if name in settings_of(part)]
    if relatives:
        raise ValueError(
            f"'{'.'.join(path)}' has no effect: the {label} has no setting '{name}' "
            f"(only {', '.join(relatives)} has)."
        )
    raise ValueError(unknown(f"setting of the {label}", name, own))


def _siblings(part: Part, parts: Parts) -> list[type[Part]]:
    family = family_class(type(part))
    built_in = built_in_members(family)
    own = family_parts(family, {"parts": parts})
    return [other for other in (*built_in, *own) if other is not type(part)]
