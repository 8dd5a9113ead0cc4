"""A search: an adaptive plan, in which each proposal may learn from those before it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from capsmodel.config import TrainingConfig
from capsmodel.search_range import Choices
from capsmodel.settings.later_field import later
from search_spaces.plans.base import Arm, Definition, Plan, Seed, Varied, each_seed_once
from search_spaces.plans.confirm import Confirm as Confirm
from search_spaces.plans.decisions import Cell
from search_spaces.plans.ends import AnyEnd
from search_spaces.plans.objective import DEFAULT_OBJECTIVE, refuse_objective
from search_spaces.plans.scheduler import AnyScheduler, NoScheduler, Scheduler
from search_spaces.plans.search_checks import (
    DEFAULT_STARTUP,
    Cost,
    learns_nothing,
    refuse_beside_cost,
    refuse_confirmation,
    refuse_definition,
    refuse_ends,
    refuse_front,
    refuse_limits,
    refuse_points,
    refuse_random_reference,
    refuse_same_cost,
    refuse_sampler,
    refuse_startup,
    refuse_unknown_sampler,
    refuse_varied_objective,
)
from search_spaces.space.dimensions import Dimension
from search_spaces.space.space import Limit, Space
from search_spaces.tables import ConfirmationTable, FrontTable, SensitivityTable, Table
from search_spaces.trial_key import trial_key

RULES = 2
"""Raised whenever a search with the same fields would propose, stop or choose otherwise."""

SAMPLER_FLAGS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"multivariate": True, "constant_liar": True, "group": False},
    "nsga2": {"crossover_prob": 0.9, "swapping_prob": 0.5},
}
"""What samplers of Optuna are given besides a seed, so that no default of its decides."""

FLAGS_WITH_LIMITS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"points_tried": 64},
    "gp": {"points_tried": 0},
}
"""How many points all over the space are tried, to tell a sampler of those that break the limits.

A model of the objective would have to be told what these came to, so that `gp` has none.
"""

Sampler = Literal["tpe", "random", "gp", "nsga2", "grid", "qmc"]

BASE = "base"
"""What the tables call the configuration that a search changes."""


class Search(Plan):
    """Proposals of a sampler, each an arm; a scheduler stops the hopeless early.

    The base is trained as well, in full: samplers learn from it where it is a point of the space,
    and what is confirmed is confirmed against it. Proposals that diverge are told to samplers as
    the worst that was seen, those that fail are not told. No point of a space that can be counted
    is proposed twice.

    Attributes:
        space: What varies, over which values.
        objective: The epoch metric that proposals are chosen by, mean over the seeds: a built-in
            one, or one that a part of the sweep declares. It is always one of the validation
            split: selection never sees the test split.
        cost: What is to be small as well, beside the objective: all proposals that none is better
            than in both are then the answer, their front.
        sampler: What proposes. `tpe`, `gp` and `nsga2` (children of the best so far, in generations
            of `startup`) learn from the results so far, `random`, `qmc` (points that fill the
            space evenly) and `grid` (all points) do not.
        sampler_seed: What all chance of the sampler comes from.
        scheduler: When a trial is given up, or waits to be promoted; its kind alone is enough.
        trials: Proposals in all, beside the base.
        seeds: Every proposal is trained once with each.
        confirm: What is done with the best, None where nothing is.
        stop: Ends before all trials are proposed; whichever comes first. Like `trials` they decide
            how many proposals there are and not which, so that a later launch may have others.
        limits: What proposals may come to: a point that breaks one is never trained, and another
            is drawn in its place. The base is trained whatever it comes to.
        startup: Proposals at the start that are random, as there is nothing to learn from. From 20
            on they are a sample of their own, which says what settings matter.
    """

    has_own_seeds: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("trials", "sampler", "scheduler")
    is_search: ClassVar[bool] = True
    kind: Literal["search"] = "search"
    space: Space
    objective: str = DEFAULT_OBJECTIVE
    cost: Cost = later(None)
    sampler: Sampler = "tpe"
    sampler_seed: Seed = 0
    scheduler: AnyScheduler = NoScheduler()
    trials: Annotated[int, Field(ge=1, le=100_000)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0,)
    confirm: Confirm | None = Confirm()
    stop: tuple[AnyEnd, ...] = ()
    limits: tuple[Limit, ...] = ()
    startup: Annotated[int, Field(ge=1, le=100_000)] = later(DEFAULT_STARTUP)

    @field_validator("objective", mode="before")
    @classmethod
    def _objective_is_of_validation(cls, objective: object) -> object:
        refuse_objective(str(objective))
        return objective

    @field_validator("sampler", mode="before")
    @classmethod
    def _sampler_is_known(cls, sampler: object) -> object:
        refuse_unknown_sampler(sampler, get_args(Sampler))
        return sampler

    @field_validator("scheduler", mode="before")
    @classmethod
    def _scheduler_by_kind(cls, scheduler: object) -> object:
        return {"kind": scheduler} if isinstance(scheduler, str) else scheduler

    @field_validator("stop", "limits", mode="before")
    @classmethod
    def _one_alone(cls, given: object) -> object:
        return given if isinstance(given, list | tuple) else (given,)

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @model_validator(mode="after")
    def _sampler_can_do_the_space(self) -> Self:
        refuse_sampler(self.sampler, self.space, self.trials)
        refuse_startup(self.startup, self.sampler, self.trials)
        return self

    @model_validator(mode="after")
    def _objective_is_the_same_for_all(self) -> Self:
        refuse_varied_objective(self.objective, self.space)
        return self

    @model_validator(mode="after")
    def _confirmation_is_apart(self) -> Self:
        if self.confirm:
            refuse_confirmation(self.confirm, self.trials, self.seeds)
            is_random = learns_nothing(self.sampler, self.trials, self.startup)
            refuse_random_reference(self.confirm, is_random and self.scheduler.kind == "none")
        return self

    @model_validator(mode="after")
    def _ends_can_come(self) -> Self:
        for end in self.stop:
            end.refuse(self.trials)
        refuse_beside_cost(self.cost, self.scheduler, self.stop, self.confirm)
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

    @property
    def num_startup(self) -> int:
        """Proposals at the start that are random."""
        return self.startup

    def told_objectives(self) -> tuple[str, ...]:
        """Those that are to be small."""
        return (self.objective, self.cost) if self.cost else (self.objective,)

    def question(self) -> str:
        """Return which are the best of how many, on which seeds they are confirmed."""
        again = self.confirm
        asked = f"{again.best} of {self.trials}, {again.words}" if again else ""
        return f"{asked}, until {self.until}" if again and self.stop else asked

    @property
    def until(self) -> str:
        """Its ends in words, "" where it has none."""
        return ", ".join(end.words for end in self.stop)

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return what varies and how, without proposals."""
        flags = sampler_flags(self.sampler, has_limits=bool(self.limits))
        decisive = self._decisive() | {"sampler flags": flags, "rules": RULES}
        fields = {
            "objective": self.objective,
            "cost": self.cost or "",
            "definition": definition_hash(definition.base, decisive),
            "sampler": self.sampler,
            "scheduler": self.scheduler.model_dump(mode="json"),
            "num_trials": self.trials,
            "num_startup": self.num_startup,
            "base": BASE,
            "rules": RULES,
            "dimensions": decisive["dimensions"],
            "confirmation": self.confirm and self.confirm.manifest_fields(),
            "until": self.until,
            "limits": [limit.words for limit in self.limits],
        }
        return {"search": fields}

    def _decisive(self) -> dict[str, Any]:
        """Return what decides which points are proposed, but for the rules."""
        limits = {"limits": [limit.words for limit in self.limits]} if self.limits else {}
        cost = {"cost": self.cost} if self.cost else {}
        startup = {"startup": self.startup} if self.startup != DEFAULT_STARTUP else {}
        return {
            "dimensions": [dimension_fields(dimension) for dimension in self.space.dimensions],
            "objective": self.objective,
            "sampler": [self.sampler, self.sampler_seed],
            "scheduler": decisive_scheduler(self.scheduler),
            "seeds": self.seeds,
            **limits,
            **cost,
            **startup,
        }

    def default_tables(self) -> tuple[Table, ...]:
        """Return what the settings matter, after the front, and the best that are confirmed."""
        again = (ConfirmationTable(),) if self.confirm else ()
        return (*(FrontTable(),) * bool(self.cost), *again, SensitivityTable())

    def check(self, definition: Definition) -> None:
        """Refuse a space that the base does not have, and parts that are not declared."""
        refuse_definition(definition, self.space, self.objective)
        refuse_ends(definition, self.stop, self.objective, len(self.seeds))

    def check_all(self, definition: Definition) -> None:
        """Refuse a space in which some points are no settings."""

        def proposed(params: Mapping[str, Any]) -> Arm:
            return self.arm(definition, "a proposal", params)

        refuse_points(self.space, self.objective, proposed)
        refuse_limits(self.limits, self.space, definition.base, proposed)
        refuse_same_cost(self.cost, self.space, proposed)

    def refuse_table(self, table: Table) -> None:
        """Refuse a table that needs a baseline, or arms that are confirmed where none are."""
        if table.kind == "ablation":
            raise ValueError(
                "A search has no baseline for an ablation table: declare a SensitivityTable, a "
                "ConfirmationTable or a CurvesFigure."
            )
        if table.kind in {"effects", "components"}:
            super().refuse_table(table)
        refuse_front(table, self.cost)
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
        """Return those of the base; all others are proposed while it runs."""
        return tuple(Cell(BASE, {}, seed) for seed in self.seeds)

    def is_whole_at_start(self, definition: Definition) -> bool:
        """Return that it is not."""
        return False

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm of a point of the space; a part of the base's kind keeps its settings."""
        if name == BASE:
            return Arm(name, definition.base, {})
        config = self.space.config(definition.base, settings, definition.parts)
        return Arm(name, config, self.space.changes(settings))

    def varied(self, definition: Definition, *, with_profiles: bool = True) -> Iterator[Varied]:
        """Yield the dimensions of its space."""
        advice = "set something that it does not vary, or write a sweep of your own with a smaller"
        for dimension in self.space.dimensions:
            who = f"the search itself ('{dimension.name}')"
            yield Varied(dimension.path, who, f"{advice} space")


def sampler_flags(sampler: str, *, has_limits: bool) -> dict[str, Any]:
    """Return what a sampler is given in a search, with limits or without."""
    more = FLAGS_WITH_LIMITS.get(sampler, {}) if has_limits else {}
    return {**SAMPLER_FLAGS.get(sampler, {}), **more}


def decisive_scheduler(scheduler: Scheduler) -> list[Any]:
    """Return a scheduler without defaults, so that a new setting leaves old hashes as they are."""
    return [scheduler.kind, scheduler.model_dump(mode="json", exclude_defaults=True)]


def definition_hash(base: TrainingConfig, decisive: Mapping[str, Any]) -> str:
    """Return the hash of all that decides what is proposed, given how it went.

    Args:
        base: The config that the proposals change.
        decisive: What else decides, as plain values.
    """
    decisive = {"base": trial_key(base, 0), **decisive}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:20]


def dimension_fields(dimension: Dimension) -> dict[str, Any]:
    """Return a dimension with all fields, as they enter the hash of the definition."""
    known = dimension.range
    fields: dict[str, Any] = {
        "name": dimension.name,
        "path": dimension.path,
        "kind": type(known).__name__.lower(),
        "low": None,
        "high": None,
        "step": None,
        "log": False,
        "choices": [],
        "conditions": dict(dimension.conditions),
    }
    if isinstance(known, Choices):
        return fields | {"choices": list(known.values)}
    return fields | vars(known) | {"low": float(known.low), "high": float(known.high)}
