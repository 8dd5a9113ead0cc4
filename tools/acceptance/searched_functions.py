"""Functions to be searched for their smallest value, some of which diverge in part of the space."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices, Floats
from search_spaces import Search, Space
from search_spaces.plans.decisions import Cell
from search_spaces.plans.search_checks import DEFAULT_STARTUP
from search_spaces.space.proposal import point_of
from search_spaces.space.space import Dimension
from sweeps.records.manifest_plan import Plain
from tools.acceptance.search_runs import BASE_CONFIG, PLAIN, RATE, SearchRun

PROPOSALS = 40
CONDITIONAL = (
    Space.of(TrainingConfig)
    .varied({"optimiser": ("adam",)})
    .only(RATE, "loss.positive_margin", "loss[spread].margin", "loss.scale")
)


@dataclass(frozen=True)
class Function:
    """Squared distances from a place, each dimension in the units of its range.

    Attributes:
        name: In words.
        space: Of its arguments.
        diverging: Share of the space where it has no value: the largest rates. The best rate is
            below, at nine tenths of the way there.
    """

    name: str
    space: Space
    diverging: float = 0.0

    def value(self, point: Mapping[str, Any], case: int) -> float:
        """Return the value at a point, 0 at best; NaN where it diverges.

        Args:
            point: Dimension name -> value.
            case: The best place is another in each.
        """
        best = np.random.default_rng([2026, case]).uniform(0.15, 0.85, len(self.space.dimensions))
        total = 0.0
        for dimension, middle in zip(self.space.dimensions, best.tolist(), strict=True):
            if dimension.name not in point:
                continue
            value = point[dimension.name]
            if isinstance(dimension.range, Choices):
                values = dimension.range.values
                total += 0.1 * ((values.index(value) - int(middle * len(values))) % len(values))
                continue
            assert isinstance(dimension.range, Floats)
            place = unit_place(dimension.range, value)
            if dimension.name == RATE and self.diverging:
                if place > 1 - self.diverging:
                    return math.nan
                total += (place - 0.9 * (1 - self.diverging)) ** 2
            else:
                total += (place - middle) ** 2
        return total


SMOOTH = Function("plain", PLAIN)
CONDITIONS = Function("conditional", CONDITIONAL)
DIVERGING = (
    Function("38 % diverges", PLAIN, 0.38),
    Function("75 % diverges", PLAIN, 0.75),
)


@dataclass(frozen=True)
class SearchOutcome:
    """What a search of a function came to.

    Attributes:
        regret: Of the best proposal; the base does not count.
        diverged: Whether each proposal diverged, in order.
    """

    regret: float
    diverged: tuple[bool, ...]

    @property
    def after_start(self) -> tuple[bool, ...]:
        """The same behind the random start."""
        return self.diverged[DEFAULT_STARTUP:]


def searched(function: Function, case: int, *, as_failed: bool = False) -> SearchOutcome:
    """Return the outcome of the product's search, in proposals beside the base.

    Args:
        function: To be searched.
        case: What all chance comes from.
        as_failed: Whether what diverges is told as failed, as it was before.
    """

    def train(cell: Cell) -> list[float]:
        return [function.value(cell.settings or base, case)]

    base = point_of(function.space.dimensions, BASE_CONFIG) or {}
    plan = Search(space=function.space, trials=PROPOSALS, sampler_seed=case, confirm=None)
    run = SearchRun(plan, train, told_as="failed" if as_failed else "diverged")
    run.to_its_end()
    return _summary([function.value(point, case) for point in run.known.params])


def optuna_called(function: Function, case: int) -> SearchOutcome:
    """Return the outcome of Optuna alone, by its defaults: the base first, then as many."""
    import optuna

    def suggested(trial: optuna.Trial, dimension: Dimension) -> Plain:
        known = dimension.range
        if isinstance(known, Choices):
            return cast(Plain, trial.suggest_categorical(dimension.name, known.values))
        assert isinstance(known, Floats)
        return trial.suggest_float(dimension.name, known.low, known.high, log=known.log)

    def objective(trial: optuna.Trial) -> float:
        return function.value(
            function.space.choose(lambda dimension: suggested(trial, dimension)), case
        )

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=case))
    study.enqueue_trial(dict(point_of(function.space.dimensions, BASE_CONFIG) or {}))
    study.optimize(objective, n_trials=1 + PROPOSALS)
    return _summary([function.value(trial.params, case) for trial in study.trials[1:]])


def unit_place(known: Floats, value: float) -> float:
    """Return how far a value is from the low end of its range, as a share of it."""
    low, high, here = known.low, known.high, value
    if known.log:
        low, high, here = math.log(low), math.log(high), math.log(value)
    return (here - low) / (high - low)


def _summary(values: list[float]) -> SearchOutcome:
    return SearchOutcome(
        regret=min((value for value in values if not math.isnan(value)), default=math.inf),
        diverged=tuple(math.isnan(value) for value in values),
    )
