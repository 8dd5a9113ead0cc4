"""A search: an adaptive plan, in which each proposal may learn from those before it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import OneOf
from search_spaces.plans.base import Arm, Definition, Plan
from search_spaces.plans.confirm import Confirm as Confirm
from search_spaces.plans.confirm import Seed, each_seed_once
from search_spaces.plans.decisions import Cell
from search_spaces.plans.objective import DEFAULT_OBJECTIVE, refuse_objective
from search_spaces.plans.scheduler import SCHEDULERS, NoScheduler, Scheduler
from search_spaces.plans.search_fields import decisive_scheduler, definition_hash, dimension_fields
from search_spaces.plans.search_rules import (
    refuse_confirmation,
    refuse_definition,
    refuse_points,
    refuse_sampler,
    refuse_varied_objective,
)
from search_spaces.plans.varied import Varied
from search_spaces.space.space import Space
from search_spaces.tables import ConfirmationTable, SensitivityTable, Table

Sampler = Literal["tpe", "random", "gp", "grid", "qmc"]


class Search(Plan):
    """Proposals of a sampler, each an arm; a scheduler stops the hopeless early.

    Attributes:
        space: What varies, over which values.
        objective: The epoch metric that proposals are chosen by, mean over the seeds: a built-in
            one, or one that a part of the sweep declares. It is always one of the validation
            split: selection never sees the test split.
        sampler: What proposes. `tpe` and `gp` learn from the results so far, `random`, `qmc`
            (points that fill the space evenly) and `grid` (all points) do not.
        sampler_seed: What all chance of the sampler comes from.
        scheduler: When a trial is given up; its kind alone is enough.
        trials: Proposals in all.
        seeds: Every proposal is trained once with each.
        confirm: What is done with the best, None where nothing is.
        num_startup: Proposals at the start that are random, as there is nothing to learn from.
    """

    has_own_seeds: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("trials", "sampler", "scheduler")
    is_search: ClassVar[bool] = True
    num_startup: ClassVar[int] = 10
    kind: Literal["search"] = "search"
    space: Space
    objective: str = DEFAULT_OBJECTIVE
    sampler: Sampler = "tpe"
    sampler_seed: Seed = 0
    scheduler: Annotated[Scheduler, OneOf(SCHEDULERS)] = NoScheduler()
    trials: Annotated[int, Field(ge=1, le=100_000)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0,)
    confirm: Confirm | None = Confirm()

    @field_validator("objective", mode="before")
    @classmethod
    def _objective_is_of_validation(cls, objective: object) -> object:
        refuse_objective(str(objective))
        return objective

    @field_validator("sampler", mode="before")
    @classmethod
    def _sampler_is_known(cls, sampler: object) -> object:
        if sampler not in get_args(Sampler):
            raise ValueError(unknown("sampler", str(sampler), get_args(Sampler)))
        return sampler

    @field_validator("scheduler", mode="before")
    @classmethod
    def _scheduler_by_kind(cls, scheduler: object) -> object:
        return {"kind": scheduler} if isinstance(scheduler, str) else scheduler

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @model_validator(mode="after")
    def _sampler_can_do_the_space(self) -> Self:
        refuse_sampler(self.sampler, self.space, self.trials)
        return self

    @model_validator(mode="after")
    def _objective_is_the_same_for_all(self) -> Self:
        refuse_varied_objective(self.objective, self.space)
        return self

    @model_validator(mode="after")
    def _confirmation_is_apart(self) -> Self:
        if self.confirm:
            refuse_confirmation(self.confirm, self.trials, self.seeds)
        return self

    def changed(self, **fields: Any) -> Self:
        """Return the search with some fields changed and checked; None leaves one as it is.

        A scheduler of the kind that the search has keeps its settings.

        Raises:
            ValueError: If the search cannot be so.
        """
        changes = {name: value for name, value in fields.items() if value is not None}
        if changes.get("scheduler") == self.scheduler.kind:
            del changes["scheduler"]
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**own, **changes})

    def told_objectives(self) -> tuple[str, ...]:
        """The one that is to be small."""
        return (self.objective,)

    def question(self) -> str:
        """Return which are the best of how many, on which seeds they are confirmed."""
        again = self.confirm
        return f"{again.best} of {self.trials}, seeds {again.seeds}" if again else ""

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return what varies and how, without proposals."""
        dimensions = [dimension_fields(dimension) for dimension in self.space.dimensions]
        decisive = {
            "dimensions": dimensions,
            "objective": self.objective,
            "sampler": [self.sampler, self.sampler_seed],
            "scheduler": decisive_scheduler(self.scheduler),
            "seeds": self.seeds,
        }
        fields = {
            "objective": self.objective,
            "definition": definition_hash(definition.base, decisive),
            "sampler": self.sampler,
            "scheduler": self.scheduler.model_dump(mode="json"),
            "num_trials": self.trials,
            "num_startup": self.num_startup,
            "dimensions": dimensions,
            "confirmation": self.confirm and self.confirm.model_dump(),
        }
        return {"search": fields}

    def default_tables(self) -> tuple[Table, ...]:
        """Return what the settings matter, after the best where they are confirmed."""
        again = (ConfirmationTable(),) if self.confirm else ()
        return (*again, SensitivityTable())

    def check(self, definition: Definition) -> None:
        """Refuse a space that the base does not have, and parts that are not declared."""
        refuse_definition(definition, self.space, self.objective)

    def check_all(self, definition: Definition) -> None:
        """Refuse a space in which some points are no settings."""

        def proposed(params: Mapping[str, Any]) -> Arm:
            return self.arm(definition, "a proposal", params)

        refuse_points(self.space, self.objective, proposed)

    def refuse_table(self, table: Table) -> None:
        """Refuse a table that needs a baseline, or arms that are confirmed where none are."""
        if table.kind == "ablation":
            raise ValueError(
                "A search has no baseline for an ablation table: declare a SensitivityTable, a "
                "ConfirmationTable or a CurvesFigure."
            )
        if table.kind == "confirmation" and self.confirm is None:
            raise ValueError(
                "The search confirms nothing, so there is no ConfirmationTable: leave it out, or "
                "give Search(confirm=Confirm())."
            )

    def seeds_given(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return its own, as the sweep lists none."""
        if seeds:
            raise ValueError(
                "The seeds of a search stand in its plan, Search(seeds=...): leave out "
                "Sweep(seeds=...)."
            )
        return self.seeds

    def refuse_more_seeds(self) -> None:
        """Refuse them."""
        raise ValueError(
            "The seeds of a search are part of what it goes by, so none can be added: give it "
            "others and another name (--seeds, --name NEW), or more in Confirm(seeds=...)."
        )

    def launched(self, seeds: tuple[int, ...] | None, options: Mapping[str, Any]) -> Self:
        """Return the search with other seeds or options."""
        return self.changed(seeds=seeds or None, **options)

    def cells_at_start(self, definition: Definition) -> tuple[Cell, ...]:
        """Return none, as all are proposed while it runs."""
        return ()

    def is_whole_at_start(self, definition: Definition) -> bool:
        """Return that it is not."""
        return False

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm of a point of the space; a part of the base's kind keeps its settings."""
        config = self.space.config(definition.base, settings, definition.parts)
        return Arm(name, config, self.space.changes(settings))

    def varied(self, definition: Definition, *, with_profiles: bool = True) -> Iterator[Varied]:
        """Yield the dimensions of its space."""
        advice = "set something that it does not vary, or write a sweep of your own with a smaller"
        for dimension in self.space.dimensions:
            who = f"the search itself ('{dimension.name}')"
            yield Varied(dimension.path, who, f"{advice} space")
