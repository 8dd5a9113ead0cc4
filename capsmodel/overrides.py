"""Changing settings by their path: `model.routing.iterations`, `data.kind`, `model.profile`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from capsmodel.settings.messages import explain, settings_of, unknown
from capsmodel.settings.parts import (
    OneOf,
    Part,
    Settings,
    built_in_members,
    family_class,
    family_parts,
    kind_of,
)
from capsmodel.settings.profiles import (
    KIND,
    PROFILE,
    Path,
    Profile,
    given_paths,
    of_kind,
    profile_paths,
    value_at,
)

S = TypeVar("S", bound=Settings)
Parts = tuple[type[Part], ...]


def with_settings(config: S, changes: Mapping[str, Any], parts: Sequence[type[Part]] = ()) -> S:
    """Return a copy of settings with some changed, all at once: their order does not matter.

    Args:
        config: The config to start from; it is not changed.
        changes: Path to value. A value for a part is an object, a kind, or plain JSON; the changes
            of settings below it are made to it. `part.kind` changes the kind alone: what was
            changed of the settings that both kinds have stays. `part.profile` sets all that a
            profile of the part does.
        parts: A user's own parts that a kind may name.

    Raises:
        ValueError: In one sentence, if a path leads nowhere, a value is not allowed, or one
            contradicts a profile.
    """
    paths = {tuple(path.split(".")): value for path, value in changes.items()}
    return _changed(config, paths, (), tuple(parts))


def paths_set(config: Settings, changes: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the paths that each change sets: all paths of a profile, the part of a kind.

    Args:
        config: The settings after the changes, which tell what profiles there are.
        changes: Path to value.
    """
    set_by: dict[str, tuple[str, ...]] = {}
    for path, value in changes.items():
        *above, name = path.split(".")
        part = value_at(config, above)
        paths = [path]
        if name == PROFILE and isinstance(part, Settings):
            below = profile_paths(part, value)
            paths = [".".join((*above, *steps)) for steps in below if steps[-1] != KIND]
        elif name == KIND and above:
            paths = [".".join(above)]
        set_by[path] = tuple(paths)
    return set_by


def written_out(config: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes with each profile's name replaced by the settings of the profile.

    Args:
        config: The settings after the changes.
        changes: Path to value.
    """
    written: dict[str, Any] = {}
    for path, below in paths_set(config, changes).items():
        if path.split(".")[-1] == PROFILE:
            written |= {path_below: value_at(config, path_below.split(".")) for path_below in below}
        else:
            is_short = _names_profile(changes[path])
            written[path] = value_at(config, path.split(".")) if is_short else changes[path]
    return written


def _names_profile(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        PROFILE in value or any(map(_names_profile, value.values()))
    )


def _changed(settings: S, changes: Mapping[Path, Any], above: Path, parts: Parts) -> S:
    if (PROFILE,) in changes and PROFILE not in settings_of(type(settings)):
        return _with_profile(settings, changes, above, parts)
    replaced: dict[str, Any] = {}
    within: dict[str, dict[Path, Any]] = {}
    for (name, *rest), value in changes.items():
        _check_setting_exists(settings, above, (name, *rest), parts)
        if rest:
            within.setdefault(name, {})[tuple(rest)] = value
        else:
            replaced[name] = _as_part(settings, name, value, parts)
    for name, below in within.items():
        _check_one_kind(name, replaced, below, above)
        part = _read(
            settings, name, replaced.get(name, getattr(settings, name)), above=above, parts=parts
        )
        if not isinstance(part, Settings):
            path = ".".join((*above, name, *next(iter(below))))
            raise ValueError(f"'{path}' leads nowhere: '{name}' is a value, not a part.")
        if (KIND,) in below:
            part = _of_kind(type(settings), name, part, below.pop((KIND,)), parts=parts)
        replaced[name] = _changed(part, below, (*above, name), parts)
    return _validated(settings, replaced, above, parts)


def _with_profile(settings: S, changes: Mapping[Path, Any], above: Path, parts: Parts) -> S:
    """Apply a profile and other changes to settings, in whichever order they need.

    A kind that is given may bring the profile's settings along, and a profile may choose the kind
    whose settings are given: so the profile is applied before and after.
    """
    others = {path: value for path, value in changes.items() if path != (PROFILE,)}
    profile = Profile.of(type(settings), changes[(PROFILE,)])
    context = {"parts": parts}
    profiled = _changed(profile.applied(settings, context, partly=True), others, above, parts)
    paths = (
        path
        for (*outer, name), value in others.items()
        for path in given_paths({name: value}, value_at(profiled, outer), tuple(outer))
    )
    return profile.combined(profiled, paths, context)


def _read(settings: Settings, name: str, value: Any, *, above: Path, parts: Parts) -> Any:
    """Return a part that was given as JSON as an object, so that it can be changed further."""
    one_of = family_of(settings, name)
    if one_of is None or not isinstance(value, Mapping):
        return value
    member = next(part for part in _members(one_of, parts) if kind_of(part) == value[KIND])
    try:
        return member.model_validate(value, context={"parts": parts})
    except ValidationError as error:
        raise ValueError(explain(error, member, (*above, name))) from error


def _of_kind(
    owner: type[Settings], name: str, part: Settings, kind: Any, *, parts: Parts
) -> Settings:
    one_of = family_of(owner, name)
    kinds = [] if one_of is None else [kind_of(member) for member in _members(one_of, parts)]
    if kind not in kinds:
        family = part.family if isinstance(part, Part) else name
        raise ValueError(unknown(family, str(kind), kinds))
    return of_kind(owner, name, part, kind, context={"parts": parts})


def _check_one_kind(
    name: str, replaced: Mapping[str, Any], below: Mapping[Path, Any], above: Path
) -> None:
    if name in replaced and (KIND,) in below:
        path = ".".join((*above, name))
        raise ValueError(f"'{path}' and '{path}.{KIND}' both set the kind: leave one of them out.")


def _validated(settings: S, values: Mapping[str, Any], above: Path, parts: Parts) -> S:
    if not values:
        return settings
    fields = {field: getattr(settings, field) for field in type(settings).model_fields}
    try:
        return type(settings).model_validate({**fields, **values}, context={"parts": parts})
    except ValidationError as error:
        raise ValueError(explain(error, type(settings), above)) from error


def family_of(settings: Settings | type[Settings], name: str) -> OneOf | None:
    """Return the parts that a field chooses from, or None if it holds a plain value."""
    owner = settings if isinstance(settings, type) else type(settings)
    metadata = owner.model_fields[name].metadata
    return next((extra for extra in metadata if isinstance(extra, OneOf)), None)


def _as_part(settings: Settings, name: str, value: Any, parts: Parts) -> Any:
    """Read a part given only by its kind; an unknown kind is an error that names the known ones."""
    one_of = family_of(settings, name)
    if one_of is None or isinstance(value, Part):
        return value
    typed = {"kind": value} if isinstance(value, str) else value
    family = family_class(one_of.members[0])
    kinds = [kind_of(part) for part in _members(one_of, parts)]
    kind = cast(Any, typed).get("kind") if isinstance(typed, Mapping) else None
    if kind not in kinds:
        raise ValueError(unknown(family.family, str(kind or value), kinds))
    return typed


def _members(one_of: OneOf, parts: Parts) -> Parts:
    custom = family_parts(family_class(one_of.members[0]), {"parts": parts})
    return (*one_of.members, *custom)


def _check_setting_exists(settings: Settings, above: Path, steps: Path, parts: Parts) -> None:
    name, known = steps[0], settings_of(type(settings))
    if name in known:
        return
    below = tuple(_paths_below(settings, above))
    if not isinstance(settings, Part):
        raise ValueError(unknown("setting", name, known, below))
    label = f"{settings.family} '{settings.kind}'"
    if name == KIND:
        raise ValueError(f"'{KIND}' leads nowhere: only a part of the {label} has another kind.")
    relatives = [kind_of(part) for part in _siblings(settings, parts) if name in settings_of(part)]
    if relatives:
        verb = "has" if len(relatives) == 1 else "have"
        raise ValueError(
            f"'{'.'.join((*above, *steps))}' has no effect: the {label} has no setting '{name}' "
            f"(only {', '.join(relatives)} {verb})."
        )
    raise ValueError(unknown(f"setting of the {label}", name, known, below))


def _paths_below(settings: Settings, above: Path) -> Iterator[str]:
    """Yield the paths of all settings in nested parts."""
    for name in settings_of(type(settings)):
        part = getattr(settings, name)
        if isinstance(part, Settings):
            yield from (".".join((*above, name, setting)) for setting in settings_of(type(part)))
            yield from _paths_below(part, (*above, name))


def _siblings(part: Part, parts: Parts) -> list[type[Part]]:
    family = family_class(type(part))
    built_in = built_in_members(family)
    custom = family_parts(family, {"parts": parts})
    return [other for other in (*built_in, *custom) if other is not type(part)]
