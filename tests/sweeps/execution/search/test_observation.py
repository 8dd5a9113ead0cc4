"""The seeds of a proposal come to one observation."""

import math
from dataclasses import replace

import pytest

from sweeps.execution.search.observation import Observation, TrialState, observe
from sweeps.records.trial_record import Outcome

OPEN = TrialState()


def finished(value: float | None = 0.25, epoch: int = 3) -> TrialState:
    return TrialState(Outcome.FINISHED, epoch, value)


def stopped(value: float = 0.5, epoch: int = 1) -> TrialState:
    return TrialState(Outcome.PRUNED, epoch, value)


def test_finished_seeds_are_complete_with_their_mean() -> None:
    assert observe([finished(0.25), finished(0.75)]) == Observation("complete", 0.5, 3)


def test_of_a_complete_one_the_loss_is_the_mean_of_the_seeds() -> None:
    went = [replace(finished(), loss=0.5), replace(finished(), loss=1.0)]
    assert observe(went).loss == 0.75


def test_of_a_pruned_one_those_seeds_count_that_were_stopped_first() -> None:
    went = [finished(0.125), stopped(0.75, 1), stopped(0.1, 2), stopped(0.25, 1)]
    assert observe(went) == Observation("pruned", 0.5, 1)
    assert observe([finished(0.25), stopped(0.75, 2)]) == Observation("pruned", 0.75, 2)


def test_one_open_seed_leaves_it_open_without_a_value() -> None:
    for others in ([], [finished()], [stopped()], [TrialState(Outcome.FAILED)]):
        assert observe([*others, OPEN]) == Observation("open")


@pytest.mark.parametrize(
    "standing", [TrialState(Outcome.FAILED), TrialState(Outcome.INTERRUPTED, 2, 0.1)]
)
def test_one_seed_that_failed_makes_it_failed_without_a_value(standing: TrialState) -> None:
    assert observe([finished(), standing]) == Observation("failed")
    assert observe([stopped(), standing]) == Observation("failed")


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_one_seed_that_diverged_or_has_no_value_makes_it_diverged(value: float | None) -> None:
    assert observe([finished(), TrialState(Outcome.DIVERGED, 2, 0.1)]) == Observation("diverged")
    assert (
        observe([TrialState(Outcome.FAILED), TrialState(Outcome.DIVERGED, 2)]).state == "diverged"
    )
    assert observe([finished(), finished(value)]) == Observation("diverged")


def test_only_a_running_trial_is_waited_for() -> None:
    assert OPEN.is_open
    closed = [outcome for outcome in Outcome if not TrialState(outcome).is_open]
    assert set(closed) == set(Outcome) - {Outcome.RUNNING}
