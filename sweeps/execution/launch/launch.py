"""A launch: fill in the empty cells of a sweep, record them, rebuild its table."""

import logging
from pathlib import Path

from sweeps.execution.driver.interruption import interruptible
from sweeps.execution.driver.launch_guards import sole_launch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.result import SweepResult
from sweeps.execution.engine.policies import BY_DEFAULT, Policies
from sweeps.execution.launch.ending import delete_weights, report_cells, settle, show
from sweeps.execution.launch.evaluating.stage import evaluate
from sweeps.execution.launch.filling import fill, fill_none
from sweeps.execution.launch.preparation import prepare, survey_launch, tell_cells
from sweeps.execution.launch.progress import Progress
from sweeps.execution.plan.definition import Launchable
from sweeps.storage.store_format import use_own_format

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
    tell_cells(progress.survey)
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
