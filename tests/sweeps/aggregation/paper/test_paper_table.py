from dataclasses import replace
from typing import Any

import pytest

from sweeps.aggregation.rendering.latex import to_latex_fragment
from sweeps.aggregation.rendering.table import MINUS, Table
from sweeps.aggregation.report import make_report
from sweeps.aggregation.results.compared_arms import compared_arms
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.paper_table import paper_table
from sweeps.records.errors import BadInput
from tests.sweeps.aggregation.known_sweep import known_sweep, manifest_of
from tests.sweeps.aggregation.paper.judged_sweep import WRONG, judged_results, no_histories
from tests.sweeps.aggregation.small_search import confirmed_search, search_of

PUBLISHED = {
    "kind": "published",
    "name": "table1",
    "title": "Table 1",
    "headings": ["Method"],
    "rows": [{"labels": ["A"], "arm": "plain", "published": 0.25}],
}


def table_of(**more: Any) -> Table:
    results = judged_results(**more)
    return paper_table(results.manifest, compared_arms(results))


def texts(table: Table) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_a_paper_prints_mean_and_standard_deviation_and_the_number_of_seeds() -> None:
    rows = texts(table_of())
    assert rows["plain (baseline)"][:2] == ["1.94 (0.28)", "3"]
    assert rows["worse"][:2] == ["19.17 (0.73)", "3"]


def test_it_says_which_the_figures_are() -> None:
    lead = table_of().lead
    assert "mean (standard deviation) over n seeds" in lead
    assert "neither a standard error nor a confidence interval" in lead


def test_an_interval_stands_in_square_brackets() -> None:
    rows = texts(table_of())
    difference = rows["worse"][2]
    assert difference.startswith("+17.22 [+")
    assert "±" not in difference
    assert rows["plain (baseline)"][2] == ""


def test_what_differs_is_bold_and_nothing_else() -> None:
    bold = {row[0].text: [cell.is_bold for cell in row] for row in table_of().rows}
    assert any(bold["worse"])
    assert not any(bold["like it"])
    assert not any(bold["plain (baseline)"])


def test_an_accuracy_stands_where_the_papers_own_table_prints_it() -> None:
    published = PUBLISHED | {"paper_prints": "accuracy"}
    table = table_of(tables=[{"kind": "ablation"}, published])
    rows = texts(table)
    assert rows["plain (baseline)"][0] == "98.06 (0.28)"
    low, high = rows["worse"][2].replace(MINUS, "-").removesuffix("]").split(", ")
    mean, low = low.split(" [")
    assert float(low) < float(mean) == -17.22 < float(high)
    assert "accuracy" in table.title
    assert table.lead.startswith("Test accuracy in percent (100 minus the error)")


def test_an_error_stands_where_it_does_not() -> None:
    assert "error" in table_of(tables=[{"kind": "ablation"}, PUBLISHED]).title


def test_one_seed_has_no_spread() -> None:
    results = judged_results({"plain": (6,), "worse": (66,)}, seeds=[0])
    rows = texts(paper_table(results.manifest, compared_arms(results)))
    assert rows["worse"] == ["18.33", "1", "+16.67", ""]


def test_every_kind_of_cell_has_its_place() -> None:
    manifest, records = known_sweep()
    table = paper_table(manifest, compared_arms(Results(manifest, records, no_histories)))
    rows = texts(table)
    assert "one round = uniform" in rows
    assert rows["late"][0] == ""
    assert rows["wild"][:2] == ["8.33", "1"]
    assert any("nothing is bold" in note for note in table.notes)


def test_added_seeds_and_identical_arms_are_said_as_in_the_other_table() -> None:
    results = judged_results()
    planned = results.manifest.model_copy(update={"planned_seeds": (0,)})
    notes = paper_table(planned, compared_arms(replace(results, manifest=planned))).notes
    assert [note for note in notes if note.startswith("Seeds other than 0 were added after look")]
    manifest, records = known_sweep()
    notes = paper_table(manifest, compared_arms(Results(manifest, records, no_histories))).notes
    assert [note for note in notes if note.startswith("one round and uniform: losses and errors")]


def test_a_fragment_is_a_table_alone() -> None:
    fragment = to_latex_fragment(table_of())
    lines = fragment.splitlines()
    code = [line for line in lines if not line.startswith("%")]
    assert code[0].startswith(r"\begin{tabular}{")
    assert code[-1] == r"\end{tabular}"
    assert fragment.count(r"\begin{") == 1
    assert not {"documentclass", "usepackage", "caption"} & set("\\".join(code).split("\\"))
    assert [code.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    rows = [line for line in code if line.endswith(r"\\")]
    assert len(rows) == 1 + len(WRONG)
    assert {row.count(" & ") for row in rows} == {3}


def test_the_default_style_has_no_such_table() -> None:
    results = judged_results()
    assert [table.name for table in make_report(results).tables] == ["ablation"]
    report = make_report(results, style="paper")
    assert [table.name for table in report.tables] == ["ablation", "ablation-paper"]
    assert [table.name for table in report.shown] == ["ablation-paper"]


def test_a_style_that_is_not_there_gets_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"Unknown style 'papre'. Did you mean 'paper'\?"):
        make_report(judged_results(), style="papre")  # pyright: ignore[reportArgumentType]


def test_of_a_search_a_paper_prints_the_arms_that_ran_again() -> None:
    manifest, records = confirmed_search()
    table = paper_table(manifest, compared_arms(Results(manifest, records, no_histories)))
    assert manifest.search is not None
    assert manifest.search.confirmation is not None
    arms = manifest.search.confirmation.arms or ()
    assert {*arms} <= {row[0].text for row in table.rows}
    assert {row[0].text for row in table.rows if row[3].text} == {*arms}


def test_of_a_search_without_fresh_seeds_a_paper_prints_nothing() -> None:
    manifest = search_of(num_proposals=1)
    report = make_report(Results(manifest, {}, no_histories), style="paper")
    assert "ablation-paper" not in [table.name for table in report.tables]
    assert report.shown != ()
    assert any("no arm again on fresh seeds" in sentence for sentence in report.left_out)


def test_a_manifest_without_the_word_is_written_as_before() -> None:
    manifest = manifest_of(["plain"], [0], tables=[PUBLISHED])
    assert "paper_prints" not in manifest.model_dump_json()
