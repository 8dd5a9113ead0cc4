"""The answer of a search in words."""

import dataclasses
from typing import Any

import pytest

from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.importance import Importance
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity, sensitivity
from sweeps.aggregation.tables.search_answer import next_question, search_lead
from sweeps.records.manifest_plan import Confirmation
from tests.sweeps.aggregation.known_search import ended, floats, ints, search_of
from tests.sweeps.aggregation.known_sweep import by_key

DIMENSIONS = [floats("rate", 1e-4, 1e-2, log=True), ints("iterations", 1, 5)]
PARAMS = [{"rate": 1e-3, "iterations": 1 + number % 5} for number in range(6)]
TRIALS = [ended(number, 0.1 + 0.01 * number) for number in range(6)]


def judged(*importances: Importance | None, **changes: Any) -> Sensitivity:
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS), by_key(*TRIALS))
    settings = tuple(
        dataclasses.replace(setting, importance=importance)
        for setting, importance in zip(analysis.settings, importances, strict=True)
    )
    return dataclasses.replace(analysis, settings=settings, **changes)


def test_the_answer_names_what_matters_what_is_not_told_and_the_best_point() -> None:
    lead = search_lead(judged(Importance(0.417, 0.001, 0.01), Importance(-0.03, 0.5, 0.5)))
    assert lead == (
        "What matters, as shares of the differences between trials: rate 42 %. Not told from 0: "
        "iterations. Best of 6 in the search: proposal 0, validation error 10.00 % (rate 0.001, "
        "iterations 1). No fresh seeds have confirmed it."
    )


def test_settings_of_few_trials_are_without_a_verdict() -> None:
    lead = search_lead(judged(Importance(0.05, 0.4, 0.4), None))
    assert lead.startswith("No setting is shown to matter. Not told from 0: rate. ")
    assert "Without a verdict: iterations." in lead


def test_nothing_is_told_where_the_sampler_chose() -> None:
    both = Importance(0.417, 0.001, 0.01), Importance(-0.03, 0.5, 0.5)
    sample = dataclasses.replace(judged(*both).sample, is_chosen=True)
    lead = search_lead(judged(*both, sample=sample))
    assert "the sampler chose the proposals" in lead
    assert "42 %" not in lead


def test_before_anything_counts_there_is_no_answer() -> None:
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS), {})
    assert search_lead(analysis) == ""


@pytest.mark.parametrize(
    ("base", "trainings"),
    [
        ({"rate": 0.01, "iterations": 3}, 2 * 2 + 3 * 5),
        ({"rate": 0.001, "iterations": 3}, None),  # one change has no order
    ],
)
def test_the_next_question_is_the_path_to_the_winner(
    base: dict[str, float], trainings: int | None
) -> None:
    manifest = search_of(DIMENSIONS, PARAMS)
    assert manifest.search is not None
    arm = manifest.arms[0].model_copy(update={"name": "base", "config": base})
    search = manifest.search.model_copy(update={"base": "base"})
    with_base = manifest.model_copy(update={"arms": (arm, *manifest.arms), "search": search})
    results = search_results(with_base, by_key(*TRIALS))
    asked = list(next_question(judged(None, None, results=results), with_base))
    if trainings is None:
        assert asked == []
        return
    (sentence,) = asked
    assert "which of its 2 changes" in sentence
    assert f"`capsweep ablate {manifest.sweep}`" in sentence
    assert f"at most {trainings} trainings" in sentence


def test_the_best_is_the_first_choice_of_the_search() -> None:
    manifest = search_of(DIMENSIONS, PARAMS)
    assert manifest.search is not None
    confirmation = Confirmation(best=1, seeds=(101,), arms=("proposal 1",))
    search = manifest.search.model_copy(update={"confirmation": confirmation})
    confirmed = manifest.model_copy(update={"search": search})
    lead = search_lead(sensitivity(confirmed, by_key(*TRIALS)))
    assert "Best of 6 in the search: proposal 1, validation error 11.00 %" in lead
    assert "confirmed" not in lead


def test_of_equal_proposals_the_best_is_the_one_of_the_lower_loss() -> None:
    losses = [0.6, 0.5, 0.1, 0.4, 0.3, 0.2]
    trials = [ended(number, 0.1, validation_loss=loss) for number, loss in enumerate(losses)]
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS), by_key(*trials))
    assert "Best of 6 in the search: proposal 2," in search_lead(analysis)
    assert {setting.best for setting in analysis.settings} == {1e-3, 3}
