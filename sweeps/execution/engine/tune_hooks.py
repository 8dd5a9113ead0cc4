"""The objects that Ray Tune calls: they ask for cells, hear of epochs and errors, stop trials.

They hold live objects of the driver, which Tune would pickle into its snapshots; so they leave all
of it out of their state.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from ray import cloudpickle, tune
from ray.exceptions import RayActorError, RayTaskError
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from sweeps.execution.cells.folder import CellFolder, reason_of
from sweeps.execution.engine.cell_queue import CellQueue, Events, Next
from sweeps.execution.worker.trial import TrialOrder


class CellSearcher(Searcher):
    """Hands Tune the queue's cells, and the queue those that ended."""

    def __init__(self, queue: CellQueue) -> None:
        super().__init__(metric="epoch", mode="max")
        self._queue = queue
        self._live: dict[str, str] = {}
        self._ended: list[str] = []

    def suggest(self, trial_id: str) -> Any:
        """Return a cell's order, None to be asked again, or Tune's word for the end."""
        while self._ended:
            self._queue.ended(self._ended.pop(0))
        order = self._queue.next()
        if order is Next.DONE:
            return Searcher.FINISHED
        if order is Next.WAIT:
            return None
        self._live[trial_id] = order.head.trial_key
        return {
            "trial_key": order.head.trial_key,
            "order": order.model_dump_json(),
            "outbox_bytes": CellFolder(Path(order.cells), order.head.trial_key).outbox_size(),
        }

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Give a cell back, however its trial ended; its folder tells.

        Only when Tune asks again: after an error the callback hears of it later than this.
        """
        del result, error
        if key := self._live.pop(trial_id, None):
            self._ended.append(key)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing, though Tune wants a file: folders and journal are the truth."""
        Path(checkpoint_path).write_text("{}")

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_metric": "epoch", "_mode": "max"}

    def __deepcopy__(self, memo: dict[int, Any]) -> "CellSearcher":
        return self


class VerdictScheduler(FIFOScheduler):
    """Stops the trials that the queue's plan stops; in what order they start is the queue's."""

    def __init__(self, queue: CellQueue) -> None:
        super().__init__()
        self._queue = queue

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Let a trial go on after an epoch, or stop it there."""
        if "trial_key" not in result:
            return TrialScheduler.CONTINUE
        is_stopped = self._queue.judge(result["trial_key"], result["epoch"], result)
        return TrialScheduler.STOP if is_stopped else TrialScheduler.CONTINUE

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "VerdictScheduler":
        return self


class EventCallback(tune.Callback):
    """Tells the launch's events of each epoch, and folders of errors that only Tune knows."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Pass on an epoch."""
        if "trial_key" in result:
            self._events.progressed(
                result["trial_key"], result["epoch"], result["validation_error"]
            )

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Write into a cell's folder why its trial failed, where the trial itself could not.

        It could not where it raised before it held the cell: a package is missing, say. Of a
        killed process nothing is written.
        """
        order = TrialOrder.model_validate_json(trial.config["order"])
        folder = CellFolder(Path(order.cells), order.head.trial_key)
        is_told = folder.failure_since(trial.config["outbox_bytes"]) is not None
        if is_told or folder.is_filled() or not (reason := _reason(trial)):
            return
        with suppress(OSError), folder.lease(wait_seconds=1.0) as fence:
            folder.tell_failure(order.head, fence, reason)

    def __getstate__(self) -> dict[str, Any]:
        return {}


def _reason(trial: Any) -> str:
    """Return what a trial raised, "" if it was killed or another process held its cell."""
    if trial.pickled_error_file is None:
        return ""
    error = cloudpickle.loads(Path(trial.pickled_error_file).read_bytes())
    if isinstance(error, RayTaskError) and not isinstance(error.cause, TimeoutError):
        return reason_of(error.cause)
    if isinstance(error, RayActorError) and error._actor_init_failed:  # pyright: ignore[reportPrivateUsage] - said nowhere else
        return str(error).strip().splitlines()[-1]
    return ""
