"""Whether a report's files still follow from the records, asked without writing anything."""

import pytest

from sweeps.aggregation.report import write_report
from sweeps.aggregation.report.files import check_report
from sweeps.records.errors import BadInput
from tests.sweeps.aggregation.known_sweep import finished, known_sweep, put_sweep, put_trial

# tests/golden/test_stores.py compares the bytes of figures
pytestmark = pytest.mark.usefixtures("unpainted_figures")


@pytest.fixture
def written(store, tmp_path):
    """Return where a sweep's report was just written."""
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    write_report(store, "known", tmp_path / "reports")
    return tmp_path / "reports" / "known"


def checked(store, folder):
    before = contents(folder)
    result = check_report("known", store, reports=folder.parent)
    assert contents(folder) == before, "nothing is written"
    return result


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_report_just_written_follows_from_its_records(store, written):
    result = checked(store, written)

    assert (result.exit_code, result.stale, result.missing) == (0, (), ())
    assert result.num_files == len(list(written.iterdir()))
    assert result.folder == written


def test_files_that_were_touched_or_are_gone_are_named(store, written):
    (written / "ablation.md").write_text("better")
    with (written / "report.html").open("a") as page:
        page.write(" ")
    (written / "trials.csv").unlink()
    result = checked(store, written)

    assert result.exit_code == 1
    assert result.stale == ("ablation.md", "report.html")
    assert result.missing == ("trials.csv",)


def test_files_that_are_none_of_the_reports_are_left_alone(store, written):
    (written / "my notes.txt").write_text("mine")
    (written / "compare-other.md").write_text("theirs")

    result = checked(store, written)
    assert result.exit_code == 0
    assert result.others == ("compare-other.md", "my notes.txt")


def test_a_report_stays_in_its_style_and_is_checked_in_it(store, written):
    default = result = checked(store, written)
    write_report(store, "known", written.parent, style="paper")
    result = checked(store, written)
    assert (result.exit_code, result.others) == (0, ())
    assert result.num_files == default.num_files + 3

    (written / "ablation-paper.tex").write_text("better")
    assert checked(store, written).stale == ("ablation-paper.tex",)
    write_report(store, "known", written.parent)
    assert checked(store, written).exit_code == 0
    assert check_report("known", store, reports=written.parent, style="default").others


def test_an_unknown_style_is_refused_when_a_report_is_checked(store, written):
    with pytest.raises(BadInput, match="Unknown style 'papr'"):
        check_report("known", store, reports=written.parent, style="papr")


def test_after_a_new_record_all_that_hangs_on_it_is_stale(store, written):
    put_trial(store, finished("late", 0, 5))
    result = checked(store, written)

    assert result.missing == ()
    assert {"ablation.md", "ablation.csv", "trials.csv", "report.html"} <= {*result.stale}


def test_a_link_in_place_of_a_file_is_not_followed(store, written, tmp_path):
    table = written / "ablation.md"
    table.rename(tmp_path / "elsewhere.md")
    table.symlink_to(tmp_path / "elsewhere.md")

    assert checked(store, written).stale == ("ablation.md",)


def test_a_report_that_was_never_written_is_missing_and_stays_so(store, tmp_path):
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    result = check_report("known", store, reports=tmp_path / "reports")

    assert result.exit_code == 1
    assert len(result.missing) == result.num_files
    assert not (tmp_path / "reports").exists()


def test_a_folder_that_leads_elsewhere_is_not_looked_at(store, written, tmp_path):
    written.rename(tmp_path / "elsewhere")
    written.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadInput, match="is a link or not a folder"):
        check_report("known", store, reports=written.parent)


def test_an_unknown_sweep_is_refused(store, tmp_path):
    with pytest.raises(BadInput, match="no sweep 'nowhere'"):
        check_report("nowhere", store, reports=tmp_path)
