r"""Numbers and notes as LaTeX macros.

`\capsweep{SWEEP}{ARM}{METRIC}` expands to how a number is printed, `\capsweepnote{SWEEP}{TABLE}` to
what the caption of a table has to explain. The style file knows the macros, a file of each sweep
has its numbers and notes. Names pass through `\detokenize`, so that what babel or another package
makes of a character changes nothing. `\capsweep` expands fully: it works in text, math, tables,
captions, headings and in arguments. `\capsweepnote` is protected: what moves is its name.
"""

import re
from collections.abc import Iterable

from sweeps.aggregation.paper.numbers import Numbers
from sweeps.aggregation.rendering.latex import caption_text, escape_latex
from sweeps.aggregation.rendering.table import MINUS, Table

STYLE_NAME = "capsweep.sty"
PREAMBLE = r"\usepackage{booktabs,graphicx,amssymb} \usepackage{capsweep}"
"""What the preamble of a paper needs for tables, figures and numbers of any sweep."""
_SAFE = re.compile(r"[A-Za-z0-9.,:;!?'()\[\]/+=*<>|_-]")
_LAST_CHARACTER = 0x10FFFF
_ENCODED = re.compile(r"@([0-9A-F]{2,6})@")
_STYLE = r"""% Written by capsweep report. \usepackage{capsweep} in the preamble, and after it
% \input of the file of numbers of each sweep: capsweep-SWEEP.tex beside this file.
% \capsweep{SWEEP}{ARM}{METRIC} then expands to a number, and \capsweepnote{SWEEP}{TABLE} to what a
% table's caption has to explain; capsweep verify PAPER.tex checks them all.
\NeedsTeXFormat{LaTeX2e}
\ProvidesPackage{capsweep}[2026/01/01 numbers of sweeps by their names]
\RequirePackage{textcomp}
\ProvideTextCommandDefault{\textquotedbl}{\textquotedblright}
\newcommand*{\capsweep}[3]{%
  \ifcsname capsweep/\detokenize{#1}/\detokenize{#2}/\detokenize{#3}\endcsname
    \csname capsweep/\detokenize{#1}/\detokenize{#2}/\detokenize{#3}\expandafter\endcsname
  \else
    \capsweepmissing{\detokenize{#1}}{\detokenize{#2}}{\detokenize{#3}}%
  \fi}
\protected\def\capsweepmissing#1#2#3{%
  \PackageWarning{capsweep}{There is no number `#3' of arm `#2' in sweep `#1'}%
  \textbf{??}}
\newcommand*{\capsweepvalue}[4]{%
  \expandafter\gdef\csname capsweep/\detokenize{#1}/\detokenize{#2}/\detokenize{#3}\endcsname{#4}}
\protected\def\capsweepnote#1#2{%
  \ifcsname capsweepnote/\detokenize{#1}/\detokenize{#2}\endcsname
    \csname capsweepnote/\detokenize{#1}/\detokenize{#2}\endcsname
  \else
    \PackageWarning{capsweep}{There is no note on table `\detokenize{#2}' of sweep
      `\detokenize{#1}'}%
    \textbf{??}%
  \fi}
\newcommand*{\capsweepnotetext}[3]{%
  \expandafter\gdef\csname capsweepnote/\detokenize{#1}/\detokenize{#2}\endcsname{#3}}
\endinput
"""


def style_file() -> str:
    """Return the style file, the same for all sweeps."""
    return _STYLE


def values_name(sweep: str) -> str:
    """Return the name of the file of a sweep's numbers."""
    return f"capsweep-{sweep}.tex"


def values_file(sweep: str, numbers: Numbers, tables: Iterable[Table] = ()) -> str:
    """Return the file of a sweep's numbers and its tables' notes: one macro a line, in ASCII."""
    lines = [
        f"% Numbers of the sweep {escape_latex(sweep)}, written by capsweep report. Not to be",
        "% edited: capsweep verify PAPER.tex tells where they no longer follow from the records.",
    ]
    for arm, metrics in numbers.items():
        key = macro_key(arm)
        if key != arm:
            lines.append(f"% {key} is {escape_latex(arm)}")
        lines += [
            rf"\capsweepvalue{{{sweep}}}{{{key}}}{{{metric}}}{{{macro_text(text)}}}"
            for metric, text in metrics.items()
        ]
    lines += [
        rf"\capsweepnotetext{{{sweep}}}{{{macro_key(table.name)}}}{{{caption_text(table)}}}"
        for table in tables
    ]
    return "\n".join([*lines, ""])


def macro_key(arm: str) -> str:
    r"""Return an arm's name as `\capsweep` takes it: itself, where LaTeX reads it as it is.

    A character that LaTeX would read otherwise becomes its code point, `@25@` for a percent sign,
    so that no two names have the same key.
    """
    return "".join(
        letter if _SAFE.fullmatch(letter) or _is_lone_space(arm, place) else _encoded(letter)
        for place, letter in enumerate(arm)
    )


def arm_of(key: str) -> str:
    """Return the name that a key stands for, or the nearest possible name."""
    return _ENCODED.sub(lambda match: _character(match[1]), key)


def macro_text(text: str) -> str:
    """Return a number as a macro prints it, the same in text and in math."""
    for sign, command in ((MINUS, r"\ensuremath{-}"), ("<", r"\ensuremath{<}"), (",", "{,}")):
        text = text.replace(sign, command)
    return text


def _is_lone_space(arm: str, place: int) -> bool:
    """Return whether LaTeX keeps a space: it stands inside the name, and none stands before it."""
    return arm[place] == " " and 0 < place < len(arm) - 1 and arm[place - 1] != " "


def _encoded(letter: str) -> str:
    return f"@{ord(letter):02X}@"


def _character(code: str) -> str:
    number = int(code, 16)
    return chr(number) if number <= _LAST_CHARACTER else "?"
