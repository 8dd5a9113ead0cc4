r"""Numbers that a paper types by hand although a macro would print them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sweeps.aggregation.paper.macros import macro_key
from sweeps.aggregation.paper.numbers import Numbers
from sweeps.aggregation.verification.checks import Finding
from sweeps.aggregation.verification.tex_files import TexFile

_FEWEST_DIGITS = {True: 2, False: 3}  # of a decimal, of a whole number: fewer say nothing
_NUMBER = re.compile(
    r"(?<![\w.\\@])"
    r"(?:\d{1,3}(?:(?:,|\{,\}|\\,)\d{3})+|\d{1,18})(?:\.\d{1,18}|(?:,|\{,\})\d{2,18})?"
    r"(?!\w|\.\d)"
)
_LENGTH = re.compile(r"[\d.]+[ \t]*\\[A-Za-z@]*(?:width|height|skip|sep|size)(?![A-Za-z@])")
_COMMAND = re.compile(r"\\[A-Za-z@]+")
_BREAK = re.compile(r"\n[ \t\0]*(?=\n)|\\\\|\\par(?![A-Za-z@])|\\(?:begin|end)[ \t]*\{tabular")
_UNSEEN = re.compile(
    r"\\(?:label|(?:eq|page|auto|c|C|name)?ref|\w*cite\w*|input|include\w*|subfile|usepackage|"
    r"documentclass|begin|end|[vh]space|setlength|addtolength|url|href|bibliography\w*|multicolumn|"
    r"multirow|cmidrule|rule|resizebox|scalebox)\*?[ \t]*(?:\([^()\n]*\))?(?:\[[^\[\]\n]*\])*"
    r"(?:\{(?:[^{}\n]|\{[^{}\n]*\})*\})?"
)
_THOUSANDS = re.compile(r"(?:,|\{,\}|\\,)(?=\d{3}(?!\d))")


@dataclass(frozen=True)
class KnownNumber:
    """A number that the records give."""

    sweep: str
    arm: str
    metric: str

    @property
    def macro(self) -> str:
        """What prints it."""
        return rf"\capsweep{{{self.sweep}}}{{{macro_key(self.arm)}}}{{{self.metric}}}"

    @property
    def description(self) -> str:
        """What it is."""
        return f"{self.metric} of '{self.arm}' in {self.sweep}"


class KnownNumbers:
    """The numbers of some sweeps, indexed by their printed text and by their digits."""

    def __init__(self, numbers: Mapping[str, Numbers]) -> None:
        """Index the numbers of sweeps, by the sweep's name."""
        self._printed = dict[str, list[KnownNumber]]()
        self._digits = dict[str, list[KnownNumber]]()
        for sweep, arms in numbers.items():
            for arm, metrics in arms.items():
                for metric, text in metrics.items():
                    self._add(KnownNumber(sweep, arm, metric), text)

    def like(self, number: str, *, is_beside_a_macro: bool) -> list[KnownNumber]:
        """Return the numbers that a typed number may be, none where it is too short."""
        plain = _plain(number)
        if len(_digits(plain)) < _FEWEST_DIGITS["." in plain]:
            return []
        likely = list(self._printed.get(plain, ()))
        if not likely and is_beside_a_macro:
            likely = list(self._digits.get(_digits(plain), ()))
        return likely

    def _add(self, known: KnownNumber, text: str) -> None:
        plain = _plain(text)
        if re.fullmatch(r"\d+(?:\.\d+)?", plain):
            self._printed.setdefault(plain, []).append(known)
            if len(_digits(plain)) >= _FEWEST_DIGITS["." in plain]:
                self._digits.setdefault(_digits(plain), []).append(known)


def typed_numbers(file: TexFile, known: KnownNumbers) -> Iterator[Finding]:
    """Yield a warning for each number of a file that a macro would print.

    Such a number is printed just as a known number. In a paragraph or a row of a table that has a
    macro, the same digits are enough. Whole numbers below 100 and decimals of one digit are let be.
    """
    uses = file.macros.uses
    text, start = _prose(file), 0
    for end in (*(match.start() for match in _BREAK.finditer(file.text)), len(text)):
        near_macros = {use.arguments for use in uses if start <= use.start < end and use.is_whole}
        for match in _NUMBER.finditer(text, start, end):
            if likely := known.like(match[0], is_beside_a_macro=bool(near_macros)):
                yield _warning(file, match, likely, near_macros)
        start = end


def _warning(
    file: TexFile, match: re.Match[str], known: list[KnownNumber], near_macros: set[tuple[str, ...]]
) -> Finding:
    arms = {arguments[:2] for arguments in near_macros}
    near = [number for number in known if (number.sweep, macro_key(number.arm)) in arms]
    likely = (near or known)[0]
    others = f" (or {len(known) - 1} more)" if len(known) > 1 else ""
    return Finding(
        "warning",
        file.place(match.start()),
        f"{match[0]} is typed by hand and looks like {likely.description}{others}: "
        f"{likely.macro} stays true.",
    )


def _prose(file: TexFile) -> str:
    """Return a file's text with all but prose blanked out, so that positions stay."""
    parts, place = list[str](), 0
    for macro in file.macros.all:
        parts += [file.text[place : macro.start], " " * (macro.end - max(place, macro.start))]
        place = max(place, macro.end)
    text = "".join([*parts, file.text[place:]])
    for unseen in (_UNSEEN, _LENGTH, _COMMAND):
        text = unseen.sub(lambda match: " " * len(match[0]), text)
    return text


def _plain(number: str) -> str:
    """Return a number without sign and thousands, with a point for its decimals."""
    text = _THOUSANDS.sub("", number.lstrip("+\N{MINUS SIGN}<-"))
    return text.replace("{,}", ".").replace(",", ".")


def _digits(plain: str) -> str:
    """Return the significant digits."""
    digits = plain.replace(".", "").lstrip("0")
    return digits.rstrip("0") if "." in plain else digits
