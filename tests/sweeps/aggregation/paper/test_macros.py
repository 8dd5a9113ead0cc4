r"""The macros of a paper. Where an engine is installed, LaTeX itself is asked what they print."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.paper.macros import (
    STYLE_NAME,
    arm_of,
    macro_key,
    macro_text,
    style_file,
    values_file,
)
from sweeps.aggregation.paper.numbers import METRICS, Numbers, paper_numbers
from sweeps.aggregation.rendering.table import MINUS
from tests.sweeps.aggregation.known_sweep import manifest_of
from tests.sweeps.aggregation.paper.judged_sweep import judged_results
from tests.sweeps.aggregation.rendering.test_escaping import HOSTILE

NAMES = [*HOSTILE, "a  b", " lead", "trail ", "#1", "x@y", "@25@", "routing, 3 iterations"]


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_two_names_have_the_same_key(name: str, other: str) -> None:
    assert arm_of(macro_key(name)) == name
    assert (macro_key(name) == macro_key(other)) == (name == other)


@given(st.text(max_size=40))
def test_a_key_is_read_by_latex_as_it_is(name: str) -> None:
    key = macro_key(name)
    assert key.isascii()
    assert not re.search(r"[\\{}%#&$^~\"`\n\t]|^ |  | $", key)


@pytest.mark.parametrize("name", ["routing, 3 iterations", "cross-entropy loss", "a=1 (b) it's!"])
def test_a_usual_name_is_its_own_key(name: str) -> None:
    assert macro_key(name) == name


def test_what_is_no_key_stands_for_something_all_the_same() -> None:
    assert arm_of("@FFFFFF@") == "?"
    assert arm_of("@@@") == "@@@"


def test_a_number_is_the_same_in_text_and_in_math() -> None:
    assert macro_text(f"{MINUS}0.19") == r"\ensuremath{-}0.19"
    assert macro_text("<0.001") == r"\ensuremath{<}0.001"
    assert macro_text("158,592") == "158{,}592"


def test_the_numbers_are_those_that_tables_print() -> None:
    numbers = paper_numbers(judged_results())
    worse = numbers["worse"]
    assert worse["test_error"] == "19.17"
    assert worse["test_error_sd"] == "0.73"
    assert worse["test_accuracy"] == "80.83"
    assert worse["difference"] == "+17.22"
    assert worse["accuracy_difference"] == f"{MINUS}17.22"
    assert worse["verdict"] == "different"
    assert worse["p"] == "<0.001"
    assert worse["n"] == "3"
    assert worse["num_images"] == "360"
    low, half, high = (
        float(worse[f"difference_{end}"].replace(MINUS, "-")) for end in ("low", "half", "high")
    )
    assert high - low == pytest.approx(2 * half, abs=0.011)
    assert "difference" not in numbers["plain"], "the baseline has none"
    assert {name for metrics in numbers.values() for name in metrics} <= {*METRICS}


def test_an_arm_without_a_result_has_counts_alone() -> None:
    manifest = manifest_of(["plain", "absent"])
    numbers = paper_numbers(judged_results({"plain": (6, 7, 8)}, manifest=manifest))
    assert numbers["absent"]["n"] == "0"
    assert numbers["absent"]["num_missing"] == "3"
    assert "test_error" not in numbers["absent"]


def test_a_file_of_numbers_is_ascii_with_balanced_braces_whatever_arms_are_called() -> None:
    content = values_file("known", named(NAMES))
    assert content.isascii()
    code = [line for line in content.splitlines() if not line.startswith("%")]
    assert len(code) == len(NAMES) * 2
    for line in code:
        assert re.fullmatch(r"(\\capsweepvalue)(\{[^{}]*\}){3}\{.*\}", line), line
        assert line.count("{") == line.count("}")


def named(names: list[str]) -> Numbers:
    return {name: {"test_error": f"1.{n:02d}", "p": "<0.001"} for n, name in enumerate(names)}


def engine() -> list[str]:
    for name in ("pdflatex", "lualatex", "xelatex"):
        if path := shutil.which(name):
            return [path, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    if path := shutil.which("tectonic"):
        return [path, "--keep-logs"]
    pytest.skip("no LaTeX engine is installed")


PAPER = r"""\documentclass{article}
\usepackage{capsweep}
\input{capsweep-known}
\begin{document}
%s
\edef\missing{\capsweep{known}{nobody}{p}}
Text \capsweep{known}{x@40@y}{p}, math $\capsweep{known}{x@40@y}{p}$, \missing.
\catcode`\_ 13 \def_{BAD}\catcode`\, 13 \def,{BAD}\catcode`\- 13 \def-{BAD}
\typeout{ACTIVE [\capsweep{known}{routing, 3 iterations}{test_error}]}
\end{document}
"""


def test_latex_prints_each_number_of_each_name(tmp_path: Path) -> None:
    command = engine()
    numbers = named(NAMES)
    (tmp_path / STYLE_NAME).write_text(style_file())
    (tmp_path / "capsweep-known.tex").write_text(values_file("known", numbers))
    asked = "\n".join(
        rf"\typeout{{NUMBER {n} [\capsweep{{known}}{{{macro_key(name)}}}{{test_error}}]}}"
        for n, name in enumerate(NAMES)
    )
    (tmp_path / "paper.tex").write_text(PAPER % asked)
    done = subprocess.run(
        [*command, "paper.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    for n in range(len(NAMES)):
        assert f"NUMBER {n} [1.{n:02d}]" in log
    assert f"ACTIVE [1.{len(NAMES) - 1:02d}]" in log
    assert "There is no number `p' of arm `nobody'" in log


def test_the_style_file_expands_fully_and_warns_of_what_is_missing() -> None:
    style = style_file()
    code = re.sub(r"%.*", "", style)
    assert style.isascii()
    assert code.count("{") == code.count("}")
    for macro in ("capsweep", "capsweepvalue", "capsweepnotetext"):
        assert rf"\newcommand*{{\{macro}}}" in style
    assert r"\protected\def\capsweepmissing" in style, "what cannot be expanded waits"
    assert r"\protected\def\capsweepnote#1#2" in style, "a caption moves its name alone"
    names = r"/\detokenize{#1}/\detokenize{#2}/\detokenize{#3}"
    assert style.count(f"capsweep{names}") == 3, "asked, printed and defined by the same name"
