"""The facts of a record: what a store holds of a trial or a sweep as short texts, by name.

Every member of the tracking stores holds the same facts, so that a record moves between them.
What is read is untrusted: it is validated on its way into a `TrialRecord`.
"""

import json
from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from sweeps.records.trial_record import (
    TrialRecord,
)

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

_SENTENCES = TypeAdapter(tuple[str, ...])
_MOST_WARNINGS = 20
_LONGEST_WARNINGS = 4000  # of the JSON list: a tag holds 5,000 characters
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
}


def record_of(
    record_id: str,
    facts: Mapping[str, str],
    metrics: Mapping[str, float],
    settings: Mapping[str, str],
) -> TrialRecord:
    """Read a record from what a store holds of it.

    Args:
        record_id: The store's own name of it.
        facts: By name.
        metrics: The last value of each.
        settings: Path -> text.

    Raises:
        pydantic.ValidationError: If a fact does not hold what it should.
    """
    given = {field: facts[name] for field, name in _OF_A_RECORD.items() if facts.get(name)}
    told = {
        "metrics": dict(metrics),
        "warnings": _SENTENCES.validate_json(facts.get(TAG_WARNINGS) or "[]"),
    }
    known = {"record_id": record_id, "settings": settings, **given, **told}
    return TrialRecord.model_validate(known)


def warnings_text(warnings: Sequence[str]) -> str:
    """Return the first warnings as the JSON list that a fact holds whole, "" for none."""
    kept = list(warnings[:_MOST_WARNINGS])
    while len(json.dumps(kept)) > _LONGEST_WARNINGS:
        kept.pop()
    return json.dumps(kept) if kept else ""
