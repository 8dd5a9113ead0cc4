"""The best arms of a search on fresh seeds: ranked there, compared with what chance would give."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.confirmation_table import confirmation_table
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    manifest_of,
    trial_key,
    unfinished,
    with_metrics,
)
from tests.sweeps.aggregation.predicted import judged
from tests.sweeps.aggregation.small_search import (
    FRESH,
    arm_name,
    confirmed_search,
    search_of,
    search_with_base,
    trained,
)


def rows_of(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def shown(table: Table, title: str) -> list[str]:
    place = [column.title for column in table.columns].index(title)
    return [row[place].text for row in table.rows]


def test_arms_stand_in_the_order_of_the_search_whatever_the_fresh_seeds_say() -> None:
    table = confirmation_table(*confirmed_search())
    assert shown(table, "Arm") == ["proposal 1", "proposal 3", "proposal 2 (baseline)"]
    assert shown(table, "Rank") == ["1", "2", ""]
    assert shown(table, "Validation error (%)")[1] == "1.39 (0.10)"
    assert any("first row is not the luckiest" in note for note in table.notes)
    assert shown(table, "n") == ["3", "3", "3"]


def test_the_value_that_chose_an_arm_stands_beside_its_confirmed_one() -> None:
    table = confirmation_table(*confirmed_search())
    assert shown(table, "In the search") == ["1.00", "1.50", "2.00"]
    assert any("it is optimistic" in note for note in table.notes)


def test_a_chosen_arm_whose_record_of_the_search_is_lost_stays_in_the_table() -> None:
    manifest, records = confirmed_search()
    remaining = {key: record for key, record in records.items() if key != trial_key(arm_name(3), 0)}
    table = confirmation_table(manifest, remaining)
    assert shown(table, "Arm") == ["proposal 1", "proposal 3", "proposal 2 (baseline)"]
    assert shown(table, "In the search")[1] == ""
    assert not any("as good in the search" in note for note in table.notes)


def test_the_difference_is_of_test_errors_from_the_baseline_paired_by_seed() -> None:
    manifest, records = confirmed_search()
    second, first, baseline = rows_of(confirmation_table(manifest, records))
    test = [
        [records[trial_key(arm_name(n), seed)].test_error or 0.0 for seed in FRESH] for n in (3, 2)
    ]
    pairs = [error - base_error for error, base_error in zip(*test, strict=True)]
    assert float(first["difference_points"]) == pytest.approx(100 * sum(pairs) / 3)
    assert second["difference_n"] == "3"
    assert baseline["difference_points"] == ""


def test_an_interval_over_seeds_alone_makes_nothing_bold() -> None:
    confirmed = {1: (8, 9, 8), 3: (30, 5, 20), 2: (18, 21, 19)}
    records = trained({0: 30, 1: 6, 2: 12, 3: 9}, confirmed)
    table = confirmation_table(search_of([1, 3], reference=2), records)
    assert not any(cell.is_bold for row in table.rows for cell in row)


def test_a_confirmed_arm_is_bold_where_its_test_errors_are_surely_not_those_of_the_base() -> None:
    wrong = {
        "base": [range(60), range(1, 62), range(2, 60)],
        arm_name(1): [range(30), range(1, 31), range(28)],
        arm_name(3): [range(3, 62), range(4, 62), range(1, 62)],
    }
    trials = {
        (arm, seed): finished(arm, seed, len(places))
        for arm, rows in wrong.items()
        for seed, places in zip(FRESH, rows, strict=True)
    }
    predictions = {
        trial_key(arm, seed): Predictions("data", judged(places))
        for arm, rows in wrong.items()
        for seed, places in zip(FRESH, rows, strict=True)
    }
    searched = trained({0: 30, 1: 6, 2: 12, 3: 9}) | by_key(finished("base", 0, 21))
    records = searched | by_key(*trials.values())

    table = confirmation_table(search_with_base([1, 3]), records, predictions=predictions)

    assert shown(table, "Arm") == ["proposal 1", "proposal 3", "base (baseline)"]
    assert shown(table, "Verdict") == ["different", "undecided", ""]
    assert [cell.is_bold for cell in (row[-2] for row in table.rows)] == [True, False, False]
    assert shown(table, "In the search") == ["1.00", "1.50", "3.50"]
    assert all(" ± " in text for text in shown(table, "Test error (%)"))
    assert not any("±" in text for text in shown(table, "Validation error (%)")), "not recorded"
    covered = (
        "± of a mean: half of the 95 % interval, for new seeds and new test images, on one split;"
    )
    assert any(note.startswith(covered) for note in table.notes)
    confirmed = "Fresh seeds confirm that the search found better than its base: proposal 1. "
    assert table.lead.startswith(f"{confirmed}Different from the baseline: proposal 1")
    assert any("Base is the configuration that the search started from" in n for n in table.notes)
    assert all(float(row["adjusted_p"]) <= 1 for row in rows_of(table)[:2])
    alone = confirmation_table(search_with_base([1, 3]), records)
    assert not any(cell.is_bold for row in alone.rows for cell in row)
    open_lead = "Fresh seeds do not show that any of the best 2 of the search beats its base. "
    assert alone.lead.startswith(open_lead)


def test_settings_are_short_to_read_and_whole_for_programs() -> None:
    table = confirmation_table(*confirmed_search())
    assert shown(table, "Settings")[::2] == [
        "routing dynamic, iterations 3, rate 0.00123",
        "routing uniform, rate 0.01",
    ]
    params = json.loads(rows_of(table)[0]["settings"])
    assert params["model.routing[dynamic].iterations"] == 3
    assert params["rate"] == 0.00123456


def test_the_test_error_comes_last_and_has_its_spread() -> None:
    table = confirmation_table(*confirmed_search())
    assert shown(table, "Test error (%)")[1] == "2.31 (0.16)"
    last = ["Test error (%)", "Difference", "Verdict", "Not counted"]
    assert [column.title for column in table.columns][-4:] == last


@given(st.lists(st.floats(0, 1), min_size=9, max_size=9))
@settings(max_examples=20)
def test_test_errors_never_change_the_ranking(errors: list[float]) -> None:
    manifest, records = confirmed_search()
    changed = dict(records)
    for key, error in zip(records, errors, strict=False):
        changed[key] = with_metrics(records[key], test_error=error)
    assert shown(confirmation_table(manifest, changed), "Rank") == ["1", "2", ""]
    assert shown(confirmation_table(manifest, changed), "Arm") == shown(
        confirmation_table(manifest, records), "Arm"
    )


def test_the_order_of_records_changes_nothing() -> None:
    manifest, records = confirmed_search()
    backwards = dict(reversed(records.items()))
    assert confirmation_table(manifest, backwards) == confirmation_table(manifest, records)


def test_a_loss_is_not_in_percent_and_has_more_digits() -> None:
    manifest = search_of([1, 3], reference=2, objective="validation_loss")
    table = confirmation_table(manifest, confirmed_search()[1])
    assert shown(table, "Validation loss")[1] == "0.00926 (0.00064)"
    assert "validation_loss_low" in to_csv(table)
    assert not any("percent" in note for note in table.notes if note.startswith("Ranked"))


def test_a_reference_that_is_chosen_too_has_one_row_and_a_rank() -> None:
    table = confirmation_table(search_of([1, 3], reference=3), confirmed_search()[1])
    assert shown(table, "Arm") == ["proposal 1", "proposal 3 (baseline)"]
    assert shown(table, "Rank") == ["1", "2"]
    assert shown(table, "Difference")[1] == ""


def test_without_a_reference_nothing_is_compared_and_that_is_said() -> None:
    table = confirmation_table(search_of([1, 3]), confirmed_search()[1])
    assert shown(table, "Difference") == ["", ""]
    assert any(note.startswith("There is no baseline") for note in table.notes)


def test_trials_that_do_not_count_are_shown_and_an_arm_without_any_has_no_rank() -> None:
    manifest, records = confirmed_search()
    bad = [unfinished(arm_name(3), seed, Outcome.DIVERGED, "nan") for seed in FRESH]
    table = confirmation_table(manifest, records | by_key(*bad))
    assert shown(table, "Arm")[:2] == ["proposal 1", "proposal 3"]
    assert shown(table, "Rank") == ["1", "", ""]
    assert shown(table, "Not counted")[1] == "3 diverged"
    assert "Arm proposal 3, seeds 101, 102, 103: diverged: nan" in table.notes


@pytest.mark.parametrize(
    ("manifest", "records", "sentence"),
    [
        (search_of(num_proposals=2), {}, "The search has not ended: 0 of 4 proposals are over."),
        (
            search_of(num_proposals=3, stopped={2: 4}),
            trained({0: 5}),
            "The search has not ended: 2 of 4 proposals are over.",
        ),
        (search_of(), trained({0: 5, 1: 6, 2: 7, 3: 8}), "All 4 proposals are over."),
        (search_of(stopped=dict.fromkeys(range(4), 3)), {}, "None of the 4 proposals ran to full"),
        (search_of(confirmation=None), trained({0: 5}), "This search confirms nothing"),
        (
            search_of([1], reference=2),
            trained({0: 5, 1: 6, 2: 7, 3: 8}, {1: (5, 6)}),
            "The confirmation has not ended: 2 of 6 trials are.",
        ),
    ],
)
def test_before_the_end_the_table_says_how_far_the_search_is(
    manifest: Any, records: Any, sentence: str
) -> None:
    table = confirmation_table(manifest, records)
    assert table.notes[0].startswith(sentence)
    assert sentence in to_markdown(table)
    assert to_latex(table)


def test_a_whole_confirmation_says_nothing_of_how_far_it_is() -> None:
    notes = confirmation_table(*confirmed_search()).notes
    assert notes[0].startswith("The 2 arms with the lowest")
    alone = confirmation_table(search_with_base([1]), confirmed_search()[1]).notes
    assert any(note.startswith("The arm with the lowest") for note in alone)


def test_a_table_too_wide_for_a_page_is_made_smaller_in_latex() -> None:
    wide, narrow = confirmed_search(), (manifest_of(["a"]), by_key(finished("a", 0, 1)))
    assert r"\resizebox" in to_latex(confirmation_table(*wide))
    assert r"\usepackage{graphicx}" in to_latex(confirmation_table(*wide))
    assert r"\resizebox" not in to_latex(ablation_table(*narrow))


def test_a_design_has_no_confirmation() -> None:
    with pytest.raises(BadInput, match="is a design"):
        confirmation_table(manifest_of(["a"]), by_key(finished("a", 0, 1)))


def test_a_smaller_search_says_so_in_the_first_line() -> None:
    manifest, records = confirmed_search()
    departed = manifest.model_copy(update={"departures": {"trials": (40, 4)}})
    first = to_markdown(confirmation_table(departed, records)).splitlines()[0]
    assert first.startswith(
        "The sweep was launched smaller than declared: trials 4 instead of 40 (--trials)."
    )


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["model.routing", "model.routing.iterations"], ["routing", "iterations"]),
        (["loss.weight", "decoder.weight"], ["loss.weight", "decoder.weight"]),
        (["rate", "model.rate"], ["rate", "model.rate"]),
        (["a.b", "a.b"], ["b", "b"]),
    ],
)
def test_a_setting_has_the_shortest_name_that_tells_it_apart(
    paths: list[str], names: list[str]
) -> None:
    assert [short_names(paths)[path] for path in paths] == names
