"""The stage after the cells are filled: evaluations that are missing, from kept weights."""

from sweeps.execution.interruption import clear_time_limit, set_time_limit
from sweeps.execution.launch.evaluating.making import Making
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import StoreUnreachable


def evaluate(progress: Progress, options: LaunchOptions) -> None:
    """Make the evaluations that finished trials lack, and have them recorded.

    Nothing is trained. Each is noted as soon as it is made, so that the same launch again goes on
    where this one ended. Where records wait for the store, it is left for that launch too.

    Args:
        progress: Progress of the launch; it receives the results of the evaluations.
        options: The launch's options.

    Raises:
        KeyboardInterrupt: If it is interrupted, or its time is up.
    """
    if not progress.definition.manifest.evaluations or not progress.is_recorded:
        return
    try:
        making = Making(progress, options)
        if options.time_limit_seconds:
            set_time_limit(max(0.001, options.time_limit_seconds - progress.elapsed_seconds))
        progress.evaluations = making.run()
        clear_time_limit()
    except StoreUnreachable as error:
        progress.is_recorded, progress.error = False, str(error)
