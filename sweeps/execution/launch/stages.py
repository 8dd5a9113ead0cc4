"""The stages of a launch, one after the other."""

import logging
from pathlib import Path

from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.ending import begin_to_show, delete_weights, report_cells
from sweeps.execution.launch.evaluating.stage import evaluate
from sweeps.execution.launch.filling import fill
from sweeps.execution.launch.preparation import tell_cells
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.recording.opened_records import open_records
from sweeps.storage.store_format import use_own_format

_LOG = logging.getLogger(__name__)


def pass_stages(progress: Progress, options: LaunchOptions, policies: Policies) -> None:
    """Fill the empty cells, evaluate, report.

    Args:
        progress: Of the launch: each stage adds to it.
        options: Of the launch.
        policies: Where trials are placed, and what follows their failures.

    Raises:
        SweepError: If the launch cannot begin.
        KeyboardInterrupt: If it is interrupted.
    """
    _LOG.info("%d of %d cells are to be trained", progress.num_left, progress.num_cells)
    tell_cells(progress.survey)
    if progress.survey.has_cells_to_fill:
        use_own_format(progress.survey.storage)
        fill(progress, options, policies)
    else:
        survey = progress.survey
        progress.records = open_records(survey, options, None, survey.store.writer)
    _LOG.info("%d cells were trained", progress.num_trained)
    evaluate(progress, options)
    progress.exit_code = 0 if progress.is_complete else 3
    end_showing = begin_to_show(progress)  # another process does, while the report is made here
    report_cells(progress, Path(options.reports))
    _LOG.info("the report is written")
    delete_weights(progress, options.keep_weights)
    end_showing()
