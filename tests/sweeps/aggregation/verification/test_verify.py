from pathlib import Path

import pytest

import sweeps
from sweeps.aggregation.paper.macros import macro_key
from sweeps.aggregation.rendering.renderers import RENDERERS, render
from sweeps.aggregation.report import make_report
from sweeps.aggregation.results.sweep_results import read_results
from sweeps.aggregation.verification.checks import Verified
from sweeps.records.errors import BadInput
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    put_trial,
)
from tests.sweeps.aggregation.rendering.test_escaping import HOSTILE
from tests.sweeps.tracking.memory_store import MemoryStore

PAPER = r"""\documentclass{article}
\usepackage{capsweep}
\input{capsweep-known}
\begin{document}
Three rounds err on \capsweep{known}{three rounds}{test_error}\,\% (%
\capsweep{known}{three
  rounds}{test_error_sd}). % \capsweep{no}{such}{macro}
\input{ablation-table}
\end{document}
"""


@pytest.fixture
def known(store: MemoryStore) -> MemoryStore:
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    return store


@pytest.fixture
def paper(known: MemoryStore, tmp_path: Path) -> Path:
    """A paper with what a report has written beside it."""
    put_report(known, tmp_path)
    (tmp_path / "paper.tex").write_text(PAPER)
    return tmp_path / "paper.tex"


def put_report(store: MemoryStore, folder: Path) -> None:
    """Write what a report holds for a paper, without its figures."""
    report = make_report(read_results(store, "known"), style="paper")
    for name, content in render(report, {"latex-table": RENDERERS["latex-table"]}):
        (folder / name).write_bytes(content)


def lines_of(result: Verified) -> list[str]:
    return [f"{finding.kind}: {finding.sentence}" for finding in result.findings]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_paper_as_the_report_wrote_it_follows_from_the_records(
    paper: Path, known: MemoryStore
) -> None:
    before = {path: path.read_bytes() for path in paper.parent.iterdir() if path.is_file()}
    result = sweeps.verify(paper, known)
    assert lines_of(result) == []
    assert result.exit_code == 0
    assert result.sentence == (
        "2 numbers and 1 table in 3 files: all follow from the records of known."
    )
    assert {path: path.read_bytes() for path in before} == before, "it writes nothing"


def test_a_new_record_makes_what_is_printed_stale(paper: Path, known: MemoryStore) -> None:
    put_trial(known, finished("late", 0, 30))
    result = sweeps.verify(paper, known)
    assert result.exit_code == 1
    stale = lines_of(result)
    assert "stale: n of 'late' in known is '0' here and '1' by the records" in stale[0]
    assert any("Table ablation of known differs from the records" in line for line in stale)


def test_a_number_that_was_changed_by_hand_is_stale(paper: Path, known: MemoryStore) -> None:
    change(paper.parent / "capsweep-known.tex", "{test_error}{1.94}", "{test_error}{1.49}")
    result = sweeps.verify(paper, known)
    assert result.exit_code == 1
    (finding,) = result.findings
    assert finding.place == f"{paper.parent}/capsweep-known.tex, line 3"
    assert "test_error of 'three rounds' in known is '1.49' here and '1.94'" in finding.sentence


def test_a_number_that_no_record_gives_is_stale(paper: Path, known: MemoryStore) -> None:
    with (paper.parent / "capsweep-known.tex").open("a") as file:
        file.write("\\capsweepvalue{known}{four rounds}{test_error}{0.01}\n")
    (line,) = lines_of(sweeps.verify(paper, known))
    assert "'0.01' here and nothing by the records" in line


def test_many_stale_numbers_are_told_in_few_lines_the_used_ones_first(
    paper: Path, known: MemoryStore
) -> None:
    path = paper.parent / "capsweep-known.tex"
    path.write_text(path.read_text().replace("}{8.33}", "}{8.34}").replace("}{0}", "}{1}"))
    change(path, "{three rounds}{test_error_sd}{0.28}", "{three rounds}{test_error_sd}{0.29}")
    lines = lines_of(sweeps.verify(paper, known))
    assert len(lines) == 6
    assert "test_error_sd of 'three rounds'" in lines[0]
    assert "more numbers differ from the records" in lines[-1]


def test_a_table_or_a_style_file_that_was_changed_is_stale(paper: Path, known: MemoryStore) -> None:
    change(paper.parent / "ablation-table.tex", "1.94", "1.49")
    change(paper.parent / "capsweep.sty", r"\textbf{??}", "1.94")
    lines = lines_of(sweeps.verify(paper, known))
    assert len(lines) == 2
    assert "It is not the capsweep.sty that capsweep report writes" in lines[0]
    assert "Table ablation of known differs" in lines[1]


def test_line_ends_of_another_system_are_no_change(paper: Path, known: MemoryStore) -> None:
    for path in paper.parent.glob("*.*"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert lines_of(sweeps.verify(paper, known)) == []


@pytest.mark.parametrize(
    ("macro", "why"),
    [
        ("{known}{tree rounds}{n}", "Did you mean 'three rounds'?"),
        ("{known}{three rounds}{tst_error}", "Did you mean 'test_error'?"),
        ("{known}{three rounds}{difference}", "the records give no difference of 'three rounds'"),
        ("{knwon}{three rounds}{n}", "Did you mean 'known'?"),
        ("{../x}{three rounds}{n}", "is not a sweep's name"),
        ("{known}{three rounds}", "takes three arguments in braces"),
    ],
    ids=["arm", "metric", "not given", "sweep", "a path", "too few"],
)
def test_a_macro_that_prints_no_number_is_missing_with_the_reason(
    macro: str, why: str, paper: Path, known: MemoryStore
) -> None:
    change(paper, r"\input{ablation-table}", rf"\capsweep{macro}\capsweep{macro}")
    result = sweeps.verify(paper, known)
    assert result.exit_code == 1
    lines = lines_of(result)
    assert all(line.startswith("missing: ") for line in lines)
    assert why in lines[0]
    assert len(lines) == 1, "once, though it stands there twice"


def test_a_macro_whose_numbers_lie_elsewhere_is_missing(paper: Path, known: MemoryStore) -> None:
    path = paper.parent / "capsweep-known.tex"
    (path.parent / "sub").mkdir()
    path = path.rename(path.parent / "sub" / path.name)
    lines = lines_of(sweeps.verify(paper, known))
    assert any("copy capsweep-known.tex of the report into the paper's folder" in x for x in lines)
    change(paper, r"\input{capsweep-known}", r"\input{sub/capsweep-known}")
    assert lines_of(sweeps.verify(paper, known)) == []


def test_a_sweep_that_is_not_there_is_missing_beside_one_that_is(
    paper: Path, known: MemoryStore
) -> None:
    (paper.parent / "other.tex").write_text(
        "% Table ablation of sweep other, written by capsweep report.\n"
        "\\capsweepvalue{other}{a}{n}{3}"
    )
    change(paper, r"\input{ablation-table}", r"\input{other}\capsweep{other}{a}{n}")
    result = sweeps.verify(paper, known)
    assert result.exit_code == 1
    assert [line.split(":")[0] for line in lines_of(result)] == ["missing", "missing"]
    assert all("There is no sweep 'other'" in line for line in lines_of(result))


NOTE = r"\caption{Errors. \capsweepnote{known}{ablation}}"


def test_a_note_in_a_caption_follows_from_the_records_until_they_change(
    paper: Path, known: MemoryStore
) -> None:
    change(paper, r"\input{ablation-table}", rf"{NOTE}\input{{ablation-table}}{NOTE}")
    result = sweeps.verify(paper, known)
    assert lines_of(result) == []
    assert result.sentence.startswith("2 numbers, 2 notes and 1 table in 3 files: all follow")
    change(paper.parent / "capsweep-known.tex", "nothing is bold", "all is bold")
    (finding,) = sweeps.verify(paper, known).findings
    assert finding.kind == "stale"
    assert finding.place.startswith(f"{paper.parent}/capsweep-known.tex, line ")
    assert finding.sentence.startswith(
        "The note on table ablation of known differs from the records: copy what "
    )


@pytest.mark.parametrize(
    ("note", "why"),
    [
        (r"\capsweepnote{known}{ablatoin}", "Did you mean 'ablation'?"),
        (r"\capsweepnote{knwon}{ablation}", "Did you mean 'known'?"),
        (r"\capsweepnote{known}", "takes two arguments in braces"),
    ],
    ids=["table", "sweep", "too few"],
)
def test_a_macro_that_prints_no_note_is_missing_with_the_reason(
    note: str, why: str, paper: Path, known: MemoryStore
) -> None:
    change(paper, r"\input{ablation-table}", note)
    (line,) = lines_of(sweeps.verify(paper, known))
    assert line.startswith("missing: ")
    assert why in line


def test_a_note_that_no_file_defines_is_missing(paper: Path, known: MemoryStore) -> None:
    path = paper.parent / "capsweep-known.tex"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "notetext" not in line))
    assert lines_of(sweeps.verify(paper, known)) == [], "it is not used"
    change(paper, r"\input{ablation-table}", NOTE)
    (line,) = lines_of(sweeps.verify(paper, known))
    assert line.startswith(
        r"missing: \capsweepnote{known}{ablation}: no file of the paper defines it: copy "
    )


def test_a_note_whose_table_another_macro_fills_in_is_a_warning(
    paper: Path, known: MemoryStore
) -> None:
    change(paper, r"\input{ablation-table}", r"\newcommand{\n}[1]{\capsweepnote{known}{#1}}")
    result = sweeps.verify(paper, known)
    assert result.exit_code == 0
    (line,) = lines_of(result)
    assert r"\capsweepnote{known}{#1} is filled by another macro" in line


def test_where_nothing_can_be_verified_one_sentence_says_so(
    known: MemoryStore, tmp_path: Path
) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(r"\capsweep{other}{a}{n}")
    with pytest.raises(BadInput, match="Nothing can be verified: There is no sweep 'other'"):
        sweeps.verify(paper, known)
    paper.write_text("The error is 1.94 \\%. % \\capsweep{known}{three rounds}{n}")
    with pytest.raises(BadInput, match=r"There is nothing to verify in .*paper\.tex"):
        sweeps.verify([paper], known)


def test_a_number_typed_by_hand_is_a_warning_that_fails_nothing(
    paper: Path, known: MemoryStore
) -> None:
    change(paper, r"\input{ablation-table}", r"that is 1.94 or 0.0194")
    result = sweeps.verify(paper, known)
    assert result.exit_code == 0
    lines = lines_of(result)
    assert [line.split()[1] for line in lines] == ["1.94", "0.0194"]
    assert r"\capsweep{known}{three rounds}{test_error} stays true" in lines[0]
    assert result.sentence.endswith("the records of known, 2 warnings.")


def test_what_cannot_be_followed_is_a_warning(paper: Path, known: MemoryStore) -> None:
    change(
        paper,
        r"\input{ablation-table}",
        r"\input{../x}\newcommand{\err}[1]{\capsweep{known}{#1}{n}}\def\capsweep#1#2#3{1}",
    )
    result = sweeps.verify(paper, known)
    assert result.exit_code == 0
    first, second, third = lines_of(result)
    assert "is filled by another macro" in first
    assert "is defined anew" in second
    assert r"\input{../x} was not followed: it lies outside the paper's folder" in third


def test_of_very_many_warnings_a_hundred_are_told(paper: Path, known: MemoryStore) -> None:
    change(paper, r"\input{ablation-table}", "1.94\n" * 150)
    lines = lines_of(sweeps.verify(paper, known))
    assert len(lines) == 101
    assert lines[-1] == "warning: There are more of these."


def test_papers_are_verified_together(paper: Path, known: MemoryStore) -> None:
    other = paper.with_name("other.tex")
    other.write_text(r"\input{capsweep-known}\capsweep{known}{nobody}{n}")
    result = sweeps.verify([paper, other], known)
    assert result.sentence == "3 numbers and 1 table in 5 files: 0 stale, 1 missing."


def test_a_hostile_arm_is_verified_by_its_key(store: MemoryStore, tmp_path: Path) -> None:
    records = by_key(*(finished(arm, 0, 7) for arm in ["base", *HOSTILE]))
    put_sweep(store, manifest_of(["base", *HOSTILE], [0]), records.values())
    put_report(store, tmp_path)
    uses = "".join(rf"\capsweep{{known}}{{{macro_key(arm)}}}{{n}}" for arm in HOSTILE)
    (tmp_path / "paper.tex").write_text(
        rf"\input{{capsweep-known}}{uses}{NOTE}\input{{ablation-table}}"
    )
    result = sweeps.verify(tmp_path / "paper.tex", store)
    assert lines_of(result) == []
    assert (result.num_macros, result.num_notes) == (len(HOSTILE), 1)
