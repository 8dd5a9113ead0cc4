"""A search keeps its promises where its trainings are drawn: a few draws of each.

`python -m tools.acceptance.search` counts them at length. Chance is the same in every run.
`test_search_plan.py` and its neighbours have the laws, for given scores.
"""

import math
from functools import cache
from typing import cast

import numpy as np
import pytest

from search_spaces import Search
from search_spaces.plans.decisions import Cell
from search_spaces.plans.scheduler import Asha
from tools.acceptance import early_stops, null_search, regrets
from tools.acceptance.figures import Figure
from tools.acceptance.networks import (
    FEW_ERRORS,
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    Generator,
)
from tools.acceptance.null_search import Bias
from tools.acceptance.pruned_fronts import KINDS, TradeOff, searched
from tools.acceptance.regrets import Regrets
from tools.acceptance.search_runs import PLAIN, SearchRun
from tools.acceptance.searched_functions import CONDITIONS, DIVERGING, SMOOTH, Function

pytestmark = pytest.mark.nightly


@cache
def null_figures(generator: Generator, draws: int = 150) -> tuple[Figure, Bias, Bias]:
    return cast(tuple[Figure, Bias, Bias], tuple(null_search.drawn(generator, 359, draws)))


def assert_unbiased(bias: Bias) -> None:
    assert abs(bias.points.mean()) - 1.7 * bias.half <= null_search.MOST_BIAS, bias.as_line()


@pytest.mark.parametrize(
    "generator", [IMAGES_DOMINATE, SEEDS_DOMINATE, FEW_ERRORS], ids=lambda generator: generator.name
)
def test_of_equal_configurations_hardly_any_is_confirmed_as_better(generator: Generator) -> None:
    bold, first, _ = null_figures(generator)
    assert bold.ends[0] <= bold.most, bold.as_line()
    assert bold.context["old rule"] > bold.rate
    assert_unbiased(first)


def test_validation_images_that_chose_an_arm_would_flatter_it_and_test_images_do_not() -> None:
    _, first, ranked = null_figures(IMAGES_DOMINATE)
    assert first.context["by validation images, as before"] < -0.6
    assert_unbiased(ranked)


def test_the_rank_by_fresh_seeds_flatters_the_first_where_seeds_dominate() -> None:
    _, _, ranked = null_figures(SEEDS_DOMINATE)
    assert ranked.points.mean() < -1, "else the table need not keep the order of the search"


def test_searches_drawn_at_once_choose_and_judge_as_the_product_does_one_by_one() -> None:
    _, at_once, _ = null_figures(FEW_ERRORS, 2)
    _, one_by_one = null_search.searched(FEW_ERRORS, 359, 2)
    assert isinstance(one_by_one, Bias)
    assert one_by_one.points.tolist() == pytest.approx(at_once.points.tolist(), abs=1e-9)


@pytest.mark.parametrize("function", DIVERGING, ids=lambda function: function.name)
def test_a_search_does_not_return_to_where_it_diverged(function: Function) -> None:
    regret, rare = regrets.compared_where_rare(function, range(3))
    assert isinstance(rare, Figure)
    assert isinstance(regret, Regrets)
    assert rare.rate < rare.most / 1.5, rare.as_line()
    assert rare.context["told as failed"] > rare.rate + 0.15
    assert np.median(regret.ours) < np.median(regret.others)


@pytest.mark.parametrize("function", [SMOOTH, CONDITIONS], ids=lambda function: function.name)
def test_a_search_finds_what_optuna_finds_called_directly(function: Function) -> None:
    (result,) = regrets.against_optuna(function, range(3))
    assert np.median(result.ours) < 2 * np.median(result.others), result.as_line()


def test_where_some_diverges_a_search_finds_more_than_optuna_called_directly() -> None:
    (result,) = regrets.against_optuna(DIVERGING[1], range(5))
    assert result.holds, result.as_line()


@pytest.mark.parametrize("reduction", [2, 3])
@pytest.mark.parametrize("seeds", [1, 3])
def test_asha_keeps_the_share_that_it_says_however_many_seeds_there_are(
    reduction: int, seeds: int
) -> None:
    survival, full = early_stops.rung_survivors(reduction, seeds, 1, 8)
    assert survival.ends[0] <= survival.most, survival.as_line()
    assert survival.ends[1] >= survival.least, survival.as_line()
    assert full.count == 0, "siblings that train side by side are stopped together"


@pytest.mark.parametrize(("num_epochs", "searches"), [(8, 8), (30, 1)])
def test_of_curves_that_differ_by_noise_alone_most_survive_the_median_rule(
    num_epochs: int, searches: int
) -> None:
    (figure,) = early_stops.survivors(num_epochs, 0.0, 1, searches)
    assert figure.ends[1] >= figure.least, figure.as_line()


def test_at_half_the_epochs_promotion_by_two_objectives_finds_nearly_the_whole_front() -> None:
    def areas(name: str) -> np.ndarray:
        trade_offs = [TradeOff(case, 4.0) for case in range(8)]
        return np.array([searched(KINDS[name], "random", each, 1).area for each in trade_offs])

    of_all = areas("none")
    for name in ("promotion, half", "hyperband, half"):
        assert np.median(areas(name) / of_all) >= 0.95, name
    assert np.median(areas("promotion by the error alone, half") / of_all) < 0.92


def test_seeds_one_after_another_are_mostly_trained_before_their_proposal_is_stopped() -> None:
    (alone,) = early_stops.saved(Asha(), 3, 1, 2)
    (together,) = early_stops.saved(Asha(), 3, 3, 2)
    assert alone.rate > 0.4
    assert together.count == 0
    assert together.context["epochs trained"] < alone.context["epochs trained"] - 0.2


def test_a_drawn_search_trains_the_base_and_each_proposal_once_and_chooses() -> None:
    def train(cell: Cell) -> list[float]:
        cells.append(cell)
        number = run.number(cell)
        return [math.nan] if number == 2 else [0.5 - number / 10]

    cells: list[Cell] = []
    run = SearchRun(Search(space=PLAIN, trials=4, sampler="random"), train)
    run.to_its_end()
    assert [run.number(cell) for cell in cells] == [-1, 0, 1, 2, 3]
    assert run.chosen == ("proposal 3", "proposal 1", "proposal 0")
    assert run.known.observations[2].state == "diverged"
    assert run.epochs == 4
