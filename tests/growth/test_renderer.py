"""A format that the package does not know costs one file: the renderer is handed in."""

import json
from pathlib import Path

import pytest

import sweeps
from tests.sweeps.aggregation.known_sweep import known_sweep, put_sweep
from tests.sweeps.tracking.memory_store import MemoryStore


def as_json(table: sweeps.Table) -> bytes:
    fields = [field for column in table.columns for field in column.fields]
    rows = [[value for cell in row for value in cell.values] for row in table.rows]
    return json.dumps([dict(zip(fields, row, strict=True)) for row in rows]).encode()


def caption(figure: sweeps.Figure) -> bytes:
    return figure.draw().axes[0].get_title(loc="left").encode()


def contents(report: sweeps.Report) -> bytes:
    return "\n".join(table.title for table in report.tables).encode()


RENDERERS = {
    "json": sweeps.TableRenderer("json", as_json, reader="programs"),
    "caption": sweeps.FigureRenderer("txt", caption),
    "contents": sweeps.ReportRenderer("txt", contents),
}


@pytest.fixture
def store() -> MemoryStore:
    """Return a store in which a sweep has finished."""
    store = MemoryStore()
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    return store


def test_a_renderer_that_is_handed_in_makes_its_files_beside_the_others(
    tmp_path: Path, store: MemoryStore
) -> None:
    plain = sweeps.report("known", store, reports=tmp_path / "plain")
    report = sweeps.report("known", store, reports=tmp_path / "more", renderers=RENDERERS)
    files = {path.name: path.read_bytes() for path in report.paths}
    for path in plain.paths:
        assert files.pop(path.name) == path.read_bytes()

    assert set(files) == {"ablation.json", "ablation.txt", "report.txt", "trials.json"}
    assert json.loads(files["ablation.json"])[1]["arm"] == "one round"
    assert len(json.loads(files["trials.json"])) == 18
    assert files["ablation.txt"].decode().startswith("known")
    assert files["report.txt"].decode() == "Ablation known: test error by arm"


def test_a_format_of_the_package_may_be_replaced(tmp_path: Path, store: MemoryStore) -> None:
    shouting = sweeps.TableRenderer("md", lambda table: table.title.upper().encode())
    report = sweeps.report(
        "known", store, reports=tmp_path / "more", renderers={"markdown": shouting}
    )
    files = {path.name: path.read_bytes() for path in report.paths}
    assert files["ablation.md"] == b"ABLATION KNOWN: TEST ERROR BY ARM"
    assert "ablation.json" not in files
