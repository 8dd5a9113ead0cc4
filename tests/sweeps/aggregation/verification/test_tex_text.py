from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.verification.tex_files import REMOVED, line_of, without_unset

SIGNS = ("%", "{", "}", "\n", " ", "a", "1", "\\", "\0", "\\%", "\\capsweep", "\\verb|")
ENDS = ("\\begin{verbatim}", "\\end{verbatim}", "\\iffalse", "\\else", "\\fi", "\\end{document}")
PIECES = (*SIGNS, *ENDS)


def kept(source: str) -> str:
    return without_unset(source).replace(REMOVED, "")


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_each_place_and_each_line_outside_comments_stays_where_it_is(source: str) -> None:
    text = without_unset(source)
    assert len(text) == len(source)
    for place, letter in enumerate(text):
        assert letter in (REMOVED, source[place]) or source[place] == "\0"


def test_a_comment_goes_with_the_end_of_its_line_as_latex_reads_it() -> None:
    assert kept("itera% why\n   tions") == "iterations"
    assert kept("one % why\ntwo") == "one two"
    assert kept("% all of it") == ""
    assert kept("a % why\n\nb") == "a \n\nb", "an empty line ends the paragraph all the same"


def test_a_percent_sign_of_the_text_is_none() -> None:
    assert kept(r"50 \% of it % why") == r"50 \% of it "
    assert kept("a\\\\% why\nb") == "a\\\\b", "a break of the line, then a comment"


def test_verbatim_text_is_taken_out_and_its_lines_stay() -> None:
    for name in ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "comment"):
        source = f"a\n\\begin{{{name}}}\n% b\n\\capsweep\n\\end{{{name}}}\nc"
        assert kept(source).split() == ["a", "c"], name
        assert line_of(source, source.index("\nc") + 1) == 6
        assert without_unset(source).count("\n") == 5
    assert kept("\\begin{verbatim} without an end") == ""
    assert kept(r"\\begin{verbatim}") == r"\\begin{verbatim}", "a break of the line before a word"


def test_verbatim_text_in_a_line_ends_with_its_mark_or_the_line() -> None:
    assert kept(r"a \verb|% \x| b") == "a  b"
    assert kept(r"a \verb*!x! b \lstinline[language=C]{x} c") == "a  b  c"
    assert kept("a \\verb|x\nb") == "a \nb"
    assert kept(r"\verbatiminput{x}") == r"\verbatiminput{x}"


def test_what_a_false_condition_skips_is_not_there() -> None:
    assert kept(r"a\iffalse b \ifx c\else d\fi e\fi f") == "a f"
    assert kept(r"a\iffalse b\else c\fi d") == r"a c\fi d"
    assert kept(r"a\iffalse $x \iff y$ \fi b") == "a b"
    assert kept(r"a\iffalse b") == "a"


def test_what_follows_the_end_is_not_there() -> None:
    assert kept("a\\end{document}b") == "a\\end{document}"
    assert kept("a\\endinput b\nc") == "a\\endinput b\n"
    assert kept("% \\end{document}\nb") == "b"
