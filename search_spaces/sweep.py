"""A sweep: a named set of trials with one purpose."""

from collections.abc import Mapping
from itertools import cycle
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializeAsAny,
    StringConstraints,
    field_validator,
    model_validator,
)

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import EVALUATIONS, Evaluation
from capsmodel.metrics import Metric
from capsmodel.settings.measures import declared_metrics
from capsmodel.settings.parts import OneOf, Part, Settings
from search_spaces.plans.base import Arm, Plan, Seed, each_seed_once
from search_spaces.plans.built_in import built_in_plan
from search_spaces.plans.scheduler import Scheduler
from search_spaces.sweep_checks import (
    changed_base,
    refuse_arms_with_splits,
    refuse_evaluations_of,
    refuse_parts,
    refuse_plan_over_splits,
    refuse_splits,
    refuse_tables,
)
from search_spaces.tables import OwnTable, Table, own_kinds

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
        margin_points: Differences of test errors within it, in percentage points, do not matter:
            arms that are shown to differ by less are equivalent. Declared before the results, or
            not at all.
        split_seeds: Over which splits of the training images into training and validation images,
            dealt to the seeds in turn; with none, all are trained on the split of the base.
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
    margin_points: Annotated[float, Field(gt=0, le=100, strict=True)] | None = None
    split_seeds: tuple[Seed, ...] = ()

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @field_validator("parts")
    @classmethod
    def _kinds_are_new(cls, parts: tuple[type[Part], ...]) -> tuple[type[Part], ...]:
        refuse_parts(parts)
        return parts

    @field_validator("plan", mode="before")
    @classmethod
    def _plan_by_kind(cls, plan: object) -> object:
        """Look a plan that is given as plain values up by its kind, among those of the package."""
        return plan if isinstance(plan, Plan) else built_in_plan(plan)

    @model_validator(mode="after")
    def _seeds_are_given_once(self) -> Self:
        self.plan.seeds_given(self.seeds)
        return self

    @model_validator(mode="after")
    def _tables_can_be_made(self) -> Self:
        refuse_tables(self.tables, self.plan, self)
        return self

    @model_validator(mode="after")
    def _evaluations_can_be_made(self) -> Self:
        refuse_evaluations_of(self.evaluations, self.parts)
        return self

    @model_validator(mode="after")
    def _plan_can_be(self) -> Self:
        self.plan.check(self)
        return self

    @model_validator(mode="after")
    def _splits_can_be_dealt(self) -> Self:
        if self.split_seeds:
            refuse_plan_over_splits(self, self.plan, self.tables)
            refuse_splits(self.split_seeds, len(self.arm_seeds))
        return self

    @property
    def arm_seeds(self) -> tuple[int, ...]:
        """Every arm is trained once with each: those listed, or the plan's own."""
        return self.plan.seeds_given(self.seeds)

    @property
    def splits(self) -> dict[int, int]:
        """The split of each seed, dealt in turn; empty where all have that of the base.

        No seed stands on two splits: then trainings of two splits share no chance of their own, and
        each more training speaks of another seed, and of another split while there are more.
        """
        return dict(zip(self.arm_seeds, cycle(self.split_seeds), strict=False))

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
        if self.split_seeds:
            refuse_arms_with_splits(self.base, arms)
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
        base = changed_base(self, self.plan, settings or {})
        _refuse_options(self.name, self.plan, given)
        changes: dict[str, Any] = {
            "name": self.name if name is None else name,
            "plan": self.plan.launched(seeds, given),
            "seeds": () if self.plan.has_own_seeds else seeds or self.seeds,
            "base": base,
        }
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


def _refuse_options(name: str, plan: Plan, given: Mapping[str, object]) -> None:
    if refused := [option for option in given if option not in plan.options]:
        raise ValueError(
            f"The sweep '{name}' is a design, whose arms are declared in full: only a search has "
            f"{' and '.join(refused)}."
        )
