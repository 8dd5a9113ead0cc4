"""The two objects that Ray Tune calls: one asks for cells, one hears of epochs.

They hold live objects of the driver, which Tune would pickle into its snapshots; so they leave all
of it out of their state.
"""

from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.search import Searcher

from sweeps.execution.cell_queue import CellQueue, Events, Next


class CellSearcher(Searcher):
    """Hands Tune the queue's cells, and the queue those that ended."""

    def __init__(self, queue: CellQueue) -> None:
        super().__init__(metric="epoch", mode="max")
        self._queue = queue
        self._live: dict[str, str] = {}

    def suggest(self, trial_id: str) -> Any:
        """Return a cell's order, None to be asked again, or Tune's word for the end."""
        order = self._queue.next()
        if order is Next.DONE:
            return Searcher.FINISHED
        if order is Next.WAIT:
            return None
        self._live[trial_id] = order.head.trial_key
        return {"trial_key": order.head.trial_key, "order": order.model_dump_json()}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Give a cell back, however its trial ended; its folder tells."""
        del result, error
        if key := self._live.pop(trial_id, None):
            self._queue.ended(key)

    def save(self, checkpoint_path: str) -> None:
        """Save nothing, though Tune wants a file: folders and journal are the truth."""
        Path(checkpoint_path).write_text("{}")

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_metric": "epoch", "_mode": "max"}

    def __deepcopy__(self, memo: dict[int, Any]) -> "CellSearcher":
        return self


class EventCallback(tune.Callback):
    """Tells the launch's events of each epoch."""

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

    def __getstate__(self) -> dict[str, Any]:
        return {}
