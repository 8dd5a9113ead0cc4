"""A launch and its stages: fill the empty cells of a sweep, record them, rebuild its table."""

import logging
import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from capsmodel.data.archive import ROOT_VARIABLE
from sweeps.aggregation.report import publish_report, sum_up, write_report
from sweeps.execution.engine.policies import BY_DEFAULT, Policies
from sweeps.execution.interruption import in_main_thread, interruptible
from sweeps.execution.launch.evaluating.stage import evaluate
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch.train_missing import fill, fill_none
from sweeps.execution.launch.weights import WeightsDeleted, keep_weights, weights_to_keep
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.launch_lock import check_writable, sole_launch
from sweeps.execution.plan.definition import Definition, Launchable
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.execution.view.disk_watch import full_disk
from sweeps.execution.view.live_view import print_line
from sweeps.records.errors import BadInput, StoreUnreachable, SweepError
from sweeps.records.expected_cells import expected_words
from sweeps.records.plain_text import one_line
from sweeps.storage.disk_room import when_there_is_room
from sweeps.storage.store_format import use_own_format
from sweeps.tracking.addresses import public, sqlite_path


def prepare_data(definition: Definition) -> None:
    """Make sure that the data of every arm are on this machine, downloading them if need be.

    Trials would do it too, each with a failure of its own where it cannot be done. What a search
    proposes is not known yet; its base's data are prepared. A data root that is given as a relative
    path is made absolute for the workers, as it counts from the folder of this process.

    Raises:
        BadInput: If some are neither there nor to be had.
    """
    if given := os.environ.get(ROOT_VARIABLE):
        os.environ[ROOT_VARIABLE] = str(Path(given).absolute())
    sweep = definition.sweep
    configs = [arm.config for arm in sweep.arms_at_start()] or [sweep.base]
    try:
        for data in dict.fromkeys(config.data for config in configs):
            data.prepare()
    except ValueError as error:
        raise BadInput(str(error)) from error


_TIMEOUT_SECONDS = 4.0


_CLIENT_PORT = 10001


_FOUND_BY_RAY = {"auto", "local"}


def prepare(which: Launchable, options: LaunchOptions, policies: Policies) -> Survey:
    """Survey a sweep, refuse what cannot be launched, and fetch its data.

    Raises:
        SweepError: If it cannot be launched.
    """
    if options.time_limit_seconds and not in_main_thread():
        raise BadInput("A time limit needs Python's main thread: leave time_limit_seconds out.")
    check_writable(Path(options.reports), "report")
    survey = survey_launch(which, options)
    weights_to_keep(options.keep_weights)  # refuses words that say nothing
    if survey.has_work and options.address is None:
        policies.room(options.resources).capacity()  # refuses trials that do not fit this machine
    if survey.has_work and options.address is not None:
        check_cluster(options.address)
    if (survey.has_work and options.address is None) or survey.has_evaluations_to_make:
        prepare_data(survey.definition)
    return survey


def survey_launch(which: Launchable, options: LaunchOptions) -> Survey:
    """Look at what is there, and refuse a launch that would drop cells unasked.

    Raises:
        SweepError: If it cannot be launched.
    """
    survey = survey_of(which, options)
    if not options.replace:
        survey.check_losses()
    return survey


def print_num_cells(survey: Survey) -> None:
    """Say how many cells there will be, and of what, where any are to be trained."""
    if not survey.has_work:
        return
    num_filled = sum(cell.is_filled for cell in survey.cells)
    expected = f"{survey.name}: {expected_words(survey.definition.manifest)}"
    print_line(f"{expected}, {num_filled:,} of them there." if num_filled else f"{expected}.")


def check_cluster(address: str) -> None:
    """Return if somebody listens at the address of a Ray cluster, or only Ray can tell.

    Raises:
        BadInput: If it is no address, or nobody does.
    """
    if address in _FOUND_BY_RAY:
        return
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = parts.port or (_CLIENT_PORT if parts.scheme == "ray" else None)
        host = parts.hostname if parts.scheme in {"", "ray"} else None
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise BadInput(
            f"'{address}' is no address of a Ray cluster: give HOST:PORT, ray://HOST:PORT or auto, "
            f"or leave it out to start Ray here."
        )
    try:
        socket.create_connection((host, port), timeout=_TIMEOUT_SECONDS).close()
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"No Ray cluster at {address} answers ({error}): start it, or leave --address out to "
            f"start Ray here."
        ) from error


def report_cells(progress: Progress, reports: Path) -> None:
    """Write the report and publish it, unless the store has gone away."""
    assert progress.records is not None
    survey = progress.survey
    try:
        own_tables = survey.definition.sweep.own_tables
        report = when_there_is_room(
            lambda: write_report(survey.store, survey.name, reports, own=own_tables),
            reports,
            waiting=lambda wanted: print_line(full_disk(reports, wanted)) if wanted else None,
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
            progress.weights = keep_weights(
                manifest, which, survey.storage, survey.store, writer=writer
            )
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
        print_line(
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


_LOG = logging.getLogger(__name__)


def launch(
    which: Launchable, options: LaunchOptions, policies: Policies = BY_DEFAULT
) -> SweepResult:
    """Run a sweep: train its empty cells, record everything, write its report.

    Args:
        which: A named sweep, the path of a file that defines one, or a sweep.
        options: Of the launch.
        policies: Where its trials are placed, what follows their failures, and an engine that has
            begun already, if any.

    Raises:
        SweepError: Before anything is written, if it cannot be launched.
    """
    survey = prepare(which, options, policies)
    if policies.begun and not survey.has_work:
        policies.begun.end()
    with interruptible(), sole_launch(survey.name, survey.storage):
        progress = Progress(survey_launch(which, options))  # again, now that nobody changes it
        try:
            _pass_stages(progress, options, policies)
        except KeyboardInterrupt:
            progress.exit_code = 130
        finally:
            settle(progress)
        return progress.result()


def _pass_stages(progress: Progress, options: LaunchOptions, policies: Policies) -> None:
    _LOG.info("%d of %d cells are to be trained", progress.num_left, progress.num_cells)
    print_num_cells(progress.survey)
    if progress.survey.has_cells_to_fill:
        use_own_format(progress.survey.storage)
        fill(progress, options, policies)
    else:
        fill_none(progress, options)
    _LOG.info("%d cells were trained", progress.num_trained)
    evaluate(progress, options)
    progress.exit_code = 0 if progress.is_complete else 3
    report_cells(progress, Path(options.reports))
    _LOG.info("the report is written")
    delete_weights(progress, options.keep_weights)
    show(progress)
