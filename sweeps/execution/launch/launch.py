"""A launch: fill in the empty cells of a sweep, record them, rebuild its table."""

from sweeps.execution.driver.interruption import interruptible
from sweeps.execution.driver.launch_guards import sole_launch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.result import SweepResult
from sweeps.execution.engine.policies import BY_DEFAULT, Policies
from sweeps.execution.launch.ending import settle
from sweeps.execution.launch.preparation import prepare, survey_launch
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.stages import pass_stages
from sweeps.execution.plan.definition import Launchable
from sweeps.execution.recorder.recorder_session import RecorderSession


def launch(
    which: Launchable,
    options: LaunchOptions,
    policies: Policies = BY_DEFAULT,
    recorder: RecorderSession | None = None,
) -> SweepResult:
    """Run a sweep: train its empty cells, record everything, write its report.

    Args:
        which: A named sweep, the path of a file that defines one, or a sweep.
        options: Of the launch.
        policies: Where its trials are placed, what follows their failures, and an engine that has
            begun already, if any.
        recorder: A recorder's process that has begun already, if any.

    Raises:
        SweepError: Before anything is written, if it cannot be launched.
    """
    survey = prepare(which, options, policies)
    if policies.begun and not survey.has_work:
        policies.begun.end()
    with interruptible(), sole_launch(survey.name, survey.storage):
        survey = survey_launch(which, options)  # again, now that nobody changes it
        progress = Progress(survey, begun=recorder)
        try:
            pass_stages(progress, options, policies)
        except KeyboardInterrupt:
            progress.exit_code = 130
        finally:
            settle(progress)
            if progress.recorder:
                progress.recorder.stop()
        return progress.result()
