import pytest

from sweeps.aggregation.rendering.table import MINUS
from sweeps.aggregation.verification.tex_files import TexFile
from sweeps.aggregation.verification.typed_numbers import KnownNumbers, typed_numbers

KNOWN = {
    "known": {
        "a": {"test_error": "1.67", "difference": f"{MINUS}0.19", "n": "3", "num_images": "360"},
        "b": {"test_error": "12.30", "num_parameters": "158,592", "p": "<0.001", "verdict": "no"},
    }
}
MACRO = r"\capsweep{known}{b}{p}"


def typed(source: str) -> list[str]:
    file = TexFile("paper.tex", source)
    return [finding.sentence.split()[0] for finding in typed_numbers(file, KnownNumbers(KNOWN))]


@pytest.mark.parametrize(
    "number",
    ["1.67", "$-0.19$", "$+0.19$", "1{,}67", "158,592", "158{,}592", "158592", "360", "12.30"],
)
def test_a_number_that_is_printed_as_a_known_one_is_told_wherever_it_stands(number: str) -> None:
    assert len(typed(f"It is {number}\\,\\% of all.")) == 1


@pytest.mark.parametrize("number", ["0.0167", "16.7", "12.3", "0.123"])
def test_the_same_digits_are_told_beside_a_macro_alone(number: str) -> None:
    assert typed(f"It is {number}, and {MACRO}.") == [number]
    assert typed(f"It is {number}.\n\nAnd {MACRO}.") == []


@pytest.mark.parametrize(
    "source",
    [
        "3 seeds, 36 of them, 1.6, 1.670.1, v1.67a, 11.67, 0.00, 1.68",
        r"\cite{a1.67} \ref{eq:360} \includegraphics[width=1.67cm]{360} \label{360}",
        r"\hspace{1.67cm} 1.67\textwidth \begin{tabular}{p{1.67cm}} \cmidrule(lr){1-2}",
        "% 1.67\n\\verb|1.67|",
        r"\capsweep{known}{1.67}{p} \capsweepvalue{known}{a}{test_error}{1.67}",
        r"\capsweepnote{known}{1.67} \capsweepnotetext{known}{1.67}{1.67}",
    ],
    ids=["other numbers", "names", "lengths", "comments", "macros", "notes"],
)
def test_other_numbers_are_let_be(source: str) -> None:
    assert typed(source) == []


def test_a_row_of_a_table_ends_where_latex_ends_it() -> None:
    table = "\\begin{tabular}{lr}\n%s & 16.7 \\\\\nb & %s \\\\\n\\end{tabular}"
    assert typed(table % (MACRO, "1")) == ["16.7"]
    assert typed(table % ("a", MACRO)) == []


def test_numbers_beside_commands_are_seen() -> None:
    assert typed(r"$1.67\pm0.19$ and \textbf{12.30}") == ["1.67", "0.19", "12.30"]


def test_the_arm_that_the_paragraph_names_is_the_likely_one() -> None:
    known = KnownNumbers({"known": {"a": {"p": "0.251"}, "b": {"p": "0.251"}}})
    file = TexFile("paper.tex", "\n\\capsweep{known}{b}{n} 0.251")
    (finding,) = typed_numbers(file, known)
    assert finding.place == "paper.tex, line 2"
    assert finding.kind == "warning"
    assert r"(or 1 more): \capsweep{known}{b}{p} stays true" in finding.sentence
