"""Arms that a search has found beside the best of random points: differences, verdicts, words."""

from collections.abc import Sequence
from typing import Any

import pytest

from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.confirmation_results import confirmation_results
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.statistics.families import holm
from sweeps.aggregation.tables.confirmation_table import confirmation_table
from sweeps.aggregation.tables.trials_table import trial_rows
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, trial_key
from tests.sweeps.aggregation.predicted import judged
from tests.sweeps.aggregation.small_search import FRESH, PARAMS, arm_name, search_with_base, trained

DRAWN = ("random 0", "random 1")
OTHER = {"model.routing": "uniform", "rate": 0.5}
Wrong = dict[str, Sequence[range]]

BETTER: Wrong = {
    "base": [range(60), range(1, 62), range(2, 60)],
    arm_name(1): [range(30), range(1, 31), range(28)],
    arm_name(3): [range(3, 62), range(4, 62), range(1, 62)],
    "random 1": [range(1, 61), range(63), range(2, 61)],
}


def search_with_random(
    best: str | None = "random 1", params: Any = OTHER, *, is_chosen: bool = True
) -> Manifest:
    """Return a search of which two arms are confirmed, against its base and random points."""
    written = search_with_base([1, 3]).model_dump(mode="json")
    search, cells = written["search"], written["cells"]
    draws = [
        {"number": number, "arm": arm, "params": point}
        for number, (arm, point) in enumerate(
            zip(DRAWN, ({**OTHER, "rate": 0.4}, params), strict=True)
        )
    ]
    random = {"seed": 4, "draws": draws, "best": best if is_chosen else None}
    confirmation = search["confirmation"] | {"random": random}
    confirmation |= {} if is_chosen else {"arms": None, "reference": None}
    config = {"batch_size": 5}
    arms = [{"name": a, "config": config, "num_parameters": 7, "changes": {}} for a in DRAWN]
    places = [(arm, 0) for arm in DRAWN] + [(best, seed) for seed in FRESH if best]
    more = [{"arm": a, "seed": s, "trial_key": trial_key(a or "", s)} for a, s in places]
    cells = [cell for cell in (*cells, *more) if is_chosen or cell["seed"] == 0]
    changes = {"arms": [*written["arms"], *arms], "cells": cells}
    return Manifest.model_validate(
        written | changes | {"search": search | {"confirmation": confirmation}}
    )


def records_of(wrong: Wrong) -> dict[str, TrialRecord]:
    searched = trained({0: 30, 1: 6, 2: 12, 3: 9}) | by_key(
        finished("base", 0, 21), finished("random 0", 0, 40), finished("random 1", 0, 24)
    )
    confirmed = [
        finished(arm, seed, len(places))
        for arm, rows in wrong.items()
        for seed, places in zip(FRESH, rows, strict=True)
    ]
    return searched | by_key(*confirmed)


def predictions_of(wrong: Wrong) -> dict[str, Predictions]:
    return {
        trial_key(arm, seed): Predictions("data", judged(places))
        for arm, rows in wrong.items()
        for seed, places in zip(FRESH, rows, strict=True)
    }


def table_of(wrong: Wrong, manifest: Manifest | None = None) -> Table:
    predictions = predictions_of(wrong)
    return confirmation_table(
        manifest or search_with_random(), records_of(wrong), predictions=predictions
    )


def shown(table: Table, title: str) -> list[str]:
    place = [column.title for column in table.columns].index(title)
    return [row[place].text for row in table.rows]


def test_each_confirmed_arm_is_held_against_the_best_random_one_as_well() -> None:
    table = table_of(BETTER)
    names = ["proposal 1", "proposal 3", "random 1 (best of 2)", "base (baseline)"]
    assert shown(table, "Arm") == names
    assert shown(table, "Rank") == ["1", "2", "", ""]
    assert shown(table, "In the search") == ["1.00", "1.50", "4.00", "3.50"]
    assert shown(table, "Settings")[2] == "routing uniform, rate 0.5"
    assert shown(table, "Verdict on random") == ["different", "undecided", "", ""]
    at = [column.title for column in table.columns].index("Against random")
    assert [row[at].is_bold for row in table.rows] == [True, False, False, False]
    assert "found better than random points at equal compute: proposal 1" in table.lead
    epochs = finished("base", 0, 21).epochs
    took = f"They took {2 * epochs} epochs, where the search took {5 * epochs}."
    assert any(took in note for note in table.notes)


def test_holm_goes_over_all_comparisons_that_are_shown() -> None:
    results = confirmation_results(search_with_random(), records_of(BETTER), predictions_of(BETTER))
    compared = [*results.compared.values(), *results.against_random.values()]
    assert [*results.compared] == ["proposal 1", "proposal 3", "random 1"]
    assert [*results.against_random] == ["proposal 1", "proposal 3"]
    assert {comparison.num_together for comparison in compared} == {5}
    expected = holm(
        [comparison.p_value for comparison in compared if comparison.p_value is not None]
    )
    assert [comparison.adjusted_p for comparison in compared] == pytest.approx(expected)


def test_words_say_what_is_not_shown_and_where_random_was_better() -> None:
    worse = BETTER | {"random 1": [range(20), range(1, 19), range(21)]}
    lead = table_of(worse).lead
    assert "Random points at equal compute found better than the search" in lead
    same = BETTER | {arm_name(1): [range(58), range(1, 64), range(2, 61)]}
    assert "found better than random points at equal compute is not shown" in table_of(same).lead


def test_it_is_told_where_the_best_random_one_is_a_proposal_or_there_is_none() -> None:
    table = table_of(BETTER, search_with_random(params=PARAMS[3]))
    assert "random 1 is the same configuration as proposal 3." in table.notes
    without = {arm: rows for arm, rows in BETTER.items() if arm != "random 1"}
    table = table_of(without, search_with_random(best=None))
    assert shown(table, "Arm") == ["proposal 1", "proposal 3", "base (baseline)"]
    assert any("None of the 2 random points (drawn by seed 4) ran" in note for note in table.notes)


def test_before_anything_is_chosen_the_note_says_how_far_random_is() -> None:
    manifest = search_with_random(is_chosen=False)
    records = records_of({})
    del records[trial_key("random 1", 0)]
    table = confirmation_table(manifest, records)
    assert table.rows == ()
    assert table.notes == (
        "All 4 proposals are over. Of 2 random points at equal compute so far 1 are over. The best "
        "are not yet run again.",
    )


def test_random_points_are_no_proposals_but_stand_among_the_trials() -> None:
    manifest = search_with_random()
    results = search_results(manifest, records_of(BETTER))
    assert [result.proposal.arm for result in results.proposals] == [arm_name(n) for n in range(4)]
    assert not {cell.arm for cell in manifest.proposed_cells()} & {*DRAWN}
    rows = [str(row) for row in trial_rows(manifest, records_of(BETTER))]
    assert sum("random 1" in row for row in rows) == 4
