"""Ray Tune as an engine: it finds room for orders and runs them in processes that it reuses.

Tune's own state is scratch. A searcher takes the orders, and hears of ended trials by key.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sweeps.execution.engine.engine import Events, Orders
from sweeps.execution.engine.messages import EpochsTold, EpochTold, Order
from sweeps.execution.engine.tune.ray_private import is_known_release, tune_run
from sweeps.execution.engine.tune.ready_worker import load_libraries
from sweeps.execution.worker.process import die_with_parent, keep_freed_memory, prepare_environment
from sweeps.execution.worker.trial import run_trial

_LEAVE_SECONDS = 60  # that a stopped trial may take to leave its process to another


def load_tune() -> None:
    """Load Tune, which takes a second or two of a processor, before there is something to train."""
    import_module("sweeps.execution.engine.tune.tune_hooks")


class TuneEngine:
    """Runs orders by Ray Tune, where a Ray session is there.

    A process is used again for an order of the same share only.

    Args:
        num_concurrent: Orders at once at most.
        scratch: Folder for what Tune writes.
    """

    def __init__(self, num_concurrent: int, scratch: str) -> None:
        self._num_concurrent = num_concurrent
        self._scratch = scratch

    def run(self, orders: Orders, events: Events) -> None:
        """Train what is ordered."""
        from ray import tune

        from sweeps.execution.engine.tune.tune_hooks import (
            ActorBusyError,
            ActorLostError,
            ErrorCallback,
            OrderSearcher,
            StopScheduler,
        )

        searcher = OrderSearcher(orders, events)
        tuner = tune.Tuner(
            tune.with_resources(train_order, _resources_of),
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                scheduler=StopScheduler(events),
                num_samples=-1,
                max_concurrent_trials=self._num_concurrent,
                reuse_actors=is_known_release(),
                trial_name_creator=_name_of,
                trial_dirname_creator=_name_of,
            ),
            run_config=tune.RunConfig(
                name="launch",
                storage_path=str(Path(self._scratch) / "tune"),
                verbose=0,
                callbacks=[ErrorCallback(searcher)],
                failure_config=tune.FailureConfig(max_failures=0),
            ),
        )
        with tune_run(ActorLostError, ActorBusyError):
            tuner.fit()
        searcher.tell_rest()


def train_order(config: dict[str, Any]) -> None:
    """Train an order: the function that Tune runs in its worker processes."""
    from ray import tune

    (trial,) = Order.model_validate_json(config["order"]).trials  # bundles are of one for now
    threads = trial.head.threads
    prepare_environment(threads)
    os.environ["TUNE_FUNCTION_THREAD_TIMEOUT_S"] = str(_LEAVE_SECONDS)  # read by this process
    die_with_parent(os.getppid())  # Ray itself ends one whose parent is gone already
    keep_freed_memory()
    load_libraries()
    import torch

    torch.set_num_threads(threads)

    def report(epochs: Sequence[dict[str, Any]]) -> None:
        tune.report(_reported(epochs))

    run_trial(trial, report)


def _reported(epochs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what Tune is told of epochs: a number for its searcher, and the message."""
    told = EpochsTold(epochs=tuple(map(_told, epochs)))
    return {"epoch": told.epochs[-1].epoch, "message": told.model_dump_json()}


def _told(epoch: dict[str, Any]) -> EpochTold:
    metrics = {name: value for name, value in epoch.items() if name not in {"trial_key", "epoch"}}
    return EpochTold(trial_key=epoch["trial_key"], epoch=epoch["epoch"], metrics=metrics)


def _resources_of(config: dict[str, Any]) -> Any:
    """Return what an order gets; trials with equal shares may use each other's processes."""
    from ray import tune

    share = Order.model_validate_json(config["order"]).share
    return tune.PlacementGroupFactory([{"CPU": share.cpus, "GPU": share.gpus}])


def _name_of(trial: Any) -> str:
    """Name Tune's trial, and its scratch folder, after the cell and the attempt."""
    return f"{trial.config['trial_key']}-{trial.trial_id}"
