"""A sweep: a named set of trials with one purpose."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator, model_validator

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.search_range import Plain
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import (
    Part,
    Settings,
    built_in_members,
    family_class,
    is_built_in,
    kind_of,
)
from search_spaces.conflicts import refuse_varied, refuse_varied_profiles
from search_spaces.plans.listed import Arm, ListedArms
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import Search, Seed, each_seed_once
from search_spaces.tables import (
    AblationTable,
    ConfirmationTable,
    SensitivityTable,
    Table,
    arms_of,
)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class Sweep(Settings):
    """What is launched.

    Attributes:
        name: Of its records, tables and report folder.
        description: Its purpose, in a sentence or two.
        base: The training config that the arms change.
        plan: Which arms there are, declared in full or proposed by a search.
        seeds: Every arm of a design is trained once with each; a search has seeds of its own.
        parts: Classes of a user's own parts that the arms use.
        tables: What it is for; none stands for those that suit its plan.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: Name
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    base: TrainingConfig
    plan: Annotated[ListedArms | Search, Field(discriminator="kind")]
    seeds: tuple[Seed, ...] = ()
    parts: tuple[type[Part], ...] = ()
    tables: tuple[Table, ...] = ()

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @field_validator("parts")
    @classmethod
    def _kinds_are_new(cls, parts: tuple[type[Part], ...]) -> tuple[type[Part], ...]:
        for index, part in enumerate(parts):
            siblings = built_in_members(family_class(part))
            if part.model_fields["kind"].is_required():
                raise ValueError(
                    f"{part.__name__} has no kind: give it one, kind: Literal['mine'] = 'mine'."
                )
            if any(_is_same_kind(part, other) for other in parts[:index]):
                raise ValueError(f"Two parts are called '{kind_of(part)}': choose another kind.")
            if kind_of(part) in {kind_of(other) for other in siblings}:
                raise ValueError(
                    f"The kind '{kind_of(part)}' of {part.__name__} is built in and cannot be "
                    f"overridden: choose another kind."
                )
        return parts

    @model_validator(mode="after")
    def _seeds_are_given_once(self) -> Self:
        if isinstance(self.plan, Search) and self.seeds:
            raise ValueError(
                "The seeds of a search stand in its plan, Search(seeds=...): leave out "
                "Sweep(seeds=...)."
            )
        if isinstance(self.plan, ListedArms) and not self.seeds:
            raise ValueError("seeds must be a list of at least 1, got ().")
        return self

    @model_validator(mode="after")
    def _tables_can_be_made(self) -> Self:
        names = [table.name for table in self.tables]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"Two tables are called '{twice[0]}': give one another name.")
        arms = self.plan.arms if isinstance(self.plan, ListedArms) else ()
        for table in self.tables:
            _refuse_table_of_the_other_plan(table, self.plan)
            for arm in arms_of(table):
                if arm not in arms:
                    raise ValueError(unknown(f"arm in the table '{table.name}'", arm, arms))
        return self

    @model_validator(mode="after")
    def _proposals_can_be(self) -> Self:
        if isinstance(self.plan, Search):
            _refuse_undeclared_parts(self.base, self.parts)
            self.plan.space.check(self.base, self.parts)
        return self

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms of a design, in the order of the tables.

        Raises:
            ValueError: In one sentence, if an arm cannot be, or the plan is a search.
        """
        if isinstance(self.plan, Search):
            raise ValueError(
                f"The sweep '{self.name}' is a search: it has no arms but those it will propose."
            )
        arms = self.plan.build(self.base, self.parts)
        for arm in arms:
            _refuse_undeclared_parts(arm.config, self.parts)
        return arms

    def proposed(self, name: str, params: Mapping[str, Plain]) -> Arm:
        """Return the arm that a search proposes.

        A part of the kind that the base has keeps the base's settings.

        Args:
            name: What the tables call it.
            params: Name of a dimension of the space -> value.

        Raises:
            ValueError: In one sentence, if the point is none of the space, or the plan no search.
        """
        if not isinstance(self.plan, Search):
            raise ValueError(f"The sweep '{self.name}' is a design: its arms are declared in full.")
        space = self.plan.space
        config = space.config(self.base, params, self.parts)
        return Arm(name, config, space.changes(params))

    def changed(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        seeds: tuple[int, ...] | None = None,
        trials: int | None = None,
        sampler: str | None = None,
        scheduler: Scheduler | str | None = None,
    ) -> Self:
        """Return the sweep with its base, name, seeds or search changed.

        Args:
            settings: Path -> value, applied to the base before the arms are built.
            name: The new name.
            seeds: The new list of seeds, of a search that of its proposals.
            trials: How many proposals a search makes.
            sampler: What proposes them.
            scheduler: What stops them, or its kind. The kind that the search has keeps its
                settings.

        Raises:
            ValueError: If a path leads nowhere, or the arms change it themselves, so that the new
                value would not be seen there, or a design is given what only a search has.
        """
        searching = {"trials": trials, "sampler": sampler, "scheduler": scheduler}
        changes: dict[str, Any] = {"name": self.name if name is None else name}
        refuse_varied(settings or {}, self.plan)
        if isinstance(self.plan, Search):
            changes["plan"] = self.plan.changed(seeds=seeds or None, **searching)
        else:
            _refuse_search_options(self.name, searching)
            changes["seeds"] = seeds or self.seeds
        base = with_settings(self.base, settings or {}, self.parts)
        refuse_varied_profiles(settings or {}, base, self.plan, self.parts)
        changes["base"] = base
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


def _refuse_table_of_the_other_plan(table: Table, plan: ListedArms | Search) -> None:
    is_search = isinstance(plan, Search)
    if is_search and isinstance(table, AblationTable):
        raise ValueError(
            "A search has no baseline for an ablation table: declare a SensitivityTable, a "
            "ConfirmationTable or a CurvesFigure."
        )
    if not is_search and isinstance(table, SensitivityTable | ConfirmationTable):
        raise ValueError(
            f"A design has nothing for a table of the kind '{table.kind}': only a search has."
        )
    if isinstance(plan, Search) and isinstance(table, ConfirmationTable) and plan.confirm is None:
        raise ValueError(
            "The search confirms nothing, so there is no ConfirmationTable: leave it out, or "
            "give Search(confirm=Confirm())."
        )


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)


def _refuse_search_options(name: str, options: Mapping[str, object]) -> None:
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise ValueError(
            f"The sweep '{name}' is a design, whose arms are declared in full: only a search has "
            f"{' and '.join(given)}."
        )


def _refuse_undeclared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if not isinstance(value, Part):
            continue
        if not is_built_in(type(value)) and type(value) not in parts:
            raise ValueError(
                f"{type(value).__name__} is a part of your own: declare it, "
                f"Sweep(parts=[{type(value).__name__}], ...)."
            )
        _refuse_undeclared_parts(value, parts)
