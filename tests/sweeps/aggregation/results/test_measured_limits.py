"""A proposal beyond a limit on what is measured: no candidate, wherever the best are looked for."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from search_spaces.plans.search import BASE
from sweeps.aggregation.best_configs import ranked_configs
from sweeps.aggregation.ranking_sentences import ranking_sentences
from sweeps.aggregation.results.front_results import front_results
from sweeps.aggregation.results.ranking import first_choice, ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.tables.confirmation_table import confirmation_table
from sweeps.aggregation.tables.front_figure import front_figure
from sweeps.aggregation.tables.front_table import front_table
from sweeps.aggregation.tables.search_figure import history_figure
from sweeps.aggregation.tables.sensitivity_table import sensitivity_tables
from sweeps.execution.launch.writing.confirm import winner_of
from sweeps.execution.launch.writing.launched_sweep import LaunchedSweep
from sweeps.records.errors import BadInput
from sweeps.records.expected_cells import fewer_cells_text
from sweeps.records.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import by_key, finished, put_sweep, trial_key
from tests.sweeps.aggregation.small_search import arm_name, search_of, search_with_base, trained

pytestmark = pytest.mark.usefixtures("rough_importances")

WRONG = {0: 30, 1: 6, 2: 12, 3: 9}  # the best by its errors is proposal 1
BEYOND = (
    "No candidates for the best, as they are beyond a limit of the search: proposal 1 "
    "(seconds_per_epoch)."
)


def measured(*beyond: int, unmeasured: Sequence[int] = ()) -> dict[str, Any]:
    """Return the fields of a search some of whose proposals take longer than it allows."""
    figures: Mapping[str, Any] = {
        trial_key(arm_name(number), 0): {"seconds_per_epoch": 3.0 if number in beyond else 1.0}
        for number in WRONG
        if number not in unmeasured
    }
    return {"measured_limits": {"seconds_per_epoch": 2}, "measured": figures}


def limited(*beyond: int, **more: Any) -> Manifest:
    return search_of(**measured(*beyond), **more)


def test_the_best_is_the_best_of_the_candidates() -> None:
    results = search_results(limited(1), trained(WRONG))
    assert first_choice(limited(1), trained(WRONG)) == "proposal 3"
    assert [result.number for result in results.candidates] == [0, 2, 3]
    assert [result.broken_text for result in results.beyond_limits] == [
        "proposal 1 (seconds_per_epoch)"
    ]
    assert first_choice(search_of(), trained(WRONG)) == "proposal 1"


def test_what_exactly_reaches_a_limit_keeps_it_and_what_was_not_measured_does_not() -> None:
    known = measured(unmeasured=[2])
    known["measured"][trial_key("proposal 0", 0)]["seconds_per_epoch"] = 2.0
    results = search_results(search_of(**known), trained(WRONG))
    assert [result.broken_text for result in results.beyond_limits] == [
        "proposal 2 (seconds_per_epoch not measured)"
    ]


def test_a_proposal_that_did_not_finish_breaks_no_limit() -> None:
    stopped = limited(1, stopped={1: 2})
    assert search_results(stopped, trained(WRONG)).beyond_limits == ()


def test_it_is_not_ranked_and_best_says_why(store: Any) -> None:
    manifest = limited(1)
    names = [arm.arm.arm.name for arm in ranking(manifest, trained(WRONG))]
    assert names == ["proposal 3", "proposal 2", "proposal 0"]
    put_sweep(store, manifest, trained(WRONG).values())
    ranked = ranked_configs("known", store)
    assert ranked.configs[0].arm == "proposal 3"
    sentence = (
        "Without a place, as they are beyond a limit of the search: proposal 1 (seconds_per_epoch)."
    )
    assert sentence in [*ranking_sentences("known", ranked)]


def test_where_all_are_beyond_it_nothing_is_best_and_nothing_confirmed(store: Any) -> None:
    manifest, records = limited(0, 1, 2, 3), trained(WRONG)
    put_sweep(store, manifest, records.values())
    first, *_ = ranking_sentences("known", ranked_configs("known", store))
    assert first == "No proposal of known that ran to full length keeps its limits."
    note = confirmation_table(manifest, records).notes[0]
    assert note.startswith("None of the 4 proposals ran to full length within the measured limits")
    with pytest.raises(BadInput, match="keeps its limits on what is measured, so that it has no"):
        winner_of(LaunchedSweep(manifest), store, None)


def test_tables_and_figures_of_the_search_say_which_are_beyond_it() -> None:
    manifest, records = limited(1), trained(WRONG)
    weighed = sensitivity(manifest, records)
    assert BEYOND in sensitivity_tables(weighed)[0].notes
    assert len(weighed.sample.values) == 4, "what it measures counts for importances all the same"
    confirmed = search_of([3], reference=2, **measured(1))
    assert BEYOND in confirmation_table(confirmed, records).notes
    assert "beyond a limit" in labels(history_figure(weighed.results))


def labels(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_the_front_is_of_the_candidates_alone() -> None:
    written = search_with_base(()).model_dump(mode="json")
    written["search"] |= {"cost": "num_parameters", **measured(1)}
    manifest = Manifest.model_validate(written)
    records = trained(WRONG) | by_key(finished(BASE, 0, 8))
    front = front_results(manifest, records)
    assert [arm.name for arm in front.front] == ["proposal 3"]
    table = front_table(front, manifest)
    assert BEYOND in table.notes
    assert table.for_programs
    standing = {row[0].values[0]: row[5].text for row in table.for_programs.rows}
    assert standing["proposal 1"] == "beyond a limit"
    assert any(note.startswith("Of the other 2 proposals") for note in table.notes)
    assert "beyond a limit" in labels(front_figure(front))


def test_fewer_arms_to_confirm_are_explained_by_the_limits() -> None:
    manifest = search_of([3], reference=2, **measured(0, 1, 2))
    assert "ran to full length within the measured limits" in fewer_cells_text(manifest)
