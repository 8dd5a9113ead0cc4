"""A published table, made small, on the real images."""

import os

import pytest

from tests.end_to_end.command import Terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("CAPSWEEP_DATA" not in os.environ, reason="CAPSWEEP_DATA holds no MNIST"),
]
SMALL = ("--epochs", "1", "--seeds", "0", "--set", "data.fraction=0.005")


def test_the_table_of_the_first_paper_has_its_rows_ours_and_the_published_figures(
    terminal: Terminal,
) -> None:
    ended = terminal.run("run", "sabour2017_table1", *SMALL)
    assert ended.code == 0, ended.explained()

    reports = terminal.folder / "reports" / "sabour2017_table1"
    lines = (reports / "table1.md").read_text(encoding="utf-8").splitlines()
    assert "data.fraction 0.005 instead of 1.0" in lines[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    titles, _, *rows = rows
    place = {title: number for number, title in enumerate(titles)}
    published = [row[place["Published (%)"]] for row in rows]
    assert [row[:3] for row in rows] == [
        ["Baseline", "-", "-"],
        ["CapsNet", "1", "no"],
        ["CapsNet", "1", "yes"],
        ["CapsNet", "3", "no"],
        ["CapsNet", "3", "yes"],
    ]
    assert [text.split()[0] for text in published] == ["0.39", "0.34", "0.29", "0.35", "0.25"]
    assert all(0 <= float(row[place["Ours (%)"]]) <= 100 for row in rows)
    assert (reports / "curves.png").stat().st_size > 1000
