"""A search: an adaptive plan, in which each proposal may learn from those before it."""

from typing import Annotated, Any, ClassVar, Literal, Self, cast, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import OneOf, Settings
from search_spaces.plans.scheduler import SCHEDULERS, NoScheduler, Scheduler
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.space.space import Space

Seed = Annotated[int, Field(ge=0, lt=2**63)]
Objective = Literal["validation_error", "validation_loss"]
Sampler = Literal["tpe", "random", "gp", "grid", "qmc"]

_LARGEST_GRID = 100_000
_OF_CONDITIONAL_SPACES = "tpe, random, grid, qmc"
_OF_ENDLESS_SPACES = "tpe, random, gp, qmc"


class Confirm(Settings):
    """The best arms of a search are trained again on seeds that had no part in choosing them.

    Attributes:
        best: How many are, beside the median of the first random ones as a reference.
        seeds: Fresh ones.
    """

    best: Annotated[int, Field(ge=1)] = 3
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (101, 102, 103, 104, 105)

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)


class Search(Settings):
    """Proposals of a sampler, each an arm; a scheduler stops the hopeless early.

    Attributes:
        space: What varies, over which values.
        objective: The epoch metric that is to be small, mean over the seeds. It is always one of
            the validation split: selection never sees the test split.
        sampler: What proposes. `tpe` and `gp` learn from the results so far, `random`, `qmc`
            (points that fill the space evenly) and `grid` (all points) do not.
        sampler_seed: What all chance of the sampler comes from.
        scheduler: When a trial is given up; its kind alone is enough.
        trials: Proposals in all.
        seeds: Every proposal is trained once with each.
        confirm: What is done with the best, None where nothing is.
        num_startup: Proposals at the start that are random, as there is nothing to learn from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    num_startup: ClassVar[int] = 10
    kind: Literal["search"] = "search"
    space: Space
    objective: Objective = "validation_error"
    sampler: Sampler = "tpe"
    sampler_seed: Seed = 0
    scheduler: Annotated[Scheduler, OneOf(SCHEDULERS)] = NoScheduler()
    trials: Annotated[int, Field(ge=1)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0,)
    confirm: Confirm | None = Confirm()

    @field_validator("objective", mode="before")
    @classmethod
    def _objective_is_of_validation(cls, objective: object) -> object:
        if objective == "test_error":
            raise ValueError(
                "The objective is test_error, but selection never sees the test split: choose "
                f"{' or '.join(get_args(Objective))}."
            )
        if objective not in get_args(Objective):
            known = get_args(Objective)
            raise ValueError(unknown("objective of a search", str(objective), known))
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
        if self.sampler == "gp" and self.space.is_conditional:
            one = next(one for one in self.space.dimensions if one.conditions)
            raise ValueError(
                f"The sampler gp cannot propose settings that are not always there, such as "
                f"'{one.name}': choose {_OF_CONDITIONAL_SPACES}, or leave them out of the space."
            )
        if self.sampler == "grid":
            self._refuse_grid()
        return self

    @model_validator(mode="after")
    def _objective_is_the_same_for_all(self) -> Self:
        weighing = ("loss", "model.reconstruction")
        for one in self.space.dimensions if self.objective == "validation_loss" else ():
            if any(is_at_or_below(one.path, path) for path in weighing):
                raise ValueError(
                    f"The objective validation_loss cannot be compared where '{one.name}' varies, "
                    f"as that changes what the loss measures: choose validation_error."
                )
        return self

    @model_validator(mode="after")
    def _confirmation_is_apart(self) -> Self:
        if self.confirm is None:
            return self
        if self.confirm.best >= self.trials:
            raise ValueError(
                f"The best {self.confirm.best} of {self.trials} trials cannot be confirmed, as "
                f"some must be left to be better than: have at least {self.confirm.best + 1} "
                f"trials, or set confirm=None."
            )
        if both := sorted(set(self.confirm.seeds) & set(self.seeds)):
            raise ValueError(
                f"The seed {both[0]} is one of the search and of its confirmation, which is to be "
                f"on fresh ones: take others for one of them."
            )
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

    def _refuse_grid(self) -> None:
        for one in self.space.dimensions:
            if one.num_values is None:
                raise ValueError(
                    f"The sampler grid needs values that can be counted, but '{one.name}' is a "
                    f"range without steps: give it Choices, or choose {_OF_ENDLESS_SPACES}."
                )
        num_points = cast(int, self.space.num_points)
        if num_points > _LARGEST_GRID:
            raise ValueError(
                f"The grid has {num_points} points, more than the {_LARGEST_GRID} that can be "
                f"listed: choose {_OF_ENDLESS_SPACES}, or a smaller space."
            )
        if self.trials > num_points:
            raise ValueError(
                f"The grid has {num_points} points, fewer than the {self.trials} trials: have at "
                f"most {num_points}."
            )


def each_seed_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return seeds as they are.

    Raises:
        ValueError: If one is listed twice.
    """
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"A seed is listed twice: {', '.join(map(str, seeds))}.")
    return seeds
