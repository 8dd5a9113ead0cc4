"""`capsweep report` asked whether its files are fresh, and asked for two sweeps side by side."""

import shutil
from pathlib import Path

import pytest

from sweeps.tracking.opening import open_store
from tests.sweeps.aggregation.known_sweep import manifest_of
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import publish_manifest


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Path:
    """A storage folder with two small sweeps, launched and not trained."""
    folder = tmp_path_factory.mktemp("small")
    shutil.copy(empty_database, folder)
    writer = open_store(f"sqlite:///{folder / 'mlflow.db'}", folder).writer()
    for name in ("known", "other"):
        publish_manifest(writer, manifest_of(["a", "b"], sweep=name))
    return folder


@pytest.fixture
def report(small_store: Path, tmp_path: Path, shell: Shell) -> Shell:
    shutil.copytree(small_store, tmp_path / "capsweep-store")
    return shell


def test_a_check_names_what_is_missing_then_nothing_then_what_is_stale(report: Shell) -> None:
    before = report.files()
    missing = report("report", "known", "--check")
    assert missing.code == 1
    assert "missing: reports/known/ablation.md" in missing.out
    assert "missing: reports/known/report.html" in missing.out
    assert report.files().keys() == before.keys()

    assert report("report", "known").code == 0
    fresh = report("report", "known", "--check")
    assert fresh.code == 0
    assert fresh.out == "All 14 files of the report follow from the records.\n"

    (report.folder / "reports" / "known" / "ablation.csv").write_text("a,b")
    stale = report("report", "known", "--check")
    assert stale.code == 1
    assert stale.out.splitlines() == [
        "stale: reports/known/ablation.csv",
        "1 of 14 files do not follow from the records: make them again: capsweep report known.",
    ]


def test_two_sweeps_are_shown_side_by_side(report: Shell) -> None:
    answer = report("report", "known", "--compare", "other")
    assert answer.code == 0
    assert "known beside other: test error by arm" in answer.out
    names = {path.name for path in (report.folder / "reports" / "known").iterdir()}
    assert names == {f"compare-other.{ending}" for ending in ("md", "csv", "tex")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--check", "--compare", "other"], "give one of them"),
        (["--compare", "known"], "compared with itself"),
        (["--compare", "others"], "no sweep 'others'"),
        (["--compare", ""], "no sweep ''"),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(
    arguments: list[str], sentence: str, report: Shell
) -> None:
    assert sentence in report.refused("report", "known", *arguments)
