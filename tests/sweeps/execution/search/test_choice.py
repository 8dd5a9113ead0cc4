"""The best of those that ran to full length are confirmed."""

from dataclasses import replace

from sweeps.execution.search.decider import best_arms
from sweeps.execution.search.observation import Observation
from tests.sweeps.execution.search.examples import FAILED, OPEN, complete, pruned


def best(
    observations: list[Observation],
    count: int = 3,
    keys: str = "abcdefgh",
    *,
    by_loss: bool = True,
) -> list[int]:
    return best_arms(observations, keys[: len(observations)], count, by_loss=by_loss)


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


def test_of_equals_the_lower_loss_is_chosen_where_losses_compare() -> None:
    went = [replace(complete(0.1), loss=0.3), replace(complete(0.1), loss=0.2), complete(0.1)]
    assert best(went) == [1, 0, 2]
    assert best(went, by_loss=False) == [0, 1, 2]
