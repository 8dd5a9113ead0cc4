import math

import pytest

from sweeps.aggregation.results.search_results import search_results
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_search import broken, ended, floats, search_of
from tests.sweeps.aggregation.known_sweep import by_key, known_sweep

DIMENSIONS = [floats("rate")]


def results_of(*trials, seeds=(0,), params=None, **more):
    numbers = {int(trial.arm.split()[1]) for trial in trials}
    params = params or [{"rate": n / 10} for n in range(max(numbers) + 1)]
    manifest = search_of(DIMENSIONS, params, seeds=seeds, **more)
    return search_results(manifest, by_key(*trials))


def test_the_value_of_a_finished_proposal_is_the_mean_over_its_seeds():
    results = results_of(ended(0, 0.25, seed=0), ended(0, 0.75, seed=1), seeds=(0, 1))

    assert (results.proposals[0].state, results.proposals[0].value) == ("finished", 0.5)


def test_the_objective_is_the_one_that_the_search_names():
    trial = ended(0, 0.25, validation_loss=7.0)

    assert results_of(trial, objective="validation_loss").proposals[0].value == 7.0


def test_a_proposal_that_lacks_a_seed_is_unfinished_and_has_no_value():
    proposal = results_of(ended(0, 0.25, seed=0), seeds=(0, 1)).proposals[0]

    assert (proposal.state, proposal.value, proposal.is_counted) == ("unfinished", None, False)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.DIVERGED, "diverged"),
        (Outcome.FAILED, "failed"),
        (Outcome.RUNNING, "unfinished"),
        (Outcome.PRUNED, "unfinished"),
        (Outcome.INTERRUPTED, "unfinished"),
    ],
)
def test_an_outcome_becomes_a_state(outcome, state):
    results = results_of(ended(0, 0.25, seed=0), broken(0, outcome, seed=1), seeds=(0, 1))

    assert results.proposals[0].state == state


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_finished_trial_without_a_finite_objective_counts_as_diverged(value):
    results = results_of(ended(0, value), ended(1, 0.5))

    assert results.proposals[0].state == "diverged"
    assert [proposal.number for proposal in results.counted] == [1]


def test_a_stopped_proposal_keeps_where_it_was_stopped_also_if_another_sweep_finished_it():
    results = results_of(ended(0, 0.01), ended(1, 0.5), stopped={0: (3, 0.4)})

    assert (results.proposals[0].state, results.proposals[0].value) == ("stopped", 0.4)
    assert results.proposals[0].epoch == 3


def test_proposals_with_equal_settings_count_once():
    params = [{"rate": 0.1}, {"rate": 0.2}, {"rate": 0.1}]
    results = results_of(*(ended(n, 0.5) for n in range(3)), params=params)

    assert [proposal.repeats for proposal in results.proposals] == [None, None, 0]
    assert (len(results.counted), results.num_repeats) == (2, 1)


def test_of_equal_proposals_the_first_that_finished_counts():
    params = [{"rate": 0.1}, {"rate": 0.1}, {"rate": 0.1}]
    trials = broken(0, Outcome.FAILED), ended(1, 0.5), ended(2, 0.5)

    assert [proposal.number for proposal in results_of(*trials, params=params).counted] == [1]


def test_true_and_one_are_different_settings():
    params = [{"rate": 1}, {"rate": True}]

    assert len(results_of(ended(0, 0.5), ended(1, 0.5), params=params).counted) == 2


def test_the_seeds_of_a_confirmation_do_not_enter():
    confirmation = {"best": 1, "seeds": [7], "arms": ["proposal 0"]}
    manifest = search_of(DIMENSIONS, [{"rate": 0.1}])
    content = manifest.model_dump()
    content["search"]["confirmation"] = confirmation
    content["cells"] = [*content["cells"], {**content["cells"][0], "seed": 7}]
    confirmed = type(manifest).model_validate(content)

    trials = by_key(ended(0, 0.5), ended(0, 0.1, seed=7))
    assert search_results(confirmed, trials).proposals[0].value == 0.5


def test_a_design_has_no_search_results():
    with pytest.raises(BadInput, match="only a search"):
        search_results(*known_sweep())
