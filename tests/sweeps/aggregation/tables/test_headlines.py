"""Headlines: the answer of a table in at most fifteen words, what is decided first."""

from dataclasses import replace

import pytest

from sweeps.aggregation.rendering.table import MINUS, Headline
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.headlines import MOST_WORDS, comparison_headline
from sweeps.aggregation.tables.reach_sentences import FIGURES
from tests.sweeps.aggregation.known_predictions import predictions_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of
from tests.sweeps.aggregation.rendering.test_page import clear_sweep, results_of


@pytest.fixture(scope="module")
def compared() -> tuple[Comparison, ...]:
    """The comparisons of `worse` and `equal` with the baseline; only the first differs."""
    manifest, records = clear_sweep()
    return tuple(results_of(manifest, records, predictions_of(records)).compared)


def text_of(headline: Headline | None) -> str:
    assert headline is not None
    return headline.text


def test_one_arm_that_differs_is_named_with_what_it_does(compared: tuple[Comparison, ...]) -> None:
    assert comparison_headline(compared, None) == (
        "Worse errs 16.39 points more than the baseline.",
        True,
    )
    lies = text_of(comparison_headline(compared, None, FIGURES, by="over shift"))
    assert lies == "Over shift: worse lies 16.39 points higher than the baseline."


def test_several_are_named_as_long_as_fifteen_words_allow(compared: tuple[Comparison, ...]) -> None:
    worse = next(comparison for comparison in compared if comparison.is_different)
    two = text_of(comparison_headline([worse, worse], None))
    assert two == "Worse (+16.39 points) and worse (+16.39) err more than the baseline."
    low = replace(worse, difference=replace(worse.difference, mean=-0.05))
    apart = text_of(comparison_headline([worse, low], None))
    assert apart == f"Worse (+16.39 points) and worse ({MINUS}5.00) differ from the baseline."
    many = text_of(comparison_headline([worse] * 9, None))
    assert many == "9 of 9 arms differ from the baseline."
    assert all(len(text.split()) <= MOST_WORDS for text in (two, apart, many))


def test_nothing_shown_is_said_so_and_nothing_compared_has_no_headline(
    compared: tuple[Comparison, ...],
) -> None:
    equal = [comparison for comparison in compared if not comparison.is_different]
    undecided = comparison_headline(equal, None)
    assert undecided == ("No arm's test error is shown to differ from the baseline's.", False)
    moved = comparison_headline(equal, None, by="over shift")
    assert moved == ("Over shift: no arm is shown to differ from the baseline.", False)
    same = [replace(equal[0], verdict="equivalent")]
    shown = comparison_headline(same, 0.5)
    assert shown == ("Equal is equivalent to the baseline within 0.5 points.", True)
    assert comparison_headline([], None) is None


SEEDS = (
    ({"base": (6, 7), "a": (9, 9)}, "No difference can be tested with 2 seeds."),
    ({"base": (6,), "a": (9,), "b": (2,)}, "No difference can be tested with 1 seed."),
    (
        {"base": (6, 7), "a": (9,), "b": (2, 3)},
        "No difference can be tested with fewer than three seeds.",
    ),
    (
        {"base": (6, 7, 8), "a": (9, 9), "b": (7, 6, 8)},
        "No arm's test error is shown to differ from the baseline's.",
    ),
)


@pytest.mark.parametrize(("wrong", "sentence"), SEEDS)
def test_too_few_seeds_for_any_test_are_no_null_result(
    wrong: dict[str, tuple[int, ...]], sentence: str
) -> None:
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    records = by_key(*trials)
    compared = results_of(manifest_of(wrong), records, predictions_of(records)).compared
    assert comparison_headline(compared, None) == (sentence, False)
    by = comparison_headline(compared, None, by="over shift")
    assert "is shown" in sentence or by == (f"Over shift: n{sentence[1:]}", False)


def test_a_report_is_headed_by_it() -> None:
    manifest, records = clear_sweep()
    report = make_report(results_of(manifest, records, predictions_of(records)))
    assert report.headline == "Worse errs 16.39 points more than the baseline."
    wrong = {"base": (6, 7, 8), "equal": (7, 6, 8)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    undecided = make_report(results_of(manifest_of(wrong), by_key(*trials)))
    assert undecided.headline == "No arm's test error is shown to differ from the baseline's."
