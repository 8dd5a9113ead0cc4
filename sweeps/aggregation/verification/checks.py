"""The checks of a paper's files against the records."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from capsmodel.spelling import hint, unknown
from sweeps.aggregation.paper.macros import (
    STYLE_NAME,
    arm_of,
    macro_key,
    macro_text,
    style_file,
    values_name,
)
from sweeps.aggregation.paper.numbers import METRICS, Numbers, paper_numbers
from sweeps.aggregation.paper.style import paper_tables
from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.latex import caption_text
from sweeps.aggregation.rendering.renderers import FRAGMENT, FRAGMENT_SIGNATURE, RENDERERS, render
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.report.making_across import make_report_across, numbers_across
from sweeps.aggregation.results.across_results import ResultsAcross, read_across
from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
from sweeps.aggregation.results.sweep_results import Results, read_results
from sweeps.aggregation.verification.tex_files import Macro, Paper, TexFile
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import not_covered_text
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.trial_record import SLUG, SLUG_WORDS
from sweeps.tracking.store import RecordStore

Kind = Literal["stale", "missing", "warning"]


@dataclass(frozen=True)
class SweepTruth:
    """What a paper may print of a sweep."""

    results: Results | ResultsAcross

    @property
    def sweep(self) -> str:
        """Its name."""
        results = self.results
        return results.sweep if isinstance(results, ResultsAcross) else results.manifest.sweep

    @property
    def not_covered(self) -> tuple[str, ...]:
        """Lines of code that may change its results without changing a trial key."""
        results = self.results
        if isinstance(results, Results):
            return results.manifest.not_covered
        of_each = (each.manifest.not_covered for each in results.launched.values())
        return tuple(dict.fromkeys(line for lines in of_each for line in lines))

    @cached_property
    def numbers(self) -> Numbers:
        """Its numbers, by arm and metric."""
        if isinstance(self.results, ResultsAcross):
            return numbers_across(self.results)
        return paper_numbers(self.results)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that an arm may have, those first that every sweep has."""
        own = (metric for metrics in self.numbers.values() for metric in metrics)
        return tuple(dict.fromkeys((*METRICS, *own)))

    @cached_property
    def values(self) -> Mapping[tuple[str, str], str]:
        """The content of its file of numbers: key of the arm and metric -> text of the macro."""
        return {
            (macro_key(arm), metric): macro_text(text)
            for arm, metrics in self.numbers.items()
            for metric, text in metrics.items()
        }

    @cached_property
    def report(self) -> Report:
        """Its report, with the tables of any style."""
        if isinstance(self.results, ResultsAcross):
            return make_report_across(self.results)
        return make_report(self.results, style="paper")

    @cached_property
    def notes(self) -> Mapping[str, str]:
        """Name of each table -> what its caption has to explain."""
        return {table.name: caption_text(table) for table in paper_tables(self.report.sections)}

    @cached_property
    def fragments(self) -> Mapping[str, str]:
        """Name of each table -> its LaTeX alone."""
        ending = f"{FRAGMENT}.tex"
        files = render(self.report, {"latex-table": RENDERERS["latex-table"]})
        return {
            name.removesuffix(ending): content.decode()
            for name, content in files
            if name.endswith(ending)
        }


Truths = Mapping[str, SweepTruth]
Place = tuple[str, str, str]
NoteTexts = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
"""Sweep and table -> file and line of each text that is defined as its note, and the text."""

_MOST_STALE = 5
_MOST_NAMED = 20
_SIGNATURE = re.compile(
    re.escape(FRAGMENT_SIGNATURE)
    .replace(re.escape("{table}"), "([a-z0-9_-]+)")
    .replace(re.escape("{sweep}"), "([a-z0-9_-]+)")
)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong in a paper.

    Attributes:
        kind: Stale is what the records no longer give, missing what they never gave. A warning
            fails nothing.
        place: File and line.
        sentence: What is wrong, and what to do.
    """

    kind: Kind
    place: str
    sentence: str


@dataclass(frozen=True)
class Verified:
    """The result of verifying papers.

    Attributes:
        findings: The stale first, then the missing, then warnings.
        num_macros: How many macros of numbers were looked at.
        num_notes: How many of notes.
        num_tables: How many tables that a report wrote.
        num_files: Files of the papers.
        sweeps: Those whose records were asked.
    """

    findings: tuple[Finding, ...]
    num_macros: int
    num_notes: int
    num_tables: int
    num_files: int
    sweeps: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where all follows from the records, 1 where something is stale or missing."""
        return int(any(finding.kind != "warning" for finding in self.findings))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each finding, and the answer in the last."""
        sentences = (
            f"{finding.kind}: {finding.place}: {finding.sentence}" for finding in self.findings
        )
        return (*sentences, self.sentence)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        counts = {
            kind: sum(finding.kind == kind for finding in self.findings)
            for kind in ("stale", "missing", "warning")
        }
        further = {"note": self.num_notes, "table": self.num_tables}
        others = [_number(count, noun) for noun, count in further.items() if count]
        *firsts, last = _number(self.num_macros, "number"), *others
        looked_at = f"{', '.join(firsts)} and {last}" if firsts else last
        asked = f"{looked_at} in {_number(self.num_files, 'file')}"
        warned = f", {_number(counts['warning'], 'warning')}" if counts["warning"] else ""
        if not self.exit_code:
            return f"{asked}: all follow from the records of {', '.join(self.sweeps)}{warned}."
        return f"{asked}: {counts['stale']} stale, {counts['missing']} missing{warned}."


def read_truth(store: RecordStore, sweep: str) -> SweepTruth:
    """Return what a paper may print of a sweep.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    if not SLUG.fullmatch(sweep):
        raise BadInput(f"'{sweep}' is not a sweep's name: {SLUG_WORDS}.")
    is_across = bool(sweeps_by_data_set(store, sweep))
    return SweepTruth(read_across(store, sweep) if is_across else read_results(store, sweep))


def not_covered(truth: SweepTruth) -> Iterator[Finding]:
    """Yield a warning where a sweep's results may depend on code that no trial key covers."""
    for sentence in not_covered_text(truth.not_covered):
        yield Finding("warning", truth.sweep, sentence)


def stale_values(file: TexFile, truths: Truths, used: set[Place]) -> Iterator[Finding]:
    """Yield the numbers of a file that the records no longer give, those used first."""
    stale = [
        (value, _now(value, truths[value.arguments[0]]))
        for value in file.macros.values
        if value.arguments[:1] and value.arguments[0] in truths
    ]
    stale = [(value, now) for value, now in stale if now != value.arguments[3]]
    stale.sort(key=lambda pair: pair[0].arguments[:3] not in used)
    for value, now in stale[:_MOST_STALE]:
        sweep, arm, metric, text = value.arguments
        by_records = "nothing" if now is None else f"'{now}'"
        yield Finding(
            "stale",
            file.place(value.start),
            f"{metric} of '{arm_of(arm)}' in {sweep} is '{text}' here and {by_records} by the "
            f"records: {_command(sweep)}.",
        )
    more = len(stale) - _MOST_STALE
    if more > 0:
        yield Finding("stale", file.shown, f"{more} more numbers differ from the records.")


def _now(value: Macro, truth: SweepTruth) -> str | None:
    _, arm, metric, _ = value.arguments
    return truth.values.get((arm, metric))


def _command(sweep: str) -> str:
    return f"copy what {SuggestedCommand('report', sweep)} writes"


def stale_style(file: TexFile) -> Iterator[Finding]:
    """Yield a finding if a paper's style file is not ours."""
    if file.source != style_file():
        yield Finding(
            "stale", file.shown, f"It is not the {STYLE_NAME} that capsweep report writes: copy it."
        )


def stale_fragment(file: TexFile, truths: Truths) -> Iterator[Finding]:
    """Yield a finding if a table that a report wrote no longer follows from the records."""
    signed = signature(file)
    if signed is None or signed[1] not in truths:
        return
    table, truth = signed[0], truths[signed[1]]
    if table not in truth.fragments:
        yield Finding("missing", file.shown, _why_no_table(truth, table))
    elif truth.fragments[table] != file.source:
        yield Finding(
            "stale",
            file.shown,
            f"Table {table} of {truth.sweep} differs from the records: {_command(truth.sweep)}.",
        )


def signature(file: TexFile) -> tuple[str, str] | None:
    """Return table and sweep of a file that a report wrote as a table alone, None of another."""
    match = _SIGNATURE.fullmatch(file.source.partition("\n")[0])
    return (match[1], match[2]) if match else None


def missing_numbers(
    file: TexFile, truths: Truths, absent: Mapping[str, str], defined: set[Place]
) -> Iterator[Finding]:
    """Yield each macro of a file that prints no number, once.

    Args:
        file: A file of the paper.
        truths: By sweep.
        absent: Sweep -> why there is none.
        defined: What the files of numbers define.
    """
    seen = set[tuple[str, ...]]()
    for use in file.macros.uses:
        kind = "warning" if use.has_parameters else "missing"
        sentence = _why_missing(use, truths, absent, defined)
        if sentence and use.arguments not in seen:
            yield Finding(kind, file.place(use.start), sentence)
        if use.is_whole:
            seen.add(use.arguments)


def _why_missing(use: Macro, truths: Truths, absent: Mapping[str, str], defined: set[Place]) -> str:
    """Return why a macro prints no number, "" where it prints one."""
    if not use.is_whole:
        return r"\capsweep takes three arguments in braces: {SWEEP}{ARM}{METRIC}."
    if why := _why_not_derived(use, absent):
        return why
    sweep, key, metric = use.arguments
    if (key, metric) not in truths[sweep].values:
        return f"{_written(use)}: {_why_unknown(truths[sweep], key, metric)}"
    if (sweep, key, metric) not in defined:
        return _undefined(use)
    return ""


def wrong_notes(
    file: TexFile, truths: Truths, absent: Mapping[str, str], texts: NoteTexts
) -> Iterator[Finding]:
    """Yield each macro of a file that prints no note of a table, or an old one, once.

    Args:
        file: A file of the paper.
        truths: By sweep.
        absent: Sweep -> why there is none.
        texts: What the files of numbers define.
    """
    seen = set[tuple[str, ...]]()
    for use in file.macros.notes:
        if use.is_whole and use.arguments in seen:
            continue
        seen.add(use.arguments)
        if why := _why_no_note(use, truths, absent, texts):
            kind = "warning" if use.has_parameters else "missing"
            yield Finding(kind, file.place(use.start), why)
            continue
        sweep, table = use.arguments
        for place, text in texts[sweep, table]:
            if text != truths[sweep].notes[table]:
                sentence = f"The note on table {table} of {sweep} differs from the records"
                yield Finding("stale", place, f"{sentence}: {_command(sweep)}.")


def _why_no_note(use: Macro, truths: Truths, absent: Mapping[str, str], texts: NoteTexts) -> str:
    """Return why a macro prints no note of a table, "" where it prints one."""
    if not use.is_whole:
        return r"\capsweepnote takes two arguments in braces: {SWEEP}{TABLE}."
    if why := _why_not_derived(use, absent):
        return why
    sweep, table = use.arguments
    if table not in truths[sweep].notes:
        return f"{_written(use)}: {_why_no_table(truths[sweep], table)}"
    return "" if (sweep, table) in texts else _undefined(use)


def _why_no_table(truth: SweepTruth, table: str) -> str:
    return (
        f"{unknown(f'table of {truth.sweep}', table, truth.notes)} A sweep's own kinds of tables "
        f"cannot be derived here."
    )


def _why_not_derived(use: Macro, absent: Mapping[str, str]) -> str:
    if use.has_parameters:
        return (
            f"{_written(use)} is filled by another macro, so that it cannot be verified: write it "
            f"out where it is used."
        )
    sweep = use.arguments[0]
    return f"{_written(use)}: {absent[sweep]}" if sweep in absent else ""


def _undefined(use: Macro) -> str:
    return (
        f"{_written(use)}: no file of the paper defines it: copy {values_name(use.arguments[0])} "
        f"of the report into the paper's folder, or below, and \\input it."
    )


def _written(use: Macro) -> str:
    return f"\\{use.name}" + "".join(f"{{{argument}}}" for argument in use.arguments)


def _why_unknown(truth: SweepTruth, key: str, metric: str) -> str:
    arms: Sequence[str] = [macro_key(arm) for arm in truth.numbers]
    if key not in arms:
        known = arms if len(arms) <= _MOST_NAMED else [*arms[:_MOST_NAMED], "..."]
        sentence = unknown(f"arm of {truth.sweep}", key, known)
        return sentence if known is arms else f"{hint(key, arms).strip()} {sentence}".strip()
    if metric not in truth.metrics:
        return unknown("metric", metric, truth.metrics)
    return f"the records give no {metric} of '{arm_of(key)}'."


def absent_sweeps(file: TexFile, absent: Mapping[str, str]) -> Iterator[Finding]:
    """Yield why a file of a report cannot be checked against records, once a sweep."""
    defined = (*file.macros.values, *file.macros.note_texts)
    names = dict.fromkeys(value.arguments[0] for value in defined if value.is_whole)
    if signed := signature(file):
        names[signed[1]] = None
    for name in names:
        if name in absent:
            yield Finding("missing", file.shown, f"Its numbers are of '{name}'. {absent[name]}")


def warnings_of(paper: Paper, file: TexFile) -> Iterator[Finding]:
    """Yield what could not be checked, and macros that were redefined."""
    for offset in file.macros.redefined:
        sentence = r"A macro of ours is defined anew: what \capsweep prints may be anything."
        yield Finding("warning", file.place(offset), sentence)
    for place, sentence in paper.unread:
        if place.rpartition(", line ")[0] == file.shown:
            yield Finding("warning", place, f"{sentence}; nothing in it was verified.")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
