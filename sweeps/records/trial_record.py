"""What a trial leaves in the tracking store: its record, and the names of metrics and artifacts.

Execution writes these, aggregation reads them. Configs are plain JSON values here, so that a
record of an older or unknown part can still be read. Everything read is untrusted: it is
validated by these models before use.
"""

import math
import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

SCHEMA_VERSION = 1

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


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TrialRecord(_Frozen):
    """One trial as the tracking store holds it.

    Attributes:
        record_id: The store's own name of it.
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
        settings: The config's settings, path -> text, for browsing.
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


class ConfigDocument(_Frozen):
    """What config.json of a trial holds: the full resolved training config."""

    schema_version: Literal[1] = SCHEMA_VERSION
    config: Json
