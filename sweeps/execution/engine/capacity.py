"""What each trial gets of the machines, and how many trials run at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sweeps.execution.engine.cgroup import num_cores, num_oom_kills
from sweeps.execution.engine.placement import (
    Limits,
    Machine,
    Placed,
    Placement,
    Request,
    Share,
    place_evenly,
)
from sweeps.execution.engine.process.ray_engine import RayEngine
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.records.trial_record import Json


@dataclass(frozen=True)
class Resources:
    """What each trial is given.

    Attributes:
        cpus: Cores, which is also its number of threads.
        gpus: GPUs, or a fraction of one. None takes one where Ray sees any.
        max_concurrent: Trials at once at most; None fills the machine.
        address: Address of a running Ray cluster; None starts one here.
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


class Room:
    """The machines of one launch, shared among its trials by a placement.

    Args:
        resources: What each trial is given.
        placement: Says which share each job gets.
        machines: Called when first needed, and again for each trial that runs alone.
    """

    def __init__(
        self,
        resources: Resources,
        placement: Placement = place_evenly,
        machines: Callable[[], Sequence[Machine]] | None = None,
    ) -> None:
        self._resources = resources
        self._placement = placement
        self._ask = machines or this_machine

    def share(self, config: Json, *, is_alone: bool = False) -> Share:
        """Return what a trial gets; all of the largest machine for one that runs alone.

        If no present machine has room for it, as in a cluster that grows and shrinks, it gets the
        usual share: a machine that comes later may be no larger.

        Raises:
            BadInput: If it fits nowhere.
        """
        share = self._placed([(config,)]).shares[0]
        if not is_alone:
            return share
        fits = [has for has in self._ask() if has.cpus >= share.cpus and has.gpus >= share.gpus]
        if not fits:
            return share
        largest = max(fits, key=lambda machine: (machine.cpus, machine.gpus))
        return Share(cpus=int(largest.cpus), gpus=largest.gpus if share.gpus else 0.0)

    def oom_kills(self) -> int:
        """Count the processes that the kernel has killed for memory; 0 for a cluster."""
        return 0 if self._resources.address else num_oom_kills()

    def capacity(self, configs: Iterable[Json] = ()) -> Capacity:
        """Return what trials get and how many run at once.

        Args:
            configs: Configs of the known trials; none if all are alike.

        Raises:
            BadInput: If one of them fits nowhere.
        """
        placed = self._placed([(config,) for config in configs] or [()])
        return Capacity(max(share.gpus for share in placed.shares), placed.num_concurrent)

    def _placed(self, bundles: Sequence[tuple[Json, ...]]) -> Placed:
        given = self._resources
        requests = [
            Request(cpus=given.cpus, gpus=given.gpus, configs=configs) for configs in bundles
        ]
        may_grow = given.address is not None
        limits = Limits(max_concurrent=given.max_concurrent, may_grow=may_grow)
        return self._placement(requests, self._machines, limits)

    @cached_property
    def _machines(self) -> Sequence[Machine]:
        return self._ask()


def capacity_of(resources: Resources, placement: Placement = place_evenly) -> Capacity:
    """Ask this machine, or the cluster at the address, how many trials it takes at once.

    Raises:
        BadInput: If no trial fits, or the cluster does not answer.
    """
    if resources.address is None:
        return Room(resources, placement).capacity()
    with scratch_folder() as folder, RayEngine(resources.address, folder / "log") as engine:
        return Room(resources, placement, lambda: engine.machines).capacity()


def this_machine() -> list[Machine]:
    """Return the machine on which Ray will be started."""
    return [Machine(cpus=num_cores(), gpus=_local_gpus())]


def _local_gpus() -> int:
    """Return how many GPUs this machine has, without Ray."""
    import torch

    return torch.cuda.device_count()
