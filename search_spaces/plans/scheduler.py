"""Schedulers: when a search gives up a trial that others have left behind."""

import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.settings.parts import Part

Share = Annotated[float, Field(gt=0, lt=1)]


class Scheduler(Part, ABC):
    """When a search gives up a trial that others have left behind.

    A verdict falls at a *rung*, an epoch at which all trials are compared.
    """

    family: ClassVar[str] = "scheduler"

    @property
    @abstractmethod
    def kept(self) -> float:
        """The share of the trials at a rung that goes on."""

    @property
    @abstractmethod
    def min_rivals(self) -> int:
        """How many values of others a rung must hold before it gives verdicts."""

    @abstractmethod
    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the epochs of the rungs, ascending, all before the end of a full training."""


class NoScheduler(Scheduler):
    """Every trial runs to its end."""

    kind: Literal["none"] = "none"

    @property
    def kept(self) -> float:
        """All of them."""
        return 1.0

    @property
    def min_rivals(self) -> int:
        """One, as there are no verdicts."""
        return 1

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return none."""
        return ()


class Asha(Scheduler):
    """Asynchronous successive halving: at each rung the best of those seen so far go on.

    Source: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar 2018, arXiv:1810.05934,
    algorithm 2.
    Difference: a trial is judged when it reaches a rung and is stopped there for good; none that
    waits is promoted later. So no worker is idle and the early trials run longer.

    Attributes:
        grace: Share of the full length before the first verdict.
        reduction_factor: One in so many goes on, and the rungs are so many times farther apart.
        rivals: How many values of others a rung must hold before it gives verdicts; None takes
            `reduction_factor`, as it takes so many for one of them to be the kept share. With as
            many as a sampler's random start has, that start is seen whole.
    """

    kind: Literal["asha"] = "asha"
    grace: Share = 0.25
    reduction_factor: Annotated[int, Field(ge=2)] = 3
    rivals: Annotated[int, Field(ge=1)] | None = None

    @property
    def kept(self) -> float:
        """One in `reduction_factor`."""
        return 1 / self.reduction_factor

    @property
    def min_rivals(self) -> int:
        """The rivals set, else as many as it takes for one of them to be the kept share."""
        return self.reduction_factor if self.rivals is None else self.rivals

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the end of the grace, and the epochs `reduction_factor` times as late."""
        epochs = [_end_of_grace(self.grace, num_epochs)]
        while epochs[-1] < num_epochs:
            epochs.append(epochs[-1] * self.reduction_factor)
        return tuple(epochs[:-1])


class Median(Scheduler):
    """The median rule: the worse half of those seen so far at an epoch is stopped.

    Source: Golovin, Solnik, Moitra, Kochanski, Karro and Sculley 2017, Google Vizier, section 3.2.
    Difference: a trial is compared by its value at the epoch, not by its best or its mean so far.

    Attributes:
        grace: Share of the full length before the first verdict.
        rivals: How many values of others an epoch must hold before it gives verdicts.
    """

    kind: Literal["median"] = "median"
    grace: Share = 0.25
    rivals: Annotated[int, Field(ge=1)] = 5

    @property
    def kept(self) -> float:
        """Half of them."""
        return 0.5

    @property
    def min_rivals(self) -> int:
        """The rivals set."""
        return self.rivals

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return every epoch from the end of the grace on."""
        return tuple(range(_end_of_grace(self.grace, num_epochs), num_epochs))


SCHEDULERS = (NoScheduler, Asha, Median)


def _end_of_grace(grace: float, num_epochs: int) -> int:
    return max(1, math.ceil(grace * num_epochs - 1e-9))  # 0.1 * 30 is a little more than 3
