"""What evaluations are called: in a trial's record, and for people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import StringConstraints

from capsmodel.metrics import EVALUATION
from sweeps.records.plain_text import one_line

EVALUATION_KEY = re.compile(r"[0-9a-f]{20}")
EVALUATION_FILE = re.compile(  # in a cell's folder, and among the artifacts of its record
    rf"{EVALUATION_KEY.pattern}\.(json|safetensors|[a-z0-9][a-z0-9_-]{{0,63}}\.png)"
)
TAG_EVALUATION = "capsweep.evaluation."  # and the key: its kind, written when all else is there

_KEY_DIGITS = 8  # enough to tell apart what one trial was looked at by

EvaluationKey = Annotated[str, StringConstraints(pattern=rf"^{EVALUATION_KEY.pattern}$")]


def evaluation_metric(kind: str, key: str, name: str = "") -> str:
    """Return what a metric of an evaluation is called, or what all of them begin with."""
    return f"{EVALUATION}{kind}.{key[:_KEY_DIGITS]}.{name}"


def evaluation_tag(key: str) -> str:
    """Return the tag that says that a trial's record holds an evaluation."""
    return TAG_EVALUATION + key


def recorded_kinds(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the evaluations that a run's tags tell of, sorted, with their kinds."""
    kinds = sorted(tag for tag in tags if tag.startswith(TAG_EVALUATION))
    kinds = {tag.removeprefix(TAG_EVALUATION): tags[tag] for tag in kinds}
    return {key: kind for key, kind in kinds.items() if EVALUATION_KEY.fullmatch(key)}


def recorded_evaluations(
    tags: Mapping[str, str], metrics: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Return what each evaluation that a run holds has measured: key -> name -> value."""
    starts = {key: evaluation_metric(kind, key) for key, kind in recorded_kinds(tags).items()}
    return {
        key: {
            name.removeprefix(start): value
            for name, value in metrics.items()
            if name.startswith(start)
        }
        for key, start in starts.items()
    }


def evaluation_title(kind: str, settings: Mapping[str, Any]) -> str:
    """Return an evaluation's kind with its settings: "adversarial (attack pgd, steps 20)"."""
    described = ", ".join(_setting_words(settings))
    return one_line(f"{kind} ({described})" if described else kind)


def _setting_words(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a setting each; of a part its kind and then its own, of numbers the first and last."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            part = cast(Mapping[str, Any], value)
            yield f"{name} {part.get('kind', '')}".rstrip()
            yield from _setting_words({k: v for k, v in part.items() if k != "kind"})
        elif isinstance(value, list | tuple):
            numbers = cast(Sequence[Any], value)
            if numbers:
                ends = dict.fromkeys(_setting_text(numbers[place]) for place in (0, -1))
                yield f"{name} {' to '.join(ends)}"
        elif value not in (None, ""):
            yield f"{name} {_setting_text(value)}"


def _setting_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
