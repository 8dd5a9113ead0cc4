r"""The macros of a LaTeX source that concern us: `\capsweep`, `\capsweepvalue`, and its inputs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sweeps.aggregation.verification.tex_text import REMOVED

_LONGEST_ARGUMENT = 2000  # an arm's name has 200 characters at most
_OURS = re.compile(r"\\(capsweep(?:value)?)(?![A-Za-z@])")
_INPUT = re.compile(
    r"\\(input|include|subfile)(?![A-Za-z@])[ \t\0]*(?:\{([^{}]*)\}|([^\s{}\\\0]+))"
)
_DEFINING = re.compile(
    r"\\(?:(?:new|renew|provide)command|DeclareRobustCommand|[gex]?def|let)\*?[\s\0]*\{?[\s\0]*$"
)
_NAMING = re.compile(r"\\(?:ifdefined|string|expandafter|noexpand)[\s\0]*$")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_BLANKS = re.compile(r"[\s\0]*")


@dataclass(frozen=True)
class Macro:
    """One of our macros in a source.

    Attributes:
        arguments: With blanks as LaTeX sees them; none where they are not all there in braces.
        start: Where it begins.
        end: Where its last argument ends.
    """

    arguments: tuple[str, ...]
    start: int
    end: int

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are there."""
        return bool(self.arguments)

    @property
    def has_parameters(self) -> bool:
        """Whether it stands in a definition and is filled by the arguments of another macro."""
        return any("#" in argument for argument in self.arguments)


@dataclass(frozen=True)
class Macros:
    r"""What a source holds of ours.

    Attributes:
        uses: Of `\capsweep`, with three arguments.
        values: Of `\capsweepvalue`, with four.
        redefined: Places where either is defined anew.
        inputs: Name and place of each file that the source inputs.
    """

    uses: list[Macro] = field(default_factory=list[Macro])
    values: list[Macro] = field(default_factory=list[Macro])
    redefined: list[int] = field(default_factory=list[int])
    inputs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


def find_macros(text: str) -> Macros:
    """Return the macros of a source from which comments and verbatim text were taken out."""
    found = Macros()
    for match in _OURS.finditer(text):
        before = text[max(0, match.start() - 60) : match.start()]
        if _DEFINING.search(before):
            found.redefined.append(match.start())
        elif not _NAMING.search(before):
            is_value = match[1] == "capsweepvalue"
            macros = found.values if is_value else found.uses
            macros.append(_macro(text, match, num_arguments=4 if is_value else 3))
    found.inputs.extend(_inputs(text))
    return found


def _macro(text: str, match: re.Match[str], num_arguments: int) -> Macro:
    arguments, place = list[str](), match.end()
    for _ in range(num_arguments):
        group = _group(text, place)
        if group is None:
            return Macro((), match.start(), match.end())
        argument, place = group
        arguments.append(argument)
    return Macro(tuple(arguments), match.start(), place)


def _group(text: str, place: int) -> tuple[str, int] | None:
    """Return what stands in braces from here on, after blanks, and where it ends."""
    blanks = _BLANKS.match(text, place)
    start = blanks.end() if blanks else place
    if text[start : start + 1] != "{":
        return None
    depth = 0
    for match in _BRACES.finditer(text, start, start + _LONGEST_ARGUMENT):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return _as_latex_reads(text[start + 1 : match.start()]), match.end()
    return None


def _as_latex_reads(argument: str) -> str:
    return re.sub(r"\s+", " ", argument.replace(REMOVED, ""))


def _inputs(text: str) -> Iterator[tuple[str, int]]:
    for match in _INPUT.finditer(text):
        name = _as_latex_reads(match[2] or match[3] or "").strip().strip('"')
        if name:
            is_included = match[1] == "include"  # which always adds the ending
            yield (
                f"{name}.tex" if is_included and not name.endswith(".tex") else name,
                match.start(),
            )
