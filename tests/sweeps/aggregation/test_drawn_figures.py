"""A launch that trains nothing draws no figure again, and writes the files that drawing would."""

from pathlib import Path

import pytest

from sweeps.aggregation.rendering import contents
from sweeps.aggregation.report import drawn_figures, write_report
from tests.sweeps.aggregation.known_sweep import known_sweep, put_sweep

IMAGES = ["ablation.png", "ablation.svg"]


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the formats that were drawn, one image for each."""
    formats: list[str] = []

    def draw(_: object, image_format: str) -> bytes:
        formats.append(image_format)
        return f"<svg>{len(formats)}</svg>".encode()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(contents, "drawn", draw)
    return formats


@pytest.fixture
def folder(store, tmp_path):
    """Return the folder of a report that was just written."""
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    return launched(store, tmp_path)


def launched(store, tmp_path, **options):
    write_report(store, "known", tmp_path / "reports", reuses_figures=True, **options)
    return tmp_path / "reports" / "known"


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_figures_of_the_same_inputs_are_drawn_once(store, folder, drawn, tmp_path):
    before, num_drawn = files(folder), len(drawn)
    assert num_drawn
    launched(store, tmp_path)
    assert (files(folder), len(drawn)) == (before, num_drawn)


def test_a_file_that_was_edited_or_removed_is_made_again(store, folder, drawn, tmp_path):
    before, num_drawn = files(folder), len(drawn)
    for name in ("ablation.md", "ablation.svg", "report.html"):
        (folder / name).write_text("better")
    for name in ("ablation.png", "trials.csv"):
        (folder / name).unlink()
    launched(store, tmp_path)
    assert (files(folder), len(drawn)) == (before, num_drawn)


def test_other_results_are_drawn_anew(store, folder, drawn, tmp_path):
    before, num_drawn = files(folder), len(drawn)
    manifest, _ = known_sweep()
    put_sweep(store, manifest.model_copy(update={"margin_points": 2.0}), ())
    launched(store, tmp_path)
    assert len(drawn) > num_drawn
    assert all(files(folder)[name] != before[name] for name in IMAGES)


@pytest.mark.parametrize("fact", ["code_digest", "version"])
def test_other_code_and_other_libraries_draw_anew(
    store, folder, drawn, tmp_path, monkeypatch, fact
):
    num_drawn = len(drawn)
    monkeypatch.setattr(drawn_figures, fact, lambda *_: "other")
    launched(store, tmp_path)
    assert len(drawn) == 2 * num_drawn


@pytest.mark.parametrize("harm", ["cut off", "altered", "removed", "closed"])
def test_a_cache_that_cannot_be_read_or_written_is_done_without(
    store, folder, drawn, tmp_path, harm
):
    num_drawn = len(drawn)
    (cache,) = (tmp_path / "cache" / "capsweep" / "figures").iterdir()
    content = cache.read_bytes()
    if harm == "cut off":
        cache.write_bytes(content[:-1])
    elif harm == "altered":
        cache.write_bytes(content.replace(b"PHN2Zz4x", b"PHN2Zz4y"))
        assert cache.read_bytes() != content
    else:
        cache.unlink()
    if harm == "closed":
        cache.parent.rmdir()
        cache.parent.write_text("no folder")
    launched(store, tmp_path)
    assert len(drawn) == 2 * num_drawn
    launched(store, tmp_path)
    assert len(drawn) == (3 if harm == "closed" else 2) * num_drawn


def test_another_folder_of_reports_has_figures_of_its_own(store, folder, drawn, tmp_path):
    num_drawn = len(drawn)
    launched(store, tmp_path / "elsewhere")
    launched(store, tmp_path)
    assert len(drawn) == 2 * num_drawn


def test_asked_for_a_report_all_is_drawn(store, folder, drawn, tmp_path):
    num_drawn = len(drawn)
    write_report(store, "known", tmp_path / "reports")
    assert len(drawn) == 2 * num_drawn
