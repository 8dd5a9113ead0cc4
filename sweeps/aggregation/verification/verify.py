"""Checks the numbers in papers against the records."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from sweeps.aggregation.paper.macros import STYLE_NAME, values_name
from sweeps.aggregation.verification.checks import (
    Finding,
    NoteTexts,
    Place,
    SweepTruth,
    Truths,
    Verified,
    absent_sweeps,
    missing_numbers,
    not_covered,
    read_truth,
    signature,
    stale_fragment,
    stale_style,
    stale_values,
    warnings_of,
    wrong_notes,
)
from sweeps.aggregation.verification.tex_files import Paper, TexFile, read_paper
from sweeps.aggregation.verification.typed_numbers import KnownNumbers, typed_numbers
from sweeps.records.errors import BadInput
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

_MOST_OF_A_FILE = 100
_ORDER = ("stale", "missing", "warning")


def verify(
    papers: str | Path | Sequence[str | Path],
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
) -> Verified:
    r"""Derive each number and note of papers anew from the records, and write nothing.

    They are `\capsweep{SWEEP}{ARM}{METRIC}`, `\capsweepnote{SWEEP}{TABLE}`, the files that define
    what these print, and tables alone that a report wrote. Files that a paper inputs are looked at
    where they lie in its folder or below. A sweep that is not in the store makes its numbers
    missing.

    Args:
        papers: LaTeX files, or one.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If a paper cannot be read, or nothing in them can be verified.
        StoreUnreachable: If the tracking store does not answer.
    """
    paths = [papers] if isinstance(papers, str | Path) else papers
    read = [read_paper(paper) for paper in paths]
    names = dict.fromkeys(name for paper in read for name in _sweeps(paper))
    if not names:
        shown = ", ".join(str(paper) for paper in paths)
        raise BadInput(
            f"There is nothing to verify in {shown}: write its numbers as "
            f"\\capsweep{{SWEEP}}{{ARM}}{{METRIC}}, which capsweep.sty of a report prints."
        )
    truths, absent = _asked(open_to_read(tracking_uri, storage), [*names])
    if not truths:
        raise BadInput(f"Nothing can be verified: {next(iter(absent.values()), '')}")
    files = [file for paper in read for file in paper.files.values()]
    findings = [finding for paper in read for finding in _findings(paper, truths, absent)]
    findings += [finding for truth in truths.values() for finding in not_covered(truth)]
    return Verified(
        findings=tuple(
            sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.kind))
        ),
        num_macros=sum(len(file.macros.uses) for file in files),
        num_notes=sum(len(file.macros.notes) for file in files),
        num_tables=sum(signature(file) is not None for file in files),
        num_files=len(files),
        sweeps=tuple(truths),
    )


def _sweeps(paper: Paper) -> Iterator[str]:
    """Yield the sweep of each macro, used or defined, and of each table of a report."""
    for file in paper.files.values():
        for macro in file.macros.all:
            if macro.is_whole and not macro.has_parameters:
                yield macro.arguments[0]
        if signed := signature(file):
            yield signed[1]


def _asked(
    store: RecordStore, names: Sequence[str]
) -> tuple[dict[str, SweepTruth], dict[str, str]]:
    """Return what the records give of each sweep, and why some sweeps are absent."""
    truths, absent = dict[str, SweepTruth](), dict[str, str]()
    for name in names:
        try:
            truths[name] = read_truth(store, name)
        except BadInput as error:
            absent[name] = str(error)
    return truths, absent


def _findings(paper: Paper, truths: Truths, absent: dict[str, str]) -> Iterator[Finding]:
    files = {**paper.files, **_value_files(paper, truths)}
    uses = [use for file in files.values() for use in file.macros.uses if use.is_whole]
    used: set[Place] = {(use.arguments[0], use.arguments[1], use.arguments[2]) for use in uses}
    defined: set[Place] = {
        (value.arguments[0], value.arguments[1], value.arguments[2])
        for file in files.values()
        for value in file.macros.values
        if value.is_whole
    }
    texts = _note_texts(files.values())
    known = KnownNumbers({name: truth.numbers for name, truth in truths.items()})
    if style := paper.sibling(STYLE_NAME):
        yield from stale_style(style)
    for file in files.values():
        yield from stale_values(file, truths, used)
        yield from stale_fragment(file, truths)
        yield from absent_sweeps(file, absent)
        yield from _few(file, missing_numbers(file, truths, absent, defined))
        yield from _few(file, wrong_notes(file, truths, absent, texts))
        yield from _few(file, warnings_of(paper, file))
        if not signature(file):
            yield from _few(file, typed_numbers(file, known))


def _note_texts(files: Iterable[TexFile]) -> NoteTexts:
    """Return the notes that files define."""
    texts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for file in files:
        for macro in file.macros.note_texts:
            if macro.is_whole:
                sweep, table, text = macro.arguments
                texts.setdefault((sweep, table), []).append((file.place(macro.start), text))
    return texts


def _few(file: TexFile, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the first of many findings, and how many more there are."""
    yield from islice(findings, _MOST_OF_A_FILE)
    if more := next(findings, None):
        yield Finding(more.kind, file.shown, "There are more of these.")


def _value_files(paper: Paper, truths: Truths) -> dict[Path, TexFile]:
    """Return the files of numbers in a paper's folder, whichever way it inputs them."""
    by_path = {Path(values_name(name)): paper.sibling(values_name(name)) for name in truths}
    return {path: file for path, file in by_path.items() if file is not None}
