"""Published tables, made small: on the real images, and on drawn ones."""

import os

import pytest

from tests.end_to_end.command import Terminal

pytestmark = pytest.mark.slow
SMALL = ("--epochs", "1", "--seeds", "0")
SMALL_IMAGES = ("--set", "data.fraction=0.005")
SMALL_VIEWS = (
    "data.fraction=0.001",
    "model.conv_channels=4",
    "model.primary_types=2",
    "model.first_types=2",
    "model.second_types=2",
    "model.pose_size=4",
)


@pytest.mark.nightly  # the other paper's table is of the same kind, and README trains on images
@pytest.mark.skipif("CAPSWEEP_DATA" not in os.environ, reason="CAPSWEEP_DATA holds no MNIST")
def test_the_table_of_the_first_paper_has_its_rows_ours_and_the_published_figures(
    terminal: Terminal,
) -> None:
    ended = terminal.run("run", "sabour2017_table1", *SMALL, *SMALL_IMAGES)
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


def test_the_table_of_matrix_capsules_begins_with_which_data_each_figure_is_of(
    terminal: Terminal,
) -> None:
    settings = [word for setting in SMALL_VIEWS for word in ("--set", setting)]
    ended = terminal.run("run", "hinton2018_table1", *SMALL, *settings, "--engine", "inline")
    assert ended.code == 0, ended.explained()

    report = terminal.folder / "reports" / "hinton2018_table1" / "table1.md"
    lines = report.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("The sweep was not launched as declared: ")
    assert lines[2].startswith("# Ours on viewpoints, published on smallNORB.")
    reported = "Data: viewpoints, fraction 0.001; the published figures are of smallNORB."
    assert any(reported in line for line in lines[:6])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    titles, _, *rows = rows
    ours, published = titles.index("Ours (%)"), titles.index("Published (%)")
    figures = [9.7, 2.2, 1.8, 3.9, 2.9, 2.6, 3.2, 3.2, 5.8, 5.2, 2.56]
    assert [float(row[published].split()[0]) for row in rows] == figures
    assert all(0 <= float(row[ours].split()[0]) <= 100 for row in rows[:10])
