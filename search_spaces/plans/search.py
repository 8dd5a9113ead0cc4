"""A search: an adaptive plan in which each proposal may learn from those before it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from capsmodel.config import TrainingConfig
from capsmodel.search_range import Choices, Plain
from capsmodel.settings.parts import later
from search_spaces.plans.base import Arm, Definition, Plan, Seed, Varied, each_seed_once
from search_spaces.plans.confirm import Confirm as Confirm
from search_spaces.plans.decisions import Cell
from search_spaces.plans.ends import AnyEnd
from search_spaces.plans.limited_measures import check_limited_measures, keys_of_measures
from search_spaces.plans.objective import DEFAULT_OBJECTIVE, check_objective
from search_spaces.plans.scheduler import AnyScheduler, NoScheduler, Scheduler
from search_spaces.plans.search_checks import (
    DEFAULT_STARTUP,
    LEARNING,
    Cost,
    check_buildable,
    check_confirmation,
    check_cost,
    check_cost_varies,
    check_definition,
    check_each_measure_once,
    check_ends,
    check_front_table,
    check_limits,
    check_objective_comparable,
    check_points,
    check_random_reference,
    check_sampler,
    check_sampler_name,
    learns_nothing,
    unbuildable_points,
)
from search_spaces.space.dimensions import Dimension
from search_spaces.space.forbidden import description_of, in_one_form
from search_spaces.space.space import Limit, Space
from search_spaces.tables import ConfirmationTable, FrontTable, SensitivityTable, Table
from search_spaces.trial_key import trial_key

RULES = 2
"""Version of the rules: raised when a search with the same fields would decide differently."""

SAMPLER_FLAGS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"multivariate": True, "constant_liar": True, "group": False},
    "nsga2": {"crossover_prob": 0.9, "swapping_prob": 0.5},
}
"""Arguments of Optuna's samplers besides the seed, so that none of its defaults decides."""

FLAGS_WITH_LIMITS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"points_tried": 64},
    "gp": {"points_tried": 0},
}
"""How many points are tried at the start, to tell a sampler which of them break the limits.

`gp` gets none: its model would need the objective of these points.
"""

Sampler = Literal["tpe", "random", "gp", "nsga2", "grid", "qmc"]

Dimensions = Iterable[tuple[str, Sequence[Plain]]]
"""Name of each dimension, with its values in order if these are choices."""

BASE = "base"
"""Name of the base configuration in tables."""


class Search(Plan):
    """A search: a sampler proposes arms, and a scheduler prunes the hopeless ones.

    The base is trained too, in full: samplers learn from it if it is a point of the space, and the
    confirmed arms are compared with it. Samplers see a diverged proposal as the worst value so
    far; they do not see failed ones. In a finite space no point is proposed twice. A point whose
    network cannot be built is never proposed: another one is drawn instead.

    Attributes:
        space: The settings that vary, and their values.
        objective: The epoch metric to optimise, as the mean over the seeds: a built-in one, or
            one that a part of the sweep declares. It is always a metric of the validation split:
            selection never sees the test split.
        cost: A second objective, to be minimised. The answer is then the front: all proposals that
            no other one beats in both.
        sampler: The sampler. `tpe`, `gp` and `nsga2` (children of the best so far, in generations
            of `startup`) learn from the results so far; `random`, `qmc` (points that fill the
            space evenly) and `grid` (all points) do not.
        sampler_seed: Seed of the sampler.
        scheduler: The scheduler, or its kind.
        trials: Number of proposals, without the base.
        seeds: Seeds of every proposal.
        confirm: How the best are confirmed, None for no confirmation.
        stop: Conditions that end the search early; the first one to occur counts. Like `trials`
            they decide how many proposals are made, not which, so a later launch may change them.
        limits: Limits on proposals: a point that exceeds one is never trained, and another one is
            drawn instead. The base is trained in any case. A proposal that exceeds a limit on what
            its trials measure is no candidate for the best.
        startup: Number of random proposals at the start, before there is anything to learn from;
            other samplers than `tpe`, `gp` and `nsga2` do not need it. With 20 or
            more they are also a random sample from which importances are estimated.
        balance: Whether each kind of a part gets its share of the proposals that are drawn before
            anything is learned; else each kind is drawn independently. A search that began without
            it goes on without it.
    """

    has_own_seeds: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("trials", "sampler", "scheduler", "cost")
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
    balance: bool = later(True)

    @field_validator("objective", mode="before")
    @classmethod
    def _objective_is_of_validation(cls, objective: object) -> object:
        check_objective(str(objective))
        return objective

    @field_validator("sampler", mode="before")
    @classmethod
    def _sampler_is_known(cls, sampler: object) -> object:
        check_sampler_name(sampler, get_args(Sampler))
        return sampler

    @field_validator("scheduler", mode="before")
    @classmethod
    def _scheduler_by_kind(cls, scheduler: object) -> object:
        return {"kind": scheduler} if isinstance(scheduler, str) else scheduler

    @field_validator("stop", "limits", mode="before")
    @classmethod
    def _single_in_a_tuple(cls, value: object) -> object:
        return value if isinstance(value, list | tuple) else (value,)

    @field_validator("limits")
    @classmethod
    def _each_measure_once(cls, limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
        check_each_measure_once(limits)
        return limits

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @model_validator(mode="after")
    def _objective_is_comparable(self) -> Self:
        check_objective_comparable(self.objective, self.space)
        return self

    def check_together(self, tables: Sequence[Table]) -> None:
        """Check the fields that a launch may change against each other, the space and the tables.

        A sweep's file is run before the options of its launch are applied, so that making a search
        does not check this.
        """
        check_sampler(self.sampler, self.space, self.trials)
        if self.confirm:
            check_confirmation(self.confirm, self.trials, self.seeds)
            is_random = learns_nothing(self.sampler, self.trials, self.startup)
            check_random_reference(self.confirm, is_random and self.scheduler.kind == "none")
        for end in self.stop:
            end.check(self.trials)
        check_cost(self.cost, self.scheduler, self.stop, self.confirm)
        for table in tables:
            check_front_table(table, self.cost)

    def changed(self, **fields: Any) -> Self:
        """Return the search with some fields changed; None leaves a field as it is.

        If `scheduler` is the kind that the search already has, its settings stay. The cost "none"
        leaves the cost out.

        Raises:
            ValueError: If a field is not valid; fields are not checked against each other.
        """
        changes = {name: value for name, value in fields.items() if value is not None}
        if changes.get("scheduler") == self.scheduler.kind:
            del changes["scheduler"]
        if changes.get("cost") == "none":
            changes["cost"] = None
        old = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**old, **changes})

    @property
    def num_startup(self) -> int:
        """Number of random proposals at the start."""
        return self.startup

    @property
    def is_balanced(self) -> bool:
        """Whether it draws kinds of parts in their shares; a grid has each point once anyway."""
        return self.balance and self.sampler != "grid" and bool(self.space.part_choices)

    def is_blind(self, number: int) -> bool:
        """Return whether a proposal is drawn before its sampler learns."""
        return self.sampler not in LEARNING or number < self.num_startup

    def objective_names(self) -> tuple[str, ...]:
        """Return the objective, and the cost if there is one."""
        return (self.objective, self.cost) if self.cost else (self.objective,)

    def question(self) -> str:
        """Return how many of how many are confirmed, and on which seeds."""
        if self.confirm is None:
            return ""
        question = f"{self.confirm.best} of {self.trials}, {self.confirm.description}"
        return f"{question}, until {self.until}" if self.stop else question

    @property
    def until(self) -> str:
        """Its ends as text, or "" if it has none."""
        return ", ".join(end.description for end in self.stop)

    @property
    def limits_before_training(self) -> tuple[Limit, ...]:
        """The limits on what is known of a configuration before it is trained."""
        return tuple(limit for limit in self.limits if not limit.is_measured)

    @property
    def measured_limits(self) -> tuple[Limit, ...]:
        """The limits on what trials measure."""
        return tuple(limit for limit in self.limits if limit.is_measured)

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return the fields of the search, without proposals."""
        decisive = self._decisive()
        unbuildable = unbuildable_points(self.space, self._proposed(definition))
        fields = {
            "objective": self.objective,
            "cost": self.cost or "",
            "definition": self.definition_hash(definition),
            "sampler": self.sampler,
            "scheduler": self.scheduler.model_dump(mode="json"),
            "num_trials": self.trials,
            "num_startup": self.num_startup,
            "base": BASE,
            "rules": RULES,
            "dimensions": decisive["dimensions"],
            "confirmation": self.confirm and self.confirm.manifest_fields(),
            "until": self.until,
            "limits": [limit.description for limit in self.limits_before_training],
            "measured_limits": {limit.measure: limit.at_most for limit in self.measured_limits},
            "unbuildable": unbuildable and unbuildable._asdict(),
            "balance": self.is_balanced,
            "forbidden": [description_of(combination) for combination in self.space.forbid],
        }
        return {"search": fields}

    def definition_hash(self, definition: Definition) -> str:
        """Return the hash of everything that decides the proposals, apart from results."""
        is_bounded = bool(self.limits_before_training or self.space.forbid)
        flags = sampler_flags(self.sampler, has_limits=is_bounded)
        decisive = self._decisive() | {"sampler flags": flags, "rules": RULES}
        if keys := keys_of_measures(self.measured_limits, definition):
            decisive["limited measures"] = keys
        return definition_hash(definition.base, decisive)

    def as_begun(self, definition: Definition, begun: str, dimensions: Dimensions) -> Self:
        """Return the search as it began, if it is the same in another writing; else as it is.

        So it goes on in the order in which its space was declared then, and without balance if it
        began before there was any.

        Args:
            definition: The definition of its sweep.
            begun: The hash of the search that began.
            dimensions: Those of its space, in order.
        """
        choices = dict(dimensions)
        in_order = self.space.in_order(list(choices), choices)
        for space in (self.space, in_order):
            for balance in dict.fromkeys((self.balance, False)):
                same = self.model_copy(update={"space": space, "balance": balance})
                if same.definition_hash(definition) == begun:
                    return same
        return self

    def _decisive(self) -> dict[str, Any]:
        """Return the settings that decide which points are proposed, without the rules' version."""
        in_order = sorted(self.limits, key=lambda limit: limit.measure)
        limits = {"limits": [limit.description for limit in in_order]} if in_order else {}
        cost = {"cost": self.cost} if self.cost else {}
        learns = self.sampler in LEARNING and self.startup != DEFAULT_STARTUP
        startup = {"startup": self.startup} if learns else {}
        balance = {"balance": True} if self.is_balanced else {}
        forbidden = in_one_form(self.space.forbid)
        forbid = {"forbid": forbidden} if forbidden else {}
        return {
            "dimensions": [dimension_fields(dimension) for dimension in self.space.dimensions],
            "objective": self.objective,
            "sampler": [self.sampler, self.sampler_seed],
            "scheduler": decisive_scheduler(self.scheduler),
            "seeds": self.seeds,
            **limits,
            **cost,
            **startup,
            **balance,
            **forbid,
        }

    def default_tables(self) -> tuple[Table, ...]:
        """Return the front and the confirmation, if there are any, and the sensitivity."""
        front = (FrontTable(),) if self.cost else ()
        confirmation = (ConfirmationTable(),) if self.confirm else ()
        return (*front, *confirmation, SensitivityTable())

    def check(self, definition: Definition) -> None:
        """Check the space against the base, the objective, and that ends can occur."""
        check_definition(definition, self.space, self.objective)
        check_ends(definition, self.stop, self.objective, len(self.seeds))
        check_limited_measures(self.measured_limits, definition)

    def check_all(self, definition: Definition) -> None:
        """Check many points of the space, their networks, the limits and the cost."""
        proposed = self._proposed(definition)
        check_points(self.space, self.objective, proposed)
        check_buildable(self.space, definition.base, proposed)
        check_limits(self.limits_before_training, self.space, definition.base, proposed)
        check_cost_varies(self.cost, self.space, proposed)

    def _proposed(self, definition: Definition) -> Callable[[Mapping[str, Any]], Arm]:
        """Return a function that returns the arm of a point."""
        return partial(self.arm, definition, "a proposal")

    def check_table(self, table: Table) -> None:
        """Check that a table needs no baseline, and no confirmation that is missing."""
        if table.kind == "ablation":
            raise ValueError(
                "A search has no baseline for an ablation table: declare a SensitivityTable, a "
                "ConfirmationTable or a CurvesFigure."
            )
        if table.kind in {"effects", "components"}:
            super().check_table(table)
        if table.kind == "confirmation" and self.confirm is None:
            raise ValueError(
                "The search confirms nothing, so there is no ConfirmationTable: leave it out, or "
                "give Search(confirm=Confirm())."
            )

    def seeds_given(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of the search, since the sweep lists none."""
        if seeds:
            raise ValueError(
                "The seeds of a search belong to its plan, Search(seeds=...): leave out "
                "Sweep(seeds=...)."
            )
        return self.seeds

    def check_more_seeds(self) -> None:
        """Raise the error: a search allows no more seeds."""
        raise ValueError(
            "The seeds of a search are part of what it goes by, so none can be added: give it "
            "others and another name (--seeds, --name NEW), or more in Confirm(seeds=...)."
        )

    def with_options(self, seeds: tuple[int, ...] | None, options: Mapping[str, Any]) -> Self:
        """Return the search with other seeds or options."""
        return self.changed(seeds=seeds or None, **options)

    def initial_cells(self, definition: Definition) -> tuple[Cell, ...]:
        """Return the cells of the base; all others are proposed while the search runs."""
        return tuple(Cell(BASE, {}, seed) for seed in self.seeds)

    def is_complete_at_start(self, definition: Definition) -> bool:
        """Return False: cells are proposed while the search runs."""
        return False

    def arm(self, definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
        """Return the arm of a point; a part of the base's kind keeps its settings."""
        if name == BASE:
            return Arm(name, definition.base, {})
        config = self.space.config(definition.base, settings, definition.parts)
        return Arm(name, config, self.space.changes(settings))

    def varied(self, definition: Definition, *, with_profiles: bool = True) -> Iterator[Varied]:
        """Yield the dimensions of the space."""
        advice = "set something that it does not vary, or write a sweep of your own with a smaller"
        for dimension in self.space.dimensions:
            who = f"the search itself ('{dimension.name}')"
            yield Varied(dimension.path, who, f"{advice} space")


def sampler_flags(sampler: str, *, has_limits: bool) -> dict[str, Any]:
    """Return the arguments of a sampler in a search, with limits or without."""
    more = FLAGS_WITH_LIMITS.get(sampler, {}) if has_limits else {}
    return {**SAMPLER_FLAGS.get(sampler, {}), **more}


def decisive_scheduler(scheduler: Scheduler) -> list[Any]:
    """Return a scheduler without its defaults, so that a new setting changes no old hash."""
    return [scheduler.kind, scheduler.model_dump(mode="json", exclude_defaults=True)]


def definition_hash(base: TrainingConfig, decisive: Mapping[str, Any]) -> str:
    """Return the hash of everything that decides the proposals, apart from results.

    Args:
        base: The config that proposals change.
        decisive: Everything else that decides, as plain values.
    """
    decisive = {"base": trial_key(base, 0), **decisive}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:20]


def dimension_fields(dimension: Dimension) -> dict[str, Any]:
    """Return all fields of a dimension, as they enter the hash of the definition."""
    values = dimension.range
    fields: dict[str, Any] = {
        "name": dimension.name,
        "path": dimension.path,
        "kind": type(values).__name__.lower(),
        "low": None,
        "high": None,
        "step": None,
        "log": False,
        "choices": [],
        "conditions": dict(dimension.conditions),
    }
    if isinstance(values, Choices):
        return fields | {"choices": list(values.values)}
    return fields | vars(values) | {"low": float(values.low), "high": float(values.high)}
