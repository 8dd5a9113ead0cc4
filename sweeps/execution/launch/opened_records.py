"""The tracking store opened for a launch, with the sweep's manifest made current in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.journal import Journal
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.plan.restore import restored
from sweeps.execution.recorder.manifest_file import hand_over, stored_manifest
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.store import RecordWriter


def archive(
    trial_keys: Sequence[str], storage: Storage, records: RecordWriter, tracking_uri: str
) -> None:
    """Move cells to `replaced/` and mark their records, so that no reader counts them.

    The recorder's queue comes first and the marks come last: after a kill in between, either the
    old results still count or the same call completes the rest.

    Raises:
        BadInput: If another sweep is training one of them.
    """
    busy = [key for key in trial_keys if CellFolder(storage.cells, key).is_busy()]
    if busy:
        raise BadInput(
            f"--retrain cannot archive {len(busy)} cells that another sweep is training now: wait "
            f"for it to end."
        )
    queue = RecorderQueue(storage.journals, tracking_uri)
    queue.forget(trial_keys)
    queue.close()
    storage.replaced.mkdir(exist_ok=True)
    for key in trial_keys:
        if (storage.cells / key).is_dir():
            (storage.cells / key).rename(_free_name(storage.replaced / key))
    records.mark_replaced(trial_keys)


def _free_name(path: Path) -> Path:
    number = 1
    while (candidate := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return candidate


class OpenedRecords(NamedTuple):
    """The tracking store for writing, and the id of the sweep's record in it."""

    writer: RecordWriter
    sweep_id: str


def open_records(survey: Survey, options: LaunchOptions, journal: Journal | None) -> OpenedRecords:
    """Make the manifest current: the first write to the tracking store.

    Args:
        survey: What the launch has to do.
        options: The options of the launch; `retrain` archives what was trained.
        journal: The journal of the sweep, None if no cell is to be filled.

    Raises:
        BadInput: If the store's artifacts are not writable.
        StoreUnreachable: If the store does not answer.
    """
    try:
        writer = survey.store.writer()
        journals, manifest = survey.storage.journals, survey.definition.manifest
        is_published = stored_manifest(journals, manifest.sweep) in (None, manifest)
        if journal or manifest != survey.current or not is_published:
            hand_over(journals, manifest)  # the recorder makes the copy current
        sweep_id = publish_manifest(writer, manifest)
        if options.retrain:
            _archive_trained(survey, writer, journal)
    except PermissionError as error:
        raise BadInput(
            f"The tracking store's artifacts cannot be written to ({error}): have its server "
            f"serve them, or make their folder writable."
        ) from error
    return OpenedRecords(writer, sweep_id)


def reopen_records(survey: Survey, manifest: Manifest) -> OpenedRecords:
    """Reopen the tracking store, which may have lost everything, and make a manifest current.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    hand_over(survey.storage.journals, manifest)
    writer = survey.store.writer()
    return OpenedRecords(writer, publish_manifest(writer, manifest))


def _archive_trained(survey: Survey, writer: RecordWriter, journal: Journal | None) -> None:
    """Archive what was trained, and delete a plan's decisions on it."""
    decided_by = survey.definition.decided_by
    journals = survey.storage.journals
    known = restored(survey.definition, journals, survey.current, beyond_its_trials=True)
    cells = (*known.manifest.cells, *(survey.current.cells if survey.current else ()))
    if journal and decided_by:
        DecisionLog(journal, decided_by).forget()
    keys = list(dict.fromkeys(cell.trial_key for cell in cells))
    archive(keys, survey.storage, writer, survey.tracking_uri)
