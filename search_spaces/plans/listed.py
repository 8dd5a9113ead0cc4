"""The plan of a sweep whose arms are listed one by one."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from search_spaces.plans.base import Arm as Arm
from search_spaces.plans.base import Definition, Plan, check_arm_names
from search_spaces.plans.decisions import DONE, Cell, Done
from search_spaces.plans.known import Known


class ListedArms(Plan):
    """Arms listed one by one, each as its changes to the sweep's base.

    Attributes:
        arms: Name -> changes, path -> value. A value for a part is an object or a kind:
            `{"1 iteration": {"model.routing.iterations": 1}}`.
        baseline: The arm that the others are compared with.
    """

    kind: Literal["listed"] = "listed"
    arms: Mapping[str, Mapping[str, Any]]
    baseline: str

    @model_validator(mode="after")
    def _baseline_is_an_arm(self) -> Self:
        check_arm_names(self.arms)
        if self.baseline not in self.arms:
            raise ValueError(
                f"The baseline '{self.baseline}' is not one of the arms: {', '.join(self.arms)}."
            )
        return self

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Done:
        """Return every arm with every seed, and then `DONE`."""
        if known.cells:
            return DONE
        return [
            Cell(arm, self.arms[arm], seed) for seed in definition.arm_seeds for arm in self.arms
        ]

    def baseline_name(self, definition: Definition) -> str:
        """Return the baseline as declared."""
        return self.baseline

    def initial_arms(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms as listed, also if no seed is given yet."""
        return self.arms

    def with_arm_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the plan with settings added to some arms."""
        arms = {name: {**changes, **settings.get(name, {})} for name, changes in self.arms.items()}
        return self.model_copy(update={"arms": arms})
