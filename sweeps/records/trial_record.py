"""What a trial leaves in the tracking store: its record, and the names of metrics and artifacts.

Execution writes these, aggregation reads them. Configs are plain JSON values here, so that a
record of an older or unknown part can still be read. Everything read is untrusted: it is
validated by these models before use.
"""

import math
import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from capsmodel.metrics import (
    EXTRA_TEST_ERROR,
    TEST_ERROR,
    TRAIN_LOSS,
    VALIDATION_ERROR,
    VALIDATION_LOSS,
    Metric,
    find_metric,
    metric_names,
)
from capsmodel.spelling import unknown
from sweeps.records.bounds import Count, Seconds, Whole
from sweeps.records.bounds import Json as Json
from sweeps.records.errors import BadInput
from sweeps.records.evaluation_names import EvaluationKey

SCHEMA_VERSION = 1

METRIC_VALIDATION_ERROR = VALIDATION_ERROR.name
METRIC_TEST_ERROR = TEST_ERROR.name
METRIC_EXTRA_TEST_ERRORS = EXTRA_TEST_ERROR
EPOCH_METRICS = tuple(metric.name for metric in (TRAIN_LOSS, VALIDATION_LOSS, VALIDATION_ERROR))

ARTIFACT_CONFIG = "config.json"
ARTIFACT_PREDICTIONS = "predictions.safetensors"
ARTIFACT_WEIGHTS = "weights.safetensors"
ARTIFACT_LOG = "log.txt"
ARTIFACT_SOURCE = "parts.py"  # the text of a user's own parts, for reading only
ARTIFACT_SWEEP_LOG = "sweep.jsonl"


def sweep_log_artifact(digest: str) -> str:
    """Return the name of the artifact that holds the sweep's log of a SHA-256 digest."""
    return f"sweep-logs/{digest[:16]}.jsonl"


SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SLUG_WORDS = (
    "a name has up to 64 small letters, digits, _ and -, and begins with a letter or a digit"
)
TRIAL_KEY = re.compile(r"[0-9a-f]{20}")

METRIC_OF_EVALUATION = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")  # of a curve: error.epsilon_0.1

MetricOfEvaluation = Annotated[str, StringConstraints(pattern=rf"^{METRIC_OF_EVALUATION.pattern}$")]
Slug = Annotated[str, StringConstraints(pattern=rf"^{SLUG.pattern}$")]
TrialKey = Annotated[str, StringConstraints(pattern=rf"^{TRIAL_KEY.pattern}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
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
        trial_key: Key of the trial.
        outcome: finished, diverged, failed, pruned, interrupted or running.
        sweep: The sweep that trained it first.
        arm: The arm's name in that sweep.
        seed: Its seed.
        reason: Why it did not finish, empty where it did.
        epochs: Epochs recorded so far.
        metrics: Name -> value, those of an epoch as they were after the one that was tested, which
            is the last unless the training keeps the best weights. Errors are fractions; those of
            the test split are of finished trials only.
        tested_epoch: The epoch whose weights were tested, where the training keeps the best; else
            None.
        target: Whether it reached what its stopping asks for, None where that is nothing, or not
            known as it has not finished.
        warnings: What was found unsound in it, a sentence each.
        num_images: Split -> number of its images; empty of a trial that has not ended.
        data_notes: What is unusual in its data, a sentence each.
        num_parameters: Number of parameters of its network.
        duration_seconds: Duration of its training.
        ended_at: In seconds since 1970; None where that is not told.
        peak_memory_bytes: Peak memory of this trial alone; None where the machine cannot measure
            it.
        device: The device that it was trained on, by its name.
        threads: Number of its CPU threads.
        gradient_checkpointing: Whether the launch traded time for memory.
        data_fingerprint: Fingerprint of its data.
        git_revision: Revision of the code's folder, "" outside of git.
        versions: Versions of packages, Python and platform as a JSON object, "" if not known.
        evaluations: Key of each that the record holds -> name of its metric -> value.
    """

    record_id: str
    trial_key: TrialKey
    outcome: Outcome
    sweep: str = ""
    arm: str = ""
    seed: Whole
    reason: str = ""
    epochs: Count = 0
    metrics: dict[str, float] = {}
    tested_epoch: Count | None = None
    target: Target | None = None
    warnings: tuple[str, ...] = ()
    num_images: dict[str, Count] = {}
    data_notes: tuple[str, ...] = ()
    num_parameters: Count | None = None
    duration_seconds: Seconds | None = None
    ended_at: Seconds | None = None
    peak_memory_bytes: Count | None = None
    device: str = ""
    threads: Count | None = None
    gradient_checkpointing: bool = False
    data_fingerprint: str = ""
    git_revision: str = ""
    versions: str = ""
    evaluations: dict[EvaluationKey, dict[str, float]] = {}

    def value(self, metric: str | Metric) -> float | None:
        """Return a metric, None where the record does not hold it.

        Args:
            metric: What it is, or its name: of a built-in one, or of one that is recorded.

        Raises:
            BadInput: If there is none of that name.
        """
        if isinstance(metric, Metric):
            return self.metrics.get(metric.name)
        if metric not in self.metrics and find_metric(metric) is None:
            raise BadInput(unknown("metric", metric, metric_names(self.metrics)))
        return self.metrics.get(metric)

    @property
    def train_loss(self) -> float | None:
        """Mean loss of the training images in the epoch that was tested."""
        return self.value(TRAIN_LOSS)

    @property
    def validation_loss(self) -> float | None:
        """Mean loss of the validation images after the epoch that was tested."""
        return self.value(VALIDATION_LOSS)

    @property
    def validation_error(self) -> float | None:
        """Share of the validation images that are classified wrongly after the same epoch."""
        return self.value(VALIDATION_ERROR)

    @property
    def test_error(self) -> float | None:
        """Share of the test images that are classified wrongly."""
        return self.value(TEST_ERROR)

    @property
    def extra_test_errors(self) -> dict[str, float]:
        """Name of an extra test -> its error, by name."""
        named = {
            metric.removeprefix(EXTRA_TEST_ERROR): value
            for metric, value in sorted(self.metrics.items())
            if metric.startswith(EXTRA_TEST_ERROR)
        }
        return {name: value for name, value in named.items() if SLUG.fullmatch(name)}

    @property
    def seconds_per_epoch(self) -> float | None:
        """Duration of its training, with its start and test, by its epochs; None if not known."""
        if not self.duration_seconds or not self.epochs:
            return None
        return self.duration_seconds / self.epochs

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
