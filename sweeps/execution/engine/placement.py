"""Placement: which share of a machine each job gets, and how many run at once.

A placement is a pure function of values, so that another one is one function handed in by argument.
The engine decides on which machine a job runs, and when; it keeps to the shares.
"""

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Json


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Machine(_Value):
    """What a machine has, whatever runs on it now."""

    cpus: float
    gpus: float = 0.0


class Request(_Value):
    """What a job asks for.

    Attributes:
        cpus: Cores, which is also its number of threads.
        gpus: GPUs, or a fraction of one; None leaves it to the placement.
        configs: Configs of the trials that it trains together; none where they are not known yet.
    """

    cpus: int = 1
    gpus: float | None = None
    configs: tuple[Json, ...] = ()


class Limits(_Value):
    """What bounds a launch as a whole.

    Attributes:
        max_concurrent: Largest number of jobs at once; None fills the machines.
        may_grow: Whether machines may join later, so that jobs may wait for them.
    """

    max_concurrent: int | None = None
    may_grow: bool = False


class OnCard(_Value):
    """A GPU of this machine that a job is bound to, with part of its memory.

    Attributes:
        number: The card's number in the launch.
        visible_as: What `CUDA_VISIBLE_DEVICES` is to say.
        label: Its name for people, as `plan` prints it.
        memory_fraction: What its process may allocate, as a part of the card's memory.
    """

    number: int
    visible_as: str
    label: str
    memory_fraction: float


class Share(_Value):
    """What a job gets of one machine.

    Attributes:
        cpus: Cores.
        gpus: GPUs, or a fraction of one.
        card: The GPU, where the launch packs them itself; else Ray chooses it.
    """

    cpus: int = 1
    gpus: float = 0.0
    card: OnCard | None = None

    @property
    def device(self) -> str:
        """The name of its device for torch."""
        return "cuda" if self.gpus else "cpu"


class Placed(_Value):
    """The answer of a placement.

    Attributes:
        shares: Share of each request, in their order.
        num_concurrent: Largest number of jobs at once. Those that find no room then wait for it.
    """

    shares: tuple[Share, ...]
    num_concurrent: int


Placement = Callable[[Sequence[Request], Sequence[Machine], Limits], Placed]


def place_evenly(
    requests: Sequence[Request], machines: Sequence[Machine], limits: Limits
) -> Placed:
    """Give each job what it asks for, by default a GPU if there is one, and fill the machines.

    A cluster may grow by an unknown number of machines. So the limit, if there is one, is used as
    it is, and jobs that find no room wait for machines.

    Args:
        requests: At least one.
        machines: At least one.
        limits: Limits of the launch.

    Raises:
        BadInput: If one of them fits nowhere, or there is no machine to see what is there.
    """
    if limits.may_grow and not any(machine.cpus for machine in machines):
        _check_known_without_machines(requests, limits)
    shares = tuple(_share(request, machines) for request in requests)
    if limits.may_grow and limits.max_concurrent:
        return Placed(shares=shares, num_concurrent=limits.max_concurrent)
    most = max(num_fitting(share, machines) for share in shares)
    return Placed(shares=shares, num_concurrent=min(most, limits.max_concurrent or most))


def _check_known_without_machines(requests: Sequence[Request], limits: Limits) -> None:
    """Check that jobs can be placed in a cluster that has no machine for them yet.

    Raises:
        BadInput: If it has not been said how many run at once, or what each gets.
    """
    if limits.max_concurrent is None or any(request.gpus is None for request in requests):
        raise BadInput(
            "The cluster has no machine for trials now. Start one, or, where Ray starts them when "
            "trials wait, give both --max-concurrent (trials at once) and --gpus-per-trial."
        )


def num_fitting(share: Share, machines: Sequence[Machine]) -> int:
    """Return how many jobs with a share fit at once, each on one machine by itself.

    Raises:
        BadInput: If not even one fits.
    """
    fitting = num_that_fit(share, machines)
    if fitting < 1:
        largest = max(machines, key=lambda machine: (machine.cpus, machine.gpus))
        raise BadInput(
            f"No trial fits: each asks for {_counted(share.cpus, 'CPU')} and "
            f"{_counted(share.gpus, 'GPU')}, and the largest machine has "
            f"{_counted(largest.cpus, 'CPU')} and {_counted(largest.gpus, 'GPU')}. Lower "
            f"{_too_much(share, largest)}."
        )
    return fitting


def _too_much(share: Share, largest: Machine) -> str:
    """Return the options of which a machine has too little."""
    options = {
        "--cpus-per-trial": share.cpus > largest.cpus,
        "--gpus-per-trial": share.gpus > largest.gpus,
    }
    return " and ".join(name for name, is_too_much in options.items() if is_too_much)


def num_that_fit(share: Share, machines: Sequence[Machine]) -> int:
    """Return how many jobs with a share fit at once, 0 where not even one does."""
    return sum(_num_fitting_on(machine, share) for machine in machines)


def _counted(number: float, unit: str) -> str:
    text = number if isinstance(number, int) else f"{number:g}"
    return f"{text} {unit}{'' if number == 1 else 's'}"


def _share(request: Request, machines: Sequence[Machine]) -> Share:
    if request.gpus is not None:
        return Share(cpus=request.cpus, gpus=request.gpus)
    has_gpu = sum(machine.gpus for machine in machines) >= 1
    return Share(cpus=request.cpus, gpus=1.0 if has_gpu else 0.0)


def _num_fitting_on(machine: Machine, share: Share) -> int:
    by_cpus = int(machine.cpus // share.cpus)
    return min(by_cpus, int(machine.gpus / share.gpus + 1e-9)) if share.gpus else by_cpus
