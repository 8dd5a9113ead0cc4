"""A sweep's manifest on its way into a store, and by which name it is found there again."""

import hashlib
from collections.abc import Mapping

from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import (
    ARTIFACT_MANIFEST,
    manifest_artifact,
)
from sweeps.tracking.record_facts import TAG_MANIFEST_HASH
from sweeps.tracking.store import RecordWriter


def publish_manifest(writer: RecordWriter, manifest: Manifest) -> str:
    """Make a manifest the sweep's current one, mark it as running, and return its record's id."""
    sweep_id = writer.open_sweep(manifest.sweep, manifest.description)
    writer.set_manifest(sweep_id, manifest_text(manifest))
    writer.settle_sweep(sweep_id, None)
    return sweep_id


def manifest_text(manifest: Manifest) -> str:
    """Return a manifest as its artifact holds it."""
    return manifest.model_dump_json(indent=1)


def manifest_digest(text: str) -> str:
    """Return what a sweep's record names its current manifest by."""
    return hashlib.sha256(text.encode()).hexdigest()


def manifest_name(facts: Mapping[str, str]) -> str:
    """Return the artifact that holds a sweep's current manifest, by the tags of the sweep's run."""
    digest = facts.get(TAG_MANIFEST_HASH, "")
    if len(digest) != 64 or not digest.isalnum():
        return ARTIFACT_MANIFEST
    return manifest_artifact(digest)
