"""What promotion keeps to, whatever trainings come to, and how many run at once."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_spaces import Asha, Confirm, Hyperband, PromotionAsha, Search
from search_spaces.plans.decisions import Cell, Continue, Decision, Pause
from search_spaces.plans.scheduler import Scheduler
from sweeps.execution.search.measures import Measures
from tools.acceptance.search_runs import PLAIN, SearchRun

EPOCHS = 8
VALUES = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, math.nan]), min_size=4, max_size=9)


@dataclass
class Watched(SearchRun):
    """A search of whose every promotion is asked whether it is one.

    Attributes:
        values: What each proposal comes to, by number.
        came: The seeds of each proposal that have come to a rung, by rung.
        gone: The proposals that went on from a rung, by rung.
    """

    values: list[float] = field(default_factory=list[float])
    came: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict[str, int]))
    gone: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set[str]))

    def _take(self, decision: Decision) -> None:
        if isinstance(decision, Pause | Continue):
            arm, rung = self.known.arm_of(decision.trial_key), decision.epoch
            if isinstance(decision, Pause):
                self.came[rung][arm] = self.came[rung].get(arm, 0) + 1
            elif arm not in self.gone[rung]:
                self._expect_promotion(arm, rung)
                self.gone[rung].add(arm)
        super()._take(decision)

    def _expect_promotion(self, arm: str, rung: int) -> None:
        seeds = len(self.plan.seeds)
        arrived = {name for name, count in self.came[rung].items() if count == seeds}
        assert arm in arrived, "all of its seeds are there"
        worth = self.value(arm)
        assert all(worth <= self.value(other) for other in arrived - self.gone[rung])
        if len(self.known.params) < self.plan.trials:
            num_judged = len(arrived) + sum(map(math.isnan, self.values))
            most = math.floor(num_judged * self.plan.scheduler.surviving_share + 1e-9)
            assert sum(self.value(other) < worth for other in arrived) < most

    def value(self, arm: str) -> float:
        return self.values[self.known.names.index(arm)]


@settings(max_examples=40)
@given(VALUES, st.integers(2, 4), st.integers(1, 2), st.integers(1, 4), st.integers(1, 3))
def test_who_goes_on_is_of_the_best_share_of_its_rung_and_the_best_are_whole(
    values: list[float], reduction: int, seeds: int, slots: int, best: int
) -> None:
    def train(cell: Cell) -> list[float]:
        value = 0.5 if cell.arm == "base" else values[int(cell.arm.split()[1])]
        return [math.nan] if math.isnan(value) else [value] * EPOCHS

    plan = Search(
        space=PLAIN,
        trials=len(values),
        sampler="random",
        seeds=tuple(range(seeds)),
        scheduler=PromotionAsha(grace=0.1, reduction_factor=reduction),
        confirm=Confirm(best=best),
    )
    run = Watched(plan, train, EPOCHS, slots, values=values)
    run.to_its_end()
    assert not run.known.waiting
    states = [observation.state for observation in run.known.observations]
    finite = [not math.isnan(value) for value in values]
    assert [state != "diverged" for state in states] == finite
    assert states.count("complete") >= min(best, sum(finite))
    assert len(run.chosen) == min(best, sum(finite))
    if any(finite):
        assert run.value(run.chosen[0]) == min(value for value in values if not math.isnan(value))


def test_with_a_cost_small_ones_are_promoted_and_the_whole_confirmed_over_their_front() -> None:
    def train(cell: Cell) -> list[float]:
        return [0.9 if cell.arm == "base" else place(int(cell.arm.split()[1])) / 10] * EPOCHS

    def place(number: int) -> int:
        return number * 4 % 9

    def costs(measures: Measures, point: Mapping[str, Any]) -> tuple[float, ...]:
        del measures
        return (10.0 - place(run.known.params.index(point)),)  # all are of one front

    plan = Search(
        space=PLAIN,
        trials=9,
        sampler="random",
        cost="num_parameters",
        scheduler=PromotionAsha(),
        confirm=Confirm(best=3),
    )
    run = SearchRun(plan, train, EPOCHS)
    with mock.patch.object(Measures, "costs", costs):
        run.to_its_end()
    went_on = {
        place(number): run.known.observations[number].state
        for number, (key,) in enumerate(run.proposals())
        if max(run.known.by_key(key).epochs) > plan.scheduler.rungs(EPOCHS)[0]
    }
    assert went_on == dict.fromkeys([0, 4, 8], "complete"), "both ends of the front, and its middle"
    assert run.chosen == ("proposal 0", "proposal 1", "proposal 2")


def share_trained(scheduler: Scheduler) -> float:
    """Return which share of all epochs a search trains whose proposals come in no order."""

    def train(cell: Cell) -> list[float]:
        number = 0 if cell.arm == "base" else int(cell.arm.split()[1])
        return [number * 16 % 37 / 100] * EPOCHS

    plan = Search(space=PLAIN, trials=36, sampler="random", scheduler=scheduler, confirm=None)
    return SearchRun(plan, train, EPOCHS).to_its_end().epochs / (36 * EPOCHS)


def test_promotion_trains_less_than_stopping_at_the_same_rungs() -> None:
    promotion = PromotionAsha(grace=0.25)
    share = share_trained(promotion)
    assert share == pytest.approx(promotion.mean_share(EPOCHS), abs=0.1)
    assert share < share_trained(Asha(grace=0.25)) - 0.02


@pytest.mark.parametrize("grace", [0.1, 0.4])
def test_hyperband_trains_what_its_brackets_come_to(grace: float) -> None:
    hyperband = Hyperband(grace=grace)
    share = hyperband.mean_share(EPOCHS, range(36))
    assert share_trained(hyperband) == pytest.approx(share, abs=0.05)
    assert share > PromotionAsha(grace=grace).mean_share(EPOCHS) + 0.1


def test_what_a_proposal_takes_on_average_follows_from_the_rungs() -> None:
    ninth = PromotionAsha(grace=1 / 9)
    assert ninth.rungs(27) == (3, 9)
    assert ninth.mean_share(27) == pytest.approx((3 + 6 / 3 + 18 / 9) / 27)
    assert Asha().mean_share(27) == 1
