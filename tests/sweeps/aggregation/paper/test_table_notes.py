r"""What captions explain by `\capsweepnote`. Where LaTeX is installed, it sets such captions."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sweeps.aggregation.paper.macros import STYLE_NAME, macro_key, style_file, values_file
from sweeps.aggregation.rendering.latex import caption_text, to_latex_fragment
from sweeps.aggregation.rendering.table import Needed, Table, data_table
from sweeps.aggregation.report import make_report
from sweeps.aggregation.verification.tex_files import Macro, find_macros, without_unset
from tests.sweeps.aggregation.known_sweep import manifest_of
from tests.sweeps.aggregation.paper.judged_sweep import judged_results
from tests.sweeps.aggregation.paper.test_macros import engine
from tests.sweeps.aggregation.rendering.test_escaping import HOSTILE

SIGNS = "\N{PLUS-MINUS SIGN} \N{DAGGER} \N{DOUBLE DAGGER} \N{SECTION SIGN} \N{MINUS SIGN}"


def noted(*notes: str, name: str = "some", lead: str = "") -> Table:
    columns = data_table("some", ["arm"], []).columns
    return Table(name=name, title="Some", columns=columns, rows=(), lead=lead, notes=notes)


def defined(*tables: Table) -> list[Macro]:
    content = values_file("known", {}, tables)
    assert content.isascii()
    return find_macros(without_unset(content)).note_texts


def test_a_caption_explains_what_is_needed_and_nothing_else() -> None:
    table = noted("a", Needed("b."), "c.", Needed("d"), lead="The answer.")
    assert caption_text(table) == "b. d."
    assert caption_text(noted("a", Needed("b"), lead=Needed("Mean (sd)."))) == "Mean (sd). b."
    assert caption_text(noted("a")) == ""


def test_signs_are_those_that_the_table_prints() -> None:
    text = caption_text(noted(Needed(SIGNS)))
    assert text == r"$\pm$ \textdagger{} \textdaggerdbl{} \S{} $-$."


def test_an_arms_name_is_typeset_as_it_is() -> None:
    text = caption_text(
        noted(
            Needed(
                "50 % dropout, lr_1 & M\N{LATIN SMALL LETTER U WITH DIAERESIS}ller #2: undecided."
            )
        )
    )
    assert text == r"50 \% dropout, lr\_1 \& M\"{u}ller \#2: undecided."


@example([Needed("an accent \N{ACUTE ACCENT}alone")])
@given(st.lists(st.text(max_size=60).map(Needed), max_size=6))
def test_a_note_is_read_back_whatever_it_says(notes: list[str]) -> None:
    table = noted(*notes)
    (macro,) = defined(table)
    assert macro.arguments == ("known", "some", caption_text(table))


def test_the_name_of_a_users_own_table_is_written_as_that_of_an_arm() -> None:
    assert defined(noted(name="50% {"))[0].arguments[1] == macro_key("50% {")


def test_a_report_has_a_note_on_each_table_that_a_paper_inputs() -> None:
    report = make_report(judged_results(), style="paper")
    (content,) = (text.content for text in report.texts if text.name == "capsweep-known.tex")
    texts = {macro.arguments[1]: macro.arguments[2] for macro in find_macros(content).note_texts}
    assert texts == {table.name: caption_text(table) for table in report.tables}
    ablation, printed = texts["ablation"], texts["ablation-paper"]
    assert ablation.startswith("sd: the standard deviation over 3 seeds")
    assert r"$\pm$: half of the 95 \% interval" in ablation
    assert "Bold: " in ablation
    assert "mean (standard deviation) over n seeds" in printed
    assert "Different from the baseline" not in ablation, "an answer explains no mark"


PAPER = r"""\documentclass{article}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{booktabs}
\usepackage{capsweep}
\input{capsweep-known}
\begin{document}
\listoftables
\section{On \capsweepnote{known}{some_2-x}}
\begin{table}\caption{Before. \capsweepnote{known}{ablation}}\input{ablation-table}\end{table}
\begin{table}\input{ablation-table}\caption{After. \capsweepnote{known}{ablation}}\end{table}
\begin{table}\caption[Short]{\capsweepnote{known}{some_2-x}}\end{table}
\setbox0\hbox{\capsweepnote{known}{some_2-x}}\ifdim\wd0>100pt\typeout{NOTE PRINTED}\fi
\capsweepnote{known}{absent}
\end{document}
"""


@pytest.mark.parametrize("encoding", ["OT1", "T1"])
def test_latex_sets_notes_in_captions_lists_and_headings(encoding: str, tmp_path: Path) -> None:
    command = engine()
    wrong = {name: (6 + n, 7, 66) for n, name in enumerate(["base", *HOSTILE])}
    ablation = make_report(judged_results(wrong, manifest_of(wrong))).tables[0]
    other = noted(*(Needed(f"{text} {SIGNS}") for text in HOSTILE), name="some_2-x")
    (tmp_path / STYLE_NAME).write_text(style_file())
    (tmp_path / "capsweep-known.tex").write_text(values_file("known", {}, [ablation, other]))
    (tmp_path / "ablation-table.tex").write_text(to_latex_fragment(ablation))
    source = PAPER.replace(r"\input{ablation-table}", "") if encoding == "OT1" else PAPER
    preamble = rf"\usepackage[{encoding}]{{fontenc}}\begin{{document}}"
    (tmp_path / "paper.tex").write_text(source.replace(r"\begin{document}", preamble))
    for _ in range(2):  # the second has a list of tables
        done = subprocess.run(
            [*command, "paper.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert "NOTE PRINTED" in log
    assert re.findall(r"There is no note on table `(.*)' of", log) == ["absent"]
    assert not re.search("Missing character|undefined on input", log)
