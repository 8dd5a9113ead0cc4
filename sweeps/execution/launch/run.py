"""`sweeps.run` and `sweeps.plan`: what the commands do, from Python."""

from typing import TYPE_CHECKING

from sweeps.execution.engine.capacity import capacity_of
from sweeps.execution.interruption import interrupt_delayed
from sweeps.execution.launch.early_engine import early_engine
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch_options import LaunchOptions, takes_options
from sweeps.records.errors import BadInput

if TYPE_CHECKING:  # these load torch
    from sweeps.execution.launch.across.launch_across import PlanAcross
    from sweeps.execution.plan.definition import Launchable
    from sweeps.execution.survey.survey import Survey


@takes_options(LaunchOptions)
def plan(sweep: "Launchable", *, options: LaunchOptions) -> "Survey | PlanAcross":
    """Return what a launch would do. Writes nothing.

    The arguments are those of `run`.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be launched.
        sweeps.StoreUnreachable: If the tracking store does not answer.
    """
    from search_spaces.data_fingerprint import forget_loaded_data
    from sweeps.execution.launch.across.launch_across import plan_across
    from sweeps.execution.plan.definition import declared_sweep
    from sweeps.execution.survey.survey import survey_of

    forget_loaded_data()
    declared, capacity = declared_sweep(sweep), capacity_of(options.resources)
    if declared.sweep.across:
        return plan_across(declared, options, capacity)
    _check_one_data_set(declared.sweep.name, options)
    return survey_of(declared, options, capacity, reads_all_sweeps=True)


@takes_options(LaunchOptions)
def run(sweep: "Launchable", *, options: LaunchOptions) -> SweepResult:
    """Train the empty cells of a sweep, record them, and rebuild its table.

    The same call repeated trains no finished trial and resumes the interrupted ones.

    `sweep` is the name of a sweep, the path of a file that defines one as `SWEEP`, or a sweep. The
    options are the fields of `LaunchOptions`, which says what each means.

    Returns:
        How it ended. An interruption is not raised: the exit code is 130.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be launched. Nothing was written.
        sweeps.StoreUnreachable: If the tracking store does not answer at the start.
    """
    with early_engine(sweep, options) as begun:
        with interrupt_delayed():
            from search_spaces.data_fingerprint import forget_loaded_data
            from sweeps.execution.engine.policies import Policies
            from sweeps.execution.launch.across.launch_across import launch_across
            from sweeps.execution.launch.launch import launch
            from sweeps.execution.plan.definition import declared_sweep

        forget_loaded_data()
        declared = declared_sweep(sweep)
        if declared.sweep.across:
            return launch_across(declared, options, Policies(begun=begun))
        _check_one_data_set(declared.sweep.name, options)
        return launch(declared, options, Policies(begun=begun))


def _check_one_data_set(name: str, options: LaunchOptions) -> None:
    """Check what only a sweep of one data set may not be.

    Raises:
        BadInput: If it is asked for some data sets, or has the name of a sweep across several.
    """
    from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
    from sweeps.execution.launch_process.launch_lock import readable_places
    from sweeps.tracking.opening import open_store

    if options.only is not None:
        raise BadInput(f"'{name}' is a sweep of one data set: leave --only out.")
    storage, tracking_uri = readable_places(options.storage, options.tracking_uri)
    name = options.name or name
    if sweeps_by_data_set(open_store(tracking_uri, storage.root), name):
        raise BadInput(
            f"'{name}' was launched as a sweep across data sets: launch this one under another "
            f"name (--name NEW)."
        )
