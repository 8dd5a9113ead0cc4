"""What evaluations are called in a trial's record."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import StringConstraints

from capsmodel.metrics import EVALUATION

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
