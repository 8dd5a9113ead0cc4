"""A launch and its stages: fill the empty cells of a sweep, record them, rebuild its table."""

import logging
import os
import socket
from contextlib import chdir, suppress
from pathlib import Path
from urllib.parse import urlsplit

from capsmodel.data.archive import ROOT_VARIABLE, data_root
from sweeps.aggregation.report import publish_report, summary_of, write_report
from sweeps.execution.engine.cards import cards_here
from sweeps.execution.engine.policies import BY_DEFAULT, Policies
from sweeps.execution.interruption import in_main_thread, interruptible
from sweeps.execution.launch.evaluating.stage import record_made
from sweeps.execution.launch.notification import notified
from sweeps.execution.launch.own_parts import try_own_parts
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch.train_missing import fill, fill_none
from sweeps.execution.launch.weights import WeightsDeleted, keep_weights, weights_to_keep
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.launch_lock import (
    check_writable,
    sole_launch,
    usable_places,
)
from sweeps.execution.plan.definition import (
    DeclaredSweep,
    Launchable,
    SweepDefinition,
    changed_sweep,
    declared_sweep,
)
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.execution.view.disk_watch import bytes_wanted, full_disk
from sweeps.execution.view.live_view import print_line
from sweeps.records.errors import BadInput, StoreUnreachable, SweepError
from sweeps.records.expected_cells import expected_cells_text, fewer_cells_text
from sweeps.records.notify_command import check_command
from sweeps.records.plain_text import image_counts_text, one_line
from sweeps.storage.disk_room import retry_when_full
from sweeps.tracking.addresses import public, sqlite_path

_TIMEOUT_SECONDS = 4.0
_CLIENT_PORT = 10001
_FOUND_BY_RAY = {"auto", "local"}
_LOG = logging.getLogger(__name__)


def prepare_data(definition: SweepDefinition) -> None:
    """Make sure that the data of every arm are on this machine.

    Missing data are downloaded. Trials would do all of this too, but each would fail for itself.
    The proposals of a search are not known yet, so the data of its base are prepared. A relative
    data root is made absolute for the workers, as it is relative to the folder of this process.

    Raises:
        BadInput: If some are missing and cannot be downloaded.
    """
    try:
        if os.environ.get(ROOT_VARIABLE):
            os.environ[ROOT_VARIABLE] = str(data_root())
        for data in definition.data_sets():
            data.prepare()
    except ValueError as error:
        raise BadInput(str(error)) from error


def check_options(options: LaunchOptions) -> None:
    """Check what can be checked without the sweep.

    Raises:
        BadInput: If a launch with these options is not possible.
    """
    if options.time_limit_seconds and not in_main_thread():
        raise BadInput("A time limit needs Python's main thread: leave time_limit_seconds out.")
    if options.share != 1.0 and options.address is None:
        raise BadInput(
            "The share is one of a cluster that others use too, and Ray would start here for this "
            "launch alone: give --address, or leave --share out."
        )
    if options.evaluations_only and options.retrain:
        raise BadInput("--retrain trains, and --evaluations-only trains nothing: leave one out.")
    if options.notify is not None:
        check_command(options.notify)
    check_writable(Path(options.reports), "report")
    weights_to_keep(options.keep_weights)  # checks the words


def surveyed(declared: DeclaredSweep, options: LaunchOptions, policies: Policies) -> Survey:
    """Survey a sweep, check that it can be launched, and fetch its data.

    Raises:
        SweepError: If it cannot be launched.
    """
    cards_here.cache_clear()  # others may use them since the last launch of this process
    survey = survey_of(declared, options)
    if not options.replace:
        survey.check_losses()
    if survey.needs_engine and options.address is None:
        policies.room(options.resources).capacity()  # checks that a trial fits this machine
    if survey.needs_engine and options.address is not None:
        check_cluster(options.address)
    if survey.needs_engine and options.address is None:
        prepare_data(survey.definition)
    return survey


def print_num_cells(survey: Survey) -> None:
    """Print how many cells the sweep has, if any have to be trained."""
    if not survey.has_work:
        return
    num_filled = sum(cell.is_filled for cell in survey.cells)
    expected = f"{survey.name}: {expected_cells_text(survey.definition.manifest)}"
    print_line(f"{expected}, {num_filled:,} of them there." if num_filled else f"{expected}.")
    if fewer := fewer_cells_text(survey.definition.manifest):
        print_line(fewer)


def print_own_data(definition: SweepDefinition) -> None:
    """Print how many images the data sets hold that are the user's own, and what is odd in them."""
    for data, facts in definition.own_data().items():
        print_line(f"Data '{data.kind}': {image_counts_text(facts.num_images)}.")
        for note in facts.notes:
            print_line(note)
    for note in definition.large_batches():
        print_line(note)


def check_cluster(address: str) -> None:
    """Check that a Ray cluster listens at an address, unless only Ray can tell.

    Raises:
        BadInput: If it is not an address, or nothing listens there.
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
            f"'{address}' is not the address of a Ray cluster: give HOST:PORT, ray://HOST:PORT or "
            f"auto, "
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
    """Write the report and publish it, unless the store is unreachable."""
    assert progress.records is not None
    survey = progress.survey
    try:
        custom_tables = survey.definition.sweep.custom_tables
        report = retry_when_full(
            lambda: write_report(
                survey.store, survey.name, reports, tables=custom_tables, reuses_figures=True
            ),
            reports,
            waiting=lambda wanted: print_line(full_disk(reports, wanted)) if wanted else None,
        )
        publish_report(progress.records.publisher, progress.records.sweep_id, report)
    except StoreUnreachable as error:
        progress.is_recorded = False
        progress.error = progress.error or str(error)
        progress.exit_code = 3
    else:
        progress.report = report


def delete_weights(progress: Progress, choice: str) -> None:
    """Delete the weights that the options do not keep, once everything is recorded.

    If the store becomes unreachable, the next launch deletes the rest.

    Args:
        progress: The progress of the launch; gets what was deleted.
        choice: The weights to keep: "all", "best:K" or "none".
    """
    if progress.exit_code == 0 and progress.records:
        manifest, survey = progress.definition.manifest, progress.survey
        to_keep = weights_to_keep(choice)
        if to_keep.num_best is None:
            progress.weights = WeightsDeleted()
            return
        try:
            progress.weights = keep_weights(
                manifest, to_keep, survey.storage, survey.store, writer=progress.records.writer
            )
        except StoreUnreachable as error:
            progress.weights = WeightsDeleted(error=f"Weights are still there: {error}")
            progress.exit_code = 3


def show(progress: Progress) -> None:
    """Write what MLflow's pages show of the sweep; an error does not change how the launch ends.

    While records wait for the store, this is left to the next launch.
    """
    if not progress.records or not progress.is_recorded:
        return
    manifest, survey = progress.definition.manifest, progress.survey
    try:
        answers = progress.report.answers if progress.report else ()
        progress.records.show(summary_of(survey.store, manifest, answers))
    except (SweepError, OSError) as error:
        print_line(
            f"What MLflow's pages show of {survey.name} is not up to date, which the next launch "
            f"makes good: {one_line(public(str(error)))[:200]}"
        )


def settle(progress: Progress) -> None:
    """Record how the launch ended, in the log and in the tracking store if it answers.

    An interrupted launch does not wait for a server; a file it can write.
    """
    if progress.log:
        progress.log.end_launch(progress.exit_code)
    is_file = sqlite_path(progress.survey.tracking_uri) is not None
    if progress.records and (progress.is_recorded or is_file):
        with suppress(StoreUnreachable):
            progress.records.settle(progress.exit_code)


def launch(
    launchable: Launchable | DeclaredSweep,
    options: LaunchOptions,
    policies: Policies = BY_DEFAULT,
) -> SweepResult:
    """Run a sweep: train its empty cells, record everything, write its report.

    Args:
        launchable: A named sweep, the path of a file that defines one, or a sweep.
        options: The options of the launch.
        policies: Placement, failure policy, and an engine that was started early, if any.

    Raises:
        SweepError: If it cannot be launched; nothing was written then.
    """
    check_options(options)
    storage, _ = usable_places(options.storage, options.tracking_uri)
    declared = declared_sweep(launchable)
    name = changed_sweep(declared, options, ()).sweep.name
    with interruptible(), notified(options.notify) as begins, sole_launch(name, storage):
        survey = surveyed(declared, options, policies)
        if policies.begun and not survey.needs_engine_for(options):
            policies.begun.end()
        if survey.has_work:
            definition = survey.definition
            try_own_parts(definition.sweep, definition.source, shows_errors=options.trains_here)
        progress = Progress(survey)
        begins(progress.result)
        try:
            _pass_stages(progress, options, policies)
        except KeyboardInterrupt:
            progress.exit_code = 130
        finally:
            settle(progress)
        return progress.result()


def _pass_stages(progress: Progress, options: LaunchOptions, policies: Policies) -> None:
    _LOG.info("%d of %d cells are to be trained", progress.num_left, progress.num_cells)
    if progress.survey.seeds_sentence:
        print_line(progress.survey.seeds_sentence)
    print_num_cells(progress.survey)
    if progress.survey.has_work:
        print_own_data(progress.definition)
    evaluations = None
    if progress.survey.has_cells_to_fill or progress.survey.needs_engine:
        if wanted := bytes_wanted(progress.survey.storage.root):  # it waits before any trial
            print_line(full_disk(progress.survey.storage.root, wanted))
        with chdir("."):  # a user's code may change to another
            evaluations = fill(progress, options, policies)
    else:
        fill_none(progress, options)
    _LOG.info("%d cells were trained", progress.num_trained)
    record_made(progress, evaluations)
    is_done = progress.is_evaluated if options.evaluations_only else progress.is_complete
    progress.exit_code = 0 if is_done else 3
    report_cells(progress, Path(options.reports))
    _LOG.info("the report is written")
    delete_weights(progress, options.keep_weights)
    show(progress)
