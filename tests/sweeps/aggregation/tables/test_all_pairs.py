"""The table of all pairs of arms beside the ablation table: letters, verdicts, every format."""

import csv
import io
import subprocess
from pathlib import Path
from typing import Any

import pytest

from search_spaces.tables import AblationTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.table import PLUS_MINUS, Table
from sweeps.aggregation.report import write_report
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.kinds import headlines, make
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    known_sweep,
    manifest_of,
    put_sweep,
    unfinished,
)
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of
from tests.sweeps.aggregation.rendering.test_escaping import compiler
from tests.sweeps.tracking.memory_store import MemoryStore

FOUR: Wrong = {
    "base": [range(20), range(21), range(22)],
    "good": [range(2), range(3), range(3)],
    "near": [range(1, 24), range(2, 22), range(23)],
    "bad": [range(70), range(74), range(71)],
}
DECLARED = AblationTable(all_pairs=True)


def section_of(
    wrong: Wrong,
    manifest: Manifest | None = None,
    *lost: TrialRecord,
    declared: AblationTable = DECLARED,
    predictions: dict[str, Predictions] | None = None,
) -> Section:
    found = predictions_of(wrong) if predictions is None else predictions
    results = Results(
        manifest or manifest_of([*wrong]),
        by_key(*trials_of(wrong), *lost),
        lambda _trials, _metric: {},
        find_predictions=lambda _trials: found,
    )
    section = make(declared, results)
    assert section is not None
    return section


def pairs_of(wrong: Wrong, manifest: Manifest | None = None, *lost: TrialRecord) -> Table:
    return section_of(wrong, manifest, *lost).tables[1]


def texts(table: Table, title: str) -> list[str]:
    place = [column.title for column in table.columns].index(title)
    return [row[place].text for row in table.rows]


def rows_of(table: Table) -> dict[tuple[str, str], dict[str, str]]:
    assert table.for_programs is not None
    rows = csv.DictReader(io.StringIO(to_csv(table.for_programs)))
    return {(row["arm"], row["minus"]): row for row in rows}


def test_arms_stand_in_the_order_of_their_errors_and_share_letters_where_none_is_shown_to_differ():
    table = pairs_of(FOUR)
    assert texts(table, "Arm") == ["1. good", "2. base", "3. near", "4. bad"]
    assert texts(table, "Error %") == ["0.74", "5.83", "6.11", "19.91"]
    assert texts(table, "Letters") == ["a", "b", "b", "c"]
    assert table.lead.startswith("Different: 5 of 6 pairs. Undecided: 1 of 6 pairs, whose")


def test_each_pair_has_its_difference_once_and_bold_where_its_interval_leaves_out_0():
    table = pairs_of(FOUR)
    columns = [column.title for column in table.columns]
    assert columns[:6] == ["Arm", "Error %", "Letters", "minus 1", "minus 2", "minus 3"]
    filled = [[bool(row[place].text) for place in (3, 4, 5)] for row in table.rows]
    assert filled == [[False] * 3, [True, False, False], [True, True, False], [True] * 3]
    assert table.rows[3][3].text.startswith(f"19.17 {PLUS_MINUS} ")
    for row in table.rows:
        for cell in row[3:6]:
            low = cell.values[1]
            assert cell.is_bold == (isinstance(low, float) and low > 0)
    assert [cell.is_bold for cell in table.rows[2][3:6]] == [True, False, False]


def test_programs_read_a_row_a_pair():
    rows = rows_of(pairs_of(FOUR))
    assert [*rows] == [
        ("base", "good"),
        ("near", "good"),
        ("bad", "good"),
        ("near", "base"),
        ("bad", "base"),
        ("bad", "near"),
    ]
    row = rows["near", "base"]
    assert row["verdict"] == "undecided"
    assert (row["arm_letters"], row["minus_letters"], row["num_together"]) == ("b", "b", "6")
    assert float(row["difference_points"]) == pytest.approx(100 / 360)
    assert float(row["p"]) < float(row["adjusted_p"])
    assert float(row["simultaneous_points_low"]) < float(row["difference_points_low"])
    assert "detectable_points" not in row


def test_the_ablation_table_is_the_same_with_and_without():
    with_pairs, without = (
        section_of(FOUR, declared=declared) for declared in (DECLARED, AblationTable())
    )
    assert with_pairs.tables[0] == without.tables[0]
    assert len(without.tables) == 1
    assert AblationTable().model_dump() == {"kind": "ablation", "name": "ablation"}


def test_a_terminal_shows_both_tables():
    section = section_of(FOUR)
    assert headlines([section]) == section.tables
    assert headlines([section_of(FOUR, declared=AblationTable())]) == section.tables[:1]


def test_two_arms_are_judged_as_the_ablation_table_judges_them():
    wrong = {name: FOUR[name] for name in ("base", "near")}
    ablation, pairs = section_of(wrong).tables
    assert ablation.for_programs is not None
    rows = csv.DictReader(io.StringIO(to_csv(ablation.for_programs)))
    (of_arm,) = (row for row in rows if row["arm"] == "near")
    (of_pair,) = rows_of(pairs).values()
    for name in ("verdict", "p", "adjusted_p"):
        assert of_arm[name] == of_pair[name]
    for end in ("low", "high"):
        ends = [float(row[f"simultaneous_points_{end}"]) for row in (of_arm, of_pair)]
        assert ends[0] == pytest.approx(ends[1])


def test_equal_arms_share_a_row_and_have_rows_of_their_own_for_programs():
    wrong = {**FOUR, "same": FOUR["base"]}
    table = pairs_of(wrong)
    assert texts(table, "Arm")[1] == "2. base = same"
    rows = rows_of(table)
    assert len(rows) == 5 + 4
    assert rows["same", "good"]["p"] == rows["base", "good"]["p"]
    assert rows["same", "good"]["num_together"] == "6"


def test_an_arm_that_lost_its_trials_is_judged_by_how_often_it_diverges():
    seeds = range(8)
    wrong = {name: [range(20 + seed) for seed in seeds] for name in ("base", "near")}
    wrong["base"] = [range(1, 20 + seed % 3) for seed in seeds]
    lost = [unfinished("wild", seed, Outcome.DIVERGED, "the loss was nan") for seed in seeds]
    table = pairs_of(wrong, manifest_of([*wrong, "wild"], seeds), *lost)
    assert texts(table, "Arm")[-1] == "3. wild"
    assert [cell.text for cell in table.rows[-1][3:5]] == ["different"] * 2
    letters = texts(table, "Letters")
    assert letters[2] not in letters[:2]
    assert any("(Boschloo)" in note for note in table.main_notes)


def test_a_diverged_trial_counts_as_a_guess_too():
    five = {name: [range(40 + seed) for seed in range(5)] for name in ("base", "near")}
    five["near"] = [range(1, 42 + seed % 3) for seed in range(5)]
    five["good"] = [range(seed % 2) for seed in range(3)]
    assert texts(pairs_of(five, manifest_of([*five], range(5))), "Letters") == ["a", "b", "b"]
    lost = [unfinished("good", seed, Outcome.DIVERGED, "the loss was nan") for seed in (3, 4)]
    table = pairs_of(five, manifest_of([*five], range(5)), *lost)
    assert set(texts(table, "Letters")) == {"a"}
    assert any(note.startswith("Diverged: trials of good") for note in table.notes)


def test_without_predictions_no_pair_has_an_interval():
    table = section_of(FOUR, predictions={}).tables[1]
    assert texts(table, "Letters") == ["a"] * 4
    assert texts(table, "minus 1")[3] == "19.17"
    assert table.lead == "Undecided: 6 of 6 pairs, as predictions are missing."
    assert any("there is no interval and nothing is bold" in note for note in table.notes)


def test_an_arm_without_a_result_has_no_letter():
    wrong = {name: FOUR[name] for name in ("base", "bad")}
    table = pairs_of(wrong, manifest_of([*wrong, "late"]))
    assert texts(table, "Letters") == ["a", "b", ""]
    assert texts(table, "minus 1") == ["", table.rows[1][3].text, ""]
    nothing = pairs_of({}, manifest_of(["base", "late"]))
    assert nothing.lead == "No two arms have results: there is nothing to compare."
    assert texts(pairs_of({"base": FOUR["base"]}), "Letters") == ["a"]


def test_pairs_within_the_margin_are_equivalent():
    alike = {
        f"arm {arm}": [[*range(300, 306), arm][: 6 + (seed == arm)] for seed in range(5)]
        for arm in range(3)
    }
    table = pairs_of(alike, manifest_of([*alike], range(5), margin_points=3.0))
    assert table.lead == f"Equivalent within {PLUS_MINUS}3 points: 3 of 3 pairs."
    assert all(text.endswith(" eq.") for text in texts(table, "minus 1")[1:])
    assert any("eq. is equivalent: shown to differ" in note for note in table.main_notes)


def test_seeds_added_after_looking_need_half_the_level_and_evidence():
    planned = pairs_of(FOUR)
    added = pairs_of(FOUR, manifest_of([*FOUR], planned_seeds=[0, 1]))
    assert [cell.is_bold for row in planned.rows for cell in row].count(True) == 5
    assert not any(cell.is_bold for row in added.rows for cell in row)
    assert any(note.startswith("Seeds other than 0, 1 were added") for note in added.main_notes)


def test_over_splits_each_pair_stands_alone_and_bonferroni_holds():
    ten: dict[str, Any] = {
        name: [[*rows[seed % 3], 300 + seed] for seed in range(10)] for name, rows in FOUR.items()
    }
    manifest = manifest_of([*ten], range(10), splits={seed: seed % 5 for seed in range(10)})
    table = pairs_of(ten, manifest)
    for row in rows_of(table).values():
        expected = min(1.0, 6 * float(row["p"]))
        assert float(row["adjusted_p"]) == pytest.approx(expected)
        assert row["shared_seed_part_points"] == ""
    assert any("(Bonferroni)" in note for note in table.main_notes)
    assert texts(table, "Letters")[3] not in texts(table, "Letters")[:3]


def test_more_arms_than_eight_leave_the_table_out_and_say_so():
    names = [f"arm {place}" for place in range(9)]
    section = section_of({}, manifest_of(names))
    assert len(section.tables) == 1
    assert section.notes == (
        "All pairs are compared of at most 8 arms, and there are 9: that table is left out.",
    )


def test_the_latex_file_compiles(tmp_path: Path):
    document = to_latex(pairs_of(FOUR))
    command = compiler(document, tmp_path)
    (tmp_path / "pairs.tex").write_text(document)
    done = subprocess.run([*command, "pairs.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.usefixtures("unpainted_figures")
def test_a_report_has_the_table_in_each_format(store: MemoryStore, tmp_path: Path):
    manifest, records = known_sweep()
    declared = {"kind": "ablation", "name": "ablation", "all_pairs": True}
    content = manifest.model_dump() | {"tables": [declared]}
    put_sweep(store, Manifest.model_validate(content), records.values())
    write_report(store, "known", tmp_path)

    folder = tmp_path / "known"
    files = {path.name: path.read_text() for path in folder.glob("ablation-all-pairs*")}
    assert {*files} == {
        *(f"ablation-all-pairs.{ending}" for ending in ("md", "csv", "tex")),
        "ablation-all-pairs-table.tex",
    }
    assert "1. three rounds" in files["ablation-all-pairs.md"]
    assert "one round = uniform" in files["ablation-all-pairs.md"]
    assert files["ablation-all-pairs.csv"].count("\n") == 1 + 14
    assert r"\toprule" in files["ablation-all-pairs-table.tex"]
    assert "All pairs of arms of known" in (folder / "report.html").read_text()
