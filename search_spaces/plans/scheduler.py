"""Schedulers: which trials of a search are pruned, and when."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.settings.parts import OneOf, Part

Share = Annotated[float, Field(gt=0, lt=1)]


class Scheduler(Part, ABC):
    """Base class of schedulers.

    Proposals are judged at a *rung*: an epoch at which they are compared by the mean over their
    seeds. A proposal is judged once all its seeds have reached the rung, and the verdict holds for
    all of them. If fewer trainings run at once than a proposal has seeds, little is saved, since
    most of them have ended by then.

    Attributes:
        pauses: Whether a trial pauses at a rung until it is promoted; otherwise it continues until
            it is stopped.
    """

    family: ClassVar[str] = "scheduler"
    pauses: ClassVar[bool] = False

    @property
    @abstractmethod
    def surviving_share(self) -> float:
        """The share of the trials at a rung that continue."""

    @property
    @abstractmethod
    def min_rivals(self) -> int:
        """How many other proposals must have reached a rung before it gives verdicts."""

    @abstractmethod
    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the epochs of the rungs, ascending, all before the end of a full training."""

    def mean_share(self, num_epochs: int) -> float:
        """Return an upper bound of the mean share of a full training that a proposal takes."""
        del num_epochs
        return 1.0

    def score(self, costs: Sequence[float]) -> float:
        """Return the score that a proposal is judged by, given its costs so far; small is good."""
        return costs[-1]

    def rival_score(self, costs: Sequence[float]) -> float:
        """Return the score that other proposals are compared with, given its costs so far."""
        return costs[-1]


class NoScheduler(Scheduler):
    """Every trial runs to its end."""

    kind: Literal["none"] = "none"

    @property
    def surviving_share(self) -> float:
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
    """Asynchronous successive halving: at each rung the best of those seen so far continue.

    Source: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar 2018, arXiv:1810.05934,
    algorithm 2.
    Difference: a trial is judged when it reaches a rung, and a trial that is stopped is never
    promoted later. So no worker is idle and the early trials run longer.

    Attributes:
        grace: Share of the full length before the first verdict.
        reduction_factor: One in this many continues; each rung is this many times later than the
            one before.
        rivals: How many other proposals must have reached a rung before it gives verdicts; None
            takes `reduction_factor`, the least of which one is the surviving share. With the number
            of a sampler's random proposals, all of these are seen first.
    """

    kind: Literal["asha"] = "asha"
    grace: Share = 0.25
    reduction_factor: Annotated[int, Field(ge=2)] = 3
    rivals: Annotated[int, Field(ge=1)] | None = None

    @property
    def surviving_share(self) -> float:
        """One in `reduction_factor`."""
        return 1 / self.reduction_factor

    @property
    def min_rivals(self) -> int:
        """The given number, or the smallest of which at least one survives."""
        return self.reduction_factor if self.rivals is None else self.rivals

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the end of the grace, and each time the epoch `reduction_factor` times as late."""
        return _geometric_rungs(self.grace, self.reduction_factor, num_epochs)


class PromotionAsha(Scheduler):
    """Asynchronous successive halving as published: all pause at a rung, the best are promoted.

    A free slot goes to the best trial that is paused at the highest rung, if it is one of the best
    `1 / reduction_factor` of all that have reached this rung so far; otherwise to a new proposal.
    So a proposal may be promoted long after it reached a rung, and hopeless ones train little.

    Source: Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht and Talwalkar 2018, arXiv:1810.05934,
    algorithm 2.
    Difference: the number of proposals is limited. When all are made and none can be promoted, the
    best of the highest rung continue until as many have full length as are confirmed, at least one;
    trials that are paused then are stopped.

    Attributes:
        grace: Share of the full length before the first rung.
        reduction_factor: One in this many is promoted; each rung is this many times later than the
            one before.
    """

    kind: Literal["promotion"] = "promotion"
    pauses: ClassVar[bool] = True
    grace: Share = 0.1
    reduction_factor: Annotated[int, Field(ge=2)] = 3

    @property
    def surviving_share(self) -> float:
        """One in `reduction_factor`."""
        return 1 / self.reduction_factor

    @property
    def min_rivals(self) -> int:
        """The least number with which one of all is the surviving share."""
        return self.reduction_factor - 1

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return the end of the grace, and each time the epoch `reduction_factor` times as late."""
        return _geometric_rungs(self.grace, self.reduction_factor, num_epochs)

    def mean_share(self, num_epochs: int) -> float:
        """Return the share if just the surviving share continues from each rung."""
        lengths = (end - begin for begin, end in pairwise((0, *self.rungs(num_epochs), num_epochs)))
        return (
            sum(length * self.surviving_share**rung for rung, length in enumerate(lengths))
            / num_epochs
        )


class Median(Scheduler):
    """The median rule: a trial is stopped if its best is worse than the median running average.

    One bad epoch stops no trial, and most curves that differ only by noise survive.

    Source: Golovin, Solnik, Moitra, Kochanski, Karro and Sculley 2017, Google Vizier, section
    3.2.1.
    Difference: a trial is compared with all that have come as far, not only with ended ones.

    Attributes:
        grace: Share of the full length before the first verdict.
        rivals: How many other proposals must have reached an epoch before it gives verdicts.
    """

    kind: Literal["median"] = "median"
    grace: Share = 0.25
    rivals: Annotated[int, Field(ge=1)] = 5

    @property
    def surviving_share(self) -> float:
        """Half of them."""
        return 0.5

    @property
    def min_rivals(self) -> int:
        """The given number."""
        return self.rivals

    def rungs(self, num_epochs: int) -> tuple[int, ...]:
        """Return every epoch from the end of the grace on."""
        return tuple(range(_end_of_grace(self.grace, num_epochs), num_epochs))

    def score(self, costs: Sequence[float]) -> float:
        """Return the best so far."""
        return min(costs)

    def rival_score(self, costs: Sequence[float]) -> float:
        """Return the average so far."""
        return sum(costs) / len(costs)


SCHEDULERS = (NoScheduler, Asha, PromotionAsha, Median)
AnyScheduler = Annotated[Scheduler, OneOf(SCHEDULERS)]


def _geometric_rungs(grace: float, factor: int, num_epochs: int) -> tuple[int, ...]:
    epochs = [_end_of_grace(grace, num_epochs)]
    while epochs[-1] < num_epochs:
        epochs.append(epochs[-1] * factor)
    return tuple(epochs[:-1])


def _end_of_grace(grace: float, num_epochs: int) -> int:
    return max(1, math.ceil(grace * num_epochs - 1e-9))  # 0.1 * 30 is a little more than 3
