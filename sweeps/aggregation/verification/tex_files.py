"""A paper's files: the one that is given, and those that it inputs from its own folder."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.folder import read_named_file

REMOVED = "\0"
"""Replaces each character that is taken out, so that positions and lines stay."""

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
_END = re.compile(r"\\end[ \t]*\{document\}|\\endinput(?![A-Za-z@])[^\n]*")
_LONGEST_ARGUMENT = 2000  # an arm's name has 200 characters at most
_LONGEST_NOTE = 20_000
_NUM_ARGUMENTS = {"capsweep": 3, "capsweepvalue": 4, "capsweepnote": 2, "capsweepnotetext": 3}
_OURS = re.compile(r"\\(capsweep(?:value|notetext|note)?)(?![A-Za-z@])")
_INPUT = re.compile(
    r"\\(input|include|subfile)(?![A-Za-z@])[ \t\0]*(?:\{([^{}]*)\}|([^\s{}\\\0]+))"
)
_DEFINING = re.compile(
    r"\\(?:(?:new|renew|provide)command|DeclareRobustCommand|[gex]?def|let)\*?[\s\0]*\{?[\s\0]*$"
)
_NAMING = re.compile(r"\\(?:ifdefined|string|expandafter|noexpand)[\s\0]*$")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_BLANKS = re.compile(r"[\s\0]*")
MOST_FILES = 1000
MOST_DEPTH = 20
MOST_BYTES = 4 * 2**20
MOST_BYTES_OF_ALL = 32 * 2**20


@dataclass(frozen=True)
class Macro:
    """One of our macros in a source.

    Attributes:
        name: Without the backslash.
        arguments: With blanks as LaTeX sees them; none where they are not all there in braces.
        start: Where it begins.
        end: Where its last argument ends.
    """

    name: str
    arguments: tuple[str, ...]
    start: int
    end: int

    @property
    def is_whole(self) -> bool:
        """Whether it has all its arguments."""
        return bool(self.arguments)

    @property
    def has_parameters(self) -> bool:
        """Whether it stands in a definition and is filled by the arguments of another macro."""
        return any("#" in argument for argument in self.arguments)


@dataclass(frozen=True)
class Macros:
    r"""What a source holds of ours.

    Attributes:
        uses: Uses of `\capsweep`, with three arguments.
        values: Uses of `\capsweepvalue`, with four.
        notes: Uses of `\capsweepnote`, with two.
        note_texts: Uses of `\capsweepnotetext`, with three.
        redefined: Places where one of them is defined anew.
        inputs: Name and place of each file that the source inputs.
    """

    uses: list[Macro] = field(default_factory=list[Macro])
    values: list[Macro] = field(default_factory=list[Macro])
    notes: list[Macro] = field(default_factory=list[Macro])
    note_texts: list[Macro] = field(default_factory=list[Macro])
    redefined: list[int] = field(default_factory=list[int])
    inputs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    @property
    def all(self) -> list[Macro]:
        """All of them, in the order of the source."""
        macros = (*self.uses, *self.values, *self.notes, *self.note_texts)
        return sorted(macros, key=lambda macro: macro.start)


@dataclass(frozen=True)
class TexFile:
    """One file of a paper.

    Attributes:
        shown: Its path, as the user is told.
        source: What it holds.
    """

    shown: str
    source: str

    @cached_property
    def text(self) -> str:
        """The source with comments and verbatim text blanked out, so that positions stay."""
        return without_unset(self.source)

    @cached_property
    def macros(self) -> Macros:
        """Our macros in it."""
        return find_macros(self.text)

    def place(self, offset: int) -> str:
        """Return a position in it for users: `paper.tex, line 3`."""
        return f"{self.shown}, line {line_of(self.source, offset)}"


@dataclass(frozen=True)
class Paper:
    """A paper's files, the one given first.

    Attributes:
        folder: Where that one lies.
        unread: Place and reason of each input that was not followed.
    """

    folder: Path
    files: dict[Path, TexFile] = field(default_factory=dict[Path, TexFile])
    unread: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def sibling(self, name: str) -> TexFile | None:
        """Return a file of the paper's folder, input or not; None where it is missing."""
        path = Path(name)
        if path in self.files:
            return self.files[path]
        return None if _why_not(self.folder, path) else _read(self.folder, path)


def read_paper(name: str | Path) -> Paper:
    """Return a paper with all that it inputs from its own folder and those below.

    Links are not followed, and nothing is read outside. What is not there or not to be read is
    told; LaTeX's own files are among that.

    Raises:
        BadInput: If the paper cannot be read, or inputs more, larger or deeper than is allowed.
    """
    path = Path(name)
    if not os.path.lexists(path) and os.path.lexists(f"{path}.tex"):
        path = Path(f"{path}.tex")
    try:
        first = TexFile(str(path), _decoded(read_named_file(path, MOST_BYTES)))
    except OSError as error:
        sentence = f"{path} cannot be read ({error.strerror}): name a paper's .tex file."
        raise BadInput(sentence) from error
    paper = Paper(path.parent)
    paper.files[Path(path.name)] = first
    waiting = [(first, 1)]
    while waiting:
        file, depth = waiting.pop()
        waiting += [(inner, depth + 1) for inner in _follow(paper, file, depth)]
    return paper


def _decoded(content: bytes) -> str:
    return content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def _follow(paper: Paper, file: TexFile, depth: int) -> Iterator[TexFile]:
    """Yield the files that a file inputs, without those already read."""
    for name, offset in file.macros.inputs:
        path = _existing_path(paper.folder, name)
        if path in paper.files:
            continue
        if why := _why_not(paper.folder, path):
            paper.unread.append((file.place(offset), f"\\input{{{name}}} was not followed: {why}"))
            continue
        size = sum(len(read.source) for read in paper.files.values())
        if depth >= MOST_DEPTH or len(paper.files) >= MOST_FILES or size >= MOST_BYTES_OF_ALL:
            raise BadInput(
                f"{file.place(offset)} goes beyond what is read of a paper, {MOST_FILES} files and "
                f"{MOST_BYTES_OF_ALL:,} bytes, inputs {MOST_DEPTH} deep: verify it in parts."
            )
        read = _read(paper.folder, path)
        if read is None:
            complaint = f"\\input{{{name}}} was not followed: it cannot be read"
            paper.unread.append((file.place(offset), complaint))
            continue
        paper.files[path] = read
        yield read


def _existing_path(folder: Path, name: str) -> Path:
    """Return the path that LaTeX would take in the paper's folder."""
    path = Path(os.path.normpath(name))
    with_ending = path.with_name(f"{path.name}.tex") if path.name else path
    exists = not name.endswith(".tex") and os.path.lexists(folder / with_ending)
    return with_ending if exists or not path.suffix else path


def _why_not(folder: Path, path: Path) -> str:
    """Return why a file is not read, "" where it is."""
    if path.is_absolute() or ".." in path.parts:
        return "it lies outside the paper's folder"
    if not os.path.lexists(folder / path):
        return "it is not in the paper's folder"
    if (folder / path).resolve() != folder.resolve() / path:
        return "it is behind a link"
    return ""


def _read(folder: Path, path: Path) -> TexFile | None:
    try:
        return TexFile(str(folder / path), _decoded(read_named_file(folder / path, MOST_BYTES)))
    except (BadInput, OSError):
        return None


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


def _token(match: re.Match[str]) -> str:
    if match.lastgroup == "comment":
        return REMOVED * len(match[0])
    return _blank(match[0]) if match.lastgroup else match[0]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", REMOVED, text)


def _without_skipped(text: str) -> str:
    r"""Return the text without what stands between an `\iffalse` and its `\fi` or `\else`."""
    parts, place, depth = list[str](), 0, 0  # depth of conditionals, from the one that is false
    for match in _CONDITIONAL.finditer(text):
        if match[1] in _NO_CONDITIONALS:
            continue
        if depth:
            depth += {"fi": -1, "else": -1 if depth == 1 else 0}.get(match[1], 1)
            if not depth:
                parts.append(_blank(text[place : match.end()]))
                place = match.end()
        elif match[1] == "iffalse":
            parts.append(text[place : match.start()])
            place, depth = match.start(), 1
    end = text[place:]
    return "".join([*parts, _blank(end) if depth else end])


def line_of(source: str, place: int) -> int:
    """Return the number of the line, from 1, that a place is in."""
    return source.count("\n", 0, place) + 1


def find_macros(text: str) -> Macros:
    """Return the macros of a source from which comments and verbatim text were taken out."""
    document_macros = Macros()
    by_name = {
        "capsweep": document_macros.uses,
        "capsweepvalue": document_macros.values,
        "capsweepnote": document_macros.notes,
        "capsweepnotetext": document_macros.note_texts,
    }
    for match in _OURS.finditer(text):
        before = text[max(0, match.start() - 60) : match.start()]
        if _DEFINING.search(before):
            document_macros.redefined.append(match.start())
        elif not _NAMING.search(before):
            by_name[match[1]].append(_macro(text, match))
    document_macros.inputs.extend(_inputs(text))
    return document_macros


def _macro(text: str, match: re.Match[str]) -> Macro:
    arguments, place = list[str](), match.end()
    longest = _LONGEST_NOTE if match[1] == "capsweepnotetext" else _LONGEST_ARGUMENT
    for _ in range(_NUM_ARGUMENTS[match[1]]):
        group = _group(text, place, longest)
        if group is None:
            return Macro(match[1], (), match.start(), match.end())
        argument, place = group
        arguments.append(argument)
    return Macro(match[1], tuple(arguments), match.start(), place)


def _group(text: str, place: int, longest: int) -> tuple[str, int] | None:
    """Return the text in the next braces, and the position after them."""
    blanks = _BLANKS.match(text, place)
    start = blanks.end() if blanks else place
    if text[start : start + 1] != "{":
        return None
    depth = 0
    for match in _BRACES.finditer(text, start, start + longest):
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
