"""What each trial gets of the machines, and how many trials run at once."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from sweeps.execution.engine.cards import Card, cards_here
from sweeps.execution.engine.cgroup import num_cores, num_oom_kills
from sweeps.execution.engine.failure_policy import GpuShare
from sweeps.execution.engine.packing import CardPacker, MemoryNeeds
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
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Json


@dataclass(frozen=True)
class Resources:
    """What each trial is given.

    Attributes:
        cpus: Cores, which is also its number of threads.
        gpus: GPUs, or a fraction of one. None takes one where Ray sees any; "auto" packs the GPUs
            of this machine by the memory that trials need.
        max_concurrent: Trials at once at most; None fills the machine.
        address: Address of a running Ray cluster; None starts one here.
        gpu_memory: File in which packing remembers what trials need; None for none.
        checkpointing: Whether trials compute activations anew.
    """

    cpus: int = 1
    gpus: float | Literal["auto"] | None = None
    max_concurrent: int | None = None
    address: str | None = None
    gpu_memory: Path | None = None
    checkpointing: bool = False


@dataclass(frozen=True)
class Capacity:
    """What a machine or cluster gives.

    Attributes:
        gpus_per_trial: GPUs that each trial gets, "auto" where trials share them by their memory.
        num_concurrent: Trials at once, at most.
        cards: The GPUs of this machine, where they were looked at.
        hidden_by: `CUDA_VISIBLE_DEVICES`, where this machine then has fewer GPUs than it lists for
            trials that would take one.
    """

    gpus_per_trial: float | Literal["auto"]
    num_concurrent: int
    cards: tuple[Card, ...] = ()
    hidden_by: str = ""


_LEAST_FREE_BYTES = 2**30
ONE_AT_A_TIME = Capacity(gpus_per_trial=0.0, num_concurrent=1)


class Room:
    """The machines of one launch, shared among its trials by a placement.

    Args:
        resources: What each trial is given.
        placement: Says which share each job gets.
        machines: Called when first needed, and again for each trial that runs alone.
        cards: Returns the GPUs of this machine; called when first needed.
    """

    def __init__(
        self,
        resources: Resources,
        placement: Placement = place_evenly,
        machines: Callable[[], Sequence[Machine]] | None = None,
        cards: Callable[[], tuple[Card, ...]] = cards_here,
    ) -> None:
        self._resources = resources
        self._placement = placement
        self._ask = machines or this_machine
        self._ask_cards = cards

    def share(self, config: Json, *, is_alone: bool = False, gpu: GpuShare = "usual") -> Share:
        """Return what a trial gets; all of the largest machine for one that runs alone.

        If no present machine has room for it, as in a cluster that grows and shrinks, it gets the
        usual share: a machine that comes later may be no larger.

        Args:
            config: The trial's.
            is_alone: Whether it runs alone.
            gpu: How much of a GPU it gets, where it usually gets a part of one.

        Raises:
            BadInput: If it fits nowhere.
        """
        share = self._placed([(config,)]).shares[0]
        if self._resources.gpus == "auto":
            share = share.model_copy(update={"gpus": 1.0})
        if gpu != "usual" and 0 < share.gpus < 1:
            gpus = 1.0 if gpu == "whole" else min(1.0, 2 * share.gpus)
            share = share.model_copy(update={"gpus": gpus})
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
        gpus = max(share.gpus for share in placed.shares)
        if self._resources.gpus == "auto":
            return Capacity("auto", placed.num_concurrent, self.cards)
        return Capacity(gpus, placed.num_concurrent)

    def num_fitting(self, configs: Iterable[Json] = ()) -> int:
        """Return how many trials fit at once, whatever the options of the launch allow.

        A cluster that may grow has no such number: the options' own stands for it.

        Args:
            configs: As in `capacity`.
        """
        if self._resources.address is not None:
            return self.capacity(configs).num_concurrent
        unlimited = replace(self._resources, max_concurrent=None)
        room = Room(unlimited, self._placement, lambda: self._machines, self._ask_cards)
        return room.capacity(configs).num_concurrent

    @cached_property
    def packer(self) -> CardPacker | None:
        """Binds trials to the GPUs of this machine; None where Ray does.

        Raises:
            BadInput: If there is no GPU, or none has memory to spare.
        """
        if self._resources.gpus != "auto":
            return None
        needs = MemoryNeeds(self._resources.gpu_memory)
        return CardPacker(self.cards, needs, checkpointing=self._resources.checkpointing)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """The GPUs of this machine.

        Raises:
            BadInput: If they are to be packed, and there is none or none has memory to spare.
        """
        try:
            cards = self._ask_cards()
        except OSError as error:
            raise BadInput(f"The GPUs of this machine cannot be used: {error}.") from error
        if self._resources.gpus != "auto":
            return cards
        if not cards:
            visible = _visible_devices()
            limit = f", where CUDA_VISIBLE_DEVICES is {visible}" if visible else ""
            raise BadInput(
                f"--gpus-per-trial auto: PyTorch sees no GPU here{limit}. Look at what "
                f"nvidia-smi says, whether torch.version.cuda is None (a build for CPUs), and "
                f"CUDA_VISIBLE_DEVICES; or leave the option out to train on the CPU."
            )
        with_room = tuple(card for card in cards if card.free_bytes >= _LEAST_FREE_BYTES)
        if not with_room:
            described = "; ".join(card.described() for card in cards)
            raise BadInput(
                f"--gpus-per-trial auto: no GPU has {_LEAST_FREE_BYTES / 2**30:g} GiB free, which "
                f"is what a small training takes: {described}. End what uses them, or train on the "
                f"CPU (--gpus-per-trial 0)."
            )
        return with_room

    def _placed(self, bundles: Sequence[tuple[Json, ...]]) -> Placed:
        resources = self._resources
        # with auto, cores decide how many there may be
        gpus = 0.0 if resources.gpus == "auto" else resources.gpus
        requests = [Request(cpus=resources.cpus, gpus=gpus, configs=configs) for configs in bundles]
        may_grow = resources.address is not None
        limits = Limits(max_concurrent=resources.max_concurrent, may_grow=may_grow)
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
        room = Room(resources, placement)
        capacity, visible = room.capacity(), _visible_devices()
        if capacity.gpus_per_trial:
            is_short = bool(visible) and len(visible.split(",")) > _local_gpus()
            return replace(capacity, cards=room.cards, hidden_by=visible if is_short else "")
        return replace(capacity, hidden_by="" if resources.gpus == 0 else visible)
    with scratch_folder() as folder, RayEngine(resources.address, folder / "log") as engine:
        return Room(resources, placement, lambda: engine.machines).capacity()


def _visible_devices() -> str:
    """Return CUDA_VISIBLE_DEVICES, "" where it is not set."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def this_machine() -> list[Machine]:
    """Return the machine on which Ray will be started."""
    return [Machine(cpus=num_cores(), gpus=_local_gpus())]


def _local_gpus() -> int:
    """Return how many GPUs this machine has, without Ray."""
    import torch

    return torch.cuda.device_count()
