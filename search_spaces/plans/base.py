"""A plan: it decides which cells of a sweep are trained next."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import ConfigDict
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig
from capsmodel.overrides import paths_set, with_settings, written_out
from capsmodel.settings.parts import Part, Settings, is_built_in
from search_spaces.plans.decisions import Cell, Decision, Done, Event, Propose, SlotFree, Wait
from search_spaces.plans.known import Known, known_after
from search_spaces.plans.plan_end import check_end
from search_spaces.plans.until_decided import Seed as Seed
from search_spaces.plans.until_decided import UntilDecided, decide_by_looks
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.tables import AblationTable, Table

if TYPE_CHECKING:
    from capsmodel.evaluation import Evaluation

MISSING = frozenset(  # what pandas reads as no value
    (
        *("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-NaN", "-nan"),
        *("NULL", "null", "None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
    )
)

LONGEST = 200
"""Most characters of an arm's name, so that records can store it."""

KIND = ".kind"

RENAMED = {
    "told_baseline": "baseline_name",
    "told_arms": "arm_names",
    "told_factors": "factor_levels",
    "told_objectives": "objective_names",
    "refuse_table": "check_table",
    "refuse_more_seeds": "check_more_seeds",
    "cells_at_start": "initial_cells",
    "arms_at_start": "initial_arms",
    "is_whole_at_start": "is_complete_at_start",
}
"""Former names of a plan's methods, which a class must not define: nobody would call them."""

Parts = tuple[type[Part], ...]

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
        name: Its name in tables.
        config: The full training config.
        changes: Its changes to the sweep's base, path -> plain JSON value.
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
        """Classes of the user's parts."""
        ...

    @property
    def arm_seeds(self) -> tuple[int, ...]:
        """The seeds; every arm is trained once with each."""
        ...

    @property
    def until_decided(self) -> UntilDecided | None:
        """Its plan of looks; None where every arm is trained with every seed."""
        ...

    @property
    def evaluations(self) -> "tuple[Evaluation, ...]":
        """The evaluations of each finished trial."""
        ...


@dataclass(frozen=True)
class Varied:
    """A path that a plan varies, so that it cannot be set for all arms.

    Attributes:
        who: What varies it, for an error sentence.
        advice: What to do instead.
        is_within_kinds: Whether a value below a part leaves the part's kind as it is: a kind that
            is set for all arms is still there in arms that change only settings below the part.
    """

    path: str
    who: str
    advice: str
    is_within_kinds: bool = False

    def hides(self, path: str) -> bool:
        """Return whether a value that is set for all arms at a path would be overridden."""
        if path.endswith(KIND) and self.is_within_kinds:
            return self.path == part_of_kind(path)
        return is_at_or_below(self.path, part_of_kind(path))


def part_of_kind(path: str) -> str:
    """Return the path of the part whose kind a path names; other paths are returned as they are."""
    return path.removesuffix(KIND)


P = TypeVar("P", bound="Plan")
R = TypeVar("R")
_MOST_KEPT = 16


def once_for_each_definition(
    method: Callable[[P, "Definition"], R],
) -> Callable[[P, "Definition"], R]:
    """Have a plan's method answer once for each definition: a launch asks a dozen times."""
    kept: dict[tuple[Any, ...], tuple[P, TrainingConfig, R]] = {}

    @wraps(method)
    def answer(plan: P, definition: Definition) -> R:
        parts, seeds = tuple(definition.parts), tuple(definition.arm_seeds)
        key = id(plan), id(definition.base), parts, seeds
        if key not in kept:
            result = method(plan, definition)
            while len(kept) >= _MOST_KEPT:
                del kept[next(iter(kept))]
            kept[key] = plan, definition.base, result  # as long as they live, no other has their id
        return kept[key][2]

    return answer


class Plan(Settings):
    """Base class of plans: frozen settings with a new `kind`, and a pure function that decides.

    A plan implements `next_cells`, or `decide` if it also stops trials or selects arms. Both must
    depend on their arguments alone, so that a killed sweep resumes as it would have continued.
    The first call happens before anything runs. If the second answer is `DONE`, all cells of the
    sweep are known at its start.

    Attributes:
        has_own_seeds: Whether the plan holds the seeds, so that the sweep must not list any.
        options: Names of the fields that a launch may change.
        is_search: Whether it proposes points of a space.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    has_own_seeds: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    is_search: ClassVar[bool] = False
    kind: Any  # each member narrows it to its Literal

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Reject a class that defines a method by its former name."""
        super().__pydantic_init_subclass__(**kwargs)
        if old := RENAMED.keys() & vars(cls).keys():
            name = min(old)
            raise TypeError(
                f"The plan {cls.__name__} defines '{name}', which is called '{RENAMED[name]}' now: "
                f"rename it."
            )

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Return the decisions that follow from an event, given all that is known.

        By default nothing follows from the end of a trial or an epoch: trials continue unless
        they are stopped.
        """
        if not isinstance(event, SlotFree):
            return ()
        if looks := definition.until_decided:
            every = self.next_cells(definition, Known())
            assert not isinstance(every, Wait | Done)
            baseline = self.baseline_name(definition)
            return decide_by_looks(every, baseline, looks.seeds_at_looks, journal)
        answer = self.next_cells(definition, journal)
        return (answer,) if isinstance(answer, Wait | Done) else (Propose(tuple(answer)),)

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Wait | Done:
        """Return the cells to train next, or `WAIT` until a trial ends, or `DONE`."""
        raise NotImplementedError(f"{type(self).__name__} has neither next_cells nor decide.")

    def baseline_name(self, definition: Definition) -> str:
        """Return the name of the baseline arm, or "" if there is none."""
        return next(iter(self.initial_arms(definition)), "")

    def arm_names(self, definition: Definition) -> Sequence[str]:
        """Return the names of the arms that tables may refer to."""
        return tuple(self.initial_arms(definition))

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors, path -> levels; empty if its arms are not made of factors."""
        return {}

    @property
    def matched(self) -> Mapping[str, str]:
        """Arm -> the arm to whose number of parameters its width was matched; none by default."""
        return {}

    def objective_names(self) -> tuple[str, ...]:
        """Return the names of the metrics that it optimises, empty if it only compares arms."""
        return ()

    def mean_share(self, num_epochs: int, numbers: Iterable[int]) -> float:
        """Return the mean share of a full training that pending proposals take, by number."""
        scheduler = getattr(self, "scheduler", None)
        return scheduler.mean_share(num_epochs, numbers) if scheduler else 1.0

    def question(self) -> str:
        """Return the question that its selection answers. It selects anew if this changes."""
        return ""

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return its fields of the manifest besides arms, cells and seeds, as plain values."""
        return {}

    def default_tables(self) -> tuple[Table, ...]:
        """Return the tables of a sweep that declares no tables."""
        return (AblationTable(),)

    def check(self, definition: Definition) -> None:
        """Check the plan against its sweep by quick checks.

        Raises:
            ValueError: If the plan is impossible for this sweep.
        """

    def check_together(self, tables: Sequence[Table]) -> None:
        """Check the fields in `options` against each other, once a launch has changed them.

        Args:
            tables: The tables that the sweep declares.

        Raises:
            ValueError: If they do not go together.
        """

    def check_all(self, definition: Definition) -> None:
        """Check many configurations of the plan, or its end; called once, before a launch.

        Raises:
            ValueError: If a configuration is not valid, or a plan of the user's proposes a cell
                twice or has no end.
        """
        is_of_user = not type(self).__module__.startswith("search_spaces.")
        if is_of_user and type(self).decide is Plan.decide:
            check_end(self, definition)

    def check_table(self, table: Table) -> None:
        """Check that a table can be made from a sweep with this plan.

        Raises:
            ValueError: If it cannot.
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
        """Return the seeds of every arm, given those that the sweep lists.

        Raises:
            ValueError: If there are none.
        """
        if not seeds:
            raise ValueError("seeds must be a list of at least 1, got ().")
        return seeds

    def check_more_seeds(self) -> None:
        """Check that a launch may add seeds to those that were launched before.

        Raises:
            ValueError: If it may not.
        """

    def with_options(self, seeds: tuple[int, ...] | None, options: Mapping[str, Any]) -> Self:
        """Return the plan with the changes of a launch.

        Args:
            seeds: The seeds given at the launch; used only by plans that hold their seeds.
            options: Name -> value for some of the fields in `options`.
        """
        assert set(options) <= set(self.options)
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **options}) if options else self

    def initial_cells(self, definition: Definition) -> tuple[Cell, ...]:
        """Return the cells that are proposed before anything is known."""
        return _proposed(self.decide(definition, Known(), SlotFree()))

    def is_complete_at_start(self, definition: Definition) -> bool:
        """Return whether the initial cells are all cells, however their trials end."""
        known = known_after([Propose(self.initial_cells(definition))])
        return any(
            isinstance(decision, Done) for decision in self.decide(definition, known, SlotFree())
        )

    def initial_arms(self, definition: Definition) -> Mapping[str, Mapping[str, Any]]:
        """Return the arms of the initial cells, name -> settings."""
        return {cell.arm: cell.settings for cell in self.initial_cells(definition)}

    def with_arm_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the plan with settings added to some of its initial arms.

        Args:
            settings: Arm -> path -> value.

        Raises:
            ValueError: If the plan does not list its arms, so that none can be changed alone.
        """
        raise ValueError(
            f"Some arms of the plan '{self.kind}' choose their own stopping ({', '.join(settings)})"
            f", so that their epochs cannot be set for all: set them in the sweep's file."
        )

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm that changes some settings of the sweep's base.

        Raises:
            ValueError: If a setting does not exist, or its value is not allowed.
        """
        base, parts = definition.base, definition.parts
        try:
            config = with_settings(base, settings, parts)
        except ValueError as error:
            raise ValueError(f"Arm '{name}': {error}") from error
        return Arm(name, config, to_jsonable_python(written_out(config, settings)))

    @once_for_each_definition
    def build(self, definition: Definition) -> tuple[Arm, ...]:
        """Return the initial arms, in the order of the tables.

        Raises:
            ValueError: If an arm is not valid or has an undeclared part, or if two arms are the
                same configuration.
        """
        listed = self.initial_arms(definition)
        if not listed and not self.is_search:
            raise ValueError(f"The plan '{self.kind}' proposes no cells at its start.")
        check_arm_names(listed)
        arms = tuple(self.arm(definition, name, listed[name]) for name in listed)
        by_config: dict[str, str] = {}
        for arm in arms:
            other = by_config.setdefault(arm.config.model_dump_json(), arm.name)
            if other != arm.name:
                raise ValueError(f"The arms '{other}' and '{arm.name}' are the same configuration.")
        for arm in arms:
            check_declared_parts(arm.config, definition.parts)
        return arms

    def varied(self, definition: Definition, *, with_profiles: bool = True) -> Iterator[Varied]:
        """Yield the settings that it varies, which cannot be set for all arms.

        Args:
            definition: Definition of the sweep.
            with_profiles: Include the settings that profiles of arms set; these depend on the base.
        """
        for name, settings in self.initial_arms(definition).items():
            for path, changed_path in _paths_of(settings, definition if with_profiles else None):
                who = f"the sweep itself (arm '{name}' changes '{changed_path}')"
                yield Varied(path, who, _ADVICE, is_within_kinds=True)


def check_arm_names(names: Collection[str]) -> None:
    """Check that records can store names of arms, and that files are read back with these names.

    Raises:
        ValueError: For the first name that is not allowed.
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
                f"An arm cannot be called {name!r}: programs read that in its table as a missing "
                f"value. Choose another name."
            )


def check_declared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    """Check that the sweep declares all parts in some settings that are not built in.

    Raises:
        ValueError: For the first part that is not declared.
    """
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Part):
            check_declared_part(value, parts)


def check_declared_part(part: Part, parts: tuple[type[Part], ...]) -> None:
    """Check that the sweep declares a part and the parts in it, unless they are built in.

    Raises:
        ValueError: For the first part that is not declared.
    """
    if not is_built_in(type(part)) and type(part) not in parts:
        raise ValueError(
            f"{type(part).__name__} is a part of your own: declare it, "
            f"Sweep(parts=[{type(part).__name__}], ...)."
        )
    check_declared_parts(part, parts)


def each_seed_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return seeds unchanged.

    Raises:
        ValueError: If a seed is listed twice.
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
    """Yield each path that an arm sets, and the path that it was given by."""
    if definition is None or not any(path.split(".")[-1] == "profile" for path in settings):
        yield from ((part_of_kind(path), path) for path in settings)
        return
    config = with_settings(definition.base, settings, definition.parts)
    for set_path, paths in paths_set(config, settings).items():
        yield from ((path, set_path) for path in (set_path, *paths))
