from pathlib import Path

import pytest

from sweeps.aggregation.report import publish_report, write_report
from sweeps.errors import BadInput
from sweeps.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import known_sweep, manifest_of, put_sweep

FILES = {"trials.csv", "cost.md", "cost.csv"} | {
    f"ablation.{end}" for end in ("md", "csv", "tex", "png", "svg")
}


@pytest.fixture
def reported(client, store, tmp_path):
    manifest, records = known_sweep()
    parent = put_sweep(client, manifest, records.values(), tmp_path)
    return write_report(store, "known", tmp_path / "reports"), parent


def test_a_report_holds_each_file_once_and_no_scratch(reported, tmp_path):
    report, _ = reported

    assert {path.name for path in report.paths} == FILES
    assert {path.name for path in (tmp_path / "reports" / "known").iterdir()} == FILES


def test_a_report_written_again_is_the_same_byte_for_byte(reported, store, tmp_path):
    report, _ = reported
    again = write_report(store, "known", tmp_path / "again")

    for first, second in zip(report.paths, again.paths, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def test_a_report_equals_the_one_from_records_that_never_saw_a_store(reported):
    from sweeps.aggregation.ablation import ablation_table

    report, _ = reported
    assert report.table == ablation_table(*known_sweep())


def test_a_published_report_lies_with_the_parent_run(reported, client, tracking_uri):
    report, parent = reported
    publish_report(tracking_uri, parent, report)

    names = {Path(file.path).name for file in client.list_artifacts(parent, "report")}
    assert names == FILES


def test_a_table_named_like_a_path_is_never_written(store, tmp_path, monkeypatch):
    good = manifest_of(["a"])
    table = good.tables[0].model_copy(update={"name": "../../x"})
    monkeypatch.setattr(store, "manifest", lambda _: good.model_copy(update={"tables": (table,)}))

    with pytest.raises(BadInput, match=r"'\.\./\.\./x' cannot be a file's name"):
        write_report(store, "known", tmp_path / "reports")
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("tables", [["cost"], ["trials"], ["a", "a"]])
def test_tables_that_would_overwrite_each_other_are_refused(tables, store, tmp_path, monkeypatch):
    content = manifest_of(["a"], tables=[{"kind": "ablation", "name": name} for name in tables])
    assert isinstance(content, Manifest)
    monkeypatch.setattr(store, "manifest", lambda _: content)

    with pytest.raises(BadInput, match="name of its own"):
        write_report(store, "known", tmp_path / "reports")


def test_a_folder_that_leads_elsewhere_is_not_followed(client, store, tmp_path):
    put_sweep(client, manifest_of(["a"]), [], tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "known").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadInput, match="leads out of"):
        write_report(store, "known", tmp_path / "reports")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_cannot_be_made_gets_one_sentence(client, store, tmp_path):
    put_sweep(client, manifest_of(["a"]), [], tmp_path)
    (tmp_path / "reports").write_text("a file")

    with pytest.raises(BadInput, match="cannot be written: "):
        write_report(store, "known", tmp_path / "reports")
