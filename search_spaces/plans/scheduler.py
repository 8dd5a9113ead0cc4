"""Schedulers: which trials of a search are pruned, and when."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
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
    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
        """Return the epochs of the rungs, ascending, all before the end of a full training."""

    def bracket(self, number: int, num_epochs: int) -> int:
        """Return the bracket of a proposal, which is compared with others of its bracket only."""
        del number, num_epochs
        return 0

    def mean_share(self, num_epochs: int, numbers: Iterable[int] = (0,)) -> float:
        """Return the mean share of a full training that proposals take.

        It is that of just the surviving share continuing from each rung; the whole if trials are
        stopped, as the verdicts then depend on the order in which they come.

        Args:
            num_epochs: Of a full training.
            numbers: The numbers of the proposals.
        """
        if not self.pauses:
            return 1.0
        brackets = Counter(self.bracket(number, num_epochs) for number in numbers)
        epochs = sum(
            count * self._mean_epochs((0, *self.rungs(num_epochs, bracket), num_epochs))
            for bracket, count in brackets.items()
        )
        return epochs / num_epochs / max(1, brackets.total())

    def _mean_epochs(self, ends: Sequence[int]) -> float:
        lengths = (end - begin for begin, end in pairwise(ends))
        return sum(length * self.surviving_share**rung for rung, length in enumerate(lengths))

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

    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
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

    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
        """Return the end of the grace, and each time the epoch `reduction_factor` times as late."""
        return _geometric_rungs(self.grace, self.reduction_factor, num_epochs)


class PromotionAsha(Scheduler):
    """Asynchronous successive halving as published: all pause at a rung, the best are promoted.

    A free slot goes to the best trial that is paused at the highest rung, if it is one of the best
    `1 / reduction_factor` of all that have reached this rung so far; otherwise to a new proposal.
    So a proposal may be promoted long after it reached a rung, and hopeless ones train little. In a
    search with a cost the best are those of the front: see `promotion_order`.

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

    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
        """Return the end of the grace, and each time the epoch `reduction_factor` times as late."""
        return _geometric_rungs(self.grace, self.reduction_factor, num_epochs)


class Hyperband(PromotionAsha):
    """Promotion in brackets, of which some pause proposals early and others late.

    Bracket 0 has the rungs of `PromotionAsha`, each further one lacks the first rung of the one
    before it, and the last has none: its proposals are trained in full. A proposal is promoted if
    it is one of the best `1 / reduction_factor` of its bracket, so that one that learns slowly is
    not always judged by early results.

    Source: Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar 2018, JMLR 18 (185), algorithm 1; the
    brackets are asynchronous as in arXiv:1810.05934.
    Difference: brackets are not filled one after the other. The number of a proposal decides its
    bracket, so that each has its part of the first proposals already, in the proportions of
    algorithm 1. A free slot goes to the highest rung of any bracket, as `PromotionAsha` says, and
    at the end the best of the highest rung continue, whatever their bracket.

    Attributes:
        grace: Share of the full length before the first rung of bracket 0.
        reduction_factor: One in this many is promoted; each rung is this many times later than the
            one before.
    """

    kind: Literal["hyperband"] = "hyperband"  # pyright: ignore[reportIncompatibleVariableOverride]

    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
        """Return the rungs of bracket 0 without the first ones, as many as its number says."""
        return super().rungs(num_epochs)[bracket:]

    def bracket(self, number: int, num_epochs: int) -> int:
        """Return the bracket that has least of its part of the proposals before this one."""
        num_rungs = len(self.rungs(num_epochs))
        sizes = tuple(
            -(-(num_rungs + 1) * self.reduction_factor**halvings // (halvings + 1))
            for halvings in range(num_rungs, -1, -1)
        )
        return _dealt(sizes, 1 << number.bit_length())[number]


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

    def rungs(self, num_epochs: int, bracket: int = 0) -> tuple[int, ...]:
        """Return every epoch from the end of the grace on."""
        return tuple(range(_end_of_grace(self.grace, num_epochs), num_epochs))

    def score(self, costs: Sequence[float]) -> float:
        """Return the best so far."""
        return min(costs)

    def rival_score(self, costs: Sequence[float]) -> float:
        """Return the average so far."""
        return sum(costs) / len(costs)


SCHEDULERS = (NoScheduler, Asha, PromotionAsha, Hyperband, Median)
AnyScheduler = Annotated[Scheduler, OneOf(SCHEDULERS)]


@cache
def _dealt(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the bracket of each of the first proposals, given the brackets' proportions."""
    dealt, counts = list[int](), [0] * len(sizes)
    for _ in range(count):
        shares = [(num + 0.5) / size for num, size in zip(counts, sizes, strict=True)]
        dealt.append(shares.index(min(shares)))
        counts[dealt[-1]] += 1
    return tuple(dealt)


def _geometric_rungs(grace: float, factor: int, num_epochs: int) -> tuple[int, ...]:
    epochs = [_end_of_grace(grace, num_epochs)]
    while epochs[-1] < num_epochs:
        epochs.append(epochs[-1] * factor)
    return tuple(epochs[:-1])


def _end_of_grace(grace: float, num_epochs: int) -> int:
    return max(1, math.ceil(grace * num_epochs - 1e-9))  # 0.1 * 30 is a little more than 3
