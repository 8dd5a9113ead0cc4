"""The first stage: see what there is to do, and refuse what cannot be. Nothing is written yet."""

from pathlib import Path

from sweeps.execution.driver.data_preparation import prepare_data
from sweeps.execution.driver.interruption import in_main_thread
from sweeps.execution.driver.kept_weights import weights_to_keep
from sweeps.execution.driver.launch_guards import refuse_absent_cluster, refuse_unwritable
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.driver.view.live_view import tell_line
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.surveying import survey_of
from sweeps.execution.plan.definition import Launchable
from sweeps.records.errors import BadInput
from sweeps.records.expected_cells import expected_words


def prepare(which: Launchable, options: LaunchOptions, policies: Policies) -> Survey:
    """Survey a sweep, refuse what cannot be launched, and fetch its data.

    Raises:
        SweepError: If it cannot be launched.
    """
    if options.time_limit_seconds and not in_main_thread():
        raise BadInput("A time limit needs Python's main thread: leave time_limit_seconds out.")
    refuse_unwritable(Path(options.reports), "report")
    survey = survey_launch(which, options)
    weights_to_keep(options.keep_weights)  # refuses words that say nothing
    if survey.has_work and options.address is None:
        policies.room(options.resources).capacity()  # refuses trials that do not fit this machine
    if survey.has_work and options.address is not None:
        refuse_absent_cluster(options.address)
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
        survey.refuse_losses()
    return survey


def tell_cells(survey: Survey) -> None:
    """Say how many cells there will be, and of what, where any are to be trained."""
    if not survey.has_work:
        return
    there = sum(cell.is_filled for cell in survey.cells)
    told = f"{survey.name}: {expected_words(survey.definition.manifest)}"
    tell_line(f"{told}, {there:,} of them there." if there else f"{told}.")
