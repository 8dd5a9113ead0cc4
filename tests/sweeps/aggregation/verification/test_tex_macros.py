import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.paper.macros import macro_key
from sweeps.aggregation.verification.tex_files import Macros, find_macros, without_unset


def macros_in(source: str) -> Macros:
    return find_macros(without_unset(source))


def uses(source: str) -> list[tuple[str, ...]]:
    return [use.arguments for use in macros_in(source).uses]


@given(st.text(min_size=1, max_size=30))
def test_the_macro_of_any_name_is_found_with_its_arguments(name: str) -> None:
    key = macro_key(name)
    assert uses(rf"a \capsweep{{known}}{{{key}}}{{n}} b") == [("known", key, "n")]


@pytest.mark.parametrize(
    "source",
    [
        "\\capsweep{a}{b c}{d}",
        "\\capsweep {a} {b c}\n{d}",
        "\\capsweep{a}{b\n   c}{d}",
        "\\capsweep{a}% why\n  {b  c}{d}",
        "\\capsweep{a}{b c% why {\n}{d}",
        "$\\frac{\\capsweep{a}{b c}{d}}{2}$",
    ],
    ids=["plain", "blanks", "a line", "a comment", "a comment with a brace", "in math"],
)
def test_arguments_are_read_as_latex_reads_them(source: str) -> None:
    assert uses(source) == [("a", "b c", "d")]


def test_comments_verbatim_text_and_other_macros_are_none() -> None:
    assert uses("% \\capsweep{a}{b}{c}\n\\verb|\\capsweep{a}{b}{c}| \\capsweeps{a}{b}{c}") == []
    assert uses("\\begin{verbatim}\n\\capsweep{a}{b}{c}\n\\end{verbatim}") == []


@pytest.mark.parametrize(
    "source", ["", "{a}{b}", "{a}{b}{c", "{a}{b} c", "{a}{b}{" + "c" * 3000 + "}"]
)
def test_one_without_its_arguments_is_not_whole(source: str) -> None:
    (use,) = macros_in(rf"\capsweep{source}").uses
    assert not use.is_whole


def test_one_inside_a_definition_is_filled_by_another() -> None:
    (use,) = macros_in(r"\newcommand{\err}[1]{\capsweep{a}{#1}{n}}").uses
    assert use.has_parameters


def test_a_definition_of_ours_is_no_use() -> None:
    for source in (
        r"\renewcommand{\capsweep}[3]{1.67}",
        r"\renewcommand*\capsweep[3]{1.67}",
        r"\def\capsweep#1#2#3{1.67}",
        r"\let\capsweep\relax",
    ):
        macros = macros_in(source)
        assert (len(macros.redefined), macros.uses) == (1, []), source
    assert macros_in(r"\ifdefined\capsweep\fi \string\capsweep") == Macros()


def test_a_value_has_the_text_that_stands_there() -> None:
    (value,) = macros_in(r"\capsweepvalue{a}{b}{c}{\ensuremath{-}0.19}").values
    assert value.arguments == ("a", "b", "c", r"\ensuremath{-}0.19")


def test_notes_and_their_texts_are_no_numbers() -> None:
    macros = macros_in(
        r"\capsweepnote{a}{b} \capsweepnotetext{a}{b}{50 \% \{c} \capsweepnotes{a}{b}"
    )
    (note,), (text,) = macros.notes, macros.note_texts
    assert (note.arguments, text.arguments) == (("a", "b"), ("a", "b", r"50 \% \{c"))
    assert not macros.uses
    assert not macros.values
    assert macros_in(r"\renewcommand{\capsweepnote}[2]{}").redefined


def test_a_note_is_longer_than_any_name() -> None:
    (text,) = macros_in(rf"\capsweepnotetext{{a}}{{b}}{{{'c ' * 5000}}}").note_texts
    assert text.is_whole


def test_inputs_are_found_in_every_form() -> None:
    source = '\\input{a} \\input b \\include{c} \\input{"d e"}% \\input{f}\n\\inputs{g} \\input{}'
    assert [name for name, _ in macros_in(source).inputs] == ["a", "b", "c.tex", "d e"]
