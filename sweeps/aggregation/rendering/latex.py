"""Tables as LaTeX with booktabs, whole documents or alone, in ASCII that any engine compiles."""

import unicodedata
from collections.abc import Iterable, Sequence

from sweeps.aggregation.rendering.table import Cell, Needed, Table, shown
from sweeps.aggregation.rendering.table_parts import table_parts
from sweeps.records.plain_text import one_line

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # no ligature makes a dash of two
    "[": "{[}",  # no optional argument after a line's end
    "]": "{]}",
    "*": "{*}",
    "\N{MINUS SIGN}": "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{DAGGER}": r"\textdagger{}",
    "\N{DOUBLE DAGGER}": r"\textdaggerdbl{}",
    "\N{SECTION SIGN}": r"\S{}",
    "\N{CHECK MARK}": r"\checkmark{}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{RIGHTWARDS ARROW}": r"$\to$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
    "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    "\N{LATIN SMALL LETTER SHARP S}": r"\ss{}",
    "\N{LATIN SMALL LETTER AE}": r"\ae{}",
    "\N{LATIN CAPITAL LETTER AE}": r"\AE{}",
    "\N{LATIN SMALL LETTER O WITH STROKE}": r"\o{}",
    "\N{LATIN CAPITAL LETTER O WITH STROKE}": r"\O{}",
    "\N{LATIN SMALL LETTER L WITH STROKE}": r"\l{}",
    "\N{LATIN CAPITAL LETTER L WITH STROKE}": r"\L{}",
}
_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING DIAERESIS}": '"',
    "\N{COMBINING MACRON}": "=",
    "\N{COMBINING BREVE}": "u",
    "\N{COMBINING DOT ABOVE}": ".",
    "\N{COMBINING CARON}": "v",
    "\N{COMBINING CEDILLA}": "c",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": "H",
    "\N{COMBINING RING ABOVE}": "r",
}
_GREEK = {
    "small": "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho "
    "sigma tau upsilon phi chi psi omega",
    "capital": "gamma delta theta lambda xi pi sigma upsilon phi psi omega",
}
_LONGEST_ON_A_PAGE = 40
_WIDE = 30
_LINE_CHARACTERS = 113  # that fit between the margins, the space between columns counted
_COLUMN_SPACE = 2.6  # in characters
_LEGIBLE = 0.8  # of the size of letters, at least, where columns can stand in parts
_PARAGRAPH = r">{\raggedright\arraybackslash}p{0.27\textwidth}"
_SHRINK_TO_LINE = (
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\setlength{\tabcolsep}{4pt}%"
)
_SHRINK = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"


def to_latex(table: Table) -> str:
    """Return a document that compiles with pdflatex, xelatex, lualatex and tectonic.

    The table is a `tabular` to be copied into a paper; one longer than a page is a `longtable`.
    """
    table = shown(table)
    is_long = len(table.rows) > _LONGEST_ON_A_PAGE
    caption = escape_latex(f"{table.warning} {table.title}".strip())
    if table.lead:
        caption += f". {escape_latex(table.lead.removesuffix('.'))}"
    if table.description:
        caption += f". {escape_latex(table.description)}"
    notes = [rf"\noindent {escape_latex(note)}\par" for note in table.notes_in_short]
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[margin=2cm]{geometry}",
            r"\usepackage[T1]{fontenc}",
            r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",
            r"\usepackage{textcomp}",
            r"\usepackage{array,booktabs,longtable}",
            *([r"\usepackage{amssymb}"] if _has_marks(table) else []),
            *([r"\usepackage{graphicx}"] if _is_shrunk(table) and not is_long else []),
            r"\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{6pt}",
            r"\begin{document}",
            *(_long_table(table, caption) if is_long else _float(table, caption)),
            r"{\footnotesize\raggedright",
            *notes,
            "}",
            r"\end{document}",
            "",
        ]
    )


def to_latex_fragment(table: Table) -> str:
    r"""Return the tabular alone, for `\input` into a paper: no document class, caption or float.

    Title, lead and notes stand above it as comments. `caption_text` has those that a caption needs.
    """
    table = shown(table)
    comments = (table.warning, table.title, table.lead, *table.notes)
    paragraph = r"p{0.27\textwidth}"
    tabular = _parts(table, paragraph) if table.groups else _tabular(table, paragraph)
    needs = [r"\usepackage{booktabs}"]
    if table.groups:
        needs.append(r"\usepackage{graphicx}")
    if _has_marks(table):
        needs.append(r"\usepackage{amssymb}")
    if r"\textquotedbl" in "".join(tabular):
        needs.append(r"\usepackage[T1]{fontenc}")
    return "\n".join(
        [
            *(f"% {escape_latex(comment)}" for comment in comments if comment),
            rf"% \capsweepnote{{SWEEP}}{{{table.name}}} prints what its caption has to explain.",
            f"% It needs {' and '.join(needs)}.",
            *tabular,
            "",
        ]
    )


def caption_text(table: Table) -> str:
    """Return what a caption has to explain of a table: its needed lead and notes, in one line."""
    needed = [text for text in (table.lead, *table.notes) if isinstance(text, Needed)]
    sentences = " ".join(f"{escape_latex(text.removesuffix('.'))}." for text in needed)
    return " ".join(sentences.split())  # an accent without a letter becomes a blank


def escape_latex(text: str) -> str:
    """Return one line of ASCII that LaTeX typesets as the text and never runs.

    Accents, Greek letters and the commonest signs become their commands, other characters
    beyond ASCII their nearest ASCII letters, or a question mark where there are none.
    """
    line = unicodedata.normalize("NFC", one_line(text))
    return "".join(_character(character) for character in line)


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    base, *marks = unicodedata.normalize("NFD", character)
    if len(marks) == 1 and marks[0] in _ACCENTS and base.isascii() and base.isalpha():
        return rf"\{_ACCENTS[marks[0]]}{{{base}}}"
    return _greek(character) or _nearest(character)


def _greek(character: str) -> str:
    match unicodedata.name(character, "").lower().replace("lamda", "lambda").split():
        case ["greek", size, "letter", letter] if letter in _GREEK.get(size, "").split():
            return rf"$\{letter if size == 'small' else letter.capitalize()}$"
        case _:
            return ""


def _nearest(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(letter, letter) for letter in plain) or "?"


def _float(table: Table, caption: str) -> list[str]:
    tabular = _parts(table, _PARAGRAPH) if table.groups else _tabular(table)
    if _is_wide(table) and not table.groups:
        tabular = _shrunk(_SHRINK, tabular)
    return [
        r"\begin{table}[ht]",
        r"\centering\small",
        rf"\caption{{{caption}}}",
        *tabular,
        r"\end{table}",
    ]


def _shrunk(command: str, tabular: list[str]) -> list[str]:
    return [command, *tabular[:-1], f"{tabular[-1]}}}"]


def _parts(table: Table, paragraph: str) -> list[str]:
    """Return tabulars, one below the other, each no wider than a line and of legible size."""
    widths = _widths(table)

    def width_of(places: Sequence[int]) -> float:
        return _width(widths[place] for place in places)

    tabulars = [
        _shrunk(_SHRINK_TO_LINE, _tabular(part, paragraph))
        for part in table_parts(table, width_of, _LINE_CHARACTERS / _LEGIBLE)
    ]
    return [line for lines in tabulars for line in (r"\par\medskip", *lines)][1:]


def _tabular(table: Table, paragraph: str = _PARAGRAPH) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{_preamble(table, paragraph)}}}",
        r"\toprule",
        *_heading(table),
        r"\midrule",
        *(_line([_cell(cell) for cell in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _long_table(table: Table, caption: str) -> list[str]:
    return [
        r"{\small",
        rf"\begin{{longtable}}{{{_preamble(table)}}}",
        rf"\caption{{{caption}}}\\",
        r"\toprule",
        *_heading(table),
        r"\midrule",
        r"\endhead",
        *(_line([_cell(cell) for cell in row]) for row in table.rows),
        r"\bottomrule",
        r"\end{longtable}}",
    ]


def _preamble(table: Table, paragraph: str = _PARAGRAPH) -> str:
    """Return the columns' alignments; a column of long texts is a paragraph that breaks."""
    return "".join(
        paragraph if column.align == "left" and longest > _WIDE else column.align[0]
        for column, longest in zip(table.columns, _longest(table), strict=True)
    )


def _is_wide(table: Table) -> bool:
    """Whether the table may not fit between the margins and is to be made smaller."""
    return _width(_widths(table)) > _LINE_CHARACTERS


def _is_shrunk(table: Table) -> bool:
    return bool(table.groups) or _is_wide(table)


def _widths(table: Table) -> list[int]:
    """Return the width of each column, in characters."""
    return [
        max(len(column.title), min(longest, _WIDE) if column.align == "left" else longest)
        for column, longest in zip(table.columns, _longest(table), strict=True)
    ]


def _width(widths: Iterable[int]) -> float:
    """Return the width of a table, in characters."""
    return sum(width + _COLUMN_SPACE for width in widths)


def _has_marks(table: Table) -> bool:
    """Whether check marks are in the table, for which LaTeX needs a package."""
    return any("\N{CHECK MARK}" in cell.text for row in table.rows for cell in row)


def _longest(table: Table) -> list[int]:
    """Return the length of each column's longest cell."""
    places = range(len(table.columns))
    return [max((len(row[place].text) for row in table.rows), default=0) for place in places]


def _heading(table: Table) -> list[str]:
    """Return the line of titles, below one of groups with a rule under each."""
    titles = _line([escape_latex(column.title) for column in table.columns])
    if not table.groups:
        return [titles]
    over, rules, place = list[str](), list[str](), 1
    for text, num in table.groups:
        if text:
            over.append(rf"\multicolumn{{{num}}}{{c}}{{{escape_latex(text)}}}")
            rules.append(rf"\cmidrule(lr){{{place}-{place + num - 1}}}")
        else:
            over += [""] * num
        place += num
    return [_line(over), " ".join(rules), titles]


def _cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    return rf"\boldmath\textbf{{{text}}}" if cell.is_bold and text else text


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
