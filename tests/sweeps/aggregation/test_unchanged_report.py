"""A report is made anew unless nothing that it was made from has changed, nor its files."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from search_spaces.tables import OwnTable
from sweeps.aggregation.rendering.result_files import make_folder, write_result
from sweeps.aggregation.report import report, unchanged
from sweeps.aggregation.report.unchanged import ShownReport, report_to_show
from sweeps.storage import file_state
from sweeps.storage.file_state import state_of
from sweeps.storage.locations import user_cache
from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN

SWEEP = "small_design"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a true report with its files, made once: to draw one takes seconds."""
    folder = tmp_path_factory.mktemp("made")
    FINISHED_DESIGN.unpacked(folder)
    return report(SWEEP, storage=str(folder / STORAGE), reports=folder / "reports")


@pytest.fixture
def here(tmp_path, monkeypatch, made):
    """Stand in a folder with a finished sweep, with a cache of its own, where nothing is new."""

    def make_again(*_, style=None, **__):
        folder = make_folder(Path("reports"), SWEEP)
        paths = tuple(folder / path.name for path in made.paths)
        for path, true in zip(paths, made.paths, strict=True):
            write_result(path, true.read_bytes())
        if style:
            (folder / "ablation-paper.md").write_text("in style")
        if style == "default":
            (folder / "ablation-paper.md").unlink()
        return replace(made, paths=paths)

    FINISHED_DESIGN.unpacked(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(file_state, "_TOO_NEW_NS", 0)
    monkeypatch.setattr(unchanged, "report", make_again)
    return tmp_path


def shown(style=None, tables=()) -> ShownReport:
    return report_to_show(SWEEP, None, STORAGE, style=style, tables=tables)


def files(made: ShownReport) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in made.paths}


def test_a_report_that_stands_is_not_made_and_shows_the_same(here, monkeypatch):
    first = shown()
    written = files(first)
    monkeypatch.delattr(unchanged, "report")  # which would make it
    again = shown()

    assert (first.is_new, again.is_new) == (True, False)
    assert (again.shown, again.mixtures, again.left_out) == (
        first.shown,
        first.mixtures,
        first.left_out,
    )
    assert again.paths == first.paths
    assert files(again) == written


def test_a_report_that_stands_is_kept_with_its_run_where_that_was_lost(here):
    shown()
    copies = list(here.rglob("artifacts/*/artifacts/report/ablation.md"))
    assert len(copies) == 1
    copies[0].unlink()

    assert not shown().is_new
    assert copies[0].is_file()


def better(_: Path) -> None:
    with closing(sqlite3.connect(Path(STORAGE, "mlflow.db"))) as database, database:
        database.execute("UPDATE latest_metrics SET value = 0.5 WHERE key LIKE '%error%'")


def other_predictions(here: Path) -> None:
    path = next(here.rglob("artifacts/*/artifacts/predictions.safetensors"))
    path.write_bytes(path.read_bytes() + b" ")


def no_predictions(here: Path) -> None:
    next(here.rglob("artifacts/*/artifacts/predictions.safetensors")).unlink()


def touched(here: Path) -> None:
    (here / "reports" / SWEEP / "ablation.md").write_text("better")


def link(here: Path) -> None:
    path = here / "reports" / SWEEP / "ablation.md"
    (here / "same.md").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(here / "same.md")


def missing(here: Path) -> None:
    (here / "reports" / SWEEP / "report.html").unlink()


def damaged(here: Path) -> None:
    [kept] = (user_cache() / "reports").iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])


@pytest.mark.parametrize(
    "change", [better, other_predictions, no_predictions, touched, link, missing, damaged]
)
def test_a_report_is_made_anew_after(here, made, change):
    shown()
    assert not shown().is_new
    change(here)
    again = shown()

    assert again.is_new
    assert not any(path.is_symlink() for path in again.paths)
    assert files(again) == {path.name: path.read_bytes() for path in made.paths}
    assert not shown().is_new


def test_other_code_or_another_style_makes_it_anew(here, monkeypatch):
    shown()
    assert shown(style="paper").is_new
    assert not shown().is_new, "it stays in its style"
    assert shown(style="default").is_new

    shown()
    monkeypatch.setattr(unchanged, "_OURS", ("capsmodel",))
    assert shown().is_new


def test_tables_of_the_users_own_and_a_server_are_made_anew_each_time(here, monkeypatch):
    shown()
    assert shown(tables=(OwnTable,)).is_new
    monkeypatch.setattr(unchanged, "embedded_state", lambda *_: None)  # as of a server
    assert shown().is_new


def test_what_has_just_changed_has_no_state(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("new")
    monkeypatch.setattr(file_state, "_TOO_NEW_NS", 10**18)  # however busy the machine
    assert state_of([tmp_path]) is None
    monkeypatch.setattr(file_state, "_TOO_NEW_NS", 0)
    before = state_of([tmp_path])
    assert before == state_of([tmp_path])

    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "page").write_text("made of it")
    assert state_of([tmp_path], {"report"}) == before
    assert state_of([tmp_path]) != before
    assert state_of([tmp_path / "nothing"]) == state_of([])

    (tmp_path / "link").symlink_to(tmp_path / "file")
    led_to = state_of([tmp_path / "link"])
    (tmp_path / "file").write_text("newer")
    assert state_of([tmp_path / "link"]) != led_to
