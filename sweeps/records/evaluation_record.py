"""What an evaluation leaves: the values that a cell's folder holds, and their names in records."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from sweeps.records.trial_record import SCHEMA_VERSION, Json, Slug, TrialKey

EVALUATION_KEY = re.compile(r"[0-9a-f]{20}")
METRIC_EVALUATION = "evaluation."  # and kind, beginning of the key and name of the metric
TAG_EVALUATION = "capsweep.evaluation."  # and the key: its kind, written when all else is there
ARTIFACT_EVALUATIONS = "evaluations"  # a folder

_KEY_DIGITS = 8  # enough to tell apart what one trial was looked at by

EvaluationKey = Annotated[str, StringConstraints(pattern=rf"^{EVALUATION_KEY.pattern}$")]


class EvaluationRecord(BaseModel):
    """What one evaluation found of one trial. The first that is written stands.

    Attributes:
        evaluation: Kind and all settings, as plain JSON.
        looks_at: The split whose images it looked at.
        metrics: Name -> value; fractions as fractions. What is not finite survives as NaN.
        images: Names of what was found by image, in the safetensors file beside it.
        pictures: Names of the PNG files beside it.
        left_out: Why something else is not there, a sentence each.
        hardware: The device by its name.
        versions: Of packages, Python and platform.
        time: Milliseconds since 1970.
        fence: Number of the lease it was written under.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    schema_version: Literal[1] = SCHEMA_VERSION
    evaluation_key: EvaluationKey
    trial_key: TrialKey
    evaluation: Json
    looks_at: Literal["validation", "test"]
    metrics: dict[Slug, float] = {}
    images: tuple[Slug, ...] = ()
    pictures: tuple[Slug, ...] = ()
    left_out: tuple[str, ...] = ()
    hardware: str = ""
    versions: dict[str, str] = {}
    duration_seconds: float = 0.0
    time: int
    fence: int

    @property
    def kind(self) -> str:
        """The evaluation's kind."""
        return str(self.evaluation["kind"])


def evaluation_metric(kind: str, key: str, name: str) -> str:
    """Return what a metric of an evaluation is called in a trial's record."""
    return f"{METRIC_EVALUATION}{kind}.{key[:_KEY_DIGITS]}.{name}"


def evaluation_tag(key: str) -> str:
    """Return the tag that says that a trial's record holds an evaluation."""
    return TAG_EVALUATION + key


def recorded_evaluations(tags: dict[str, str]) -> tuple[str, ...]:
    """Return the keys of the evaluations that a run's tags tell of, sorted."""
    keys = (tag.removeprefix(TAG_EVALUATION) for tag in tags if tag.startswith(TAG_EVALUATION))
    return tuple(sorted(key for key in keys if EVALUATION_KEY.fullmatch(key)))
