"""The objects that Ray Tune calls: they take orders, pass on epochs and ends, stop trials.

They hold live objects of the driver, which Tune would pickle into its snapshots; so they leave all
of it out of their state.
"""

from pathlib import Path
from typing import Any

from ray import cloudpickle, tune
from ray.exceptions import RayActorError, RayTaskError
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from sweeps.execution.cells.folder import reason_of
from sweeps.execution.engine.engine import Events, Orders
from sweeps.execution.engine.messages import EpochTold, Next, TrialEnded


class OrderSearcher(Searcher):
    """Hands Tune the orders, and tells of the trials that ended."""

    def __init__(self, orders: Orders, events: Events) -> None:
        super().__init__(metric="epoch", mode="max")
        self._orders = orders
        self._events = events
        self._running: dict[str, tuple[str, ...]] = {}
        self._ended: list[str] = []
        self._reasons: dict[str, str] = {}

    def suggest(self, trial_id: str) -> Any:
        """Return an order, None to be asked again, or Tune's word for the end."""
        while self._ended:
            self._tell_ended(self._ended.pop(0))
        order = self._orders.next()
        if order is Next.DONE:
            return Searcher.FINISHED
        if order is Next.WAIT:
            return None
        self._running[trial_id] = order.trial_keys
        return {"trial_key": order.trial_keys[0], "order": order.model_dump_json()}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Note that an order has ended in any way.

        It is told only when Tune asks again: after an error the reason is heard of later than this.
        """
        del result, error
        if trial_id in self._running:
            self._ended.append(trial_id)

    def note_reason(self, trial_id: str, reason: str) -> None:
        """Note what an order's process raised."""
        self._reasons[trial_id] = reason

    def _tell_ended(self, trial_id: str) -> None:
        reason = self._reasons.pop(trial_id, "")
        for key in self._running.pop(trial_id):
            self._events.tell(TrialEnded(trial_key=key, reason=reason))

    def save(self, checkpoint_path: str) -> None:
        """Save nothing, though Tune wants a file: folders and journal are the truth."""
        Path(checkpoint_path).write_text("{}")

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_metric": "epoch", "_mode": "max"}

    def __deepcopy__(self, memo: dict[int, Any]) -> "OrderSearcher":
        return self


class StopScheduler(FIFOScheduler):
    """Passes on epochs, and stops trials where the answer says so; their order is the queue's."""

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Let a trial go on after an epoch, or stop it there."""
        if "message" not in result:  # a trial whose cell is filled reports nothing
            return TrialScheduler.CONTINUE
        answer = self._events.tell(EpochTold.model_validate_json(result["message"]))
        return TrialScheduler.STOP if answer else TrialScheduler.CONTINUE

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "StopScheduler":
        return self


class ErrorCallback(tune.Callback):
    """Notes of errors what only Tune knows: what a process raised before it held its cell."""

    def __init__(self, searcher: OrderSearcher) -> None:
        self._searcher = searcher

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Note why an order's process ended; of a killed one nothing is known."""
        if reason := _reason(trial):
            self._searcher.note_reason(trial.trial_id, reason)

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
