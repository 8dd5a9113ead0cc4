"""The facts of a record: the tags that a store holds of a trial or a sweep.

Every store holds the same facts, so that records can be copied between them. What is read is
untrusted: it is validated on its way into a `TrialRecord`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.evaluation_names import recorded_evaluations
from sweeps.records.trial_record import SCHEMA_VERSION, Outcome, TrialRecord

TAG_TYPE = "capsweep.type"  # "trial" or "sweep"
TAG_SCHEMA = "capsweep.schema_version"
TAG_SWEEP = "capsweep.sweep"  # of a trial: the sweep that trained it first, for browsing only
TAG_TRIAL_KEY = "capsweep.trial_key"
TAG_OUTCOME = "capsweep.outcome"
TAG_REASON = "capsweep.reason"
TAG_ARM = "capsweep.arm"
TAG_SEED = "capsweep.seed"
TAG_REPLACED = "capsweep.replaced"
TAG_DELETED = "capsweep.deleted"  # by us: what lacks it was deleted in MLflow
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
TESTED = "tested."  # before the names of metrics of the epoch that was tested, if not the last
TAG_TESTED_EPOCH = "capsweep.tested_epoch"
TAG_TARGET = "capsweep.target"  # of a trial whose stopping has one: "reached" or "missed"
TAG_WARNINGS = "capsweep.warnings"  # JSON list of sentences
TAG_NUM_IMAGES = "capsweep.num_images"  # JSON object: split -> number of its images
TAG_DATA_NOTES = "capsweep.data_notes"  # JSON list of sentences
TAG_EVALUATED = "capsweep.evaluated"  # of a trial: the evaluation that it was noted last
TAG_LOG_HASH = "capsweep.log_sha256"
TAG_TAGS = "capsweep.tags"  # of a sweep, for browsing: its manifest has them
TAG_NOTE = "capsweep.note"  # likewise

_SENTENCES = TypeAdapter(tuple[str, ...])
_COUNTS = TypeAdapter(dict[str, int])
_MOST_WARNINGS = 20
_LONGEST_WARNINGS = 4000  # of the JSON list: MLflow takes 5,000 characters of a fact
_LONGEST_SETTING = 6000  # MLflow refuses more; config.json holds all of it
_SOURCE_HEAD = "# a sweep's own parts, for reading only, schema_version 1\n"
_OF_A_RECORD = {
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
    "tested_epoch": TAG_TESTED_EPOCH,
}


def record_of(
    record_id: str,
    facts: Mapping[str, str],
    metrics: Mapping[str, float],
    ended_at: float | None = None,
) -> TrialRecord:
    """Read a record from what a store holds of it.

    Args:
        record_id: The store's own name of it.
        facts: By name.
        metrics: The last value of each.
        ended_at: In seconds since 1970, where the store tells it.

    Raises:
        pydantic.ValidationError: If a fact does not hold what it should.
    """
    given = {field: facts[name] for field, name in _OF_A_RECORD.items() if facts.get(name)}
    warned, noted = facts.get(TAG_WARNINGS), facts.get(TAG_DATA_NOTES)
    counted = facts.get(TAG_NUM_IMAGES)
    parsed = {
        "metrics": {n: value for n, value in metrics.items() if not n.startswith(TESTED)}
        | {n.removeprefix(TESTED): value for n, value in metrics.items() if n.startswith(TESTED)},
        "warnings": _SENTENCES.validate_json(warned) if warned else (),
        "num_images": _COUNTS.validate_json(counted) if counted else {},
        "data_notes": _SENTENCES.validate_json(noted) if noted else (),
        "evaluations": recorded_evaluations(facts, metrics),
    }
    identity = {"record_id": record_id, "ended_at": ended_at}
    return TrialRecord.model_validate({**identity, **given, **parsed})


def warnings_text(warnings: Sequence[str]) -> str:
    """Return the first warnings as the JSON list that a fact holds whole, "" for none."""
    first = list(warnings[:_MOST_WARNINGS])
    while len(json.dumps(first)) > _LONGEST_WARNINGS:
        first.pop()
    return json.dumps(first) if first else ""


def facts_at_creation(spec: TrialSpec) -> dict[str, str]:
    """Return the facts of a trial's new record."""
    facts = {
        TAG_TYPE: "trial",
        TAG_SCHEMA: str(SCHEMA_VERSION),
        TAG_TRIAL_KEY: spec.trial_key,
        TAG_OUTCOME: Outcome.RUNNING.value,
        TAG_SWEEP: spec.sweep,
        TAG_ARM: spec.arm,
        TAG_SEED: str(spec.seed),
        TAG_DATA_FINGERPRINT: spec.data_fingerprint,
        TAG_NUM_PARAMETERS: str(spec.num_parameters),
    }
    return facts | facts_of_attempt(spec)


def facts_of_attempt(spec: TrialSpec) -> dict[str, str]:
    """Return the facts that another attempt at the same trial may change."""
    return {
        TAG_VERSIONS: json.dumps(spec.versions, sort_keys=True),
        TAG_GIT_REVISION: spec.git_revision,
        TAG_DEVICE: spec.hardware or spec.device,
        TAG_THREADS: str(spec.threads),
        TAG_CHECKPOINTING: str(spec.gradient_checkpointing).lower(),
    }


def facts_of_outcome(
    outcome: Outcome, reason: str | None = None, epochs: int | None = None
) -> dict[str, str]:
    """Return the facts that an outcome changes; what is None stays as it is recorded."""
    given = {TAG_REASON: reason, TAG_EPOCHS: epochs, TAG_OUTCOME: outcome.value}
    return {name: str(value) for name, value in given.items() if value is not None}


def facts_of_final(final: FinalRecord) -> dict[str, str]:
    """Return the facts that a final record changes."""
    facts = facts_of_attempt(final.head) | {TAG_DURATION: f"{final.duration_seconds:.3f}"}
    given = {TAG_TARGET: final.target, TAG_PEAK_MEMORY: final.peak_memory_bytes}
    is_finished = final.outcome is Outcome.FINISHED
    if is_finished and final.tested and final.curve[-1].best_epoch:
        given[TAG_TESTED_EPOCH] = final.tested.epoch
    facts |= {name: str(value) for name, value in given.items() if value is not None}
    if text := warnings_text(final.warnings):
        facts[TAG_WARNINGS] = text
    if text := warnings_text(final.data_notes):
        facts[TAG_DATA_NOTES] = text
    if final.num_images:
        facts[TAG_NUM_IMAGES] = json.dumps(final.num_images)
    return facts | facts_of_outcome(final.outcome, final.reason, len(final.curve))


def numbers_of_final(final: FinalRecord) -> dict[str, float]:
    """Return the metrics of a final record: test errors, and those of the epoch that was tested.

    The latter are left out where it is the last one, whose metrics are the last that were recorded.
    """
    tested, numbers = final.tested, final.test_errors()
    if tested is None or tested.epoch == len(final.curve):
        return numbers
    return numbers | {TESTED + name: value for name, value in tested.numbers().items()}


def final_as_record(final: FinalRecord) -> TrialRecord:
    """Return the record that a final record will be in a store, without its evaluations."""
    facts = facts_at_creation(final.head) | facts_of_final(final)
    last = final.curve[-1].numbers() if final.curve else {}
    return record_of("", facts, last | numbers_of_final(final), final.time / 1000)


def facts_of_sweep(sweep: str) -> dict[str, str]:
    """Return the facts of a sweep's new record."""
    return {TAG_TYPE: "sweep", TAG_SCHEMA: str(SCHEMA_VERSION), TAG_SWEEP: sweep}


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return a config as path -> text; a part is represented by its kind."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            flat[prefix + name] = str(value.get("kind", ""))
            flat |= flat_settings(value, f"{prefix}{name}.")
        elif name != "kind":
            text = value if isinstance(value, str) else json.dumps(value)
            flat[prefix + name] = text[:_LONGEST_SETTING]
    return flat


def source_text(source: str) -> str:
    """Return the text of a user's own parts as its artifact holds it."""
    return _SOURCE_HEAD + source
