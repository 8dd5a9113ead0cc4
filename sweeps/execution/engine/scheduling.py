"""Ray Tune behind the interface "run these cells": where and when, never what.

Tune's own state is scratch. It is given cells by a searcher that asks the queue, and hears of ended
trials by key; what became of them is read from their folders.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.execution.engine.cell_queue import CellQueue, Events
from sweeps.execution.engine.ray_session import load_ray, ray_session
from sweeps.execution.worker.process import die_with_parent, keep_freed_memory, prepare_environment
from sweeps.execution.worker.trial import TrialOrder, run_trial
from sweeps.records.errors import BadInput


@dataclass(frozen=True)
class Resources:
    """What each trial is given.

    Attributes:
        cpus: Cores, which is also its number of threads.
        gpus: GPUs, or a fraction of one. None takes one where Ray sees any.
        max_concurrent: Trials at once at most; None fills the machine.
        address: Of a running Ray cluster; None starts one here.
    """

    cpus: int = 1
    gpus: float | None = None
    max_concurrent: int | None = None
    address: str | None = None


@dataclass(frozen=True)
class Capacity:
    """What a machine or cluster gives.

    Attributes:
        gpus_per_trial: GPUs that each trial gets.
        num_concurrent: Trials at once.
    """

    gpus_per_trial: float
    num_concurrent: int


ONE_AT_A_TIME = Capacity(gpus_per_trial=0.0, num_concurrent=1)


def capacity_of(resources: Resources) -> Capacity:
    """Ask this machine, or the cluster at the address, how many trials it takes at once.

    Raises:
        BadInput: If no trial fits, or the cluster does not answer.
    """
    if resources.address is None:
        return Capacity(gpus_per_trial(resources), num_concurrent(resources))
    with ray_session(resources.address):
        return Capacity(gpus_per_trial(resources), num_concurrent(resources))


def run_cells(queue: CellQueue, events: Events, resources: Resources, scratch: Path) -> None:
    """Train every cell that a queue hands out. Returns when it has none left."""
    from ray import tune

    from sweeps.execution.engine.tune_hooks import CellSearcher, EventCallback, VerdictScheduler

    gpus = gpus_per_trial(resources)
    tuner = tune.Tuner(
        tune.with_resources(train_cell, {"cpu": resources.cpus, "gpu": gpus}),
        tune_config=tune.TuneConfig(
            search_alg=CellSearcher(queue),
            scheduler=VerdictScheduler(queue),
            num_samples=-1,
            max_concurrent_trials=num_concurrent(resources),
            reuse_actors=True,
            trial_name_creator=_name_of,
            trial_dirname_creator=_name_of,
        ),
        run_config=tune.RunConfig(
            name="launch",
            storage_path=str(scratch / "tune"),
            verbose=0,
            callbacks=[EventCallback(events)],
            failure_config=tune.FailureConfig(max_failures=0),
        ),
    )
    tuner.fit()


def train_cell(config: dict[str, Any]) -> None:
    """Train one cell: the function that Tune runs in its reused worker processes."""
    from ray import tune

    order = TrialOrder.model_validate_json(config["order"])
    threads = order.head.threads
    prepare_environment(threads)
    die_with_parent()
    keep_freed_memory()
    import torch

    torch.set_num_threads(threads)
    run_trial(order, tune.report)


def _name_of(trial: Any) -> str:
    """Name Tune's trial, and its scratch folder, after the cell and the attempt."""
    return f"{trial.config['trial_key']}-{trial.trial_id}"


def gpus_per_trial(resources: Resources) -> float:
    """Return how many GPUs a trial gets: as asked, else one where Ray sees any."""
    if resources.gpus is not None:
        return resources.gpus
    ray = load_ray()
    if not ray.is_initialized():
        return 1.0 if local_gpus() else 0.0
    return 1.0 if ray.cluster_resources().get("GPU", 0) >= 1 else 0.0


def local_gpus() -> int:
    """Return how many GPUs this machine has, before Ray is there to tell."""
    import torch

    return torch.cuda.device_count()


def num_concurrent(resources: Resources) -> int:
    """Return how many trials run at once: as many as fit on each machine by itself.

    A cluster may grow, and tells nobody how far: a number that is given is taken as it is there,
    and trials that find no room wait for machines to come.

    Raises:
        BadInput: If not even one fits.
    """
    if resources.address and resources.max_concurrent:
        return resources.max_concurrent
    machines = _machines()
    per_trial = gpus_per_trial(resources)
    fitting = sum(_fitting(cpus, gpus, resources.cpus, per_trial) for cpus, gpus in machines)
    if fitting < 1:
        largest = max(machines)
        raise BadInput(
            f"No trial fits: each asks for {resources.cpus} CPUs and {per_trial:g} GPUs, and the "
            f"largest machine has {largest[0]:g} CPUs and {largest[1]:g} GPUs. Lower "
            f"--cpus-per-trial or --gpus-per-trial."
        )
    return min(fitting, resources.max_concurrent or fitting)


def _machines() -> list[tuple[float, float]]:
    """Return the CPUs and GPUs of each machine that Ray has, or will have when it starts here."""
    ray = load_ray()
    if not ray.is_initialized():
        return [(os.cpu_count() or 1, local_gpus())]
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return [(one.get("CPU", 0.0), one.get("GPU", 0.0)) for one in alive]


def _fitting(cpus: float, gpus: float, cpus_per_trial: int, per_trial: float) -> int:
    by_cpus = int(cpus // cpus_per_trial)
    return min(by_cpus, int(gpus / per_trial + 1e-9)) if per_trial else by_cpus
