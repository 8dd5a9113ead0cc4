"""Plans of arms that are declared in full before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import ConfigDict, model_validator
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings, written_out
from capsmodel.settings.parts import Part, Settings

_LONGEST_NAME = 200  # of an arm, as records hold it


@dataclass(frozen=True)
class Arm:
    """One configuration of a sweep, without its seed.

    Attributes:
        name: What the tables call it.
        config: The full training config.
        changes: What sets it apart from the sweep's base, path -> plain JSON value.
    """

    name: str
    config: TrainingConfig
    changes: dict[str, Any]


class ListedArms(Settings):
    """Arms written out one by one, each as its changes to the sweep's base.

    Attributes:
        arms: Name -> changes, path -> value. A value for a part is an object or a kind:
            `{"1 iteration": {"model.routing.iterations": 1}}`.
        baseline: The arm that the others are compared with.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    kind: Literal["listed"] = "listed"
    arms: Mapping[str, Mapping[str, Any]]
    baseline: str

    @model_validator(mode="after")
    def _baseline_is_an_arm(self) -> Self:
        for name in self.arms:
            if not 0 < len(name) <= _LONGEST_NAME:
                raise ValueError(
                    f"An arm's name has 1 to {_LONGEST_NAME} characters, got {len(name)}: '{name}'."
                )
        if self.baseline not in self.arms:
            raise ValueError(
                f"The baseline '{self.baseline}' is none of the arms: {', '.join(self.arms)}."
            )
        return self

    def build(self, base: TrainingConfig, parts: tuple[type[Part], ...]) -> tuple[Arm, ...]:
        """Return the arms over a base, in the order they are listed.

        Raises:
            ValueError: If an arm changes a setting that is not there or to what is not allowed, or
                two arms are the same configuration.
        """
        arms = tuple(_arm(name, base, changes, parts) for name, changes in self.arms.items())
        for index, arm in enumerate(arms):
            for other in arms[:index]:
                if arm.config == other.config:
                    raise ValueError(
                        f"The arms '{other.name}' and '{arm.name}' are the same configuration."
                    )
        return arms


def _arm(
    name: str, base: TrainingConfig, changes: Mapping[str, Any], parts: tuple[type[Part], ...]
) -> Arm:
    try:
        config = with_settings(base, changes, parts)
    except ValueError as error:
        raise ValueError(f"Arm '{name}': {error}") from error
    return Arm(name, config, to_jsonable_python(written_out(config, changes)))
