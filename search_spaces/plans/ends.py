"""Ends of a search: conditions under which it makes no more proposals."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.metrics import Metric, Objective
from capsmodel.settings.parts import OneOf, Part


@dataclass(frozen=True)
class SearchProgress:
    """The progress of a search.

    Attributes:
        objective: The objective of the search.
        values: The objective of each proposal that has ended, in the order of their numbers; None
            for one that did not run to full length. Failed proposals are left out.
        epochs: Epochs trained by the proposals and the base.
    """

    objective: Objective
    values: Sequence[float | None]
    epochs: int

    @property
    def costs(self) -> list[float | None]:
        """The values as costs: smaller is better."""
        return [None if value is None else self.objective.cost(value) for value in self.values]


class End(Part, ABC):
    """Base class of ends. After an end, running trials continue and the best are confirmed.

    Attributes:
        needs_one_objective: Whether it looks for the best value of one objective.
    """

    family: ClassVar[str] = "end"
    needs_one_objective: ClassVar[bool] = True

    @abstractmethod
    def reason(self, progress: SearchProgress) -> str:
        """Return why the search ends now, or "" if it continues."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The condition with all its settings, as text."""

    def check(self, trials: int) -> None:
        """Check that it can occur in a search with this number of proposals.

        Raises:
            ValueError: If it cannot.
        """

    def check_objective(self, metric: Metric, base_epochs: int) -> None:
        """Check that it can occur with an objective, and not before the first proposal.

        Args:
            metric: The objective.
            base_epochs: Epochs of the base's trainings, which come first.

        Raises:
            ValueError: If it cannot.
        """


class AtTarget(End):
    """End when a proposal of full length has reached a value of the objective.

    Attributes:
        value: The target, in the objective's unit: an error is a fraction.
    """

    kind: Literal["target"] = "target"
    value: Annotated[float, Field(allow_inf_nan=False)]

    @property
    def description(self) -> str:
        """The target."""
        return f"target {self.value:g}"

    def reason(self, progress: SearchProgress) -> str:
        """Return which value has reached the target."""
        target = progress.objective.cost(self.value)
        reached = [cost for cost in progress.costs if cost is not None and cost <= target]
        if not reached:
            return ""
        value = progress.objective.cost(min(reached))  # a sign turned twice is the value again
        return f"{progress.objective.metric.name} {value:.6g} has reached the target {self.value:g}"

    def check_objective(self, metric: Metric, base_epochs: int) -> None:
        """Check that the target of a fraction is a fraction."""
        if metric.is_fraction and not 0 <= self.value <= 1:
            raise ValueError(
                f"The search cannot end at {metric.name} {self.value:g}, as that is a fraction: "
                f"give AtTarget a value from 0 to 1."
            )


class NoImprovement(End):
    """End when the last proposals have not improved on the best one before them.

    Proposals that have ended count in the order of their numbers, also pruned and diverged ones.

    Attributes:
        proposals: Number of proposals without improvement.
        by: The least improvement that counts, in the objective's unit.
    """

    kind: Literal["no_improvement"] = "no_improvement"
    proposals: Annotated[int, Field(ge=1, le=100_000)]
    by: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @property
    def description(self) -> str:
        """The number of proposals, and the least improvement if one is set."""
        least = f" by {self.by:g}" * (self.by > 0)
        return f"no improvement{least} for {self.proposals}"

    def reason(self, progress: SearchProgress) -> str:
        """Return for how many proposals there was no improvement."""
        best, num_since = float("inf"), 0
        for cost in progress.costs:
            num_since += 1
            if cost is not None and cost < best - self.by:
                best, num_since = cost, 0
        return self.description if num_since >= self.proposals else ""

    def check(self, trials: int) -> None:
        """Check that the search makes more proposals."""
        if self.proposals >= trials:
            raise ValueError(
                f"The search cannot end after {self.proposals} proposals without improvement, as "
                f"it makes {trials} in all: have at least {self.proposals + 1} trials, or give "
                f"NoImprovement fewer proposals."
            )


class AfterEpochs(End):
    """End when the proposals and the base have trained a number of epochs.

    An epoch counts wherever it was trained, also in an earlier launch or another sweep.

    Attributes:
        epochs: Number of epochs.
    """

    needs_one_objective: ClassVar[bool] = False
    kind: Literal["epochs"] = "epochs"
    epochs: Annotated[int, Field(ge=1)]

    @property
    def description(self) -> str:
        """The number of epochs."""
        return f"{self.epochs} epochs"

    def reason(self, progress: SearchProgress) -> str:
        """Return how many epochs were trained."""
        if progress.epochs < self.epochs:
            return ""
        return f"{progress.epochs} epochs were trained, of {self.epochs}"

    def check_objective(self, metric: Metric, base_epochs: int) -> None:
        """Check that the base alone does not reach the number."""
        if self.epochs <= base_epochs:
            raise ValueError(
                f"The search cannot end after {self.epochs} epochs in all, as its base alone takes "
                f"{base_epochs}: give AfterEpochs more."
            )


ENDS = (AtTarget, NoImprovement, AfterEpochs)
AnyEnd = Annotated[End, OneOf(ENDS)]
