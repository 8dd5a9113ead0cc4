"""The first stage: see what there is to do, and refuse what cannot be. Nothing is written yet."""

from pathlib import Path

from search_spaces.sweep import Sweep
from sweeps.execution.driver.data_preparation import prepare_data
from sweeps.execution.driver.interruption import in_main_thread
from sweeps.execution.driver.kept_weights import weights_to_keep
from sweeps.execution.driver.launch_guards import make_folders
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Plan, refuse_unwritable, survey
from sweeps.execution.engine.policies import Policies
from sweeps.execution.plan.planner import refuse_to_drop
from sweeps.records.errors import BadInput


def prepare(which: str | Path | Sweep, options: LaunchOptions, policies: Policies) -> Plan:
    """Survey a sweep, refuse what cannot be launched, fetch its data and make the folders.

    Raises:
        SweepError: If it cannot be launched.
    """
    if options.time_limit_seconds and not in_main_thread():
        raise BadInput("A time limit needs Python's main thread: leave time_limit_seconds out.")
    refuse_unwritable(Path(options.reports), "report")
    plan = survey_launch(which, options)
    weights_to_keep(options.keep_weights)  # refuses words that say nothing
    if plan.has_work and options.address is None:
        policies.room(options.resources).capacity()  # refuses trials that do not fit this machine
    if (plan.has_work and options.address is None) or plan.has_evaluations_to_make:
        prepare_data(plan.definition)
    make_folders(plan.storage)
    return plan


def survey_launch(which: str | Path | Sweep, options: LaunchOptions) -> Plan:
    """Look at what is there, and refuse a launch that would drop cells unasked.

    Raises:
        SweepError: If it cannot be launched.
    """
    plan = survey(which, options)
    if not options.replace:
        refuse_to_drop(plan.current, plan.known.manifest, plan.lost)
    return plan
