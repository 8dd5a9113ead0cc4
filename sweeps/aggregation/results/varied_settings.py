"""The settings that a sweep varies, and their value in each arm."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestSearch, Proposal
from sweeps.records.trial_record import Json

Setting = str | int | float | bool | None


def varied_settings(manifest: Manifest) -> dict[str, dict[str, Setting]]:
    """Return what arms have of the settings that the sweep varies: path -> arm -> value.

    Those of a search are its dimensions, those of a design what any of its arms changes. A part
    stands by its kind; an arm that has no such setting has None. Where all arms have the same, as
    in a search that has proposed once, the setting is there all the same.
    """
    if manifest.search:
        base = [arm for arm in manifest.arms if arm.name == manifest.search.base]
        return _proposed(manifest.search, base, (*manifest.search.proposals, *manifest.drawn))
    paths = dict.fromkeys(path for arm in manifest.arms for path in arm.changes)
    return {path: {arm.name: _setting_of(arm, path) for arm in manifest.arms} for path in paths}


def setting_value(value: Any) -> Setting:
    """Return a setting as one value: a part as its kind, a list as `8 x 16`, else None."""
    if isinstance(value, Mapping):
        value = cast(Json, value).get("kind")
    return value if isinstance(value, str | int | float | bool) else _text(value)


def _setting_of(arm: ManifestArm, path: str) -> Setting:
    value: Any = arm.config
    for step in path.split("."):
        value = cast(Json, value).get(step) if isinstance(value, Mapping) else None
    return setting_value(value)


def _proposed(
    search: ManifestSearch, base: Sequence[ManifestArm], proposals: Sequence[Proposal]
) -> dict[str, dict[str, Setting]]:
    paths = {dimension.name: dimension.path for dimension in search.dimensions}
    arms = [proposal.arm for proposal in proposals]
    settings: dict[str, dict[str, Setting]] = {
        path: {arm.name: _setting_of(arm, path) for arm in base} | dict.fromkeys(arms)
        for path in paths.values()
    }
    for proposal in proposals:
        for name, value in proposal.params.items():
            if name in paths:
                settings[paths[name]][proposal.arm] = value
    return settings


def _text(value: Any) -> str | None:
    """Return a setting that is a list as its elements, `8 x 16`."""
    if not isinstance(value, list | tuple):
        return None
    return " x ".join(str(element) for element in cast(list[object], value))
