"""What a prompt and a notebook show of results: one line, and small HTML that runs nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.rendering.notebook_pieces import MOST_ROWS, Grid, Shown, block, summary
from sweeps.aggregation.rendering.table import Cell, Column, Table, data_table, text_cell
from sweeps.aggregation.trial_view import show
from sweeps.execution.launch.result import FailedTrial, SweepResult
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import (
    finished,
    manifest_of,
    put_config,
    put_sweep,
    put_trial,
    trial_key,
    unfinished,
)
from tests.sweeps.aggregation.rendering.seen_html import TAGS, Seen, checked

EVIL = "</td><script>alert(1)</script> & \"x\" 'y' \x1b[31m\u202e\nend"


@pytest.fixture
def evil_store(store):
    """Return a store whose texts are as bad as texts can be."""
    put_sweep(store, manifest_of([EVIL, "b"], [0, 1], description=EVIL), [])
    for seed in (0, 1):
        record_id = put_trial(store, finished(EVIL, seed, 6 + seed))
        put_config(store, record_id, {"model": {"kind": EVIL}, EVIL: EVIL})
    put_trial(store, unfinished("b", 0, Outcome.FAILED, EVIL))
    return store


def test_a_best_configuration_shows_its_value_settings_and_trials(evil_store):
    best = best_configs("known", evil_store)[0]
    seen = checked(best)

    assert "validation error 1.08 % (sd 0.12 %), 2 of 2 trials" in repr(best)
    assert "<script>alert(1)</script>" in seen.text, "as text"
    assert trial_key(EVIL, 0) in seen.text
    assert "test" not in repr(best).replace(EVIL, "")


def test_a_trial_shows_how_it_went(evil_store):
    view = show(trial_key(EVIL, 0), evil_store)
    seen = checked(view)

    assert "seed 0, finished, validation error 1.00 %, test error 1.67 %>" in repr(view)
    assert "model.kind" not in seen.text
    assert "15" in seen.text
    failed = checked(show(trial_key("b", 0), evil_store))
    assert "failed: </td><script>" in failed.text


def test_a_table_shows_what_a_reader_sees_of_it():
    table = Table(
        name="known",
        title=EVIL,
        columns=(Column(EVIL, ("a",), align="left"), Column("n", ("n",)), Column("", ("x",))),
        rows=((text_cell(EVIL), Cell("3", (3,), is_bold=True), Cell("", (None,))),),
        lead=EVIL,
        notes=(EVIL,),
    )
    seen = checked(table)

    assert repr(table).startswith("<Table known: ")
    assert repr(table).endswith(", 1 row>")
    assert seen.tags.count("strong") == 2
    assert "(1) " in seen.text


def test_a_long_table_says_how_many_rows_it_leaves_out():
    table = data_table("long", ["a"], [[n] for n in range(1000)])

    seen = checked(table)
    assert f"and {1000 - MOST_ROWS} more rows" in seen.text
    assert seen.tags.count("tr") == MOST_ROWS + 1


def report_of(table: Table) -> Report:
    sections = (Section("a", "ablation", (table,)),)
    provenance = Provenance("known", EVIL, "", (), 3)
    return Report(provenance, sections, sections[0], sections[0], left_out=(EVIL,))


def test_a_report_and_a_result_show_their_tables(tmp_path):
    report = report_of(data_table("known", ["a"], [[1]]))
    assert repr(report) == "<Report known: 1 table, 0 figures, 3 records>"
    checked(report)

    failure = FailedTrial(EVIL, 3, EVIL, tmp_path / "log.txt")
    result = SweepResult("known", 4, 3, 2, 3, report=report, failures=(failure,))
    seen = checked(result)
    expected = "<SweepResult known: 2 trained now, 3 of 4 cells filled, 1 failed, exit code 3>"
    assert repr(result) == expected
    assert "log.txt" in seen.text
    assert "the same call resumes it" in checked(SweepResult("known", 4, 3, 2, 130)).text


@given(st.lists(st.text(), min_size=1, max_size=3), st.text())
def test_no_text_gets_out_of_its_place(texts: list[str], title: str) -> None:
    rows = [[Shown(text, is_bold=True) for text in texts]]
    seen = Seen(block(title, Grid(texts, rows).html))

    assert not seen.open
    assert seen.tags.count("td") == len(texts)
    assert {*seen.tags} <= TAGS
    assert summary("Table", title, *texts).isprintable()
