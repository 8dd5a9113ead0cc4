"""`sweeps.run` and `sweeps.plan`: what the commands do, from Python."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.execution.engine.capacity import capacity_of
from sweeps.execution.interruption import interrupt_delayed
from sweeps.execution.launch.early_engine import early_engine
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch_options import Gpus, check_option_names, options_of

if TYPE_CHECKING:  # these load torch
    from sweeps.execution.plan.definition import Launchable
    from sweeps.execution.survey.survey import Survey


@check_option_names
def plan(
    sweep: "Launchable",
    *,
    name: str | None = None,
    seeds: Sequence[int] | None = None,
    add_seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    sampler: str | None = None,
    scheduler: str | None = None,
    cpus_per_trial: int = 1,
    gpus_per_trial: Gpus = None,
    max_concurrent: int | None = None,
    time_limit_seconds: float | None = None,
    budget_epochs: int | None = None,
    warm_start: str | None = None,
    gradient_checkpointing: bool = False,
    keep_weights: str = "all",
    address: str | None = None,
    share: float = 1.0,
    engine: str = "ray",
    evaluations_only: bool = False,
    retrain: bool = False,
    replace: bool = False,
    storage: str | Path | None = None,
    tracking_uri: str | None = None,
    reports: str | Path = "reports",
) -> "Survey":
    """Return what a launch would do. Writes nothing.

    The arguments are those of `run`.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be launched.
        sweeps.StoreUnreachable: If the tracking store does not answer.
    """
    arguments = locals()
    from search_spaces.data_fingerprint import forget_loaded_data
    from sweeps.execution.survey.survey import survey_of

    forget_loaded_data()
    options = options_of(arguments, without={"sweep"})
    return survey_of(sweep, options, capacity_of(options.resources))


@check_option_names
def run(
    sweep: "Launchable",
    *,
    name: str | None = None,
    seeds: Sequence[int] | None = None,
    add_seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    settings: Mapping[str, Any] | None = None,
    trials: int | None = None,
    sampler: str | None = None,
    scheduler: str | None = None,
    cpus_per_trial: int = 1,
    gpus_per_trial: Gpus = None,
    max_concurrent: int | None = None,
    time_limit_seconds: float | None = None,
    budget_epochs: int | None = None,
    warm_start: str | None = None,
    gradient_checkpointing: bool = False,
    keep_weights: str = "all",
    address: str | None = None,
    share: float = 1.0,
    engine: str = "ray",
    evaluations_only: bool = False,
    retrain: bool = False,
    replace: bool = False,
    storage: str | Path | None = None,
    tracking_uri: str | None = None,
    reports: str | Path = "reports",
) -> SweepResult:
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
    options = options_of(locals(), without={"sweep"})
    with early_engine(sweep, options) as begun:
        with interrupt_delayed():
            from search_spaces.data_fingerprint import forget_loaded_data
            from sweeps.execution.engine.policies import Policies
            from sweeps.execution.launch.launch import launch

        forget_loaded_data()
        return launch(sweep, options, Policies(begun=begun))
