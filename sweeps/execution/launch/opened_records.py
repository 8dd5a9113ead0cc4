"""The tracking store opened for a launch, with the sweep's current log in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.search.beyond_log import trials_beyond_log
from sweeps.execution.survey.shorter_trainings import remove_states
from sweeps.execution.survey.survey import Survey
from sweeps.execution.sweep_log import SweepLog
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import decisions_under
from sweeps.storage.folder import in_storage
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordWriter
from sweeps.tracking.sweep_logs import publish_log


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
    cells, replaced = in_storage(storage.cells), in_storage(storage.replaced).make()
    for key in trial_keys:
        if (storage.cells / key).is_dir():
            cells.rename(key, replaced, _free_name(storage.replaced / key).name)
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


def open_records(survey: Survey, options: LaunchOptions, log: SweepLog) -> OpenedRecords:
    """Write the sweep to its log, and the log to the tracking store: the first writes of a launch.

    Args:
        survey: What the launch has to do.
        options: The options of the launch; `retrain` archives what was trained.
        log: The log of the sweep.

    Raises:
        BadInput: If the store's artifacts are not writable.
        StoreUnreachable: If the store does not answer.
    """
    definition = survey.definition
    try:
        writer = survey.store.writer()
        new = _lines_to_declare(survey, options, log)
        sweep_id = publish_log(writer, definition.manifest, log.shared() + new)
        log.write(new)  # only now: a launch that the store refuses leaves nothing here
        if options.retrain:
            _archive_trained(survey, writer)
    except PermissionError as error:
        raise BadInput(
            f"The tracking store's artifacts cannot be written to ({error}): have its server "
            f"serve them, or make their folder writable."
        ) from error
    return OpenedRecords(writer, sweep_id)


def _lines_to_declare(survey: Survey, options: LaunchOptions, log: SweepLog) -> bytes:
    """Return the lines that a launch adds to the log at its start."""
    definition, plan = survey.definition, survey.definition.decided_by
    is_anew = options.retrain and plan is not None
    earlier = [] if is_anew else survey.earlier.decisions(plan)
    known = {entry.subject for entry in earlier}
    new = [entry for entry in definition.decisions if entry.subject not in known]
    num_starts = survey.earlier.num_starts(plan) + is_anew
    return log.lines_to_declare(definition.declared, [*earlier, *new], num_starts)


def reopen_records(survey: Survey, manifest: Manifest, log: SweepLog) -> OpenedRecords:
    """Reopen the tracking store, which may have lost everything, and write the log to it.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    writer = survey.store.writer()
    return OpenedRecords(writer, publish_log(writer, manifest, log.shared()))


def _archive_trained(survey: Survey, writer: RecordWriter) -> None:
    """Archive what was trained, by all decisions that were ever made."""
    entries, plan = (*survey.earlier.here, *survey.earlier.stored), survey.definition.decided_by
    decided = decisions_under(plan, entries, with_void=True)
    current = survey.current.cells if survey.current else ()
    cells = [*survey.definition.manifest.cells, *current]
    cells += [cell for entry in decided for cell in entry.cells]
    lost = trials_beyond_log(survey.definition, survey.earlier, survey.storage.cells)
    keys = list(dict.fromkeys(cell.trial_key for cell in (*cells, *lost)))
    archive(keys, survey.storage, writer, survey.tracking_uri)
    remove_states(survey.known, survey.definition.sweep.parts, survey.storage)
