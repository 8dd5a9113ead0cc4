"""The tracking store opened for a launch, with the sweep's current log in it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.preregistration import keeps_looks
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
from sweeps.tracking.store import RecordStore, RecordWriter, ReportPublisher, SettledSweep
from sweeps.tracking.sweep_logs import log_digest, publish_log
from sweeps.tracking.sweep_summary import SweepSummary


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


class OpenedRecords:
    """The sweep's record in the tracking store, which is opened for writing with the first write.

    Args:
        store: The tracking store.
        sweep_id: The id of the sweep's record.
        writer: The store open for writing, None where it is not yet.
        settled: What the record says where nothing of it has to be written, as far as is known.
    """

    def __init__(
        self,
        store: RecordStore,
        sweep_id: str,
        writer: RecordWriter | None = None,
        settled: SettledSweep | None = None,
    ) -> None:
        self.sweep_id = sweep_id
        self._store = store
        self._writer = writer
        self._settled = settled

    @cached_property
    def writer(self) -> RecordWriter:
        """The store, open for writing.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        return self._writer or self._store.writer()

    @property
    def publisher(self) -> ReportPublisher:
        """What adds the report's files to the record.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        return self._store.publisher() if self._settled else self.writer

    def show(self, summary: SweepSummary) -> None:
        """Write the summary that people browse, unless the record shows it.

        Raises:
            SweepError: If it could not be written.
        """
        if not (self._settled and self._settled.shows(summary)):
            self.writer.write_summary(self.sweep_id, summary)

    def settle(self, exit_code: int) -> None:
        """Write how the launch ended, unless the record says so.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        if not self._settled or exit_code:
            self.writer.settle_sweep(self.sweep_id, exit_code)


def settled_records(survey: Survey, options: LaunchOptions, log: SweepLog) -> OpenedRecords | None:
    """Return the record of a sweep that says all that a launch would write; None if it does not.

    Args:
        survey: What the launch has to do.
        options: The options of the launch.
        log: The log of the sweep.
    """
    if not survey.is_done or options.retrain or _lines_to_declare(survey, options, log):
        return None
    settled = survey.store.settled(survey.name)
    if settled is None or settled.log_digest != log_digest(log.shared().decode()):
        return None
    return OpenedRecords(survey.store, settled.record_id, settled=settled)


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
    return OpenedRecords(survey.store, sweep_id, writer)


def _lines_to_declare(survey: Survey, options: LaunchOptions, log: SweepLog) -> bytes:
    """Return the lines that a launch adds to the log at its start."""
    definition, plan = survey.definition, survey.definition.decided_by
    is_kept = keeps_looks(definition, survey.earlier.manifest)
    is_anew = plan is not None and (options.retrain or not is_kept)
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
    sweep_id = publish_log(writer, manifest, log.shared())
    return OpenedRecords(survey.store, sweep_id, writer)


def _archive_trained(survey: Survey, writer: RecordWriter) -> None:
    """Archive what was trained, by all decisions that were ever made."""
    entries, plan = (*survey.earlier.here, *survey.earlier.stored), survey.definition.decided_by
    decided = decisions_under(plan, entries, with_void=True)
    current = survey.current.cells if survey.current else ()
    cells = [*survey.definition.manifest.cells, *current]
    cells += [cell for entry in decided for cell in entry.cells]
    lost = trials_beyond_log(survey.definition, survey.earlier, survey.storage.cells)
    keys = list(dict.fromkeys(cell.trial_key for cell in (*cells, *lost)))
    remove_states(survey.definition, survey.known, survey.storage)  # first: none may outlive them
    archive(keys, survey.storage, writer, survey.tracking_uri)
