"""The table of arms by data sets, in every format, from values made by hand."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from rich.console import Console

from capsmodel.metrics import TEST_ERROR, Metric
from search_spaces.tables import DataSetsTable
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.rendering.figure_style import figure_style
from sweeps.aggregation.rendering.page.html_page import results_page
from sweeps.aggregation.rendering.renderers import for_terminal, section_files
from sweeps.aggregation.rendering.table import MINUS, Table, shown
from sweeps.aggregation.results.data_set_results import (
    AverageRanks,
    Counts,
    DataSetResults,
    LikeThese,
    MeasuredDataSet,
    OverallComparison,
    data_set_results,
)
from sweeps.aggregation.results.evaluation_comparisons import mean_of_measured
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.looks import LookLevel
from sweeps.aggregation.tables.data_sets_figure import forest_figure, ranks_figure
from sweeps.aggregation.tables.data_sets_notes import NOTHING
from sweeps.aggregation.tables.data_sets_table import data_sets_section
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import unfinished
from tests.sweeps.aggregation.rendering.test_escaping import HOSTILE
from tests.sweeps.aggregation.rendering.test_page import Page
from tests.sweeps.aggregation.tables.compared_data_sets import column_of, overall_of

PLAIN = DataSetsTable()
WRONG = {"plain": (8, 9, 7), "em": (4, 4, 6), "uniform": (8, 9, 8), "cnn": (30, 33, 31)}
DATA_SETS = ("MNIST", "KMNIST", "SVHN")


@cache
def compared() -> DataSetResults:
    """Three arms on three data sets: em is different on two of them, cnn lacks one."""
    verdicts = {"em": "different", "cnn": "equivalent"}
    first = column_of(DATA_SETS[0], WRONG, verdicts)
    equal = column_of(DATA_SETS[1], WRONG | {"uniform": WRONG["plain"]}, identical=("uniform",))
    lost = column_of(
        DATA_SETS[2], WRONG | {"cnn": ()}, {"em": "different"}, missing={"cnn": "3 failed"}
    )
    overall = (
        overall_of("em", -0.0123, "different", counts=Counts(2, 0, 1, 0)),
        overall_of("uniform", 0.0071),
        OverallComparison(("cnn",), "points", missing_on={"SVHN": "3 failed"}),
    )
    return DataSetResults((first, equal, lost), "points", shares_seeds=False, overall=overall)


def section_of(results: DataSetResults, declared: DataSetsTable = PLAIN, **more: Any) -> Section:
    return data_sets_section(results, declared, title="across", **more)


def table_of(results: DataSetResults, declared: DataSetsTable = PLAIN, **more: Any) -> Table:
    return section_of(results, declared, **more).tables[0]


def row_of(table: Table, name: str) -> dict[str, str]:
    """Return the texts of a row by title, in bold with two stars about it."""
    row = next(row for row in table.rows if row[0].text == name)
    texts = [f"**{cell.text}**" if cell.is_bold else cell.text for cell in row]
    return dict(zip([column.title for column in table.columns], texts, strict=True))


def files_of(results: DataSetResults, declared: DataSetsTable = PLAIN) -> Mapping[str, str]:
    made = section_files(replace(section_of(results, declared), figures=()), sweep="across")
    return {name: content.decode() for name, content in made}


def rows_of_csv(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text))]


def with_lost(place: int, lost: Mapping[str, Sequence[Outcome]]) -> DataSetResults:
    """Return the results where arms have lost the last of their three seeds on one data set."""
    rows = {arm: row[: 3 - len(lost.get(arm, ()))] for arm, row in WRONG.items()}
    column = column_of(DATA_SETS[place], rows)
    for arm, outcomes in lost.items():
        measured = column.arms[arm]
        trials = {2 - n: unfinished(arm, 2 - n, outcome, "") for n, outcome in enumerate(outcomes)}
        trials = measured.arm.trials | trials
        measured = replace(measured, arm=replace(measured.arm, trials=trials))
        column = replace(column, arms={**column.arms, arm: measured})
    columns = compared().columns
    return replace(compared(), columns=(*columns[:place], column, *columns[place + 1 :]))


def on_all(overall: OverallComparison, **more: Any) -> DataSetResults:
    return replace(compared(), overall=(overall, *compared().overall[1:]), **more)


def test_a_cell_is_an_error_with_half_its_interval_and_bold_where_it_is_different():
    row = row_of(table_of(compared()), "em")
    arm = compared().columns[0].arms["em"]
    mean = mean_of_measured(arm).interval
    assert mean.mean is not None
    assert mean.half_width is not None

    shown = f"{100 * mean.mean:.2f} ± {100 * mean.half_width:.2f}"
    assert row["MNIST"] == f"**{shown}**"
    assert row["KMNIST"] == shown
    assert row_of(table_of(compared()), "cnn")["MNIST"].endswith(" eq.")


def test_overall_has_its_own_interval_verdict_and_counts():
    row = row_of(table_of(compared()), "em")

    assert row["Overall (points)"] == f"**{MINUS}1.23 ± 0.60**"
    assert row["Verdict"] == "**different**"
    assert (row["Better"], row["Undecided"], row["Worse"]) == ("2", "1", "0")
    assert row_of(table_of(compared()), "plain (baseline)")["Overall (points)"] == ""


def test_an_overall_interval_that_leaves_out_0_by_itself_alone_is_marked():
    table = table_of(compared())

    assert row_of(table, "uniform")["Overall (points)"] == "+0.71 ± 0.60 ‡"
    assert any("‡ By itself the interval of this arm" in note for note in table.main_notes)
    without = table_of(replace(compared(), overall=compared().overall[:1]))
    assert not any("‡" in note for note in without.notes)


def test_a_relative_difference_is_told_in_percent_with_both_ends():
    percent = overall_of(
        "em", -0.02, "different", scale="percent", change=Interval(3, -0.201, -0.27, -0.124)
    )
    table = table_of(DataSetResults(compared().columns, "percent", False, (percent,)))

    assert row_of(table, "em")["Overall (%)"] == f"**{MINUS}20.1 [{MINUS}27.0, {MINUS}12.4]**"
    assert "em (errs 20.1 % less)" in table.lead
    assert any("differ threefold" in note for note in table.main_notes)


@pytest.mark.parametrize("scale", ["points", "percent"])
def test_equivalence_is_not_judged_over_all_where_differences_are_in_percent(scale):
    changed = on_all(overall_of("em", -0.02, scale=scale), scale=scale)
    sentence = "Equivalence is judged on each data set and not over all: the margin is in points."

    with_margin = table_of(changed, margin_points=0.5).main_notes
    assert any(sentence in note for note in with_margin) is (scale == "percent")
    assert not any(sentence in note for note in table_of(changed).notes)


def test_the_lead_says_which_arms_differ_over_all_and_of_which_nothing_is_known():
    assert table_of(compared()).lead == (
        f"Over 3 data sets, different from the baseline: em ({MINUS}1.23 points); undecided: "
        "uniform; without an interval on each of them: cnn."
    )
    assert table_of(compared()).headline == (
        f"Over 3 data sets, em ({MINUS}1.23 points) differs.",
        True,
    )
    undecided = replace(compared(), overall=compared().overall[1:])
    assert table_of(undecided).headline == (
        "Over 3 data sets, no arm is shown to differ from the baseline.",
        False,
    )
    none = replace(compared(), overall=(), why_no_overall="the baseline has one data set.")
    assert table_of(none).headline == ("There is no verdict over all data sets.", False)
    assert table_of(none).lead == (
        "There is no verdict over all data sets: the baseline has one data set."
    )


def test_a_missing_cell_is_a_dash_whose_reason_stands_below():
    table = table_of(compared())

    assert row_of(table, "cnn")["SVHN"] == NOTHING
    assert row_of(table, "cnn")["Overall (points)"] == NOTHING
    assert any("cnn on SVHN (3 failed)" in note for note in table.main_notes)


def test_an_arm_with_fewer_seeds_than_planned_says_how_many():
    few = column_of("MNIST", WRONG | {"em": (4, 4)})
    table = table_of(replace(compared(), columns=(few, *compared().columns[1:])))

    assert row_of(table, "em")["MNIST"].endswith(" (n = 2)")


def test_trials_that_diverged_are_left_out_of_the_means_and_named_with_their_data_set():
    results = with_lost(0, {"em": [Outcome.DIVERGED]})
    note = next(note for note in table_of(results).main_notes if "Diverged" in note)

    assert note.startswith(
        "Trials left out of the means: em on MNIST (1 diverged), cnn on SVHN (3 "
    )
    assert "loss became infinite or NaN" in note
    assert "Bold also holds if diverged trials count as networks that guess" in note
    assert "bad trainings fail" not in note
    untested = {
        name: replace(cell, p_value=None) for name, cell in results.columns[0].cells.items()
    }
    alone = replace(results, columns=(replace(results.columns[0], cells=untested),))
    assert not any("also holds" in note for note in table_of(alone).notes)
    long = rows_of_csv(files_of(results)["data_sets-long.csv"])
    counts = {(r["arm"], r["data_set"]): (r["num_diverged"], r["num_failed"]) for r in long}
    assert counts["em", "MNIST"] == ("1", "0")
    assert counts["em", "KMNIST"] == ("0", "0")


@pytest.mark.parametrize(
    ("arms", "is_said"), [(["em"], True), (["plain"], True), ([*WRONG], False)]
)
def test_failed_trials_may_make_an_arm_look_too_good(arms, is_said):
    results = with_lost(1, {arm: [Outcome.FAILED] for arm in arms})
    notes = table_of(results).main_notes

    assert any(f"{arms[0]} on KMNIST (1 failed)" in note for note in notes)
    assert any("bold also holds if failed trials count as" in note for note in notes) is is_said
    long = rows_of_csv(files_of(results)["data_sets-long.csv"])
    failed = [(row["arm"], row["data_set"]) for row in long if row["num_failed"] == "1"]
    assert failed == [(arm, "KMNIST") for arm in arms]


def test_where_divergence_leaves_too_few_seeds_the_verdict_is_on_how_often_arms_diverge():
    results = with_lost(2, {"em": [Outcome.DIVERGED] * 2})
    *others, last = results.columns
    judged = replace(last.cells["em"], way=None, verdict="different")
    cells = {**last.cells, "em": judged}
    notes = table_of(replace(results, columns=(*others, replace(last, cells=cells)))).main_notes

    assert any("em on SVHN: as divergence leaves fewer than three seeds" in n for n in notes)


def test_a_data_set_that_was_not_launched_has_dashes_and_is_named():
    columns = (*compared().columns, column_of("Later", WRONG))
    empty = replace(columns[-1], arms={}, baseline="", cells={})
    table = table_of(
        replace(compared(), columns=(*columns[:-1], empty), without_baseline=("Later",))
    )

    assert [row_of(table, name)["Later"] for name in ("em", "plain (baseline)")] == [
        NOTHING,
        NOTHING,
    ]
    assert "Overall leaves out Later: the baseline has no result there." in table.main_notes
    assert table.lead.startswith("Over 3 data sets")


def test_families_are_told_apart_and_nothing_is_claimed_of_other_data_sets():
    notes = table_of(compared()).main_notes

    assert any("all 12 comparisons of arms on data sets together (Holm)" in n for n in notes)
    assert any("over all arms together (Holm), a family apart from the cells" in n for n in notes)
    assert any(note.endswith("Nothing is said of other data sets.") for note in notes)
    asked = replace(compared(), why_not_like_these="it takes six data sets, and there are 3")
    assert any(
        note.endswith("of other data sets: it takes six data sets, and there are 3.")
        for note in table_of(asked, DataSetsTable(other_data_sets=True)).main_notes
    )


def with_cells(results: DataSetResults, **changes: Any) -> DataSetResults:
    """Return the results with other values of each comparison on a data set."""
    columns = [
        replace(
            column, cells={name: replace(cell, **changes) for name, cell in column.cells.items()}
        )
        for column in results.columns
    ]
    return replace(results, columns=tuple(columns))


def test_each_data_set_with_looks_is_a_family_with_its_share_of_the_level():
    look = LookLevel((3,), 6, is_last=False, num_data_sets=3)
    notes = table_of(with_cells(compared(), look=look, num_together=4)).main_notes

    assert any(
        "bold is p < .05 over all 12 comparisons of arms on data sets, at all looks together: each "
        "of the 3 data sets has 1/3 of the level (Holm over its arms)." in note
        for note in notes
    )
    assert any("Overall is judged once, after the last look." in note for note in notes)
    assert not any("look" in note for note in table_of(compared()).notes)


def one_arm(**changes: Any) -> DataSetResults:
    columns = tuple(
        replace(column, cells={"em": replace(column.cells["em"], num_together=3)})
        for column in compared().columns
    )
    return with_cells(
        replace(compared(), columns=columns, overall=compared().overall[:1]), **changes
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            "look": LookLevel((3,), 6, is_last=False, is_alone=True, num_data_sets=3),
            "num_together": 1,
        },
    ],
)
def test_one_arm_compared_alone_has_four_fifths_of_the_level(changes):
    notes = table_of(one_arm(**changes)).main_notes
    cell, overall = (next(n for n in notes if n.startswith(s)) for s in ("In a cell", "Overall:"))

    for note in (cell, overall):
        assert "As one arm is compared alone, it has 80 % of the level; p allows for that." in note
        assert "over all arms" not in note
        assert "over its arms" not in note
        assert "for all arms" not in note
    assert not any("80 %" in note for note in table_of(compared()).notes)


def test_added_seeds_need_more_for_bold_and_promise_less():
    first, *others = compared().columns
    added = {name: replace(cell, log_e=4.0) for name, cell in first.cells.items()}
    table = table_of(replace(compared(), columns=(replace(first, cells=added), *others)))

    assert any("bold in at most 5 % of tables." in note for note in table_of(compared()).notes)
    note = next(note for note in table.main_notes if note.startswith("In a cell"))
    assert "bold is p < .025 over" in note
    assert "bold in at most 10 % of tables. Seeds were added after looking" in note


def test_data_sets_like_these_have_a_column_where_there_is_a_verdict():
    like_these = LikeThese(Interval(6, -0.2, -0.31, -0.08), 0.004, 0.012)
    table = table_of(on_all(overall_of("em", -0.0123, "different", like_these=like_these)))

    assert row_of(table, "em")["Like these (%)"] == f"**{MINUS}20.0 [{MINUS}31.0, {MINUS}8.0]**"
    assert any(note.startswith("Like these: ") for note in table.main_notes)
    plain = "".join(cell.text for row in table_of(compared()).rows for cell in row[-2:])
    assert plain == ""


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            False,
            "Seeds are other numbers on each data set: what a seed does on one tells nothing of "
            "another.",
        ),
        (True, "within a seed first"),
    ],
)
def test_how_seeds_of_data_sets_go_together_is_said(shares, sentence):
    table = table_of(replace(compared(), shares_seeds=shares))

    assert sum(sentence in note for note in table.notes) == 1


def judged(wrong: Mapping[str, Sequence[int]]) -> DataSetResults:
    """Return what the statistics say of arms that err so often on each of two data sets."""
    columns = [column_of(name, wrong) for name in DATA_SETS[:2]]
    return data_set_results(
        [MeasuredDataSet(column.name, tuple(column.arms.values())) for column in columns]
    )


def test_one_arm_by_itself_has_no_columns_and_notes_of_comparisons():
    section = section_of(judged({"plain": (8, 9, 7)}))
    table = section.tables[0]

    assert table.lead == "There is one arm: nothing to compare it with."
    assert [column.title for column in shown(table).columns] == ["Arm", "MNIST", "KMNIST"]
    assert [note.split(":")[0] for note in table.notes] == [
        "± of a mean",
        "A mean is over 3 seeds.",
    ]
    assert not section.figures


def test_one_seed_has_no_notes_of_overall_and_verdicts_and_its_figure_no_intervals():
    results = judged({"plain": (8,), "em": (4,), "cnn": (30,)})
    table = table_of(results)
    with figure_style():
        figure = forest_figure(results, "across", TEST_ERROR)

    assert table.lead == "Over 2 data sets, without an interval on each of them: em, cnn."
    assert table.notes == (
        f"{NOTHING} or no ±: em on MNIST, cnn on MNIST, em on KMNIST, cnn on KMNIST (there are "
        "fewer than three seeds).",
        "Each arm has one seed, so there is no spread over seeds.",
    )
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["seeds alone, no verdict"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["MNIST", "KMNIST"]


def test_no_verdict_over_all_is_explained_once_in_the_lead():
    why = "looks are still to come on MNIST"
    overall = OverallComparison(("em",), "points", why_undecided=why)
    table = table_of(replace(compared(), overall=(overall,), why_no_overall=why))

    assert why in table.lead
    assert not any(why in note or "Overall" in note for note in table.notes)


def test_arms_that_are_identical_on_every_data_set_stand_in_one_row():
    same = replace(compared(), identical=("uniform",), overall=compared().overall[:1])
    table = table_of(same)

    assert table.rows[0][0].text == "plain = uniform (baseline)"
    assert "identical to it: uniform" in table.lead
    wide = rows_of_csv(files_of(same)["data_sets.csv"])
    assert [row["identical_to"] for row in wide] == ["", "plain", "", ""]


def test_published_figures_stand_below_ours_with_their_source():
    declared = DataSetsTable(
        published={"MNIST": {"em": 0.44}, "SVHN": {"em": 5.0}}, published_in="Hinton et al. 2018"
    )
    section = section_of(compared(), declared)
    table = section.tables[0]
    row = row_of(table, "em, published")

    assert (row["MNIST"], row["KMNIST"], row["SVHN"]) == ("0.44", "", "5.00")
    assert [r[0].text for r in table.rows].index("em, published") == 2
    assert any("from Hinton et al. 2018" in note for note in table.main_notes)
    long = rows_of_csv(files_of(compared(), declared)["data_sets-long.csv"])
    published = {(row["arm"], row["data_set"]): row["published_percent"] for row in long}
    assert published["em", "MNIST"] == "0.44"
    assert published["em", "KMNIST"] == ""


def test_published_figures_of_other_methods_stand_below_all():
    declared = DataSetsTable(published={"KMNIST": {"theirs": 1.234}})

    assert row_of(table_of(compared(), declared), "theirs, published")["KMNIST"] == "1.234"
    assert table_of(compared(), declared).rows[-1][0].text == "theirs, published"


def test_the_long_file_has_every_arm_on_every_data_set_to_full_precision():
    long = rows_of_csv(files_of(compared())["data_sets-long.csv"])

    assert [(row["arm"], row["data_set"]) for row in long] == [
        (arm, data_set) for arm in WRONG for data_set in DATA_SETS
    ]
    for row in long:
        column = compared().columns[DATA_SETS.index(row["data_set"])]
        comparison, arm = column.cells.get(row["arm"]), column.arms[row["arm"]]
        assert int(row["n"]) == len(arm.errors)
        assert row["is_identical_to_baseline"] == str(row["arm"] in column.identical).lower()
        if not arm.errors:
            assert (row["error_percent"], row["why_missing"]) == ("", "3 failed")
            continue
        mean = mean_of_measured(arm).interval
        ends = (mean.mean, mean.low, mean.high)
        fields = ("error_percent", "error_percent_low", "error_percent_high")
        assert [float(row[field]) for field in fields] == [
            100 * end for end in ends if end is not None
        ]
        if comparison is None:
            assert row["difference_points"] == row["verdict"] == ""
            continue
        assert float(row["difference_points"]) == 100 * (comparison.difference.mean or 0)
        assert float(row["difference_points_low"]) == 100 * (comparison.difference.low or 0)
        assert float(row["p"]) == comparison.p_value
        assert float(row["adjusted_p"]) == comparison.adjusted_p
        assert row["verdict"] == comparison.verdict


def test_the_wide_file_has_a_row_an_arm_with_what_holds_over_all():
    ranks = AverageRanks({"plain": 2.5, "em": 1.0}, 0.01, {"em": 0.03}, 1.2, ("cnn",), 3)
    rows = rows_of_csv(files_of(replace(compared(), ranks=ranks))["data_sets.csv"])
    em = next(row for row in rows if row["arm"] == "em")
    overall = compared().overall[0]

    assert [row["arm"] for row in rows] == [*WRONG]
    assert overall.points is not None
    assert overall.change is not None
    assert float(em["overall_points"]) == 100 * overall.points.mean  # type: ignore[operator]
    assert float(em["overall_change_percent_low"]) == 100 * overall.change.low  # type: ignore[operator]
    assert float(em["overall_adjusted_p"]) == overall.adjusted_p
    assert (em["num_better"], em["average_rank"]) == ("2", "1.0")
    assert em["mnist.verdict"] == "different"
    assert em["kmnist.verdict"] == "undecided"


def test_data_sets_of_equal_letters_have_columns_of_their_own():
    columns = tuple(column_of(name, WRONG) for name in ("a b", "a-b", "?"))
    header = files_of(replace(compared(), columns=columns))["data_sets.csv"].split("\n")[0]

    fields = header.split(",")
    assert len({*fields}) == len(fields)
    assert {"a_b.n", "data_set_2.n", "data_set_3.n"} <= {*fields}


def test_the_heads_of_latex_stand_over_all_their_columns_and_the_table_fits_a_line():
    text = files_of(compared())["data_sets-table.tex"]
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    over, rules, titles = lines[3], lines[4], lines[5]

    spans = [int(number) for number in re.findall(r"\\multicolumn\{(\d+)\}", over)]
    num_columns = titles.count("&") + 1
    assert spans == [3, 2, 3]
    assert sum(spans) + over.removesuffix(r" \\").split(" & ").count("") == num_columns
    assert re.findall(r"\{(\d-\d)\}", rules) == ["2-4", "5-6", "7-9"]
    assert all(line.count("&") + 1 == num_columns for line in lines if "$" in line)
    assert lines[0].startswith(r"\resizebox{\ifdim\width>\linewidth")
    assert text.count("{") == text.count("}")
    assert r"\usepackage{graphicx}" in text
    document = files_of(compared())["data_sets.tex"]
    assert over in document
    assert document.count("{") == document.count("}")


def test_latex_of_many_data_sets_stands_in_parts_of_legible_size():
    names = [f"data set {place}" for place in range(16)]
    columns = tuple(replace(compared().columns[0], name=name) for name in names)
    text = files_of(replace(compared(), columns=columns))["data_sets-table.tex"]
    parts = text.split(r"\begin{tabular}")[1:]
    heads = [re.search(r"^Arm & (.*) \\\\$", part, re.MULTILINE) for part in parts]

    assert len(parts) == text.count(r"\resizebox") == text.count(r"\par\medskip") + 1 == 4
    titles = [title for head in heads if head for title in head[1].split(" & ")]
    assert titles == [*names, "Overall (points)", "Verdict", "Better", "Undecided", "Worse"]
    rows = [re.findall(r"^(plain|em|uniform|cnn)\b", part, re.MULTILINE) for part in parts]
    assert rows == [[*WRONG]] * 3 + [["em", "uniform", "cnn"]]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_shows_every_data_set_at_any_width(width):
    table = table_of(compared())
    console = Console(width=width, file=io.StringIO(), record=True)
    for seen in for_terminal([table]):
        console.print(seen)
    text = console.export_text()

    assert max(map(len, text.splitlines())) <= width
    assert "Left out" not in text
    for row in table.rows:
        for cell in row[1:]:
            assert cell.text in text
    assert all(title in text for title in ("MNIST", "KMNIST", "SVHN", "Verdict", "Worse"))
    num_parts = sum(line.split()[:1] == ["Arm"] for line in text.splitlines())
    assert num_parts == {60: 4, 80: 2, 120: 2, 200: 1}[width]


def report_of(section: Section) -> Report:
    provenance = Provenance("across", "", "", (), 0)
    return Report(provenance, (section,), Section("trials", "trials"), Section("cost", "cost"))


def test_a_page_has_heads_over_the_columns_and_the_figure():
    page = Page(results_page(report_of(section_of(compared()))))
    heads = [attributes for tag, attributes in page.elements if attributes.get("colspan")]

    titles = next(row for row in page.rows if row[:1] == ["Arm"])
    assert sum(int(head["colspan"]) for head in heads) == len(titles)
    assert "Test error (%)" in page.texts
    assert any(tag == "svg" for tag, _ in page.elements)


def test_hostile_names_are_shown_and_never_obeyed():
    names = ["plain", *HOSTILE[:3]]
    wrong = {name: (4 + place, 5, 6) for place, name in enumerate(names)}
    columns = tuple(column_of(name, wrong) for name in HOSTILE)
    overall = tuple(overall_of(name, 0.01) for name in names[1:])
    ranks = AverageRanks(dict.fromkeys(names, 2.0), 0.5, dict.fromkeys(names, 1.0), 1.0, (), 3)
    results = DataSetResults(columns, "points", False, overall, ranks=ranks)
    section = section_of(results, DataSetsTable(published={HOSTILE[0]: {HOSTILE[1]: 1.0}}))

    page = Page(results_page(report_of(section)))
    assert not [tag for tag, _ in page.elements if tag == "script"]
    files = dict(section_files(section))
    for name in ("data_sets.tex", "data_sets-table.tex"):
        assert files[name].isascii()
        assert b"\\input{" not in files[name]
    assert len(rows_of_csv(files["data_sets-long.csv"].decode())) == len(names) * len(columns)
    assert files["data_sets.png"].startswith(b"\x89PNG")


def test_the_primary_figure_of_an_evaluation_may_stand_in_place_of_the_test_error():
    declared = DataSetsTable(primary_of="shifts")
    assert table_of(compared(), declared).title == (
        "across: primary figure of shifts by arm and data set"
    )
    accuracy = Metric(name="accuracy", unit="fraction", direction="larger", split="test")
    table = table_of(compared(), declared, metric=accuracy)
    assert table.title == "across: 1 minus accuracy of shifts by arm and data set"
    assert table.columns[1].group == "1 minus accuracy of shifts (%)"


def test_the_forest_has_a_panel_an_arm_with_the_overall_diamond_below():
    from matplotlib.colors import same_color

    with figure_style():
        figure = forest_figure(compared(), "across", TEST_ERROR)
        em, uniform, cnn = (axes for axes in figure.axes if axes.get_visible())

    labels = [label.get_text() for label in em.get_yticklabels()]
    assert labels == [*DATA_SETS, "Overall"]
    titles = [axes.get_title(loc="left") for axes in (em, uniform, cnn)]
    assert titles == ["em", "uniform", "cnn"]
    diamonds = [axes.patches for axes in (em, uniform, cnn)]
    assert [len(patches) for patches in diamonds] == [1, 1, 0]
    across = [corner for corner, _ in diamonds[0][0].get_xy()]  # type: ignore[attr-defined]
    assert across[:3] == pytest.approx([-1.83, -1.23, -0.63])
    assert not same_color(diamonds[0][0].get_facecolor(), "white")
    assert same_color(diamonds[1][0].get_facecolor(), "white")
    texts = [[text.get_text() for text in axes.texts] for axes in (em, uniform, cnn)]
    assert texts == [[], ["as the baseline"], ["no result", "none: see the table"]]
    points = [line for line in em.lines if line.get_marker() == "o"]
    assert [same_color(point.get_markerfacecolor(), "white") for point in points] == [
        False,
        True,
        False,
    ]
    means = [column.cells["em"].difference.mean or 0 for column in compared().columns]
    assert [point.get_xdata()[0] for point in points] == [100 * mean for mean in means]


def test_a_forest_of_relative_differences_divides_by_the_baselines_error():
    percent = overall_of(
        "em", -0.02, scale="percent", change=Interval(3, -0.2, -0.27, -0.12), simultaneous=None
    )
    with figure_style():
        figure = forest_figure(
            DataSetResults(compared().columns, "percent", False, (percent,)),
            "across",
            TEST_ERROR,
        )
    points = [line for line in figure.axes[0].lines if line.get_marker() == "o"]

    assert points[0].get_xdata()[0] == pytest.approx(100 * (14 / 24 - 1))
    assert figure.axes[0].patches[0].get_xy()[0][0] == pytest.approx(-27)  # type: ignore[attr-defined]
    assert figure.axes[0].get_xlabel() == "Relative difference (%)"


@pytest.mark.parametrize(
    ("results", "text"),
    [
        (compared(), "the same for all points, or diamonds, together"),
        (one_arm(), "the same, as wide as verdicts need"),
        (replace(compared(), overall=()), "the same for all points together"),
    ],
)
def test_the_legend_of_a_forest_explains_what_is_drawn(results, text):
    with figure_style():
        (legend,) = forest_figure(results, "across", TEST_ERROR).legends

    texts = [each.get_text() for each in legend.get_texts()]
    assert texts[1] == text
    assert any("over all" in each for each in texts) is bool(results.overall)


def test_a_forest_without_any_difference_has_no_legend():
    with figure_style():
        figure = forest_figure(judged({"plain": (8,), "em": ()}), "across", TEST_ERROR)

    assert not figure.legends
    assert [text.get_text() for text in figure.axes[0].texts] == ["no result"] * 2


def test_a_forest_without_verdicts_over_all_still_shows_the_cells():
    with figure_style():
        figure = forest_figure(replace(compared(), overall=()), "across", TEST_ERROR)

    assert [axes.get_title(loc="left") for axes in figure.axes] == ["em", "uniform", "cnn"]


def test_ranks_are_drawn_from_the_best_with_what_is_critical():
    ranks = AverageRanks(
        {"plain": 2.5, "em": 1.0, "uniform": 2.4}, 0.01, {"em": 0.03, "uniform": 1.0}, 1.2, (), 3
    )
    results = replace(compared(), ranks=ranks)
    with figure_style():
        (axes,) = ranks_figure(results, "across").axes

    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["em", "uniform", "plain"]
    assert [label.get_fontweight() for label in labels] == ["bold", "normal", "normal"]
    assert axes.patches[0].get_extents().width > 0
    assert axes.patches[0].get_x() == pytest.approx(1.3)  # type: ignore[attr-defined]
    section = section_of(results)
    assert [figure.name for figure in section.figures] == ["data_sets", "data_sets-ranks"]
    assert row_of(section.tables[0], "em")["Average rank"] == "1.00"
    assert any("em (p < .05, Holm" in note for note in section.tables[0].notes)
