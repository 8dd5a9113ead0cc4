"""The objects that Ray Tune calls: they take orders, pass on epochs and ends, stop trials.

They hold live objects of the driver, which Tune would pickle into its snapshots; so they leave all
of it out of their state.
"""

from pathlib import Path
from typing import Any, NamedTuple

from ray import cloudpickle, tune
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from sweeps.execution.cells.folder import reason_of
from sweeps.execution.engine.engine import Events, Orders
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.messages import EpochsTold, Next, TrialEnded
from sweeps.execution.engine.tune.ray_private import leave_cell

_NODE_DIED = "node has died"  # Ray says it in words only


class ActorLostError(RayActorError):
    """An actor that died of what Ray tells by another error.

    Attributes:
        cause: That error.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(error_msg=str(cause))
        self.cause = cause

    def __reduce__(self) -> Any:
        return type(self), (self.cause,)


class ActorBusyError(RayActorError):
    """An actor that the trial before had not left in time."""


class Fault(NamedTuple):
    """How a process ended, as far as Tune knows it."""

    failure: Failure | None
    reason: str


_NO_FAULT = Fault(None, "")


class OrderSearcher(Searcher):
    """Hands Tune the orders, and tells of the trials that ended."""

    def __init__(self, orders: Orders, events: Events) -> None:
        super().__init__(metric="epoch", mode="max")
        self._orders = orders
        self._events = events
        self._running: dict[str, tuple[str, ...]] = {}
        self._ended: list[str] = []
        self._faults: dict[str, Fault] = {}

    def suggest(self, trial_id: str) -> Any:
        """Return an order, None to be asked again, or Tune's word for the end."""
        self.tell_rest()
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

    def note_fault(self, trial_id: str, fault: Fault) -> None:
        """Note how an order's process ended."""
        self._faults[trial_id] = fault

    def tell_rest(self) -> None:
        """Tell of those that have ended."""
        while self._ended:
            trial_id = self._ended.pop(0)
            failure, reason = self._faults.pop(trial_id, _NO_FAULT)
            for key in self._running.pop(trial_id):
                self._events.tell(TrialEnded(trial_key=key, failure=failure, reason=reason))

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
        """Let a trial go on after epochs, or stop it at the last."""
        if "message" not in result:  # a trial whose cell is filled reports nothing
            return TrialScheduler.CONTINUE
        told = EpochsTold.model_validate_json(result["message"])
        is_stopped = False
        for epoch in told.epochs:
            is_stopped |= self._events.tell(epoch) is not None
        if not is_stopped:
            return TrialScheduler.CONTINUE
        # its process may be kept for the next order, however long that takes to come
        leave_cell(trial)
        return TrialScheduler.STOP

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
        self._searcher.note_fault(trial.trial_id, _fault(trial))

    def __getstate__(self) -> dict[str, Any]:
        return {}


def _fault(trial: Any) -> Fault:
    """Return how a trial's process ended; nothing if it was killed, or another held its cell."""
    if trial.pickled_error_file is None:
        return _NO_FAULT
    error = cloudpickle.loads(Path(trial.pickled_error_file).read_bytes())
    if isinstance(error, RayTaskError) and not isinstance(error.cause, TimeoutError):
        return Fault(Failure.RAISED, reason_of(error.cause))
    if isinstance(error, ActorLostError) and isinstance(error.cause, OutOfMemoryError):
        return Fault(Failure.OUT_OF_MEMORY, "its machine had no memory left")
    if isinstance(error, ActorBusyError):
        return Fault(Failure.LOST, "its process was not free in time")
    if isinstance(error, RayActorError):
        return _fault_of_actor(error)
    return _NO_FAULT


def _fault_of_actor(error: RayActorError) -> Fault:
    lines = str(error).strip().splitlines()
    if error.actor_init_failed:
        return Fault(Failure.RAISED, lines[-1])
    if error.preempted or _NODE_DIED in str(error):
        return Fault(Failure.LOST, "its machine went away")
    return _NO_FAULT
