"""A sweep's report as a value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from search_spaces.tables import NAMES_OF_REPORTS, CustomTable
from sweeps.aggregation.paper.style import Style, paper_sections, paper_texts, why_not_in_style
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.rendering.table import Needed, Table
from sweeps.aggregation.report.background import background, runs_section
from sweeps.aggregation.report.data_sentences import copies_across_splits, data_sentences
from sweeps.aggregation.report.input_recorder import InputRecorder
from sweeps.aggregation.results.arms import arms_as_trained
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.health import alarm_sentences, alarms_of
from sweeps.aggregation.results.split_alarms import split_alarms
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.cost_table import cost_table, mixtures
from sweeps.aggregation.tables.kinds import headlines, left_out, make
from sweeps.aggregation.tables.trials_table import trials_table
from sweeps.records.errors import BadInput
from sweeps.records.labels import label_sentences
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import not_covered_text
from sweeps.records.trial_record import SLUG, SLUG_WORDS, TrialRecord
from sweeps.tracking.validation import deleted_trials_text


def make_report(
    results: Results, tables: Sequence[type[CustomTable]] = (), style: Style = "default"
) -> Report:
    """Return a sweep's report as a value: nothing is rendered, drawn or written yet.

    Result sections hold only what trial keys decide; what trials took stands in one of its own.

    Args:
        results: What it is made from.
        tables: Classes of the user's own kinds of tables. A table of another such kind is left out.
        style: "paper" adds the arms as a paper prints them, which a terminal is then shown.

    Raises:
        BadInput: If the name of a table is no slug, the plan has nothing for a table, or there is
            no such style.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    recorder = InputRecorder(results)
    results = replace(
        results,
        histories=recorder.histories,
        find_predictions=recorder.predictions,
        find_wrong_images=recorder.wrong_images,
        find_arrays=recorder.arrays,
    )
    manifest, records = results.manifest, results.records
    check_names(manifest)
    made = [(declared, make(declared, results, tables)) for declared in manifest.tables]
    alarms = tuple(map(Needed, _alarms_about_splits(results)))
    data = _notes_of_all_tables(results)
    plain = [_with_notes(section, last=data) for _, section in made if section]
    sections = [_with_notes(section, first=alarms) for section in plain]
    in_style = paper_sections(results, style)
    shown = headlines(in_style or plain)
    behind = background(results)
    cost = cost_table(manifest, records)
    deleted = deleted_trials_text(results.num_deleted, manifest.sweep)
    return Report(
        provenance=provenance(manifest, records, recorder.digest(), (*alarms, *data)),
        sections=(*sections, *in_style),
        trials=Section("trials", "trials", data=(trials_table(manifest, records),)),
        costs=Section("cost", "cost", tables=(cost,), formats=("markdown", "csv")),
        shown=(*_noted(shown[:1], first=alarms), *shown[1:]),
        mixtures=mixtures(manifest, records),
        health=alarm_sentences(alarms_of(arms_as_trained(manifest, records))),
        left_out=(
            *(left_out(table, manifest.sweep) for table, section in made if not section),
            *why_not_in_style(in_style, style),
            *([deleted] if deleted else []),
        ),
        background=behind,
        runs=runs_section(manifest, records),
        texts=paper_texts(results, [*sections, *in_style]),
    )


def _alarms_about_splits(results: Results) -> tuple[str, ...]:
    return (
        *split_alarms(results.manifest, results.arms, results.predictions),
        *copies_across_splits(results.arms),
    )


def _notes_of_all_tables(results: Results) -> tuple[str, ...]:
    search = results.manifest.search
    cut = (search.cut_note,) if search and search.cut_note else ()
    return (
        *data_sentences(results.arms),
        *cut,
        *not_covered_text(results.manifest.not_covered),
        *label_sentences(results.manifest.tags, results.manifest.note),
    )


def check_names(manifest: Manifest) -> None:
    """Check every name that becomes a path.

    Raises:
        BadInput: If one is no slug, two tables have the same, or there is no table.
    """
    names = [table.name for table in manifest.tables]
    counts = Counter(names)
    for name in (manifest.sweep, *names):
        if not SLUG.fullmatch(name):
            raise BadInput(f"'{name}' cannot be a file's name: {SLUG_WORDS}.")
    for name in names:
        if name in NAMES_OF_REPORTS or counts[name] > 1:
            raise BadInput(
                f"Two tables of sweep '{manifest.sweep}' would be written to '{name}': "
                f"each needs a name of its own, other than {' and '.join(NAMES_OF_REPORTS)}."
            )
    if not names:
        raise BadInput(f"Sweep '{manifest.sweep}' declares no table.")


def _with_notes(section: Section, **notes: Sequence[str]) -> Section:
    """Return a section whose tables have some more notes, `first` and `last`."""
    return replace(section, tables=_noted(section.tables, **notes))


def _noted(
    tables: Sequence[Table], *, first: Sequence[str] = (), last: Sequence[str] = ()
) -> tuple[Table, ...]:
    """Return tables with some more notes, before and after their own."""
    return tuple(replace(table, notes=(*first, *table.notes, *last)) for table in tables)


def provenance(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    digest: str,
    data: tuple[str, ...] = (),
) -> Provenance:
    """Return what a report was made from.

    Args:
        manifest: The sweep's manifest.
        records: Records by trial key.
        digest: Digest of all inputs.
        data: Alarms about splits, how many images there are, what no trial key covers, and labels.
    """
    keys = tuple(dict.fromkeys(cell.trial_key for cell in manifest.cells))
    return Provenance(
        sweep=manifest.sweep,
        description=manifest.description,
        departures=departure_sentence(manifest),
        trial_keys=keys,
        num_records=sum(key in records for key in keys),
        data=data,
        digest=digest,
    )
