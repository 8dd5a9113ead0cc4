"""Fronts of searches that prune, beside those of searches that train all: trainings are drawn.

    python -m tools.acceptance.pruned_fronts
    python -m tools.acceptance.pruned_fronts --sampler tpe

The error of a training falls with its size, and larger ones learn slower. Its best error at each
size is known, and so is the best front. All chance comes from the number of the case.
"""

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import optuna

from capsmodel import TrainingConfig
from capsmodel.search_range import Floats
from search_spaces import AfterEpochs, Confirm, Hyperband, NoScheduler, PromotionAsha, Search
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import Sampler
from search_spaces.space.proposal import point_of
from sweeps.execution.search.promotion_order import RungResult, promotion_order
from sweeps.records.fronts import area
from tools.acceptance.figures import wilcoxon_p
from tools.acceptance.search_runs import PLAIN, SearchRun
from tools.acceptance.searched_functions import unit_place

EPOCHS = 27
NOISE = 0.01
PROPOSALS = 40
STEEPNESS = 6.0  # the largest network is so many powers of e above the smallest
CORNER = (0.35, STEEPNESS)  # error and logarithm of the size
NO = NoScheduler()
HALF = AfterEpochs(epochs=round((0.5 * PROPOSALS + 1) * EPOCHS))  # the base's are counted too


@dataclass(frozen=True)
class Kind:
    """Searches of one kind.

    Attributes:
        scheduler: That prunes.
        stop: Its end, None if it makes as many proposals as the search that trains all.
        by_error: Whether promotion goes by the error alone.
    """

    scheduler: Scheduler
    stop: AfterEpochs | None = None
    by_error: bool = False


KINDS = {
    "none": Kind(NO),
    "none, half": Kind(NO, HALF),
    "promotion": Kind(PromotionAsha()),
    "promotion, half": Kind(PromotionAsha(), HALF),
    "promotion by the error alone, half": Kind(PromotionAsha(), HALF, by_error=True),
    "promotion, a quarter, half": Kind(PromotionAsha(grace=0.25), HALF),
    "hyperband": Kind(Hyperband()),
    "hyperband, half": Kind(Hyperband(), HALF),
}


@dataclass(frozen=True)
class TradeOff:
    """What trainings come to.

    Attributes:
        case: The best place is another in each.
        spread: How many epochs more the largest network takes until its error has fallen to a
            third; with 0 curves keep their order.
    """

    case: int
    spread: float

    def size(self, point: Mapping[str, Any]) -> int:
        """Return the parameters of a point, 1,000 at least: two of its settings decide them."""
        return round(1000 * math.exp(STEEPNESS * self._width(point)))

    def error(self, point: Mapping[str, Any]) -> float:
        """Return the error of a point at full length, without noise."""
        best = np.random.default_rng([2028, self.case]).uniform(0.15, 0.85, 2).tolist()
        first, second, *others = _places(point)
        off = sum((place - middle) ** 2 for place, middle in zip(others, best, strict=True))
        return least_error(self._width(point)) + 0.1 * (first - second) ** 2 + 0.6 * off

    def curve(self, point: Mapping[str, Any], chance: np.random.Generator) -> list[float]:
        """Return the measured error after each epoch."""
        slowness = 3.5 + self.spread * (self._width(point) - 0.5)
        fallen = 0.5 * np.exp(-np.arange(1, EPOCHS + 1) / slowness)
        return (self.error(point) + fallen + NOISE * chance.normal(size=EPOCHS)).tolist()

    def counted(self, config: TrainingConfig) -> int:
        """Return the parameters of a configuration."""
        point = point_of(PLAIN.dimensions, config)
        return self.size(point) if point else 1000

    def _width(self, point: Mapping[str, Any]) -> float:
        first, second, *_ = _places(point)
        return (first + second) / 2


def least_error(width: float) -> float:
    """Return the least error of all networks of a width, from 0 to 1."""
    return 0.05 + 0.25 * (1 - width) ** 2


def _places(point: Mapping[str, Any]) -> list[float]:
    return [
        unit_place(dimension.range, point[dimension.name])
        for dimension in PLAIN.dimensions
        if isinstance(dimension.range, Floats)
    ]


@dataclass(frozen=True)
class Outcome:
    """What one search came to.

    Attributes:
        share: Epochs trained, of those that all proposals of the unpruned search take.
        whole: Proposals of full length.
        area: What these dominate without noise, of what the best front does.
        confirmed: What those dominate that are to be confirmed.
    """

    share: float
    whole: int
    area: float
    confirmed: float


def searched(kind: Kind, sampler: Sampler, trade_off: TradeOff, slots: int) -> Outcome:
    """Return the outcome of one search."""
    chance = np.random.default_rng([2029, trade_off.case])
    plan = Search(
        space=PLAIN,
        trials=10 * PROPOSALS if kind.stop else PROPOSALS,
        sampler=sampler,
        sampler_seed=trade_off.case,
        scheduler=kind.scheduler,
        stop=(kind.stop,) if kind.stop else (),
        cost="num_parameters",
        confirm=Confirm(best=4),
    )
    middle = PLAIN.at([0.5] * len(PLAIN.dimensions))
    order = by_error if kind.by_error else promotion_order
    with (
        mock.patch("search_spaces.space.limits.num_parameters", trade_off.counted),
        mock.patch("sweeps.execution.search.promotion.promotion_order", order),
    ):
        run = SearchRun(
            plan, lambda cell: trade_off.curve(cell.settings or middle, chance), EPOCHS, slots
        ).to_its_end()
    params = dict(zip(run.known.names, run.known.params, strict=True))
    went = dict(zip(run.known.names, run.known.observations, strict=True))
    whole = [name for name in params if went[name].state == "complete"]
    areas = [
        _area(trade_off, [params[name] for name in names]) / _best_area()
        for names in (whole, run.chosen)
    ]
    return Outcome(run.epochs / (PROPOSALS * EPOCHS), len(whole), *areas)


def by_error(results: Iterable[RungResult]) -> list[int]:
    """Return the order of promotion by the error alone."""
    return [number for _, number in sorted((result.point[0], result.number) for result in results)]


def _area(trade_off: TradeOff, points: list[Mapping[str, Any]]) -> float:
    placed = [(trade_off.error(point), math.log(trade_off.size(point) / 1000)) for point in points]
    return area(placed, CORNER)


def _best_area() -> float:
    widths = np.linspace(0, 1, 2001).tolist()
    return area([(least_error(width), STEEPNESS * width) for width in widths], CORNER)


def lines(
    sampler: Sampler, spread: float, cases: int, slots: int, names: list[str]
) -> Iterator[str]:
    """Yield a row for each kind, beside training all."""
    yield "| search | epochs | whole | area | of all, median | least | confirmed | p less |"
    yield "| :-- | --: | --: | --: | --: | --: | --: | --: |"
    trade_offs = [TradeOff(case, spread) for case in range(cases)]
    unpruned = [searched(KINDS["none"], sampler, trade_off, slots) for trade_off in trade_offs]
    for name in names:
        outcomes = [searched(KINDS[name], sampler, trade_off, slots) for trade_off in trade_offs]
        areas, areas_of_all = ([each.area for each in runs] for runs in (outcomes, unpruned))
        ratios = np.divide(areas, areas_of_all)
        confirmed = np.divide(
            [each.confirmed for each in outcomes], [each.confirmed for each in unpruned]
        )
        p = "" if name == "none" else f"{wilcoxon_p(areas, areas_of_all, 'less'):.2g}"
        yield (
            f"| {name} | {np.mean([each.share for each in outcomes]):.2f} | "
            f"{np.mean([each.whole for each in outcomes]):.1f} | {np.median(areas):.3f} | "
            f"{np.median(ratios):.3f} | {ratios.min():.3f} | {np.median(confirmed):.3f} | {p} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--sampler", default="random")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    parser.add_argument("--spread", type=float, default=4.0)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for line in lines(options.sampler, options.spread, options.cases, options.slots, options.only):
        print(line, flush=True)


if __name__ == "__main__":
    main()
