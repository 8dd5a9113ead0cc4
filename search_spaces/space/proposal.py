"""Proposals of a search as changes to its base; parts of the same kind keep their settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.search_range import Plain
from capsmodel.settings.parts import Part, Settings
from capsmodel.settings.profiles import value_at
from search_spaces.space.dimensions import Dimension


def with_changes(
    base: TrainingConfig, changes: Mapping[str, Any], parts: Sequence[type[Part]] = ()
) -> TrainingConfig:
    """Return a base with changes; a part that already has the chosen kind stays as it is.

    So the settings that the base gives to a part apply wherever a search chooses its kind.

    Args:
        base: The config to start from.
        changes: Path -> value, a part before the settings below it.
        parts: Custom parts that a kind may refer to.

    Raises:
        ValueError: If a path does not exist or a value is not allowed.
    """
    needed: dict[str, Any] = {}
    replaced: list[str] = []
    for path, value in changes.items():
        is_new = any(path.startswith(part + ".") for part in replaced)
        kind = None if is_new else kind_at(base, path)
        if kind is not None and kind == value:
            continue
        needed[path] = value
        replaced.append(path)
    return with_settings(base, needed, parts)


def point_of(dimensions: Sequence[Dimension], base: TrainingConfig) -> dict[str, Plain] | None:
    """Return the base's own point, or None if it lies outside the space.

    Args:
        dimensions: The dimensions of the space, each choice before those that depend on it.
        base: The config that points change.
    """
    params: dict[str, Plain] = {}
    for dimension in dimensions:
        if dimension.is_active(params):
            value = kind_at(base, dimension.path) or value_at(base, dimension.path.split("."))
            if not dimension.contains(value):
                return None
            params[dimension.name] = value
    return params


def kind_at(settings: Settings, path: str) -> str | None:
    """Return the kind of the part at a path, None if there is no part."""
    value: Any = settings
    for field in path.split("."):
        value = getattr(value, field, None)
    return str(value.kind) if isinstance(value, Part) else None
