"""What a trial and a sweep leave in MLflow: every name that is written there or read from it.

Execution writes these, aggregation reads them. Configs are plain JSON values here, so that a
record of an older or unknown part can still be read. Everything read is untrusted: it is
validated by these models before use.
"""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter

SCHEMA_VERSION = 1
EXPERIMENT = "capsweep"

TAG_TYPE = "capsweep.type"  # "trial" or "sweep"
TAG_SCHEMA = "capsweep.schema_version"
TAG_SWEEP = "capsweep.sweep"  # of a trial: the sweep that trained it first, for browsing only
TAG_TRIAL_KEY = "capsweep.trial_key"
TAG_OUTCOME = "capsweep.outcome"
TAG_REASON = "capsweep.reason"
TAG_ARM = "capsweep.arm"
TAG_SEED = "capsweep.seed"
TAG_REPLACED = "capsweep.replaced"
TAG_DATA_FINGERPRINT = "capsweep.data_fingerprint"
TAG_VERSIONS = "capsweep.versions"  # JSON object: package -> version
TAG_GIT_REVISION = "capsweep.git_revision"
TAG_DEVICE = "capsweep.device"
TAG_THREADS = "capsweep.threads"
TAG_CHECKPOINTING = "capsweep.gradient_checkpointing"  # "true" or "false"
TAG_DURATION = "capsweep.duration_seconds"
TAG_PEAK_MEMORY = "capsweep.peak_memory_bytes"
TAG_NUM_PARAMETERS = "capsweep.num_parameters"
TAG_EPOCHS = "capsweep.epochs"
TAG_TARGET = "capsweep.target"  # of a trial whose stopping has one: "reached" or "missed"
TAG_WARNINGS = "capsweep.warnings"  # JSON list of sentences
TAG_MANIFEST_HASH = "capsweep.manifest_sha256"

METRIC_TRAIN_LOSS = "train_loss"
METRIC_VALIDATION_LOSS = "validation_loss"
METRIC_VALIDATION_ERROR = "validation_error"
METRIC_TEST_ERROR = "test_error"
METRIC_EXTRA_TEST_ERRORS = f"{METRIC_TEST_ERROR}."  # and the name of the extra test
METRIC_HEALTH = "health."  # and the name of the number
EPOCH_METRICS = (METRIC_TRAIN_LOSS, METRIC_VALIDATION_LOSS, METRIC_VALIDATION_ERROR)

ARTIFACT_CONFIG = "config.json"
ARTIFACT_PREDICTIONS = "predictions.safetensors"
ARTIFACT_WEIGHTS = "weights.safetensors"
ARTIFACT_LOG = "log.txt"
ARTIFACT_SOURCE = "parts.py"  # the text of a user's own parts, for reading only
ARTIFACT_MANIFEST = "manifest.json"


def manifest_artifact(digest: str) -> str:
    """Return the name of the artifact that holds the manifest of a SHA-256 digest."""
    return f"manifest-{digest[:16]}.json"


SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
TRIAL_KEY = re.compile(r"[0-9a-f]{20}")

Slug = Annotated[str, StringConstraints(pattern=rf"^{SLUG.pattern}$")]
TrialKey = Annotated[str, StringConstraints(pattern=rf"^{TRIAL_KEY.pattern}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Json = dict[str, Any]
Target = Literal["reached", "missed"]
_SENTENCES = TypeAdapter(tuple[str, ...])
_MOST_WARNINGS = 20
_LONGEST_WARNINGS = 4000  # of the JSON list: a tag holds 5,000 characters


class Outcome(StrEnum):
    """How a trial ended, or that it has not."""

    RUNNING = "running"
    FINISHED = "finished"
    DIVERGED = "diverged"
    FAILED = "failed"
    PRUNED = "pruned"
    INTERRUPTED = "interrupted"

    @property
    def is_final(self) -> bool:
        """Whether the cell is filled: no later launch trains it again."""
        return self in {Outcome.FINISHED, Outcome.DIVERGED}

    @property
    def run_status(self) -> str:
        """MLflow's word for it."""
        return _RUN_STATUS[self]


_RUN_STATUS = {
    Outcome.RUNNING: "RUNNING",
    Outcome.FINISHED: "FINISHED",
    Outcome.DIVERGED: "FAILED",
    Outcome.FAILED: "FAILED",
    Outcome.PRUNED: "KILLED",
    Outcome.INTERRUPTED: "KILLED",
}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TrialRecord(_Frozen):
    """One trial as MLflow holds it.

    Attributes:
        record_id: MLflow's id of the run.
        sweep: The sweep that trained it first.
        arm: The arm's name in that sweep.
        reason: Why it did not finish, empty where it did.
        epochs: Epochs recorded so far.
        train_loss: Of the last epoch, as the other losses and errors.
        validation_error: A fraction, as all errors in records.
        test_error: Only of finished trials, as the extra ones.
        extra_test_errors: Name of an extra test -> its error.
        target: Whether it reached what its stopping asks for, None where that is nothing, or not
            known as it has not finished.
        warnings: What was found unsound in it, a sentence each.
        peak_memory_bytes: Of this trial alone; None where the machine cannot tell.
        settings: The flat parameters, path -> text, for browsing.
    """

    record_id: str
    trial_key: TrialKey
    outcome: Outcome
    sweep: str = ""
    arm: str = ""
    seed: int
    reason: str = ""
    epochs: int = 0
    train_loss: float | None = None
    validation_loss: float | None = None
    validation_error: float | None = None
    test_error: float | None = None
    extra_test_errors: dict[Slug, float] = {}
    target: Target | None = None
    warnings: tuple[str, ...] = ()
    num_parameters: int | None = None
    duration_seconds: float | None = None
    peak_memory_bytes: int | None = None
    device: str = ""
    threads: int | None = None
    gradient_checkpointing: bool = False
    data_fingerprint: str = ""
    git_revision: str = ""
    versions: str = ""
    settings: dict[str, str] = {}

    @classmethod
    def from_run(
        cls, run_id: str, tags: Mapping[str, str], metrics: Mapping[str, float], params: Json
    ) -> Self:
        """Read a record from the pieces of an MLflow run.

        Raises:
            pydantic.ValidationError: If a tag does not hold what it should.
        """
        given = {field: tags[tag] for field, tag in _RECORD_TAGS.items() if tags.get(tag)}
        numbers = {
            name: as_recorded(metrics[name])
            for name in (*EPOCH_METRICS, METRIC_TEST_ERROR)
            if name in metrics
        }
        extra = {
            "extra_test_errors": extra_test_errors(metrics),
            "warnings": _SENTENCES.validate_json(tags.get(TAG_WARNINGS) or "[]"),
        }
        known = {"record_id": run_id, "settings": params, **given, **numbers, **extra}
        return cls.model_validate(known)

    def error(self, metric: str) -> float | None:
        """Return an error by the name of its metric, None where the record does not hold it."""
        if metric.startswith(METRIC_EXTRA_TEST_ERRORS):
            return self.extra_test_errors.get(metric.removeprefix(METRIC_EXTRA_TEST_ERRORS))
        return self.test_error if metric == METRIC_TEST_ERROR else self.validation_error

    @property
    def is_counted(self) -> bool:
        """Whether its test error may enter a table: finished, with a finite error."""
        return (
            self.outcome is Outcome.FINISHED
            and self.test_error is not None
            and math.isfinite(self.test_error)
        )


def as_recorded(value: float) -> float:
    """Return a metric as it was before MLflow stored it: its stores hold no infinity."""
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value


def extra_test_errors(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the errors of the extra tests among a run's metrics, by their names, sorted."""
    named = {
        metric.removeprefix(METRIC_EXTRA_TEST_ERRORS): as_recorded(value)
        for metric, value in sorted(metrics.items())
        if metric.startswith(METRIC_EXTRA_TEST_ERRORS)
    }
    return {name: value for name, value in named.items() if SLUG.fullmatch(name)}


def warnings_text(warnings: Sequence[str]) -> str:
    """Return the first warnings as the JSON list that a tag holds whole, "" for none."""
    kept = list(warnings[:_MOST_WARNINGS])
    while len(json.dumps(kept)) > _LONGEST_WARNINGS:
        kept.pop()
    return json.dumps(kept) if kept else ""


_RECORD_TAGS = {
    "trial_key": TAG_TRIAL_KEY,
    "outcome": TAG_OUTCOME,
    "sweep": TAG_SWEEP,
    "arm": TAG_ARM,
    "seed": TAG_SEED,
    "reason": TAG_REASON,
    "epochs": TAG_EPOCHS,
    "num_parameters": TAG_NUM_PARAMETERS,
    "duration_seconds": TAG_DURATION,
    "peak_memory_bytes": TAG_PEAK_MEMORY,
    "device": TAG_DEVICE,
    "threads": TAG_THREADS,
    "gradient_checkpointing": TAG_CHECKPOINTING,
    "data_fingerprint": TAG_DATA_FINGERPRINT,
    "git_revision": TAG_GIT_REVISION,
    "versions": TAG_VERSIONS,
    "target": TAG_TARGET,
}


class ConfigDocument(_Frozen):
    """What config.json of a trial holds: the full resolved training config."""

    schema_version: Literal[1] = SCHEMA_VERSION
    config: Json
