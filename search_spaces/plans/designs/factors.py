"""What designs of factors share: levels, the arms they make, and the names of those."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.settings.kinds import KIND
from capsmodel.settings.messages import settings_of
from capsmodel.settings.parts import Part, Settings, kind_of
from capsmodel.settings.profiles import PROFILE, value_at
from capsmodel.spelling import short_names
from search_spaces.plans.base import LONGEST, Arm, Definition, Plan
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
            raise ValueError(f"the factor '{path}' has the level {_words(twice[0])} twice")
    return factors


Factors = Annotated[Mapping[str, tuple[Any, ...]], AfterValidator(_with_levels)]
"""Path of a setting -> its levels: values, or kinds or objects where it is a part.

A kind that the base has there is the base's own part, with its settings.
"""

Row = Mapping[str, Any]
"""Path -> level: one arm before it is built."""


@dataclass(frozen=True)
class BuiltArms:
    """Arms of a design as they can be.

    Attributes:
        arms: Name -> settings, those left out that do not exist in the arm.
        same: Name of an arm -> the names of others that are the same configuration.
    """

    arms: Mapping[str, Row]
    same: Mapping[str, tuple[str, ...]]


class FactorDesign(Plan):
    """A design whose arms are made of factors: members say which rows there are.

    A setting is built only where it exists: `model.routing.iterations` is left out of an arm whose
    routing has none. Rows that come out as the same configuration are one arm, under the first
    name. A name that is too long for records is cut and led by the number of its row:
    "row 07: iterations=1, reconstruction=none, ...".
    """

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the name and the settings of every arm, the baseline first."""
        raise NotImplementedError

    def built(self, definition: Definition) -> BuiltArms:
        """Return the arms as they can be.

        Raises:
            ValueError: If a level is not allowed, or two arms would have one name.
        """
        arms: dict[str, Row] = {}
        same: dict[str, tuple[str, ...]] = {}
        names: dict[str, str] = {}
        for number, (row_name, row) in enumerate(self.rows(definition), start=1):
            config, settings = existing(definition, row_name, row)
            own = _fitting(self.arm_name(row_name, settings), number)
            key = config.model_dump_json()
            if key not in names and own in arms:
                raise ValueError(
                    f"Two arms of the design that are not the same would be called '{own}': call "
                    f"one otherwise, or give levels that read differently."
                )
            name = names.setdefault(key, own)
            arms.setdefault(name, settings)
            if (told := _fitting(row_name, number)) != name:
                same[name] = (*same.get(name, ()), told)
        return BuiltArms(arms, same)

    def arm_name(self, row_name: str, settings: Row) -> str:
        """Return the name of the arm that a row comes out as, by those settings that exist."""
        return row_name

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Done:
        """Return every arm with every seed, and then no more."""
        if known.cells:
            return DONE
        arms = self.built(definition).arms
        return [Cell(arm, arms[arm], seed) for seed in definition.arm_seeds for arm in arms]

    def arms_at_start(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms, also where no seed is given yet."""
        return self.built(definition).arms

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm of a row; a part of the base's kind keeps its settings."""
        return Arm(name, _config(definition, name, settings), to_jsonable_python(dict(settings)))

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return its factors, and which arms stand for others that are the same."""
        factors = {path: tuple(map(_plain, levels)) for path, levels in self.told_factors().items()}
        same = self.built(definition).same
        return {"design": {"kind": self.kind, "factors": factors, "same": same}}

    def crosses_factors(self) -> bool:
        """Return that they do, unless a member says otherwise."""
        return bool(self.told_factors())

    def default_tables(self) -> tuple[Table, ...]:
        """Return the ablation table, and what each factor does where they are crossed."""
        effects = (EffectsTable(),) if self.crosses_factors() else ()
        return (AblationTable(), *effects)

    def refuse_table(self, table: Table) -> None:
        """Refuse tables of factors where these are not crossed, and those of a search."""
        if table.kind not in {"effects", "components"} or not self.crosses_factors():
            super().refuse_table(table)

    def check(self, definition: Definition) -> None:
        """Refuse a factor that no arm has, or all alike, and levels that are not allowed."""
        self.built(definition)
        levels: dict[str, Any] = {}
        kept: set[str] = set()
        for name, row in self.rows(definition):
            levels |= row
            kept |= existing(definition, name, row)[1].keys()
        for path, level in levels.items():
            if path not in kept:
                with_settings(definition.base, {path: level}, definition.parts)
                raise ValueError(f"No arm of the design has the setting '{path}': leave it out.")


def refuse_single_levels(factors: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse factors that do not vary.

    Raises:
        ValueError: Naming the first.
    """
    for path, levels in factors.items():
        if len(levels) < 2:
            raise ValueError(
                f"The factor '{path}' has the one level {', '.join(map(_words, levels))}, and "
                f"nothing to compare it with: give it another, or set it in the base."
            )


def name_of(row: Row, factors: Sequence[str]) -> str:
    """Return the name of an arm by its levels: "iterations=1, reconstruction=none".

    Args:
        row: What it sets.
        factors: All of the design, so that no two are called the same.
    """
    names = short_names(factors)
    return ", ".join(f"{names[path]}={_words(level)}" for path, level in row.items())


def refuse_too_many(num_arms: int) -> None:
    """Refuse a design that nobody would train.

    Raises:
        ValueError: In one sentence.
    """
    if num_arms > _MOST_ARMS:
        raise ValueError(
            f"The factors make {num_arms:,} arms, and a design has at most {_MOST_ARMS:,}: leave "
            f"levels or factors out, or search the space."
        )


def is_base(definition: Definition, row: Row) -> bool:
    """Return whether a row, as far as it exists, changes nothing of the base."""
    return existing(definition, name_of(row, tuple(row)), row)[0] == definition.base


def existing(definition: Definition, name: str, row: Row) -> tuple[TrainingConfig, Row]:
    """Return the config of a row, and those of its settings that exist in it.

    Parts are set before what lies below them, so that it is known what there is.

    Raises:
        ValueError: If a level is not allowed, naming the arm.
    """
    config, settings = definition.base, dict[str, Any]()
    for path in sorted(row, key=lambda path: path.removesuffix(f".{KIND}").count(".")):
        if _leads_somewhere(config, path):
            settings[path] = row[path]
            config = _config(definition, name, settings)
    return config, {path: settings[path] for path in row if path in settings}


def _fitting(name: str, number: int) -> str:
    """Return a name of an arm as it is, or cut where records cannot hold it."""
    if len(name) <= LONGEST:
        return name
    return f"row {number:02}: {name[:_MOST_SHOWN].rpartition(', ')[0] or name[:_MOST_SHOWN]}, ..."


def _config(definition: Definition, name: str, settings: Row) -> TrainingConfig:
    base = definition.base
    kept = {path: _kept(base, path, level) for path, level in settings.items()}
    try:
        return with_settings(base, kept, definition.parts)
    except ValueError as error:
        raise ValueError(f"Arm '{name}': {error}") from error


def _kept(base: TrainingConfig, path: str, level: Any) -> Any:
    part = value_at(base, path.split("."))
    return part if isinstance(part, Part) and level == kind_of(type(part)) else level


def _leads_somewhere(config: Settings, path: str) -> bool:
    *above, name = path.split(".")
    part = value_at(config, above)
    if not isinstance(part, Settings):
        return False
    return name in {*settings_of(type(part)), PROFILE} or (name == KIND and isinstance(part, Part))


def _words(level: Any) -> str:
    """Return a level as it stands in a name: a part by its kind and what is not its default."""
    if isinstance(level, Part):
        changed = {
            field: getattr(level, field)
            for field in settings_of(type(level))
            if getattr(level, field) != type(level).model_fields[field].default
        }
        inner = ", ".join(f"{field} {_words(value)}" for field, value in changed.items())
        return f"{kind_of(type(level))} ({inner})" if inner else kind_of(type(level))
    if isinstance(level, Mapping):
        return ", ".join(f"{field} {_words(value)}" for field, value in level.items())
    if isinstance(level, bool):
        return str(level).lower()
    return str(level)


def _plain(level: Any) -> Any:
    return level.model_dump(mode="json") if isinstance(level, Settings) else level
