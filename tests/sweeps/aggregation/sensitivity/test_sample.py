"""What sensitivity rests on was chosen by nobody, or says that it was."""

import math

import pytest

from sweeps.aggregation.report.input_recorder import InputRecorder
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS, best_so_far, sample_of
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_search import broken, ended, floats, search_of
from tests.sweeps.aggregation.known_sweep import by_key, with_metrics


def sampled(*trials, num=4, curves=None, seeds=(0,), stopped=None, **more):
    params = [{"rate": n / 100} for n in range(num)]
    manifest = search_of([floats("rate")], params, seeds=seeds, stopped=stopped, **more)
    records = by_key(*trials)
    asked = []

    def histories(wanted, metric):
        wanted = list(wanted)
        asked.extend(wanted)
        return {trial.trial_key: (curves or {}).get(trial.arm, {}) for trial in wanted}

    sample = sample_of(search_results(manifest, records), manifest, records, histories)
    return sample, asked


def test_no_curve_is_asked_for_where_nothing_was_stopped():
    sample, asked = sampled(ended(0, 0.5), ended(1, 0.25))

    assert sample.values == {0: 0.5, 1: 0.25}
    assert sample.epoch is None
    assert asked == []


def test_all_are_compared_at_the_first_epoch_at_which_one_was_stopped():
    curves = {f"proposal {n}": {2: 0.1 * n, 4: 0.01} for n in range(4)}
    trials = [ended(n, 0.01) for n in range(4)]
    sample, _ = sampled(*trials, curves=curves, stopped={2: (4, 0.01), 3: (2, 0.75)})

    assert sample.epoch == 2
    assert sample.values == pytest.approx({0: 0.0, 1: 0.1, 2: 0.2, 3: 0.75})


def test_a_trial_that_has_not_got_so_far_is_left_out_and_one_that_ended_itself_is_not():
    curves = {"proposal 0": {1: 0.3}, "proposal 1": {1: 0.2}, "proposal 2": {1: 0.9, 2: 0.8}}
    trials = ended(0, 0.3), broken(1, Outcome.RUNNING), broken(2, Outcome.RUNNING), ended(3, 0.5)
    sample, _ = sampled(*trials, curves=curves, stopped={3: (2, 0.5)})

    assert sample.values == {0: 0.3, 2: 0.8, 3: 0.5}


def test_the_seeds_of_a_proposal_are_meant_and_one_that_lacks_a_seed_is_left_out():
    curves = {f"proposal {n}": {2: 0.5} for n in range(3)}
    trials = [ended(n, 0.1, seed) for n in range(2) for seed in (0, 1)] + [ended(2, 0.1, 0)]
    sample, _ = sampled(*trials, curves=curves, stopped={1: (2, 0.25)}, seeds=(0, 1), num=3)

    assert sample.values == {0: 0.5, 1: 0.25}


def test_what_diverged_has_the_worst_value_of_the_others_and_what_failed_none():
    trials = (
        ended(0, 0.5),
        ended(1, 0.25),
        broken(2, Outcome.DIVERGED),
        broken(3, Outcome.FAILED),
    )
    sample, _ = sampled(*trials)
    assert sample.values == {0: 0.5, 1: 0.25, 2: 0.5}
    assert sample.diverged == {2}


def test_the_worst_value_of_an_objective_that_is_to_be_large_is_the_smallest():
    metric = {"name": "agreement", "words": "agreement", "direction": "larger"}
    manifest = search_of([floats("rate")], [{"rate": n / 10} for n in range(3)])
    content = manifest.model_dump() | {"metrics": [metric]}
    content["search"]["objective"] = "agreement"
    manifest = type(manifest).model_validate(content)
    records = by_key(
        with_metrics(ended(0, 0.1), agreement=0.9),
        with_metrics(ended(1, 0.1), agreement=0.4),
        broken(2, Outcome.DIVERGED),
    )
    sample = sample_of(search_results(manifest, records), manifest, records)

    assert sample.values == {0: 0.9, 1: 0.4, 2: 0.4}


def test_where_all_diverged_there_is_nothing_to_compare():
    sample, _ = sampled(broken(0, Outcome.DIVERGED), ended(1, math.inf))

    assert sample.values == {}
    assert sample.diverged == frozenset()


@pytest.mark.parametrize("sampler", ["random", "qmc", "grid"])
def test_what_does_not_learn_chooses_nothing(sampler):
    sample, _ = sampled(*(ended(n, 0.5) for n in range(30)), num=30, sampler=sampler)

    assert (sample.is_chosen, sample.is_start, len(sample.values)) == (False, False, 30)


def test_the_random_start_stands_alone_where_it_is_enough():
    trials = [ended(n, n / 100) for n in range(30)]
    sample, _ = sampled(*trials, num=30, sampler="tpe", num_startup=FEWEST_TRIALS)

    assert list(sample.values) == list(range(FEWEST_TRIALS))
    assert (sample.is_chosen, sample.is_start) == (False, True)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_points_of_another_sweep_are_no_random_ones(sampler):
    points = ({"rate": 0.0}, {"rate": 0.01})
    warm_start = {"sweep": "other", "points": points, "num_fitting": 2}
    trials = [ended(n, n / 100) for n in range(30)]
    sample, _ = sampled(*trials, num=30, sampler=sampler, num_startup=22, warm_start=warm_start)

    assert list(sample.values) == list(range(2, 30 if sampler == "random" else 22))
    assert not sample.is_chosen


@pytest.mark.parametrize("sampler", ["tpe", "gp", "one of the future"])
def test_all_count_as_chosen_where_the_random_start_is_not_enough(sampler):
    trials = [ended(n, n / 100) for n in range(30)]
    sample, _ = sampled(*trials, num=30, sampler=sampler, num_startup=FEWEST_TRIALS - 1)

    assert len(sample.values) == 30
    assert (sample.is_chosen, sample.is_start) == (True, False)


def test_a_search_that_has_not_left_its_random_start_was_chosen_by_nobody():
    sample, _ = sampled(*(ended(n, 0.5) for n in range(4)), sampler="tpe", num_startup=10)

    assert (sample.is_chosen, sample.is_start) == (False, False)


def test_where_others_took_a_stopped_trial_changes_neither_sample_nor_digest():
    manifest = search_of([floats("rate")], [{"rate": 0.1}, {"rate": 0.2}], stopped={1: (2, 0.75)})
    records = by_key(ended(0, 0.1), ended(1, 0.01))

    def sample_and_digest(further):
        def histories(trials, metric):
            curves = {"proposal 0": {2: 0.5, 5: 0.1}, "proposal 1": {2: 0.75, **further}}
            return {trial.trial_key: curves[trial.arm] for trial in trials}

        asked = InputRecorder(Results(manifest, records, histories))
        results = search_results(manifest, records)
        return sample_of(results, manifest, records, asked.histories), asked.digest()

    assert sample_and_digest({}) == sample_and_digest({3: 0.7, 5: 0.01})
    assert sample_and_digest({})[0].values == {0: 0.5, 1: 0.75}


def test_a_search_that_keeps_best_weights_is_compared_by_the_best_epochs_so_far() -> None:
    losses, errors = {1: 0.7, 2: 0.4, 3: 0.5}, {1: 0.3, 2: 0.2, 3: 0.2}
    assert best_so_far(losses, errors) == {1: 0.7, 2: 0.4, 3: 0.4}
    assert best_so_far(errors, errors) == {1: 0.3, 2: 0.2, 3: 0.2}
    assert best_so_far({1: 0.5, 2: math.nan}, {1: 0.5, 2: 0.1})[1] == 0.5
    assert math.isnan(best_so_far({1: 0.5, 2: math.nan}, {1: 0.5, 2: 0.1})[2])
