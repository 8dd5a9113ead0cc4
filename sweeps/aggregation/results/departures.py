"""What a launch changed of the declared sweep, in a sentence."""

import json
from collections.abc import Sequence
from typing import Any, cast

from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import shortened

_SIZES = (
    "fraction",
    "train_fraction",
    "epochs",
    "max_epochs",
    "seeds",
    "trials",
)  # of which less is only a smaller sweep
_LENGTHS = ("epochs", "max_epochs")
_OPTIONS = ("seeds", "trials", "sampler", "scheduler")
_LONGEST_VALUE = 60


def departure_sentence(manifest: Manifest) -> str:
    """Return what the launch changed of the declared sweep, "" where it changed nothing."""
    if not manifest.departures:
        return ""
    is_smaller = all(
        path.rsplit(".", 1)[-1] in _SIZES and _is_less(launched, declared)
        for path, (declared, launched) in manifest.departures.items()
    )
    changes = "; ".join(
        f"{path} {_value_text(launched)} instead of {_value_text(declared)} "
        f"({_option(path, manifest)})"
        for path, (declared, launched) in manifest.departures.items()
    )
    how = "launched smaller than" if is_smaller else "not launched as"
    return f"The sweep was {how} declared: {changes}."


def _option(path: str, manifest: Manifest) -> str:
    """Return the option of a launch that changes a path."""
    if path == "seeds" and manifest.planned_seeds:
        return "--add-seeds"
    if path in _OPTIONS:
        return f"--{path}"
    return "--epochs" if path.rsplit(".", 1)[-1] in _LENGTHS else "--set"


def _is_less(launched: object, declared: object) -> bool:
    if isinstance(launched, Sequence) and isinstance(declared, Sequence):
        return len(cast(Sequence[Any], launched)) < len(cast(Sequence[Any], declared))
    if isinstance(launched, int | float) and isinstance(declared, int | float):
        return launched < declared
    return False


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        text = (
            ", ".join(_value_text(element) for element in cast(Sequence[object], value)) or "none"
        )
    elif isinstance(value, dict):
        part = cast(dict[str, object], value)
        text = str(part.get("kind") or json.dumps(part, default=str))
    else:
        text = "none" if value is None else str(value)
    return shortened(text, _LONGEST_VALUE)
