"""A sweep's log on its way into a store, and by which name it is found there."""

import hashlib
from collections.abc import Mapping

from sweeps.records.labels import tags_text
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import ARTIFACT_SWEEP_LOG, sweep_log_artifact
from sweeps.tracking.record_facts import TAG_LOG_HASH, TAG_NOTE, TAG_TAGS
from sweeps.tracking.store import RecordWriter


def publish_log(writer: RecordWriter, manifest: Manifest, log: bytes) -> str:
    """Make a log the sweep's current one, mark it as running, and return its record's id.

    Args:
        writer: The store, open for writing.
        manifest: The sweep's manifest.
        log: The lines with its definition and decisions.
    """
    labels = {TAG_TAGS: tags_text(manifest.tags), TAG_NOTE: manifest.note}
    sweep_id = writer.open_sweep(manifest.sweep, manifest.description, labels)
    writer.set_sweep_log(sweep_id, log.decode())
    writer.settle_sweep(sweep_id, None)
    return sweep_id


def log_digest(text: str) -> str:
    """Return what a sweep's record names its current log by."""
    return hashlib.sha256(text.encode()).hexdigest()


def log_name(facts: Mapping[str, str]) -> str:
    """Return the artifact that holds a sweep's current log, by the tags of the sweep's run."""
    digest = facts.get(TAG_LOG_HASH, "")
    if len(digest) != 64 or not digest.isalnum():
        return ARTIFACT_SWEEP_LOG
    return sweep_log_artifact(digest)
