"""What designs of factors share: the levels, the arms made of them, and their names."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.settings.messages import settings_of
from capsmodel.settings.parts import Part, Settings, kind_of
from capsmodel.settings.profiles import KIND, PROFILE, value_at
from capsmodel.spelling import short_names
from search_spaces.plans.base import LONGEST, Arm, Definition, Plan, once_for_each_definition
from search_spaces.plans.decisions import DONE, Cell, Done
from search_spaces.plans.known import Known
from search_spaces.tables import AblationTable, EffectsTable, Table

_MOST_ARMS = 10_000
_MOST_SHOWN = 100  # characters of a name that has to be cut


def _with_levels(factors: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    if not factors:
        raise ValueError("a design needs at least one factor")
    for path, levels in factors.items():
        if not levels:
            raise ValueError(f"the factor '{path}' has no levels")
        if twice := [level for place, level in enumerate(levels) if level in levels[:place]]:
            raise ValueError(f"the factor '{path}' has the level {_level_text(twice[0])} twice")
    return factors


Factors = Annotated[Mapping[str, tuple[Any, ...]], AfterValidator(_with_levels)]
"""Path of a setting -> its levels: values, or kinds or objects if it is a part.

The kind that the base has stands for the base's part, with its settings.
"""

Row = Mapping[str, Any]
"""Path -> level: an arm before it is built."""


@dataclass(frozen=True)
class BuiltArms:
    """The arms of a design after its rows are built.

    Attributes:
        arms: Name -> settings, without settings that do not exist in the arm.
        same: Name of an arm -> names of other rows with the same configuration.
        left_out: Name of an arm that the design is made without -> why.
        configs: Name -> config of each arm, of those left out too.
        paths: The settings of any row that exist in its arm.
    """

    arms: Mapping[str, Row]
    same: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, str]
    configs: Mapping[str, TrainingConfig]
    paths: Set[str]


class FactorDesign(Plan, ABC):
    """Base class of designs whose arms are made of factors; members say which rows there are.

    A setting is used only where it exists: `model.routing.iterations` is left out of an arm whose
    routing has no iterations. Rows with the same configuration are one arm, under the first name.
    A name that is too long for records is cut, and starts with the number of its row:
    "row 07: iterations=1, reconstruction=none, ...".
    """

    @abstractmethod
    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the name and the settings of every arm, the baseline first."""

    @once_for_each_definition
    def built_arms(self, definition: Definition) -> BuiltArms:
        """Return the arms of all rows.

        Raises:
            ValueError: If a level is not allowed, or different arms would have the same name.
        """
        arms: dict[str, Row] = {}
        configs: dict[str, TrainingConfig] = {}
        same: dict[str, tuple[str, ...]] = {}
        names: dict[str, str] = {}
        paths: set[str] = set()
        for number, (row_name, row) in enumerate(self.rows(definition), start=1):
            config, settings = existing(definition, row_name, row)
            paths |= settings.keys()
            arm_name = _shortened(self.arm_name(row_name, settings), number)
            key = config.model_dump_json()
            if key not in names and arm_name in arms:
                raise ValueError(
                    f"Two different arms of the design would both be called '{arm_name}': rename "
                    f"one, or give levels that read differently."
                )
            name = names.setdefault(key, arm_name)
            arms.setdefault(name, settings)
            configs.setdefault(name, config)
            if (short_row_name := _shortened(row_name, number)) != name:
                same[name] = (*same.get(name, ()), short_row_name)
        left_out = self.left_out(configs)
        return BuiltArms(
            {name: row for name, row in arms.items() if name not in left_out},
            {name: rows for name, rows in same.items() if name not in left_out},
            left_out,
            configs,
            paths,
        )

    def left_out(self, configs: Mapping[str, TrainingConfig]) -> Mapping[str, str]:
        """Return the arms to leave out, name -> why; members may override it.

        Args:
            configs: Name of an arm -> its config.
        """
        return {}

    def arm_name(self, row_name: str, settings: Row) -> str:
        """Return the name of a row's arm by the settings that exist in it."""
        return row_name

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Done:
        """Return every arm with every seed, and then `DONE`."""
        if known.cells:
            return DONE
        arms = self.built_arms(definition).arms
        return [Cell(arm, arms[arm], seed) for seed in definition.arm_seeds for arm in arms]

    def initial_arms(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms, also if no seed is given yet."""
        return self.built_arms(definition).arms

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm of a row; a part of the base's kind keeps its settings."""
        built = self.built_arms(definition)
        is_built = built.arms.get(name) == settings
        config = built.configs[name] if is_built else _config(definition, name, settings)
        return Arm(name, config, to_jsonable_python(dict(settings)))

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return the factors, and which arms stand for several rows."""
        factors = {
            path: tuple(map(_plain, levels)) for path, levels in self.factor_levels().items()
        }
        built = self.built_arms(definition)
        design = {"kind": self.kind, "factors": factors, "same": built.same}
        return {"design": {**design, "left_out": built.left_out}}

    def crosses_factors(self) -> bool:
        """Return whether factors are changed together; members may override it."""
        return bool(self.factor_levels())

    def default_tables(self) -> tuple[Table, ...]:
        """Return the ablation table, and the effects if the factors are crossed."""
        effects = (EffectsTable(),) if self.crosses_factors() else ()
        return (AblationTable(), *effects)

    def check_table(self, table: Table) -> None:
        """Check that a table of factors has crossed factors, and that no table needs a search."""
        if table.kind not in {"effects", "components"} or not self.crosses_factors():
            super().check_table(table)

    def check(self, definition: Definition) -> None:
        """Check that every factor exists in an arm, and that every level is allowed."""
        existing_paths = self.built_arms(definition).paths
        levels: dict[str, Any] = {}
        for _, row in self.rows(definition):
            levels |= row
        for path, level in levels.items():
            if path not in existing_paths:
                with_settings(definition.base, {path: level}, definition.parts)
                raise ValueError(f"No arm of the design has the setting '{path}': leave it out.")


def check_levels(factors: Mapping[str, tuple[Any, ...]]) -> None:
    """Check that every factor has two levels or more.

    Raises:
        ValueError: For the first factor that has one level.
    """
    for path, levels in factors.items():
        if len(levels) < 2:
            raise ValueError(
                f"The factor '{path}' has the one level {', '.join(map(_level_text, levels))}, and "
                f"nothing to compare it with: give it another, or set it in the base."
            )


def name_of(row: Row, factors: Sequence[str]) -> str:
    """Return the name of an arm by its levels: "iterations=1, reconstruction=none".

    Args:
        row: The settings of the arm.
        factors: All factors of the design, so that short names differ.
    """
    names = short_names(factors)
    return ", ".join(f"{names[path]}={_level_text(level)}" for path, level in row.items())


def check_num_arms(num_arms: int) -> None:
    """Check that the number of arms is not absurd.

    Raises:
        ValueError: If it is.
    """
    if num_arms > _MOST_ARMS:
        raise ValueError(
            f"The factors make {num_arms:,} arms, and a design has at most {_MOST_ARMS:,}: leave "
            f"levels or factors out, or search the space."
        )


def is_base(definition: Definition, row: Row) -> bool:
    """Return whether the existing settings of a row change nothing of the base."""
    if any(_is_other_number(definition.base, path, level) for path, level in row.items()):
        return False
    return existing(definition, name_of(row, tuple(row)), row)[0] == definition.base


def existing(definition: Definition, name: str, row: Row) -> tuple[TrainingConfig, Row]:
    """Return the config of a row, and the settings of the row that exist in it.

    Parts are set before the settings below them, since the part decides which of these exist.

    Raises:
        ValueError: If a level is not allowed, with the arm's name.
    """
    config, settings = definition.base, dict[str, Any]()
    for path in sorted(row, key=lambda path: path.removesuffix(f".{KIND}").count(".")):
        if _exists(config, path):
            settings[path] = row[path]
            if _decides_what_exists(config, path):
                config = _config(definition, name, settings)
    if settings:
        config = _config(definition, name, settings)
    return config, {path: settings[path] for path in row if path in settings}


def _decides_what_exists(config: Settings, path: str) -> bool:
    """Return whether settings below a path exist for some of its levels and not for others."""
    is_choice = path.rpartition(".")[2] in {KIND, PROFILE}
    return is_choice or isinstance(value_at(config, path.split(".")), Settings)


def _shortened(name: str, number: int) -> str:
    """Return the name of an arm, cut if it is too long for records."""
    if len(name) <= LONGEST:
        return name
    return f"row {number:02}: {name[:_MOST_SHOWN].rpartition(', ')[0] or name[:_MOST_SHOWN]}, ..."


def _config(definition: Definition, name: str, settings: Row) -> TrainingConfig:
    base = definition.base
    values = {path: _part_or_level(base, path, level) for path, level in settings.items()}
    try:
        return with_settings(base, values, definition.parts)
    except ValueError as error:
        raise ValueError(f"Arm '{name}': {error}") from error


def _part_or_level(base: TrainingConfig, path: str, level: Any) -> Any:
    part = value_at(base, path.split("."))
    return part if isinstance(part, Part) and level == kind_of(type(part)) else level


def _is_other_number(base: TrainingConfig, path: str, level: Any) -> bool:
    """Return whether level and base value are both numbers, and differ."""
    if not isinstance(level, int | float) or not _exists(base, path):
        return False
    value = value_at(base, path.split("."))
    return isinstance(value, int | float) and value != level


def _exists(config: Settings, path: str) -> bool:
    *above, name = path.split(".")
    part = value_at(config, above)
    if not isinstance(part, Settings):
        return False
    return name in {*settings_of(type(part)), PROFILE} or (name == KIND and isinstance(part, Part))


def _level_text(level: Any) -> str:
    """Return a level as names show it: a part by its kind and the settings that are not default."""
    if isinstance(level, Part):
        changed = {
            field: getattr(level, field)
            for field in settings_of(type(level))
            if getattr(level, field) != type(level).model_fields[field].default
        }
        inner = ", ".join(f"{field} {_level_text(value)}" for field, value in changed.items())
        return f"{kind_of(type(level))} ({inner})" if inner else kind_of(type(level))
    if isinstance(level, Mapping):
        return ", ".join(f"{field} {_level_text(value)}" for field, value in level.items())
    if isinstance(level, bool):
        return str(level).lower()
    return str(level)


def _plain(level: Any) -> Any:
    return level.model_dump(mode="json") if isinstance(level, Settings) else level
