"""The records of a launch that fills cells, which the recorder's process opens."""

import os

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.launch.recording.opened_records import OpenedRecords, open_records
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.manifest_file import hand_over
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.tracking.addresses import sqlite_path


def open_for_launch(
    survey: Survey, options: LaunchOptions, journal: Journal, recorder: RecorderClient
) -> OpenedRecords:
    """Make the manifest current, queue what the store lacks, and have the recorder begin.

    Into an embedded store that can be written to the manifest goes while trials start.

    Args:
        survey: What the launch has to do.
        options: Of the launch.
        journal: Of the sweep.
        recorder: Writes the records.

    Raises:
        BadInput: If the store's artifacts cannot be written to.
        StoreUnreachable: If it does not answer.
    """
    if options.fresh or not _is_sure_to_open(survey):
        records = open_records(survey, options, journal, recorder.open_writer)
        _queue_missing(survey, records.sweep_id)
    else:
        manifest = survey.definition.manifest
        hand_over(survey.storage.journals, manifest)
        records = OpenedRecords(recorder.writer, recorder.writer.begin_to_publish(manifest))
        _queue_missing(survey, "")  # the sweep is found by its name: this is done before
    recorder.carry()
    return records


def _is_sure_to_open(survey: Survey) -> bool:
    """Return whether the store is an embedded one that nothing keeps from being written to."""
    database = sqlite_path(survey.tracking_uri)
    if database is None:
        return False
    whole = database if database.exists() else database.parent
    return all(os.access(path, os.W_OK) for path in (whole, survey.storage.artifacts))


def _queue_missing(survey: Survey, sweep_id: str) -> None:
    """Queue what the tracking store lacks, for the process that carries it.

    Args:
        survey: What the launch has to do.
        sweep_id: The sweep's own record.
    """
    queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
    missing = [planned for planned in survey.cells if not planned.is_recorded]
    keys = [planned.cell.trial_key for planned in missing]
    carried = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
    unknown = [planned.cell.trial_key for planned in missing if not planned.has_record]
    queue.forget([*carried, *unknown])  # whatever is noted of them, the store has lost them
    queue.add(keys, survey.name, sweep_id)
    queue.close()
