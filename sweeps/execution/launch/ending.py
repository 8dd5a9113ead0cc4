"""The last stages: the report written, weights kept or not, and how it ended noted down."""

from contextlib import suppress
from pathlib import Path

from sweeps.aggregation.report import publish_report, sum_up, write_report
from sweeps.execution.driver.kept_weights import WeightsDeleted, keep_weights, weights_to_keep
from sweeps.execution.driver.view.disk_watch import full_disk
from sweeps.execution.driver.view.live_view import tell_line
from sweeps.execution.launch.progress import Progress
from sweeps.records.errors import StoreUnreachable, SweepError
from sweeps.records.plain_text import one_line
from sweeps.storage.disk_room import when_there_is_room
from sweeps.tracking.addresses import public, sqlite_path


def report_cells(progress: Progress, reports: Path) -> None:
    """Write the report and publish it, unless the store has gone away."""
    assert progress.records is not None
    survey = progress.survey
    try:
        own = survey.definition.sweep.own_tables
        report = when_there_is_room(
            lambda: write_report(survey.store, survey.name, reports, own=own),
            reports,
            waiting=lambda wanted: tell_line(full_disk(reports, wanted)) if wanted else None,
        )
        publish_report(progress.records.writer, progress.records.sweep_id, report)
    except StoreUnreachable as error:
        progress.is_recorded = False
        progress.complaint = progress.complaint or str(error)
        progress.exit_code = 3
    else:
        progress.report = report


def delete_weights(progress: Progress, words: str) -> None:
    """Delete the weights that are not to be kept, once all is there and recorded.

    Where the store has gone away meanwhile, the next launch deletes the rest.

    Args:
        progress: Of the launch.
        words: Which are kept: "all", "best:K" or "none".
    """
    if progress.exit_code == 0 and progress.records:
        manifest, survey = progress.definition.manifest, progress.survey
        which, writer = weights_to_keep(words), progress.records.writer
        try:
            progress.weights = keep_weights(manifest, which, survey.storage, survey.store, writer)
        except StoreUnreachable as error:
            progress.weights = WeightsDeleted(complaint=f"Weights are still there: {error}")
            progress.exit_code = 3


def show(progress: Progress) -> None:
    """Write what people browse of the sweep: a launch ends the same where that cannot be.

    Where records wait for the store it is left for the next launch, which writes what is missing.
    """
    if not progress.records or not progress.is_recorded:
        return
    manifest, survey = progress.definition.manifest, progress.survey
    try:
        records = survey.store.records(manifest.cell_keys().values())
        progress.records.writer.show_sweep(progress.records.sweep_id, sum_up(manifest, records))
    except (SweepError, OSError) as error:
        tell_line(
            f"What MLflow's pages show of {survey.name} is not up to date, which the next launch "
            f"makes good: {one_line(public(str(error)))[:200]}"
        )


def settle(progress: Progress) -> None:
    """Note how the launch ended, in the journal and in the tracking store if it answers.

    One that was interrupted waits for no server, but a file is there for certain.
    """
    if progress.journal:
        progress.journal.close_launch(progress.exit_code)
        progress.journal.close()
    is_file = sqlite_path(progress.survey.tracking_uri) is not None
    if progress.records and (progress.is_recorded or is_file):
        with suppress(StoreUnreachable):
            progress.records.writer.settle_sweep(progress.records.sweep_id, progress.exit_code)
