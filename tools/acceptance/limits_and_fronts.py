"""Limits that a sampler learns, and fronts beside Optuna's own, where trainings are drawn.

    python -m tools.acceptance.limits_and_fronts limits
    python -m tools.acceptance.limits_and_fronts limits --sampler gp --cases 6 --proposals 18
    python -m tools.acceptance.limits_and_fronts fronts

Prints the rows of the tables that stand in the file of the same name. All chance comes from the
number of the case.
"""

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import optuna
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, TPESampler
from optuna.trial import TrialState, create_trial

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices, Floats
from search_spaces import Limit, Search, Sweep
from search_spaces.space.proposal import point_of
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import distribution_of, suggested
from sweeps.execution.search.within_limits import MOST_REDRAWN, WithinLimits
from sweeps.records.fronts import area
from tools.acceptance.figures import wilcoxon_p
from tools.acceptance.search_runs import BASE_CONFIG
from tools.acceptance.searched_functions import CONDITIONS, SMOOTH, Function, unit_place

STEEPNESS = 4.0  # the largest of a setting's sizes is so many powers of e above the smallest
STARTUP: int = Search.model_fields["startup"].default
CORNER = (1.0, 2 * STEEPNESS)
Point = Mapping[str, Any]


@dataclass
class Sized:
    """A function whose points have a size as well, that two of its settings decide."""

    function: Function

    def size(self, point: Point) -> int:
        """Return the parameters of a point, 1,000 at least."""
        total = 0.0
        always = [
            dimension for dimension in self.function.space.dimensions if not dimension.conditions
        ]
        for dimension in always[:2]:
            known = dimension.range
            if isinstance(known, Choices):
                total += known.values.index(point[dimension.name]) / (len(known.values) - 1)
            else:
                assert isinstance(known, Floats)
                total += unit_place(known, point[dimension.name])
        return round(1000 * math.exp(STEEPNESS * total))

    def counted(self, config: TrainingConfig) -> int:
        """Return the parameters of a configuration."""
        point = point_of(self.function.space.dimensions, config)
        return self.size(point) if point else 1000

    def limit(self, share: float) -> int:
        """Return the size that a share of the space keeps."""
        space, chance = self.function.space, np.random.default_rng(1)
        units = chance.random((4000, len(space.dimensions))).tolist()
        return round(
            float(np.quantile([self.size(space.at(coordinates)) for coordinates in units], share))
        )


@dataclass
class Run:
    """What a search came to.

    Attributes:
        points: As proposed.
        start: Draws rejected for the random start.
        after: And behind it.
        even: Proposals that were drawn evenly in the end.
    """

    points: list[Point]
    start: int = 0
    after: int = 0
    even: int = 0


def product(sized: Sized, case: int, proposals: int, **fields: Any) -> Run:
    """Return the points that the product proposes."""
    plan = Search(
        space=sized.function.space, trials=proposals, sampler_seed=case, confirm=None, **fields
    )
    run, observations = Run([]), list[Observation]()
    base = point_of(plan.space.dimensions, BASE_CONFIG)
    with mock.patch("search_spaces.space.limits.num_parameters", sized.counted):
        proposer = WithinLimits(plan, Sweep(name="drawn", base=BASE_CONFIG, plan=plan))
        assert len(proposer.measures.broken_points) < 10_000  # tried once, before any proposal
        holds = mock.Mock(side_effect=proposer.measures.holds)
        proposer.measures.holds = holds
        at_base = None
        if base and plan.cost:
            at_base = (base, Observation("complete", sized.function.value(base, case), 1))
        for number in range(proposals):
            holds.reset_mock()
            point = proposer.propose(run.points, observations, at_base)
            assert point is not None
            _count(run, number, min(holds.call_count - 1, MOST_REDRAWN + 1))
            run.points.append(point)
            observations.append(Observation("complete", sized.function.value(point, case), 1))
    return run


def as_before(sized: Sized, case: int, proposals: int, most: int, sampler: str) -> Run:
    """Return what was proposed where a draw that broke a limit was told for its proposal alone."""
    space, run = sized.function.space, Run([])
    ranges = {dimension.name: distribution_of(dimension) for dimension in space.dimensions}
    chance = np.random.default_rng([case, 1])
    for number in range(proposals):
        rejected: list[Point] = []
        values = [sized.function.value(point, case) for point in run.points]
        while True:
            if len(rejected) == MOST_REDRAWN:
                draws = (space.at(chance.random(len(ranges)).tolist()) for _ in range(10_000))
                point = next(draw for draw in draws if sized.size(draw) <= most)
                rejected.append({})
                break
            entropy = [case, number, *[len(rejected)] * bool(rejected)]
            seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
            study = optuna.create_study(sampler=_sampler(sampler, seed, len(rejected)))
            worst = max(values, default=0.0)
            history = [
                *zip(run.points, values, strict=True),
                *((point, worst) for point in rejected),
            ]
            study.add_trials(
                [
                    create_trial(
                        state=TrialState.COMPLETE,
                        value=value,
                        params=dict(point),
                        distributions={name: ranges[name] for name in point},
                    )
                    for point, value in history
                ]
            )
            trial = study.ask()
            point = space.choose(lambda dimension: suggested(trial, dimension))  # noqa: B023
            if sized.size(point) <= most:
                break
            rejected.append(point)
        _count(run, number, len(rejected))
        run.points.append(point)
    return run


def optuna_alone(sized: Sized, case: int, proposals: int, sampler: str) -> Run:
    """Return what Optuna proposes by its own defaults, told of both objectives as they are."""
    space = sized.function.space
    sampler_class = {"tpe": TPESampler, "nsga2": NSGAIISampler, "gp": GPSampler}[sampler]
    study = optuna.create_study(
        sampler=sampler_class(seed=case), directions=("minimize", "minimize")
    )
    study.enqueue_trial(dict(point_of(space.dimensions, BASE_CONFIG) or {}))

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        point = space.choose(lambda dimension: suggested(trial, dimension))
        return sized.function.value(point, case), float(sized.size(point))

    study.optimize(objective, n_trials=1 + proposals)
    return Run([trial.params for trial in study.trials[1:]])


def _sampler(sampler: str, seed: int, num_rejected: int) -> BaseSampler:
    start = STARTUP + num_rejected
    if sampler == "gp":
        return GPSampler(seed=seed, n_startup_trials=start)
    return TPESampler(seed=seed, n_startup_trials=start, multivariate=True, constant_liar=True)


def _count(run: Run, number: int, rejected: int) -> None:
    run.even += rejected > MOST_REDRAWN
    if number < STARTUP:
        run.start += min(rejected, MOST_REDRAWN)
    else:
        run.after += min(rejected, MOST_REDRAWN)


def hypervolume(sized: Sized, run: Run, case: int) -> float:
    """Return what a run's front dominates, up to error 1 and the largest size; its share of all."""
    points = [
        (sized.function.value(point, case), math.log(sized.size(point) / 1000))
        for point in run.points
    ]
    return area(points, CORNER) / (CORNER[0] * CORNER[1])


def limits(cases: int, proposals: int, sampler: str) -> Iterator[str]:
    """Yield a row a function and share."""
    for function in (SMOOTH, CONDITIONS) if sampler == "tpe" else (SMOOTH,):
        for share in (0.4, 0.1):
            sized = Sized(function)
            most = sized.limit(share)
            limit = Limit("num_parameters", at_most=most)
            ours = [
                product(sized, case, proposals, limits=limit, sampler=sampler)
                for case in range(cases)
            ]
            old = [as_before(sized, case, proposals, most, sampler) for case in range(cases)]
            best = [
                [min(function.value(point, case) for point in run.points) for case, run in each]
                for each in (list(enumerate(ours)), list(enumerate(old)))
            ]
            shown = [
                f"{np.mean([getattr(run, phase) for run in runs]):.1f}"
                for phase in ("start", "after", "even")
                for runs in (old, ours)
            ]
            medians = f"{np.median(best[1]):.4f} | {np.median(best[0]):.4f}"
            p_value = wilcoxon_p(best[0], best[1], "greater", zero_method="pratt")
            yield (
                f"| {sampler}, {function.name}, {100 * share:.0f} % | {cases} | "
                f"{' | '.join(shown)} | {medians} | {p_value:.2f} |"
            )


def fronts(cases: int, proposals: int, sampler: str) -> Iterator[str]:
    """Yield a row a function."""
    for function in (SMOOTH, CONDITIONS) if sampler == "tpe" else (SMOOTH,):
        sized = Sized(function)
        ours, theirs = [], []
        for case in range(cases):
            run = product(sized, case, proposals, cost="num_parameters", sampler=sampler)
            ours.append(hypervolume(sized, run, case))
            alone = optuna_alone(sized, case, proposals, sampler)
            theirs.append(hypervolume(sized, alone, case))
        worse, better = (
            wilcoxon_p(ours, theirs, side, zero_method="pratt") for side in ("less", "greater")
        )
        medians = f"{np.median(ours):.4f} | {np.median(theirs):.4f}"
        yield f"| {sampler}, {function.name} | {cases} | {medians} | {worse:.2f} | {better:.2f} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["limits", "fronts"])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--proposals", type=int, default=40)
    parser.add_argument("--sampler", default="tpe")
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = {"limits": limits, "fronts": fronts}[options.what]
    for row in rows(options.cases, options.proposals, options.sampler):
        print(row, flush=True)
