"""A plan that tunes every arm by the same small search before arms are compared."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from capsmodel.search_range import Choices, Floats, Ints, Plain
from search_spaces.plans.base import Definition, Plan, Seed, check_arm_names, each_seed_once
from search_spaces.plans.decisions import (
    DONE,
    WAIT,
    Cell,
    Decision,
    Event,
    Propose,
    Select,
    SlotFree,
)
from search_spaces.plans.known import Known
from search_spaces.plans.objective import losses_compare
from search_spaces.plans.selection import (
    CHOOSING_SEEDS,
    best_of,
    check_seeds_apart,
    has_ended,
    missing,
)
from search_spaces.space.dimensions import Dimension, grid_points, num_points
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.trial_key import trial_key

Point = Mapping[str, Plain]
"""Path -> value of each tuned setting."""

_MOST_LISTED = 10_000  # points of a grid

_FEWEST_SEEDS = 2

_RULES = 1  # raised when a plan with the same fields would decide differently


def _can_be_tuned(nuisance: Mapping[str, Any]) -> Mapping[str, Any]:
    if not nuisance:
        raise ValueError("nothing is tuned: give a setting with values to try")
    for path, values in nuisance.items():
        if not isinstance(values, tuple):
            continue
        try:
            Choices(*values)
        except ValueError as error:
            raise ValueError(f"'{path}' cannot be tuned over {values}: {error}") from error
    return nuisance


Nuisance = Annotated[
    Mapping[str, tuple[Plain, ...] | Floats | Ints | Choices], AfterValidator(_can_be_tuned)
]
"""Path of a setting -> values to try, or a range of them."""


class TunedArms(Plan):
    """Arms that are each compared at their best: all get the same search over nuisance settings.

    A learning rate that was tuned for the baseline favours the baseline. Here every arm is trained
    at the same points of the nuisance settings. The best point of each arm is selected by the mean
    validation error over the tuning seeds; ties go to the lower validation loss, then to the
    earlier point. The selected configurations are trained anew on the sweep's seeds, which selected
    nothing, and tables show only these trainings. Tuning costs arms x points x tuning seeds
    trainings, in addition to the arms x seeds that are compared.

    It shows how arms compare when each is tuned this well. A bold difference also allows for
    selection by few trainings having missed the best point. An arm whose best point lies outside
    the tried range is still at a disadvantage; tables note an arm at the first or last value.

    Attributes:
        arms: Name -> changes, path -> value, as in `ListedArms`.
        baseline: The arm that the others are compared with.
        nuisance: Path -> values, of which all combinations are tried, or a range: `Floats(1e-4,
            1e-2, log=True)`.
        trials: Number of points of every arm; None takes all combinations of values.
        draw_seed: Seed by which points are drawn, if not all are taken.
        tuning_seeds: Two or more seeds on which every point is trained; none of the sweep's seeds.
    """

    kind: Literal["tuned"] = "tuned"
    arms: Annotated[Mapping[str, Mapping[str, Any]], Field(min_length=1)]
    baseline: str
    nuisance: Nuisance
    trials: Annotated[int, Field(ge=2, le=1000)] | None = None
    draw_seed: Seed = 0
    tuning_seeds: tuple[Seed, ...] = CHOOSING_SEEDS

    @field_validator("tuning_seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(seeds) < _FEWEST_SEEDS:
            raise ValueError(
                f"On one tuning seed nobody can say how sure a choice is, so that nothing could "
                f"be shown of the arms: give {_FEWEST_SEEDS} or more, got {seeds}."
            )
        return each_seed_once(seeds)

    @model_validator(mode="after")
    def _arms_can_be_tuned(self) -> Self:
        check_arm_names(self.arms)
        if self.baseline not in self.arms:
            raise ValueError(
                f"The baseline '{self.baseline}' is not one of the arms: {', '.join(self.arms)}."
            )
        tried = {self._tried(name, place) for name in self.arms for place in self._places}
        if both := [name for name in self.arms if name in tried]:
            raise ValueError(
                f"'{both[0]}' is what a tuning is called: choose another name for the arm."
            )
        for name, changes in self.arms.items():
            for path in changes:
                for tuned in self.nuisance:
                    if is_at_or_below(path, tuned):
                        raise ValueError(
                            f"The arm '{name}' sets '{path}', which tuning '{tuned}' would "
                            f"replace: leave one of them out."
                        )
        return self

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points that are tried for every arm, in order.

        Raises:
            ValueError: If the number of points is not possible.
        """
        return points_of(self.nuisance, self.trials, self.draw_seed)

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Tune all arms, select once the tuning has ended, and train what was selected."""
        if not isinstance(event, SlotFree):
            return ()
        tuning = self._tunings()
        if first := missing(journal, tuning):
            return (Propose(first),)
        if journal.chosen is None:
            return (self._choice(journal),) if has_ended(journal, tuning) else (WAIT,)
        chosen = self._chosen(definition, journal.chosen.arms)
        if missing_cells := missing(journal, chosen):
            return (Propose(missing_cells),)
        return (DONE,)

    def baseline_name(self, definition: Definition) -> str:
        """Return the baseline as declared; it exists once it is tuned."""
        return self.baseline

    def arm_names(self, definition: Definition) -> Sequence[str]:
        """Return the arms that are compared."""
        return tuple(self.arms)

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the tuned settings, with the values that are tried."""
        return {path: tuple({point[path]: None for point in self.points}) for path in self.nuisance}

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return the tuning arms of each arm, and the number of cells."""
        tuned = {arm: [self._tried(arm, place) for place in self._places] for arm in self.arms}
        num_seeds = len(self.points) * len(self.tuning_seeds) + len(definition.arm_seeds)
        plan = {
            "kind": self.kind,
            "definition": self._hash(definition),
            "factors": self.factor_levels(),
            "choosing_seeds": self.tuning_seeds,
            "tuned": tuned,
            "num_cells": len(self.arms) * num_seeds,
        }
        return {"plan": plan}

    def check(self, definition: Definition) -> None:
        """Check that seeds do not both select and compare, and that every arm can be tuned."""
        check_seeds_apart(definition.arm_seeds, self.tuning_seeds)
        for name, changes in self.arms.items():
            self.arm(definition, name, changes)
            try:
                self.arm(definition, name, {**changes, **self.points[0]})
            except ValueError as error:
                raise ValueError(
                    f"Every arm must have the tuned setting. {error} Leave it or the arm out."
                ) from error

    def check_more_seeds(self) -> None:
        """Raise an error: the arms have been selected by then."""
        raise ValueError(
            "Arms that are tuned get no more seeds once they were launched: list all of them in "
            "Sweep(seeds=...) under another name (--name NEW); what is trained is found again."
        )

    def with_arm_settings(self, settings: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the plan with settings added to some arms, given by their tuning arms."""
        arms = {
            name: {**changes, **settings.get(self._tried(name, 0), {})}
            for name, changes in self.arms.items()
        }
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        return type(self).model_validate({**fields, "arms": arms})

    @property
    def _places(self) -> range:
        return range(len(self.points))

    def _tried(self, arm: str, place: int) -> str:
        return f"{arm}, tuning {place + 1}"

    def _tunings(self) -> list[Cell]:
        return [
            Cell(self._tried(arm, place), {**self.arms[arm], **self.points[place]}, seed)
            for seed in self.tuning_seeds
            for place in self._places
            for arm in self.arms
        ]

    def _choice(self, known: Known) -> Select:
        by_loss = losses_compare(tuple(self.nuisance))
        tried = ([self._tried(arm, place) for place in self._places] for arm in self.arms)
        best = (best_of(known, names, self.tuning_seeds, by_loss=by_loss) for names in tried)
        return Select(tuple(best))

    def _chosen(self, definition: Definition, tried: Sequence[str]) -> list[Cell]:
        """Return the cells of the arms with their selected points, as plain values."""
        settings: dict[str, Mapping[str, Any]] = {}
        for arm in self.arms:
            place = next(place for place in self._places if self._tried(arm, place) in tried)
            wanted = {**self.arms[arm], **self.points[place]}
            settings[arm] = self.arm(definition, arm, wanted).changes
        return [
            Cell(arm, settings[arm], seed) for seed in definition.arm_seeds for arm in self.arms
        ]

    def _hash(self, definition: Definition) -> str:
        tried = {cell.arm: cell.settings for cell in self._tunings()}
        configs = {arm: self.arm(definition, arm, tried[arm]).config for arm in tried}
        keys = [[cell.arm, trial_key(configs[cell.arm], cell.seed)] for cell in self._tunings()]
        decisive = [self.kind, _RULES, self.baseline, [*self.nuisance], definition.arm_seeds, keys]
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:20]


def points_of(nuisance: Nuisance, trials: int | None, draw_seed: int) -> tuple[Point, ...]:
    """Return the points that are tried; the same arguments give the same points.

    Countable values make a grid: all of it, or some of its points, drawn at random and in grid
    order. Otherwise the points fill the ranges evenly (a scrambled Halton sequence).

    Args:
        nuisance: Path -> values or range.
        trials: Number of points; None takes the whole grid.
        draw_seed: Seed of all random choices.

    Raises:
        ValueError: If there are fewer points, or a range is continuous and no number is given.
    """
    dimensions = [_dimension(path, values) for path, values in nuisance.items()]
    endless = [dimension.name for dimension in dimensions if dimension.num_values is None]
    total = None if endless else num_points(dimensions)
    if total is None or total > _MOST_LISTED:
        return _spread(dimensions, trials, draw_seed, endless or [*nuisance])
    grid = tuple(grid_points(dimensions))
    if trials is None:
        return grid
    if not 1 < trials <= len(grid):
        raise ValueError(
            f"trials={trials} of {len(grid)} points cannot be tried for every arm: have 2 to "
            f"{len(grid)}, or leave trials out for all of them."
        )
    drawn = random.Random(draw_seed).sample(range(len(grid)), trials)
    return tuple(grid[index] for index in sorted(drawn))


def _spread(
    dimensions: Sequence[Dimension], trials: int | None, draw_seed: int, endless: Sequence[str]
) -> tuple[Point, ...]:
    if trials is None or trials < 2:
        raise ValueError(
            f"'{endless[0]}' has no end of values: say how many points are tried for every arm, "
            f"trials=8 (at least 2), or list values."
        )
    from scipy.stats import qmc

    drawn = qmc.Halton(len(dimensions), rng=draw_seed).random(trials)
    return tuple(
        {
            dimension.path: dimension.at(float(unit))
            for dimension, unit in zip(dimensions, coordinates, strict=True)
        }
        for coordinates in drawn
    )


def _dimension(path: str, values: Any) -> Dimension:
    return Dimension(path, path, Choices(*values) if isinstance(values, tuple) else values)
