"""A plan: who says which cells a sweep has next."""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, Self

from pydantic import ConfigDict, Field
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.overrides import paths_set, with_settings, written_out
from capsmodel.settings.parts import Part, Settings, is_built_in
from search_spaces.plans.decisions import Cell, Decision, Done, Event, Propose, SlotFree, Wait
from search_spaces.plans.known import Known, known_from
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.tables import AblationTable, Table

MISSING = frozenset(  # what pandas reads as no value
    (
        *("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-NaN", "-nan"),
        *("NULL", "null", "None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
    )
)

LONGEST = 200
"""Characters of a name, as records hold it."""

KIND = ".kind"

Parts = tuple[type[Part], ...]

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]

_OF_A_SEARCH = {"sensitivity", "confirmation", "front"}

_OF_FACTORS = {"effects": "a FullFactorial", "components": "a LeaveOneOut or a FullFactorial"}

_ADVICE = (
    "set something that no arm changes, or vary it anew over the sweep's base: "
    "capsweep grid SWEEP PATH=LEVEL,LEVEL"
)


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


class Definition(Protocol):
    """What a plan knows of its sweep."""

    @property
    def base(self) -> TrainingConfig:
        """The training config that the arms change."""
        ...

    @property
    def parts(self) -> Parts:
        """Classes of a user's own parts."""
        ...

    @property
    def arm_seeds(self) -> tuple[int, ...]:
        """Every arm is trained once with each."""
        ...


@dataclass(frozen=True)
class Varied:
    """A path that a plan varies, and who does.

    Attributes:
        who: Varies it, in words.
        advice: What to do instead.
        is_within_kinds: Whether values below a part leave its kind as it is: a kind that is set
            for all stays in arms that change but settings below its part.
    """

    path: str
    who: str
    advice: str
    is_within_kinds: bool = False

    def hides(self, path: str) -> bool:
        """Return whether what is varied would hide a value at a path."""
        if path.endswith(KIND) and self.is_within_kinds:
            return self.path == part_of_kind(path)
        return is_at_or_below(self.path, part_of_kind(path))


def part_of_kind(path: str) -> str:
    """Return the path of the part whose kind a path names, other paths as they are."""
    return path.removesuffix(KIND)


class Plan(Settings):
    """Who says which cells there are next. A frozen settings class with a `kind` of its own.

    A plan writes `next_cells`, or `decide` where it also stops trials or chooses arms. Both are
    pure: what they return hangs on their arguments alone, so that a sweep that was killed goes on
    as it would have gone. The first answer is asked before anything runs; where the second one is
    `DONE`, the sweep is declared in full.

    Attributes:
        has_own_seeds: Whether its seeds stand in the plan, so that the sweep lists none.
        options: Its fields that a launch may change.
        is_search: Whether it proposes points of a space.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    has_own_seeds: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    is_search: ClassVar[bool] = False
    kind: Any  # each member narrows it to its Literal

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Return what follows from an event, given all that is known.

        Nothing follows from the end of a trial or of an epoch unless a plan says so: a trial that
        is not stopped goes on.
        """
        if not isinstance(event, SlotFree):
            return ()
        answer = self.next_cells(definition, journal)
        return (answer,) if isinstance(answer, Wait | Done) else (Propose(tuple(answer)),)

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Wait | Done:
        """Return the cells to train next, `WAIT` until trials have ended, or `DONE`."""
        raise NotImplementedError(f"{type(self).__name__} has neither next_cells nor decide.")

    def told_baseline(self, definition: Definition) -> str:
        """Return the arm that the others are compared with, "" where there is none."""
        return next(iter(self.arms_at_start(definition)), "")

    def told_arms(self, definition: Definition) -> Sequence[str]:
        """Return the arms that tables may name."""
        return tuple(self.arms_at_start(definition))

    def told_factors(self) -> Mapping[str, Sequence[Any]]:
        """Return what it varies, path -> levels; empty where it lists its arms otherwise."""
        return {}

    def told_objectives(self) -> tuple[str, ...]:
        """Return the epoch metrics that it wants small; none where it only compares."""
        return ()

    def share_to_come(self, num_epochs: int) -> float:
        """Return which share of a full training one that is to come takes at most, on average."""
        scheduler = getattr(self, "scheduler", None)
        return scheduler.mean_share(num_epochs) if scheduler else 1.0

    def question(self) -> str:
        """Return what its choices answer: one that answered another question is made anew."""
        return ""

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return what the manifest holds of it besides arms, cells and seeds, as plain values."""
        return {}

    def default_tables(self) -> tuple[Table, ...]:
        """Return the tables of a sweep that declares none."""
        return (AblationTable(),)

    def check(self, definition: Definition) -> None:
        """Refuse what can be seen to be impossible before anything is built.

        Raises:
            ValueError: In one sentence.
        """

    def check_all(self, definition: Definition) -> None:
        """Refuse what only a look at many configurations shows: asked once, before a launch.

        Raises:
            ValueError: In one sentence.
        """

    def refuse_table(self, table: Table) -> None:
        """Refuse a table that this plan has nothing for.

        Raises:
            ValueError: In one sentence.
        """
        if table.kind in _OF_A_SEARCH:
            raise ValueError(
                f"A design has nothing for a table of the kind '{table.kind}': only a search has."
            )
        if instead := _OF_FACTORS.get(table.kind):
            raise ValueError(
                f"The plan '{self.kind}' has nothing for a table of the kind '{table.kind}': leave "
                f"'{table.name}' out, or declare {instead}."
            )

    def seeds_given(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of every arm, of those that the sweep lists.

        Raises:
            ValueError: If there are none.
        """
        if not seeds:
            raise ValueError("seeds must be a list of at least 1, got ().")
        return seeds

    def refuse_more_seeds(self) -> None:
        """Refuse that a launch adds seeds to those that are there, unless it may.

        Raises:
            ValueError: In one sentence.
        """

    def launched(self, seeds: tuple[int, ...] | None, options: Mapping[str, Any]) -> Self:
        """Return the plan with what a launch changes of it.

        Args:
            seeds: Given at the launch; a plan without seeds of its own leaves them to the sweep.
            options: Name -> value, each one of `options`.
        """
        assert set(options) <= set(self.options)
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**own, **options}) if options else self

    def cells_at_start(self, definition: Definition) -> tuple[Cell, ...]:
        """Return the cells that there are before anything is known."""
        return _proposed(self.decide(definition, Known(), SlotFree()))

    def is_whole_at_start(self, definition: Definition) -> bool:
        """Return whether no cells follow those of the start, whatever becomes of them."""
        known = known_from([Propose(self.cells_at_start(definition))])
        return any(
            isinstance(decision, Done) for decision in self.decide(definition, known, SlotFree())
        )

    def arms_at_start(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms that there are before anything is known, name -> settings."""
        return {cell.arm: cell.settings for cell in self.cells_at_start(definition)}

    def with_arm_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the plan with settings added to some of the arms that it starts with.

        Args:
            settings: Arm -> path -> value.

        Raises:
            ValueError: If its arms are not listed, so that none can be changed alone.
        """
        raise ValueError(
            f"Some arms of the plan '{self.kind}' choose their own stopping ({', '.join(settings)})"
            f", so that their epochs cannot be set for all: set them in the sweep's file."
        )

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return an arm over the sweep's base.

        Raises:
            ValueError: If it changes a setting that is not there, or to what is not allowed.
        """
        base, parts = definition.base, definition.parts
        try:
            config = with_settings(base, settings, parts)
        except ValueError as error:
            raise ValueError(f"Arm '{name}': {error}") from error
        return Arm(name, config, to_jsonable_python(written_out(config, settings)))

    def build(self, definition: Definition) -> tuple[Arm, ...]:
        """Return the arms that there are at the start, in the order of the tables.

        Raises:
            ValueError: If an arm cannot be, or holds a part that is not declared, or two are the
                same configuration.
        """
        listed = self.arms_at_start(definition)
        if not listed and not self.is_search:
            raise ValueError(f"The plan '{self.kind}' proposes no cells at its start.")
        refuse_arm_names(listed)
        arms = tuple(self.arm(definition, name, listed[name]) for name in listed)
        for index, arm in enumerate(arms):
            for other in arms[:index]:
                if arm.config == other.config:
                    raise ValueError(
                        f"The arms '{other.name}' and '{arm.name}' are the same configuration."
                    )
        for arm in arms:
            refuse_undeclared_parts(arm.config, definition.parts)
        return arms

    def varied(self, definition: Definition, *, with_profiles: bool = True) -> Iterator[Varied]:
        """Yield the settings that it varies itself, so that they cannot be set for all arms.

        Args:
            definition: Of the sweep.
            with_profiles: Also what the profiles of arms set, which is known over a base alone.
        """
        for name, settings in self.arms_at_start(definition).items():
            for path, own in _paths_of(settings, definition if with_profiles else None):
                who = f"the sweep itself (arm '{name}' changes '{own}')"
                yield Varied(path, who, _ADVICE, is_within_kinds=True)


def refuse_arm_names(names: Collection[str]) -> None:
    """Refuse names that no record can hold, or that a file's reader would take for others.

    Raises:
        ValueError: Naming the first.
    """
    for name in names:
        if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in name):
            raise ValueError(f"An arm's name is one line of plain text, got {name!r}.")
        if not 0 < len(name) <= LONGEST:
            raise ValueError(
                f"An arm's name has 1 to {LONGEST} characters, got {len(name)}: '{name}'."
            )
        if name != " ".join(name.split()):
            raise ValueError(
                f"An arm's name has no space at its ends nor two in a row, got {name!r}: files "
                f"would hold another name."
            )
        if name in MISSING:
            raise ValueError(
                f"An arm cannot be called {name!r}: whoever reads its table takes that for a "
                f"missing value. Call it otherwise."
            )


def refuse_undeclared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    """Refuse settings that hold a user's own part that no sweep declares.

    Raises:
        ValueError: Naming the first.
    """
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Part):
            refuse_undeclared_part(value, parts)


def refuse_undeclared_part(part: Part, parts: tuple[type[Part], ...]) -> None:
    """Refuse a user's own part that no sweep declares, or one that holds such a part.

    Raises:
        ValueError: Naming the first.
    """
    if not is_built_in(type(part)) and type(part) not in parts:
        raise ValueError(
            f"{type(part).__name__} is a part of your own: declare it, "
            f"Sweep(parts=[{type(part).__name__}], ...)."
        )
    refuse_undeclared_parts(part, parts)


def each_seed_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return seeds as they are.

    Raises:
        ValueError: If one is listed twice.
    """
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"A seed is listed twice: {', '.join(map(str, seeds))}.")
    return seeds


def _proposed(decisions: Sequence[Decision]) -> tuple[Cell, ...]:
    return tuple(
        cell for decision in decisions if isinstance(decision, Propose) for cell in decision.cells
    )


def _paths_of(
    settings: Mapping[str, Any], definition: Definition | None
) -> Iterator[tuple[str, str]]:
    """Yield each path that an arm sets, and the path by which it does."""
    if definition is None or not any(path.split(".")[-1] == "profile" for path in settings):
        yield from ((part_of_kind(path), path) for path in settings)
        return
    config = with_settings(definition.base, settings, definition.parts)
    for own, paths in paths_set(config, settings).items():
        yield from ((path, own) for path in (own, *paths))
