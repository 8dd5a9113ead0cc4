"""An arm whose trials have alarms is marked in its row, and they are said where people look."""

import csv
import io
from typing import Any

import pytest

from search_spaces.tables import PublishedTable
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.page.html_page import results_page
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.confirmation_table import confirmation_table
from sweeps.aggregation.tables.grid_table import grid_table
from sweeps.aggregation.tables.published_table import published_table
from sweeps.execution.launch.result import SweepResult
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of
from tests.sweeps.aggregation.rendering.test_page import Page, histories
from tests.sweeps.aggregation.small_search import confirmed_search
from tests.sweeps.aggregation.tables.test_grid import spec_of

DEAD = "all class capsules are dead."
SATURATED = "1 of 10 class capsules is saturated."
ARMS = ("cnn", "capsules", "still")

Known = tuple[Manifest, dict[str, TrialRecord]]


def known(alarms: dict[tuple[str, int], tuple[str, ...]]) -> Known:
    trials = (
        finished(arm, seed, 5 + seed + place, warnings=alarms.get((arm, seed), ()))
        for place, arm in enumerate(ARMS)
        for seed in range(3)
    )
    return manifest_of(ARMS), by_key(*trials)


SOUND = known({})
ILL = known({("still", 0): (DEAD,), ("still", 2): (DEAD, SATURATED), ("capsules", 1): (DEAD,)})


def ablation(sweep: Known) -> tuple[Table, Table]:
    table = ablation_table(*sweep)
    return table, table.for_programs or table


def published(sweep: Known) -> tuple[Table, Table]:
    rows = [{"labels": [name], "arm": name} for name in ARMS]
    content = {"name": "t", "title": "T", "headings": ["Arm"], "rows": rows}
    table = published_table(*sweep, PublishedTable.model_validate(content))
    return table, table


def grid(sweep: Known) -> tuple[Table, Table]:
    rows = [{"label": name, "cells": [{"arm": name}]} for name in ARMS]
    return grid_table(*sweep, spec_of(rows, columns=["Error"]))


def confirmation(sweep: Known) -> tuple[Table, Table]:
    """Return the table of a search of which one arm that it shows is ill in two trials."""
    manifest, records = confirmed_search()
    if sweep is ILL:
        shown = [t for t in records.values() if t.arm == "proposal 1" and t.seed > 100]
        ill = [t.model_copy(update={"warnings": (DEAD,)}) for t in shown[:2]]
        records |= by_key(*ill)
    table = confirmation_table(manifest, records)
    return table, table


MAKERS = [ablation, published, grid, confirmation]


@pytest.mark.parametrize("make", MAKERS)
def test_an_ill_arm_is_marked_in_its_row_and_the_mark_is_explained_first(make: Any) -> None:
    table, for_programs = make(ILL)
    marked = [row for row in table.rows if any(cell.text.endswith(" §") for cell in row)]
    assert len(marked) == (1 if make is confirmation else 2)
    assert table.main_notes[0] == table.notes[0]
    assert table.notes[0].startswith("§ Health: ")
    assert f", 2 of 3 trials: {DEAD}" in table.notes[0]
    assert "§" in to_markdown(table)
    assert r"\S{}" in to_latex(table)
    numbers = [row["num_ill"] for row in csv.DictReader(io.StringIO(to_csv(for_programs)))]
    assert "2" in numbers
    assert "0" in numbers


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_without_ill_arms_has_no_mark_and_no_column(make: Any) -> None:
    for table in make(SOUND):
        assert "num_ill" not in to_csv(table)
        assert "§" not in to_markdown(table)


def test_of_many_ill_arms_the_first_are_said_and_the_others_counted() -> None:
    names = [f"arm {n}" for n in range(9)]
    trials = [finished(arm, 0, n, warnings=(DEAD,)) for n, arm in enumerate(names)]
    table = ablation_table(manifest_of(names, seeds=(0,)), by_key(*trials))
    first = " ".join(f"arm {n}, 1 of 1 trials: {DEAD}" for n in range(3))
    assert table.notes[0] == f"§ Health: {first} 6 more arms: see the warnings in trials.csv."


def test_what_is_ill_stands_beside_the_answer_of_the_page_and_in_the_last_lines_of_a_run() -> None:
    manifest, records = ILL
    report = make_report(Results(manifest, records, histories, lambda _: {}))
    sentences = (
        f"Health: capsules, 1 of 3 trials: {DEAD}",
        f"Health: still, 2 of 3 trials: {DEAD}",
    )
    assert report.health == sentences
    head, _, _ = results_page(report).partition(b"<nav")
    header = head.decode().partition("<header>")[2]
    for sentence in sentences:
        assert f'<p class="warning">{sentence}</p>' in header
        assert sentence in Page(results_page(report)).text
    result = SweepResult("known", 9, 9, 9, 0, report=report)
    assert result.sentences[-2:] == sentences


def test_a_report_of_sound_trials_says_nothing_of_health() -> None:
    manifest, records = SOUND
    report = make_report(Results(manifest, records, histories, lambda _: {}))
    assert b"Health:" not in results_page(report)
    assert SweepResult("known", 9, 9, 9, 0, report=report).sentences == ()
