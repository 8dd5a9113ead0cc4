"""A sweep's parent run: it holds the manifest, and every earlier one."""

import hashlib

from mlflow.exceptions import MlflowException

from sweeps.records.errors import StoreUnreachable
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import ARTIFACT_MANIFEST, Outcome, manifest_artifact
from sweeps.storage.locations import Storage
from sweeps.tracking.connection import public
from sweeps.tracking.database import create_database
from sweeps.tracking.mlflow_runs import RUN_STATUS
from sweeps.tracking.record_facts import TAG_MANIFEST_HASH, TAG_REPLACED
from sweeps.tracking.writer import Tracking


def publish_manifest(tracking: Tracking, manifest: Manifest) -> str:
    """Make a manifest the sweep's current one and return the parent run's id.

    It is uploaded under its hash first and named as current by a tag second, so that a reader sees
    the old one or the new one whole. Earlier ones stay.
    """
    parent_id = tracking.sweep_run(manifest.sweep, manifest.description)
    upload_manifest(tracking, parent_id, manifest_text(manifest))
    tracking.client.update_run(parent_id, status=RUN_STATUS[Outcome.RUNNING])
    return parent_id


def manifest_text(manifest: Manifest) -> str:
    """Return a manifest as its artifact holds it."""
    return manifest.model_dump_json(indent=1)


def upload_manifest(tracking: Tracking, parent_id: str, text: str) -> None:
    """Make a manifest the current one of a sweep's parent run, unless it is."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    run = tracking.client.get_run(parent_id)
    if run.data.tags.get(TAG_MANIFEST_HASH) != digest:
        tracking.client.log_text(parent_id, text, manifest_artifact(digest))
        tracking.client.set_tag(parent_id, TAG_MANIFEST_HASH, digest)
        tracking.client.log_text(parent_id, text, ARTIFACT_MANIFEST)  # for people


def settle_parent(tracking: Tracking, parent_id: str, exit_code: int) -> None:
    """Write how the launch ended as MLflow's status of the parent run."""
    status = {0: "FINISHED", 130: "KILLED"}.get(exit_code, "FAILED")
    tracking.client.set_terminated(parent_id, status)


def set_aside(tracking: Tracking, trial_keys: list[str]) -> None:
    """Tag the records of trial keys as replaced: no reader counts them any more."""
    for key in trial_keys:
        while run := tracking.find_trial(key):
            tracking.client.set_tag(run.info.run_id, TAG_REPLACED, "true")


def open_tracking(tracking_uri: str, storage: Storage) -> Tracking:
    """Open the tracking store for writing.

    Raises:
        StoreUnreachable: If it does not answer.
    """
    try:
        create_database(tracking_uri, storage.artifacts)
        return Tracking(tracking_uri, storage.artifacts)
    except (MlflowException, OSError) as error:
        raise StoreUnreachable(
            f"The tracking store {public(tracking_uri)} does not answer: "
            f"{one_line(public(str(error)))[:200]}"
        ) from error
