"""The plan of a sweep whose arms are listed one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from pydantic import model_validator

from capsmodel.config import TrainingConfig, num_parameters
from capsmodel.overrides import with_settings
from capsmodel.settings.parts import Settings
from capsmodel.settings.plain import plain
from search_spaces.plans.base import Arm as Arm
from search_spaces.plans.base import Definition, Plan, check_arm_names
from search_spaces.plans.decisions import DONE, Cell, Done
from search_spaces.plans.known import Known


@dataclass(frozen=True)
class MatchedArm:
    """An arm with a width that gives it as many parameters as another arm, as nearly as can be.

        MatchedArm({"model": ConvNet()}, matched_to="3 iterations", width="model.hidden")

    Attributes:
        settings: Its changes to the sweep's base, path -> value.
        matched_to: The other arm, which lists its settings.
        width: Path of a whole number, or of several, of which the last one is found.
    """

    settings: Mapping[str, Any]
    matched_to: str = ""
    width: str = ""

    def __post_init__(self) -> None:
        """Take NumPy's numbers as plain ones."""
        object.__setattr__(self, "settings", plain(self.settings))


class ListedArms(Plan):
    """Arms listed one by one, each as its changes to the sweep's base.

    Attributes:
        arms: Name -> changes, path -> value, or a `MatchedArm`. A value for a part is an object or
            a kind: `{"1 iteration": {"model.routing.iterations": 1}}`.
        baseline: The arm that the others are compared with.
    """

    kind: Literal["listed"] = "listed"
    arms: Mapping[str, MatchedArm | Mapping[str, Any]]
    baseline: str

    @model_validator(mode="after")
    def _baseline_is_an_arm(self) -> Self:
        check_arm_names(self.arms)
        if self.baseline not in self.arms:
            raise ValueError(
                f"The baseline '{self.baseline}' is not one of the arms: {', '.join(self.arms)}."
            )
        return self

    @model_validator(mode="after")
    def _matched_to_listed_arms(self) -> Self:
        listed = [name for name, arm in self.arms.items() if not isinstance(arm, MatchedArm)]
        for name, other in self.matched.items():
            if other not in listed:
                raise ValueError(
                    f"The arm '{name}' must be matched_to one of the arms that list their settings "
                    f"({', '.join(listed)}), got '{other}'."
                )
        return self

    @property
    def matched(self) -> Mapping[str, str]:
        """Arm -> the arm that it has about as many parameters as."""
        return {
            name: arm.matched_to for name, arm in self.arms.items() if isinstance(arm, MatchedArm)
        }

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Done:
        """Return every arm with every seed, and then `DONE`."""
        if known.cells:
            return DONE
        arms = self.initial_arms(definition)
        return [Cell(arm, arms[arm], seed) for seed in definition.arm_seeds for arm in arms]

    def baseline_name(self, definition: Definition) -> str:
        """Return the baseline as declared."""
        return self.baseline

    def initial_arms(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms as listed, with the widths that match, also if no seed is given yet."""
        return {name: self._settings(definition, name) for name in self.arms}

    def with_arm_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the plan with settings added to some arms."""
        arms: dict[str, MatchedArm | Mapping[str, Any]] = {}
        for name, arm in self.arms.items():
            more = settings.get(name, {})
            if isinstance(arm, MatchedArm):
                arms[name] = replace(arm, settings={**arm.settings, **more})
            else:
                arms[name] = {**arm, **more}
        return self.model_copy(update={"arms": arms})

    def _settings(self, definition: Definition, name: str) -> Mapping[str, Any]:
        """Return the settings of an arm.

        Raises:
            ValueError: If a setting does not exist, or no width can be matched.
        """
        arm = self.arms[name]
        if not isinstance(arm, MatchedArm):
            return arm
        base, parts = definition.base, definition.parts
        try:
            config = with_settings(base, arm.settings, parts)
            other = with_settings(base, self._settings(definition, arm.matched_to), parts)
            return _with_width(arm, _matching_width(config, arm.width, other))
        except ValueError as error:
            raise ValueError(f"Arm '{name}': {error}") from error


def _with_width(arm: MatchedArm, width: int | tuple[int, ...]) -> Mapping[str, Any]:
    """Return the settings of an arm with its width, inside the part that has it."""
    for path, part in arm.settings.items():
        if isinstance(part, Settings) and arm.width.startswith(f"{path}."):
            below = arm.width.removeprefix(f"{path}.")
            return {**arm.settings, path: with_settings(part, {below: width})}
    return {**arm.settings, arm.width: width}


_MOST = 1 << 20  # of a width


def _matching_width(
    config: TrainingConfig, path: str, other: TrainingConfig
) -> int | tuple[int, ...]:
    """Return the value of a width that brings a network nearest to the size of another.

    Raises:
        ValueError: If the path is not that of a width, or no width can be built.
    """
    widths = _Widths(config, path)
    wanted = num_parameters(other)
    low, high = 1, 2
    while high < _MOST and widths.size(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if widths.size(middle) < wanted else (low, middle)
    nearest = min((low, high), key=lambda width: abs(widths.size(width) - wanted))
    return widths.value(nearest)


class _Widths:
    """The sizes of a network by one of its widths.

    Args:
        config: With any width.
        path: Path of the width.
    """

    def __init__(self, config: TrainingConfig, path: str) -> None:
        self._config = config
        self._path = path
        value: Any = config
        for field in path.split("."):
            value = getattr(value, field, None)
        numbers = value if isinstance(value, tuple) and value else (value,)
        if not all(type(number) is int for number in numbers):
            raise ValueError(
                f"width must be the path of a whole number, or of several, such as 'model.hidden', "
                f"got '{path}'."
            )
        self._first = numbers[:-1] if isinstance(value, tuple) else None

    def value(self, width: int) -> int | tuple[int, ...]:
        """Return the setting's value with a width."""
        return width if self._first is None else (*self._first, width)

    def size(self, width: int) -> int:
        """Return the number of parameters with a width."""
        return num_parameters(with_settings(self._config, {self._path: self.value(width)}))
