r"""LaTeX source without what LaTeX does not typeset as text: comments, verbatim, what is skipped.

This is no LaTeX: macros are not expanded, category codes never change. It sees what a paper writes
plainly, which is all that `\capsweep` asks for.
"""

import re

REMOVED = "\0"
"""Stands for each character that was taken out, so that places and lines stay what they are."""

_VERBATIM = r"verbatim\*?|[BLS]?Verbatim\*?|lstlisting|minted|comment|filecontents\*?"
_TOKENS = re.compile(
    rf"(?P<environment>\\begin[ \t]*\{{(?P<name>{_VERBATIM})\}}.*?"
    r"(?:\\end[ \t]*\{(?P=name)\}|\Z))"
    r"|(?P<inline>\\(?:verb\*?|lstinline(?:\[[^\]\n]*\])?|mintinline(?:\[[^\]\n]*\])?\{[^{}\n]*\})"
    r"(?:\{[^\n]*?(?:\}|(?=\n)|\Z)|(?P<mark>[^A-Za-z\s*{])[^\n]*?(?:(?P=mark)|(?=\n)|\Z)))"
    r"|(?P<comment>%[^\n]*(?:\n[ \t]*(?=\S))?)"
    r"|\\(?:[A-Za-z@]+|.|\Z)",
    re.DOTALL,
)
_CONDITIONAL = re.compile(r"\\(if[A-Za-z@]*|else|fi)(?![A-Za-z@])")
_NO_CONDITIONALS = {"iff", "ifthenelse"}
_SKIPPED = re.compile(r"\\iffalse(?![A-Za-z@])")
_END = re.compile(r"\\end[ \t]*\{document\}|\\endinput(?![A-Za-z@])[^\n]*")


def without_unset(source: str) -> str:
    r"""Return the source with what is never typeset taken out, each character by `REMOVED`.

    That is comments, verbatim text, what `\iffalse` skips, and what follows the document's end. A
    comment goes with the end of its line and the blanks that the next one begins with, as LaTeX
    reads it. Breaks of lines in verbatim text stay.
    """
    text = _TOKENS.sub(_token, source.replace(REMOVED, " "))
    text = _without_skipped(text)
    end = _END.search(text)
    return text if end is None else text[: end.end()] + _blank(text[end.end() :])


def line_of(source: str, place: int) -> int:
    """Return the number of the line, from 1, that a place is in."""
    return source.count("\n", 0, place) + 1


def _token(match: re.Match[str]) -> str:
    if match["comment"] is not None:
        return REMOVED * len(match[0])
    return (
        match[0] if match["environment"] is None and match["inline"] is None else _blank(match[0])
    )


def _without_skipped(text: str) -> str:
    parts, place = list[str](), 0
    while start := _SKIPPED.search(text, place):
        end = _end_of_skipped(text, start.end())
        parts += [text[place : start.start()], _blank(text[start.start() : end])]
        place = end
    return "".join([*parts, text[place:]])


def _end_of_skipped(text: str, start: int) -> int:
    r"""Return where the `\fi` or `\else` of an `\iffalse` ends, the text's end without one."""
    depth = 1
    for match in _CONDITIONAL.finditer(text, start):
        if match[1] in _NO_CONDITIONALS:
            continue
        if match[1].startswith("if"):
            depth += 1
        elif match[1] == "fi":
            depth -= 1
        if depth == 0 or (depth == 1 and match[1] == "else"):
            return match.end()
    return len(text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", REMOVED, text)
