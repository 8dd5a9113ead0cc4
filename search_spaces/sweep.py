"""A sweep: a named set of trials with one purpose."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializeAsAny,
    StringConstraints,
    TypeAdapter,
    field_validator,
    model_validator,
)

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import EVALUATIONS, Evaluation
from capsmodel.metrics import Metric
from capsmodel.overrides import with_settings
from capsmodel.settings.measures import check_own, declared_metrics
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import (
    OneOf,
    Part,
    Settings,
    built_in_members,
    family_class,
    kind_of,
)
from search_spaces.conflicts import refuse_varied, refuse_varied_profiles
from search_spaces.declared_evaluations import refuse_evaluations
from search_spaces.plans.base import Plan
from search_spaces.plans.confirm import Seed, each_seed_once
from search_spaces.plans.listed import Arm, ListedArms
from search_spaces.plans.own_parts import refuse_undeclared_part, refuse_undeclared_parts
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import Search
from search_spaces.shown_metrics import refuse_unknown_metrics
from search_spaces.tables import OwnTable, Table, own_kinds

_BuiltInPlan = Annotated[ListedArms | Search, Field(discriminator="kind")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class Sweep(Settings):
    """What is launched.

    Attributes:
        name: Of its records, tables and report folder.
        description: Its purpose, in a sentence or two.
        base: The training config that the arms change.
        plan: Which arms there are, declared in full, proposed by a search, or said by a plan of
            the user's own.
        seeds: Every arm of a design is trained once with each; a search has seeds of its own.
        parts: Classes of a user's own parts that the arms and the evaluations use.
        tables: What it is for; none stands for those that suit its plan.
        evaluations: What is looked at in every finished trial's network, after its training.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: Name
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    base: TrainingConfig
    plan: SerializeAsAny[Plan]
    seeds: tuple[Seed, ...] = ()
    parts: tuple[type[Part], ...] = ()
    tables: tuple[Table, ...] = ()
    evaluations: tuple[Annotated[Evaluation, OneOf(EVALUATIONS)], ...] = ()

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
            check_own(part.epoch_metrics)
        return parts

    @field_validator("plan", mode="before")
    @classmethod
    def _plan_by_kind(cls, plan: object) -> object:
        """Look a plan that is given as plain values up by its kind, among those of the package."""
        return plan if isinstance(plan, Plan) else TypeAdapter(_BuiltInPlan).validate_python(plan)

    @model_validator(mode="after")
    def _seeds_are_given_once(self) -> Self:
        self.plan.seeds_given(self.seeds)
        return self

    @model_validator(mode="after")
    def _tables_can_be_made(self) -> Self:
        names = [table.name for table in self.tables]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"Two tables are called '{twice[0]}': give one another name.")
        own_kinds(self.tables)
        for table in self.tables:
            self.plan.refuse_table(table)
            arms = self.plan.arms_at_start(self) if table.arms else ()
            for arm in table.arms:
                if arm not in arms:
                    raise ValueError(unknown(f"arm in the table '{table.name}'", arm, arms))
            refuse_unknown_metrics(table, self.metrics)
        return self

    @model_validator(mode="after")
    def _evaluations_can_be_made(self) -> Self:
        refuse_evaluations(self.evaluations)
        for evaluation in self.evaluations:
            refuse_undeclared_part(evaluation, self.parts)
        return self

    @model_validator(mode="after")
    def _plan_can_be(self) -> Self:
        self.plan.check(self)
        return self

    @property
    def arm_seeds(self) -> tuple[int, ...]:
        """Every arm is trained once with each: those listed, or the plan's own."""
        return self.plan.seeds_given(self.seeds)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The epoch metrics that its parts declare, by which a search may choose."""
        return declared_metrics(self.base, self.parts)

    @property
    def own_tables(self) -> tuple[type[OwnTable], ...]:
        """Classes of the user's own kinds of tables that it declares."""
        return own_kinds(self.tables)

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms of a design, in the order of the tables.

        Raises:
            ValueError: In one sentence, if an arm cannot be, or the plan is a search.
        """
        if self.plan.is_search:
            raise ValueError(
                f"The sweep '{self.name}' is a search: it has no arms but those it will propose."
            )
        return self.arms_at_start()

    def arms_at_start(self) -> tuple[Arm, ...]:
        """Return the arms that there are before anything runs; none of a search.

        Raises:
            ValueError: In one sentence, if an arm cannot be.
        """
        arms = self.plan.build(self)
        for arm in arms:
            refuse_undeclared_parts(arm.config, self.parts)
        return arms

    def proposed(self, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return an arm that the plan proposes.

        Args:
            name: What the tables call it.
            settings: Path -> value; of a search, name of a dimension of its space -> value.

        Raises:
            ValueError: In one sentence, if there can be no such arm, or all are declared in full.
        """
        if self.plan.is_whole_at_start(self):
            raise ValueError(f"The sweep '{self.name}' is a design: its arms are declared in full.")
        return self.plan.arm(self, name, settings)

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
        options = {"trials": trials, "sampler": sampler, "scheduler": scheduler}
        given = {option: value for option, value in options.items() if value is not None}
        varied = list(self.plan.varied(self, with_profiles=False))
        refuse_varied(settings or {}, varied, self.plan.arms_at_start(self))
        _refuse_options(self.name, self.plan, given)
        changes: dict[str, Any] = {
            "name": self.name if name is None else name,
            "plan": self.plan.launched(seeds, given),
            "seeds": () if self.plan.has_own_seeds else seeds or self.seeds,
            "base": with_settings(self.base, settings or {}, self.parts),
        }
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        with_base = self.model_copy(update={"base": changes["base"]})
        refuse_varied_profiles(settings or {}, with_base.base, self.plan.varied(with_base))
        return type(self).model_validate({**fields, **changes})


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)


def _refuse_options(name: str, plan: Plan, given: Mapping[str, object]) -> None:
    if refused := [option for option in given if option not in plan.options]:
        raise ValueError(
            f"The sweep '{name}' is a design, whose arms are declared in full: only a search has "
            f"{' and '.join(refused)}."
        )
