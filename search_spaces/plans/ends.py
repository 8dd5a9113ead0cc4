"""Ends of a search: when it proposes no more, though it could."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.metrics import Metric, Objective
from capsmodel.settings.parts import OneOf, Part


@dataclass(frozen=True)
class SoFar:
    """How far a search is.

    Attributes:
        objective: What its proposals are chosen by.
        values: The objective of each proposal that has ended, by number, None of one that did not
            run to full length; without those that failed, which tell nothing.
        epochs: Trained by the proposals and the base in all.
    """

    objective: Objective
    values: Sequence[float | None]
    epochs: int

    @property
    def costs(self) -> list[float | None]:
        """The same values as what is to be small."""
        return [None if one is None else self.objective.cost(one) for one in self.values]


class End(Part, ABC):
    """When a search proposes no more. What runs then is trained on, and the best are confirmed.

    Attributes:
        asks_for_one_objective: Whether it looks for the best of one objective.
    """

    family: ClassVar[str] = "end"
    asks_for_one_objective: ClassVar[bool] = True

    @abstractmethod
    def reason(self, so_far: SoFar) -> str:
        """Return why the search ends here, "" where it goes on."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it waits for, with all its settings."""

    def refuse(self, trials: int) -> None:
        """Refuse it where it never comes in a search of so many proposals.

        Raises:
            ValueError: In one sentence.
        """

    def refuse_for(self, metric: Metric, base_epochs: int) -> None:
        """Refuse it where it never comes by an objective, or before anything is proposed.

        Args:
            metric: The objective.
            base_epochs: Of the base's trainings, which come first.

        Raises:
            ValueError: In one sentence.
        """


class AtTarget(End):
    """A proposal has reached a value of the objective at full length.

    Attributes:
        value: In the objective's own unit: an error is a fraction.
    """

    kind: Literal["target"] = "target"
    value: Annotated[float, Field(allow_inf_nan=False)]

    @property
    def words(self) -> str:
        """The target."""
        return f"target {self.value:g}"

    def reason(self, so_far: SoFar) -> str:
        """Return which value has reached it."""
        target = so_far.objective.cost(self.value)
        reached = [cost for cost in so_far.costs if cost is not None and cost <= target]
        if not reached:
            return ""
        value = so_far.objective.cost(min(reached))  # a sign turned twice is the value again
        return f"{so_far.objective.metric.name} {value:.6g} has reached the target {self.value:g}"

    def refuse_for(self, metric: Metric, base_epochs: int) -> None:
        """Refuse a value that no fraction has."""
        if metric.is_fraction and not 0 <= self.value <= 1:
            raise ValueError(
                f"The search cannot end at {metric.name} {self.value:g}, as that is a fraction: "
                f"give AtTarget a value from 0 to 1."
            )


class NoImprovement(End):
    """The last proposals were no better than one before them.

    Counted by their numbers are those that have ended, also early or by diverging.

    Attributes:
        proposals: How many.
        by: A better one is better by more than this, in the objective's own unit.
    """

    kind: Literal["no_improvement"] = "no_improvement"
    proposals: Annotated[int, Field(ge=1, le=100_000)]
    by: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @property
    def words(self) -> str:
        """How many, and by how much where that is something."""
        least = f" by {self.by:g}" * (self.by > 0)
        return f"no improvement{least} for {self.proposals}"

    def reason(self, so_far: SoFar) -> str:
        """Return that there was none."""
        best, num_since = float("inf"), 0
        for cost in so_far.costs:
            num_since += 1
            if cost is not None and cost < best - self.by:
                best, num_since = cost, 0
        return self.words if num_since >= self.proposals else ""

    def refuse(self, trials: int) -> None:
        """Refuse as many as there are in all."""
        if self.proposals >= trials:
            raise ValueError(
                f"The search cannot end after {self.proposals} proposals without improvement, as "
                f"it makes {trials} in all: have at least {self.proposals + 1} trials, or give "
                f"NoImprovement fewer proposals."
            )


class AfterEpochs(End):
    """So many epochs were trained by the proposals and the base in all.

    An epoch counts wherever it was trained: also those of trials that were there before.

    Attributes:
        epochs: How many.
    """

    asks_for_one_objective: ClassVar[bool] = False
    kind: Literal["epochs"] = "epochs"
    epochs: Annotated[int, Field(ge=1)]

    @property
    def words(self) -> str:
        """How many."""
        return f"{self.epochs} epochs"

    def reason(self, so_far: SoFar) -> str:
        """Return how many there were."""
        if so_far.epochs < self.epochs:
            return ""
        return f"{so_far.epochs} epochs were trained, of {self.epochs}"

    def refuse_for(self, metric: Metric, base_epochs: int) -> None:
        """Refuse fewer than the base takes alone."""
        if self.epochs <= base_epochs:
            raise ValueError(
                f"The search cannot end after {self.epochs} epochs in all, as its base alone takes "
                f"{base_epochs}: give AfterEpochs more."
            )


ENDS = (AtTarget, NoImprovement, AfterEpochs)
AnyEnd = Annotated[End, OneOf(ENDS)]
