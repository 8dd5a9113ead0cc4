"""Headlines: the answer of a table in at most fifteen words, what is decided first."""

from dataclasses import replace

import pytest

from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.tables.headlines import MOST_WORDS, comparison_headline
from sweeps.aggregation.tables.reach_sentences import FIGURES
from tests.sweeps.aggregation.known_predictions import predictions_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of
from tests.sweeps.aggregation.rendering.test_page import clear_sweep, results_of


@pytest.fixture(scope="module")
def compared():
    """The comparisons of `worse` and `equal` with the baseline; only the first differs."""
    manifest, records = clear_sweep()
    return results_of(manifest, records, predictions_of(records)).compared


def test_one_arm_that_differs_is_named_with_what_it_does(compared):
    (text, is_decided) = comparison_headline(compared, None)
    assert text == "Worse errs 16.39 points more than the baseline."
    assert is_decided
    lies = comparison_headline(compared, None, FIGURES, by="over shift").text
    assert lies == "Over shift: worse lies 16.39 points higher than the baseline."


def test_several_are_named_as_long_as_fifteen_words_allow(compared):
    worse = next(comparison for comparison in compared if comparison.is_different)
    two = comparison_headline([worse, worse], None).text
    assert two == "Worse (+16.39 points) and worse (+16.39) err more than the baseline."
    low = replace(worse, difference=replace(worse.difference, mean=-0.05))
    apart = comparison_headline([worse, low], None).text
    assert apart == "Worse (+16.39 points) and worse (−5.00) differ from the baseline."
    many = comparison_headline([worse] * 9, None).text
    assert many == "9 of 9 arms differ from the baseline."
    assert all(len(text.split()) <= MOST_WORDS for text in (two, apart, many))


def test_nothing_shown_is_said_so_and_nothing_compared_has_no_headline(compared):
    equal = [comparison for comparison in compared if not comparison.is_different]
    assert comparison_headline(equal, None) == (
        "No arm is shown to differ from the baseline.",
        False,
    )
    same = [replace(equal[0], verdict="equivalent")]
    shown = comparison_headline(same, 0.5)
    assert shown == ("Equal is equivalent to the baseline within 0.5 points.", True)
    assert comparison_headline([], None) is None


def test_a_report_is_headed_by_it():
    manifest, records = clear_sweep()
    report = make_report(results_of(manifest, records, predictions_of(records)))
    assert report.headline == "Worse errs 16.39 points more than the baseline."
    wrong = {"base": (6, 7, 8), "equal": (7, 6, 8)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    undecided = make_report(results_of(manifest_of(wrong), by_key(*trials)))
    assert undecided.headline == "No arm is shown to differ from the baseline."
