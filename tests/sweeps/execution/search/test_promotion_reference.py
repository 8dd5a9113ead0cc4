"""Promotion by two objectives and Hyperband decide as the papers do, in drawn histories."""

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from capsmodel.metrics import VALIDATION_ERROR, Objective
from search_spaces import Confirm, Hyperband, PromotionAsha, Search
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    CellOutcome,
    Continue,
    EpochTold,
    Pause,
    Propose,
    Stop,
    Wait,
)
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.promotion import Promotion
from sweeps.execution.search.search_known import SearchKnown
from tests.sweeps.execution.search.promotion_reference import Reference, Result
from tools.acceptance.search_runs import PLAIN

HISTORIES = 1000
COSTS = cast(Measures, SimpleNamespace(costs=lambda point: point["costs"]))
SCHEDULERS = {"promotion": PromotionAsha, "hyperband": Hyperband}


class History:
    """A drawn history of a search, in which the reference decides beside the product.

    Proposals are few of few values, so that many are equal; some diverge, some fail.
    """

    def __init__(self, kind: str, case: int, *, has_cost: bool) -> None:
        self.chance = np.random.default_rng([60, case])
        self.num_epochs, eta = (
            int(self.chance.choice([2, 3, 4, 9])),
            int(self.chance.integers(2, 5)),
        )
        grace, best = (
            Fraction(1, int(self.chance.choice([2, 3, 4, 9]))),
            int(self.chance.integers(1, 4)),
        )
        trials, self.has_cost = int(self.chance.integers(4, 12)), has_cost
        plan = Search(
            space=PLAIN,
            trials=trials,
            sampler="random",
            scheduler=SCHEDULERS[kind](grace=float(grace), reduction_factor=eta),
            cost="num_parameters" if has_cost else None,
            confirm=Confirm(best=best),
        )
        names = [f"proposal {number}" for number in range(trials)]
        self.known = SearchKnown(
            plan, Objective(VALIDATION_ERROR), {}, dict.fromkeys(names, self.num_epochs)
        )
        self.judge = Promotion(plan, COSTS)
        self.reference = Reference(self.num_epochs, grace, eta, kind == "hyperband", best, trials)
        self.results: list[Result] = []
        self.lost: dict[int, tuple[int, CellOutcome]] = {}
        self.epochs: Counter[int] = Counter()
        self.jobs: Counter[str] = Counter()

    def play(self) -> Counter[str]:
        """Play it to its end, and return how often each kind of job was given."""
        num_slots = int(self.chance.integers(1, 5))
        while not self.jobs["stop"]:
            is_free = len(self.reference.running) < num_slots
            is_idle = not self.reference.running
            if is_idle or (is_free and self.chance.random() < 0.5):
                self._give_job()
            else:
                self._train(int(self.chance.choice(sorted(self.reference.running))))
        return self.jobs

    def _give_job(self) -> None:
        job, places = self.reference.get_job()
        is_last = len(self.known.params) == self.reference.num_proposals
        decisions = self.judge.room(self.known, is_last=is_last)
        assert [self._as_job(decision) for decision in decisions] == self._expected(job, places)
        self.jobs[job] += 1
        for decision in decisions:
            self.known.take(decision)
        for number, _ in places if job == "train on" else ():
            self.reference.train_on(number)
        if job == "propose":
            self._propose()
        elif job == "wait":
            self._train(int(self.chance.choice(sorted(self.reference.running))))

    def _as_job(self, decision: object) -> tuple[str, int, int]:
        if isinstance(decision, Wait):
            return "wait", 0, 0
        assert isinstance(decision, Continue | Stop)
        number = self.known.number_of(decision.trial_key)
        return ("train on" if isinstance(decision, Continue) else "stop"), number, decision.epoch

    def _expected(self, job: str, places: list[tuple[int, int]]) -> list[tuple[str, int, int]]:
        if job == "wait":
            return [("wait", 0, 0)]
        return [(job, *place) for place in places]

    def _propose(self) -> None:
        number = len(self.results)
        value, cost = (float(drawn) for drawn in self.chance.integers(0, 6, 2))
        self.results.append((value / 10, cost * self.has_cost))
        if self.chance.random() < 0.2:
            outcome: CellOutcome = "diverged" if self.chance.random() < 0.6 else "failed"
            self.lost[number] = int(self.chance.integers(1, self.num_epochs + 1)), outcome
        settings: Mapping[str, Any] = {"costs": self.results[number][1:] * self.has_cost}
        self.known.take(Propose((Cell(f"proposal {number}", settings, 0),)))
        self.reference.propose()

    def _train(self, number: int) -> None:
        key = self.known.first_key(number)
        self.epochs[number] += 1
        epoch, (value, cost) = self.epochs[number], self.results[number]
        ends_at, outcome = self.lost.get(number, (0, None))
        if epoch == ends_at and outcome == "failed":
            self.reference.fail(number)
            self._end(key, "failed", {})
            return
        error = math.nan if epoch == ends_at else value + 0.01 * (number * epoch % 7) / epoch
        metrics = dict.fromkeys(("train_loss", "validation_loss", "validation_error"), error)
        self.known.take(EpochTold(key, epoch, metrics))
        is_paused = self.reference.epoch(number, epoch, (error, cost))
        decisions = self.judge.verdict(self.known, key)
        assert [*decisions] == [Pause(key, epoch)] * is_paused
        for decision in decisions:
            self.known.take(decision)
        if math.isnan(error) or epoch == self.num_epochs:
            self._end(key, "diverged" if math.isnan(error) else "finished", metrics)

    def _end(self, key: str, outcome: CellOutcome, metrics: Mapping[str, float]) -> None:
        epoch = self.epochs[self.known.number_of(key)]
        self.known.take(CellEnded(key, outcome, epoch, metrics))


@pytest.mark.parametrize(("kind", "costs"), [("promotion", [True]), ("hyperband", [True, False])])
def test_each_decision_is_that_of_the_literal_algorithm(kind: str, costs: list[bool]) -> None:
    jobs: Counter[str] = Counter()
    for case in range(HISTORIES):
        jobs += History(kind, case, has_cost=costs[case % len(costs)]).play()
    assert jobs["stop"] == HISTORIES
    assert jobs["train on"] > HISTORIES
    assert jobs["propose"] > 5 * HISTORIES
