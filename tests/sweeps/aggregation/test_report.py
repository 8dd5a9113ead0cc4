import pytest

from sweeps.aggregation.report import publish_report, write_report
from sweeps.cli.terminal import print_place, print_tables
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
)
from tests.sweeps.aggregation.small_search import confirmed_search, search_of

pytestmark = pytest.mark.usefixtures("rough_importances", "unpainted_figures")

FILES = {"trials.csv", "cost.md", "cost.csv", "report.html", "report-runs.html"} | {
    f"ablation.{end}" for end in ("md", "csv", "tex", "png", "svg")
}
FILES |= {"ablation-table.tex", "capsweep.sty", "capsweep-known.tex", "checklist.md"}


@pytest.fixture
def reported(store, tmp_path):
    manifest, records = known_sweep()
    sweep_id = put_sweep(store, manifest, records.values())
    return write_report(store, "known", tmp_path / "reports"), sweep_id


def test_a_report_holds_each_file_once_and_no_scratch(reported, tmp_path):
    report, _ = reported

    assert {path.name for path in report.paths} == FILES
    assert {path.name for path in (tmp_path / "reports" / "known").iterdir()} == FILES


def test_a_report_written_again_is_the_same_byte_for_byte(reported, store, tmp_path):
    report, _ = reported
    rewritten = write_report(store, "known", tmp_path / "again")

    for first, second in zip(report.paths, rewritten.paths, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def test_a_report_equals_the_one_from_records_that_never_saw_a_store(reported):
    from sweeps.aggregation.tables.ablation_table import ablation_table

    report, _ = reported
    assert report.table == ablation_table(*known_sweep())


def test_a_published_report_lies_with_the_sweeps_own_record(reported, store):
    report, sweep_id = reported
    publish_report(store.writer(), sweep_id, report)

    record = store.backend.get(sweep_id)
    assert {path.name for path in report.paths} == FILES
    for path in report.paths:
        assert record.files[f"report/{path.name}"] == path.read_bytes()


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


def test_a_folder_that_leads_elsewhere_is_not_followed(store, tmp_path):
    put_sweep(store, manifest_of(["a"]), [])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "known").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadInput, match="is a link or not a folder"):
        write_report(store, "known", tmp_path / "reports")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_cannot_be_made_gets_one_sentence(store, tmp_path):
    put_sweep(store, manifest_of(["a"]), [])
    (tmp_path / "reports").write_text("a file")

    with pytest.raises(BadInput, match="reports is a link or not a folder"):
        write_report(store, "known", tmp_path / "reports")


PUBLISHED = {
    "kind": "published",
    "name": "table1",
    "title": "Table 1",
    "headings": ["Method"],
    "rows": [{"labels": ["A"], "arm": "a", "published": 0.25}],
}


def put_small(store, *tables):
    records = by_key(finished("a", 0, 5, epochs=2), finished("b", 0, 6, epochs=2))
    manifest = manifest_of(["a", "b"], [0], tables=list(tables))
    put_sweep(store, manifest, records.values())


def put_search(store, **more):
    manifest, records = confirmed_search()
    manifest = Manifest.model_validate(manifest.model_dump() | more)
    trials = [trial.model_copy(update={"epochs": 2}) for trial in records.values()]
    put_sweep(store, manifest, trials)


def test_each_declared_table_and_figure_has_its_files(store, tmp_path):
    put_small(store, PUBLISHED, {"kind": "curves"}, {"kind": "ablation"})
    report = write_report(store, "known", tmp_path / "reports")

    declared = {f"table1.{end}" for end in ("md", "csv", "tex")} | {"table1-table.tex"}
    declared |= {f"curves.{end}" for end in ("csv", "png", "svg")}
    assert {path.name for path in report.paths} == FILES | declared
    assert [table.name for table in report.tables] == ["table1", "ablation"]
    assert report.table.name == "table1"
    assert report.shown == (report.table,)


def test_curves_are_drawn_from_the_epochs_in_the_store(store, tmp_path):
    put_small(store, {"kind": "curves", "metric": "train_loss"})
    report = write_report(store, "known", tmp_path / "reports")

    rows = (tmp_path / "reports" / "known" / "curves.csv").read_text().splitlines()
    assert rows[0] == "arm,epoch,n,train_loss,train_loss_lowest,train_loss_highest"
    assert rows[1:3] == ["a,1,1,0.005,0.005,0.005", "a,2,1,0.005,0.005,0.005"]
    assert report.table == report.cost
    assert report.shown == ()


def test_a_search_reports_its_confirmation_and_its_sensitivity(store, tmp_path):
    put_search(store)
    report = write_report(store, "known", tmp_path / "reports")

    names = {path.name for path in report.paths}
    tables = ("confirmation", "sensitivity", "sensitivity-marginals")
    assert {f"{name}.{end}" for name in tables for end in ("md", "csv", "tex")} <= names
    figures = ("marginals", "history", "parallel")  # too few trials for importances
    assert {f"sensitivity-{of}.{end}" for of in figures for end in ("png", "svg")} <= names
    assert [table.name for table in report.tables] == list(tables)


def test_of_a_search_a_terminal_shows_the_confirmation_before_a_short_sensitivity(
    store, tmp_path, capsys
):
    put_search(store, tables=[{"kind": "sensitivity"}, {"kind": "confirmation"}])
    report = write_report(store, "known", tmp_path / "reports")
    print_tables(report)
    print_place(report)

    out = capsys.readouterr().out
    assert out.index("Confirmation of known") < out.index("Sensitivity known")
    assert "How to read it: see sensitivity.md." in out
    assert f"Report: {tmp_path}/reports/known/report.html (" in out


def test_a_short_sensitivity_says_how_many_settings_are_left_out(store, tmp_path):
    more = [
        {"name": f"s{n}", "path": f"s{n}", "kind": "floats", "low": 0.0, "high": 1.0}
        for n in range(12)
    ]
    search = confirmed_search()[0].search
    assert search is not None
    put_search(store, search=search.model_dump() | {"dimensions": more})
    report = write_report(store, "known", tmp_path / "reports")

    shown = report.shown[1]
    assert len(shown.rows) == 10
    assert "and 2 more settings" in shown.notes[-1]


def test_a_short_sensitivity_without_importances_says_why_and_gives_the_best_values(
    store, tmp_path
):
    put_search(store)
    shown = write_report(store, "known", tmp_path / "reports").shown[1]

    assert [column.title for column in shown.columns] == [
        "Setting",
        "In the best trial",
    ]
    assert any(note.startswith("No importance is given: fewer than 20") for note in shown.notes)


def test_sensitivity_of_a_smaller_search_says_so_in_the_first_line(store, tmp_path):
    put_search(store, departures={"trials": (40, 4)})
    write_report(store, "known", tmp_path / "reports")

    for name in ("confirmation", "sensitivity", "sensitivity-marginals"):
        text = (tmp_path / "reports" / "known" / f"{name}.md").read_text()
        assert text.startswith(
            "The sweep was launched smaller than declared: trials 4 instead of 40 (--trials).\n\n# "
        ), name


@pytest.mark.parametrize("kind", ["confirmation", "sensitivity"])
def test_a_design_cannot_have_a_table_of_searches(kind, store, tmp_path):
    put_small(store, {"kind": kind})

    with pytest.raises(BadInput, match="'known' is a design"):
        write_report(store, "known", tmp_path / "reports")
    assert not (tmp_path / "reports").exists()


def test_a_search_cannot_have_a_table_of_designs(store, tmp_path):
    put_search(store, tables=[{"kind": "ablation"}])

    with pytest.raises(BadInput, match="declare a confirmation table instead"):
        write_report(store, "known", tmp_path / "reports")


def test_tables_whose_derived_names_are_equal_are_refused(store, tmp_path):
    tables = [{"kind": "sensitivity"}, {"kind": "confirmation", "name": "sensitivity-marginals"}]
    put_search(store, tables=tables)

    with pytest.raises(BadInput, match=r"written to 'sensitivity-marginals\.md': rename one"):
        write_report(store, "known", tmp_path / "reports")


def test_a_search_that_has_only_begun_has_a_report_all_the_same(store, tmp_path):
    put_sweep(store, search_of(num_proposals=1), [])
    report = write_report(store, "known", tmp_path / "reports")

    assert "0 of 4 proposals are over" in report.shown[0].notes[0]
