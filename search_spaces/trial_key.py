"""The trial key: a hash of everything that decides a trial's result, and of nothing else."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.settings.parts import Part, Settings
from search_spaces.data_fingerprint import data_fingerprint


def trial_key(config: TrainingConfig, seed: int) -> str:
    """Return 20 hexadecimal digits that are equal exactly if two trials give the same result.

    Only values that differ from their defaults enter, so a new setting changes no old key. A user's
    own data are loaded, as their images enter.

    Raises:
        ValueError: If a user's own data cannot be loaded or are wrong.
    """
    return trial_keys(config)(seed)


def trial_keys(config: TrainingConfig, fingerprint: str = "") -> Callable[[int], str]:
    """Return a function from seeds to trial keys. The rest of the config is read once.

    Args:
        config: The training's settings.
        fingerprint: Of the data where that is known; "" to read it.

    Raises:
        ValueError: As `trial_key` does.
    """
    of_any_seed = identity(config, 0, fingerprint)

    def key(seed: int) -> str:
        fields = of_any_seed | {"seed": seed}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    return key


def identity(config: TrainingConfig, seed: int, fingerprint: str = "") -> dict[str, Any]:
    """Return the plain JSON values that a trial key hashes."""
    fields: dict[str, Any] = {
        "settings": differences(config),
        "seed": seed,
        "data": fingerprint or data_fingerprint(config.data),
    }
    if versions := protocol_versions(config):
        fields["versions"] = versions
    return fields


def differences(settings: Settings) -> dict[str, Any]:
    """Return the settings that differ from their defaults.

    A part equal to its field's default is left out; any other part is written with its kind and
    the fields that differ from the defaults of its class. What a part declares as `not_in_key` is
    left out.
    """
    ignored = settings.not_in_key if isinstance(settings, Part) else frozenset[str]()
    different: dict[str, Any] = {}
    for name, (is_required, default) in _defaults(type(settings)).items():
        value = getattr(settings, name)
        if name == "kind" or name in ignored or (not is_required and value == default):
            continue
        if isinstance(value, Part):
            different[name] = {"kind": value.kind, **differences(value)}
        else:
            different[name] = _unsigned(settings.model_dump(mode="json", include={name})[name])
    return different


@cache
def _defaults(of: type[Settings]) -> dict[str, tuple[bool, Any]]:
    """Return whether each field is required, and its default, which is frozen as all settings."""
    return {
        name: (field.is_required(), field.get_default(call_default_factory=True, validated_data={}))
        for name, field in of.model_fields.items()
    }


def _unsigned(value: Any) -> Any:
    """Return 0.0 for -0.0, since both are the same setting."""
    return 0.0 if isinstance(value, float) and value == 0.0 else value


def protocol_versions(config: TrainingConfig) -> dict[str, int | str]:
    """Return the versions other than 1 of the training and its parts, by path."""
    training = {} if config.protocol_version == 1 else {"training": config.protocol_version}
    return training | versions_below(config)


def versions_below(settings: Settings) -> dict[str, int | str]:
    """Return the versions other than 1 of all parts in some settings, by path."""
    versions: dict[str, int | str] = {}
    _collect_versions(settings, "", versions)
    return versions


def _collect_versions(settings: Settings, prefix: str, versions: dict[str, int | str]) -> None:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Part):
            if value.protocol_version != 1:
                versions[prefix + name] = value.protocol_version
            _collect_versions(value, f"{prefix}{name}.", versions)
