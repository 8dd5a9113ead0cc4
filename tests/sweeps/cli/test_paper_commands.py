"""From records to a paper and back, through the command line."""

import re
import shutil
from pathlib import Path

import pytest

from sweeps.aggregation.paper.numbers import METRICS
from sweeps.tracking.opening import open_store
from tests.sweeps.aggregation.known_sweep import finished, known_sweep, put_sweep, put_trial
from tests.sweeps.cli.shell import Shell

PAPER = r"""\usepackage{capsweep}
\input{capsweep-known}
It errs on \capsweep{known}{three rounds}{test_error}.
\input{ablation-paper-table}
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test's report is kept for the others."""
    return tmp_path_factory.mktemp("reported") / "kept"


@pytest.fixture
def reported(shell: Shell, storage: Path, kept: Path) -> Path:
    """A storage folder with a sweep, its report, and a paper beside what that wrote."""
    if kept.exists():
        shutil.copytree(kept, shell.folder, dirs_exist_ok=True)
        return storage
    manifest, records = known_sweep()
    put_sweep(open_store(None, str(storage)), manifest, records.values())
    answer = shell("report", "known", "--style", "paper")
    assert answer.code == 0, answer.err
    for path in Path("reports/known").iterdir():
        if path.suffix in {".sty", ".tex"}:
            Path(path.name).write_bytes(path.read_bytes())
    Path("paper.tex").write_text(PAPER)
    shutil.copytree(shell.folder, kept)
    return storage


@pytest.mark.usefixtures("reported")
def test_a_report_is_written_into_a_paper_of_several_sweeps(shell: Shell) -> None:
    before = shell.files().keys()
    answer = shell("report", "known", "--into", "paper/")
    assert (answer.code, answer.err) == (0, "")
    written = {path.name: path.read_bytes() for path in Path("paper").iterdir()}
    assert {"capsweep.sty", "capsweep-known.tex", "known-ablation-table.tex"} < written.keys()
    assert "known-ablation.pdf" in written
    assert all(name.endswith((".tex", ".sty", ".pdf")) for name in written)
    assert {Path(path).parent.name for path in shell.files().keys() - before} == {"paper"}
    Path("paper/paper.tex").write_text(
        r"\usepackage{capsweep} \input{capsweep-known} \input{known-ablation-table}"
        r"\capsweep{known}{three rounds}{test_error}"
    )
    assert "1 number and 1 table in 3 files: all follow" in shell("verify", "paper/paper.tex").out
    assert shell("report", "known", "--into", "paper").code == 0
    again = {path.name: path.read_bytes() for path in Path("paper").iterdir()}
    assert {name: again[name] for name in written} == written


@pytest.mark.usefixtures("reported")
@pytest.mark.parametrize("more", [["--check"], ["--compare", "quickstart"]])
def test_a_paper_gets_no_check_and_no_comparison(shell: Shell, more: list[str]) -> None:
    sentence = shell.refused("report", "known", "--into", "paper", *more)
    assert "--into writes the files of a paper" in sentence


@pytest.mark.usefixtures("reported")
def test_a_report_is_written_and_checked_in_another_folder(shell: Shell) -> None:
    assert "Report: other/known/report.html" in shell("report", "known", "--reports", "other").out
    checked = shell("report", "known", "--reports", "other", "--check")
    assert (checked.code, checked.err) == (0, "")
    Path("other/known/report.html").unlink()
    checked = shell("report", "known", "--reports", "other", "--check")
    assert checked.out.endswith("make them again: capsweep report known --reports other.\n")


def test_the_page_on_papers_lists_the_names_of_the_macros() -> None:
    page = (Path(__file__).parents[3] / "docs" / "papers.md").read_text()
    table = page.partition("| metric | what it prints |")[2].partition("\n\n")[0]
    firsts = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert [name for first in firsts for name in re.findall(r"`(\w+)`", first)] == [*METRICS]


def test_a_paper_follows_from_the_records_until_they_change(shell: Shell, reported: Path) -> None:
    before = shell.files()
    answer = shell("verify", "paper.tex")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "1 number and 1 table in 3 files: all follow from the records of known.\n"
    assert {path: shell.files()[path] for path in before if "mlflow.db" not in path} == {
        path: content for path, content in before.items() if "mlflow.db" not in path
    }

    put_trial(open_store(None, str(reported)), finished("late", 0, 30))
    answer = shell("verify", "paper.tex")
    assert answer.code == 1
    assert "stale: capsweep-known.tex, line " in answer.out
    assert "stale: ablation-paper-table.tex: Table ablation-paper of known differs" in answer.out
    assert answer.out.splitlines()[-1].startswith("1 number and 1 table in 3 files: ")

    assert shell("report", "known", "--style", "paper").code == 0
    for name in ("capsweep-known.tex", "ablation-paper-table.tex"):
        Path(name).write_bytes((Path("reports/known") / name).read_bytes())
    assert shell("verify", "paper.tex").code == 0


def test_a_macro_that_is_not_there_is_named(shell: Shell, reported: Path) -> None:
    assert reported.is_dir()
    Path("more.tex").write_text(r"\capsweep{known}{four rounds}{n} \capsweep{nothing}{a}{n}")
    answer = shell("verify", "paper.tex", "more.tex")
    assert answer.code == 1
    assert r"missing: more.tex, line 1: \capsweep{known}{four rounds}{n}: Unknown arm" in answer.out
    assert "There is no sweep 'nothing'" in answer.out
