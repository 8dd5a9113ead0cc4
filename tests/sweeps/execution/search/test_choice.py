"""The best and the median of those that ran to full length are confirmed."""

from search_spaces import Search
from sweeps.execution.search.choice import best_arms, median_of_startup
from sweeps.execution.search.observation import Observation
from tests.sweeps.execution.search.examples import FAILED, OPEN, complete, pruned, search

TPE = search(trials=30)


def best(observations: list[Observation], count: int = 3, keys: str = "abcdefgh") -> list[int]:
    return best_arms(observations, keys[: len(observations)], count)


def test_the_best_of_full_length_are_chosen_the_best_first() -> None:
    went = [complete(0.3), complete(0.1), complete(0.2), complete(0.4)]
    assert best(went) == [1, 2, 0]


def test_the_stopped_the_failed_and_the_open_are_never_chosen() -> None:
    assert best([pruned(0.01), FAILED, OPEN, complete(0.5)]) == [3]
    assert best([pruned(0.01), FAILED, OPEN]) == []


def test_of_equals_the_earlier_is_chosen() -> None:
    assert best([complete(0.2), complete(0.1), complete(0.1)], 1) == [1]


def test_a_configuration_proposed_twice_is_chosen_once() -> None:
    went = [complete(0.3), complete(0.1), complete(0.1), complete(0.2)]
    assert best(went, 2, keys="abbc") == [1, 3]


def startup(observations: list[Observation], of: Search = TPE) -> int | None:
    return median_of_startup(observations, of)


def test_the_median_of_the_random_ones_is_what_the_best_are_held_against() -> None:
    assert startup([complete(0.3), complete(0.1), complete(0.2)]) == 2


def test_of_two_medians_the_better_one_is_taken() -> None:
    assert startup([complete(value) for value in (0.4, 0.1, 0.2, 0.3)]) == 2


def test_what_was_learnt_is_no_blind_choice() -> None:
    blind = [complete(0.5), complete(0.6), complete(0.7)] + [pruned(0.1)] * 7
    assert startup([*blind, *[complete(0.0)] * 20]) == 1


def test_a_sampler_that_never_learns_may_make_up_for_those_that_ended_early() -> None:
    went = [pruned(0.1)] * 10 + [complete(0.3), complete(0.1), complete(0.2)]
    assert startup(went) is None
    for sampler in ("random", "qmc"):
        assert startup(went, search(trials=30, sampler=sampler)) == 12


def test_without_any_of_full_length_there_is_no_median() -> None:
    assert startup([pruned(0.1), FAILED, OPEN]) is None
