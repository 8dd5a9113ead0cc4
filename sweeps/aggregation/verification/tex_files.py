r"""A paper's files: the one that is given, and those that it inputs from its own folder."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sweeps.aggregation.verification.tex_macros import Macros, find_macros
from sweeps.aggregation.verification.tex_text import line_of, without_unset
from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import read_regular

MOST_FILES = 1000
MOST_DEPTH = 20
MOST_BYTES = 4 * 2**20
MOST_BYTES_OF_ALL = 32 * 2**20


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
        """The source without comments and verbatim text, in the same places."""
        return without_unset(self.source)

    @cached_property
    def macros(self) -> Macros:
        """Our macros in it."""
        return find_macros(self.text)

    def place(self, offset: int) -> str:
        """Return a place in it, as the user is told."""
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

    def beside(self, name: str) -> TexFile | None:
        """Return a file of the paper's own folder, whether or not it is input, None without one."""
        path = Path(name)
        if path in self.files:
            return self.files[path]
        return None if _why_not(self.folder, path) else _read(self.folder, path)


def read_paper(given: str | Path) -> Paper:
    """Return a paper with all that it inputs from its own folder and those below.

    Links are not followed, and nothing is read outside. What is not there or not to be read is
    told; LaTeX's own files are among that.

    Raises:
        BadInput: If the paper cannot be read, or inputs more, larger or deeper than is allowed.
    """
    path = Path(given)
    if not os.path.lexists(path) and os.path.lexists(f"{path}.tex"):
        path = Path(f"{path}.tex")
    try:
        first = TexFile(str(path), _decoded(read_regular(path, MOST_BYTES)))
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read ({error.strerror}): name a paper's .tex file."
        ) from (error)
    paper = Paper(path.parent)
    paper.files[Path(path.name)] = first
    waiting = [(first, 1)]
    while waiting:
        file, depth = waiting.pop()
        waiting += [(inner, depth + 1) for inner in _follow(paper, file, depth)]
    return paper


def _follow(paper: Paper, file: TexFile, depth: int) -> Iterator[TexFile]:
    """Yield the files that one inputs and that were not read before."""
    for name, offset in file.macros.inputs:
        path = _found(paper.folder, name)
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


def _found(folder: Path, name: str) -> Path:
    """Return the path that LaTeX would take, in the paper's folder: first with the ending."""
    path = Path(os.path.normpath(name))
    with_ending = path.with_name(f"{path.name}.tex") if path.name else path
    is_there = not name.endswith(".tex") and os.path.lexists(folder / with_ending)
    return with_ending if is_there or not path.suffix else path


def _why_not(folder: Path, path: Path) -> str:
    """Return why a file is not to be read, "" where it is."""
    if path.is_absolute() or ".." in path.parts:
        return "it lies outside the paper's folder"
    if not os.path.lexists(folder / path):
        return "it is not in the paper's folder"
    if (folder / path).resolve() != folder.resolve() / path:
        return "it is behind a link"
    return ""


def _read(folder: Path, path: Path) -> TexFile | None:
    try:
        return TexFile(str(folder / path), _decoded(read_regular(folder / path, MOST_BYTES)))
    except (BadInput, OSError):
        return None


def _decoded(content: bytes) -> str:
    return content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
