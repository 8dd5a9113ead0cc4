"""Schedulers: when a search gives up a trial that others have left behind."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.settings.parts import OneOf, Part

Share = Annotated[float, Field(gt=0, lt=1)]


class Scheduler(Part, ABC):
    """When a search gives up a trial that others have left behind.

    A verdict falls at a *rung*, an epoch at which all proposals are compared, each by its mean over
    its seeds: it falls once all of them are there, and for all of them. Where fewer trainings run
    at once than a proposal has seeds, little is saved, as most of them have ended by then.

    Attributes:
        pauses: Whether who comes to a rung waits there until it is promoted, else it trains on
            until it is stopped.
    """

    family: ClassVar[str] = "scheduler"
    pauses: ClassVar[bool] = False

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

    def mean_share(self, num_epochs: int) -> float:
        """Return which share of a full training a proposal takes at most, on average of many."""
        del num_epochs
        return 1.0

    def own(self, costs: Sequence[float]) -> float:
        """Return what a proposal is judged by, of what it came to until then; small is good."""
        return costs[-1]

    def rival(self, costs: Sequence[float]) -> float:
        """Return what others are held against, of what a proposal came to until then."""
        return costs[-1]


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
        return _ever_farther(self.grace, self.reduction_factor, num_epochs)


class PromotionAsha(Scheduler):
    """Asynchronous successive halving as published: all wait at a rung, the best are promoted.

    A free place goes to the best that waits at the highest rung, where it is one of the best
    `1 / reduction_factor` of all that have come there so far; else to a new proposal. So a proposal
    may be promoted long after it has come to a rung, and little is trained of what is hopeless.

    Source: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar 2018, arXiv:1810.05934,
    algorithm 2.
    Difference: there is an end of proposals. When all are made and none is to be promoted any
    more, the best of the highest rung go on until as many are of full length as are confirmed, at
    least one; who waits then is stopped there.

    Attributes:
        grace: Share of the full length before the first rung.
        reduction_factor: One in so many is promoted, and the rungs are so many times farther apart.
    """

    kind: Literal["promotion"] = "promotion"
    pauses: ClassVar[bool] = True
    grace: Share = 0.1
    reduction_factor: Annotated[int, Field(ge=2)] = 3

    @property
    def kept(self) -> float:
        """One in `reduction_factor`."""
        return 1 / self.reduction_factor

    @property
    def min_rivals(self) -> int:
        """As many as it takes for one of all to be the kept share."""
        return self.reduction_factor - 1

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the end of the grace, and the epochs `reduction_factor` times as late."""
        return _ever_farther(self.grace, self.reduction_factor, num_epochs)

    def mean_share(self, num_epochs: int) -> float:
        """Return what is trained where just the kept share goes on from each rung."""
        lengths = (end - begin for begin, end in pairwise((0, *self.rungs(num_epochs), num_epochs)))
        return sum(length * self.kept**rung for rung, length in enumerate(lengths)) / num_epochs


class Median(Scheduler):
    """The median rule: stopped is whose best so far is worse than the median of running averages.

    One bad epoch stops nobody, and of curves that differ by noise alone most survive.

    Source: Golovin, Solnik, Moitra, Kochanski, Karro and Sculley 2017, Google Vizier, section
    3.2.1.
    Difference: the rivals are all that have come as far, not those alone that have ended.

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

    def own(self, costs: Sequence[float]) -> float:
        """Return the best so far."""
        return min(costs)

    def rival(self, costs: Sequence[float]) -> float:
        """Return the average so far."""
        return sum(costs) / len(costs)


SCHEDULERS = (NoScheduler, Asha, PromotionAsha, Median)
AnyScheduler = Annotated[Scheduler, OneOf(SCHEDULERS)]


def _ever_farther(grace: float, factor: int, num_epochs: int) -> tuple[int, ...]:
    epochs = [_end_of_grace(grace, num_epochs)]
    while epochs[-1] < num_epochs:
        epochs.append(epochs[-1] * factor)
    return tuple(epochs[:-1])


def _end_of_grace(grace: float, num_epochs: int) -> int:
    return max(1, math.ceil(grace * num_epochs - 1e-9))  # 0.1 * 30 is a little more than 3
