"""The report over all data sets of a sweep across several, as a value."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import DataSetsTable
from sweeps.aggregation.paper.data_set_numbers import data_set_numbers, data_set_texts
from sweeps.aggregation.paper.numbers import Numbers
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.rendering.table import Column, Needed, Table, Value, data_table, text_cell
from sweeps.aggregation.report.data_sentences import copies_across_splits, data_sentences
from sweeps.aggregation.report.input_recorder import InputRecorder
from sweeps.aggregation.results.across_results import ResultsAcross
from sweeps.aggregation.results.arms import ArmResults, arms_as_trained
from sweeps.aggregation.results.compared_arms import compared_arms
from sweeps.aggregation.results.comparisons import tuning_slacks
from sweeps.aggregation.results.data_set_results import (
    DataSetResults,
    MeasuredDataSet,
    data_set_results,
    unlike_arms,
)
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.evaluation_comparisons import (
    EvaluatedFigure,
    data_sets_as_measured,
    primary_figure,
    primary_table,
)
from sweeps.aggregation.results.health import alarm_sentences, alarms_of
from sweeps.aggregation.results.measured_arms import tested_arms
from sweeps.aggregation.results.planned_looks import (
    comparisons_at_looks,
    comparisons_beside_looks,
    margin_of,
)
from sweeps.aggregation.results.split_alarms import split_alarms
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.columns import departed
from sweeps.aggregation.tables.cost_table import cost_table, mixtures
from sweeps.aggregation.tables.data_sets_table import data_sets_section
from sweeps.aggregation.tables.trials_table import DATA_SET, trials_table
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed

_OF_ONE_PLAN = {"seeds", "trials", "sampler", "scheduler", "cost"}


def make_report_across(results: ResultsAcross) -> Report:
    """Return the report over all data sets: nothing is rendered, drawn or written yet.

    The sweep of each data set has a report of its own, with all its tables.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    recorders = {name: InputRecorder(each) for name, each in results.launched.items()}
    read = {name: _recorded(each, recorders[name]) for name, each in results.launched.items()}
    as_read = replace(results, columns={**results.columns, **read})
    section, compared = _section(as_read)
    alarms = tuple(map(Needed, _unlike_launches(_measured_data_sets(as_read))))
    notes = tuple(_notes(as_read))
    departures = " ".join(_departures(read))
    tables = tuple(
        departed(departures, replace(table, notes=(*alarms, *table.notes, *notes)))
        for table in section.tables
    )
    data = tuple(departed(departures, table) for table in section.data)
    return Report(
        provenance=replace(
            _provenance(results), data=(*alarms, *notes), digest=_digest(results, recorders)
        ),
        sections=(replace(section, tables=tables, data=data),),
        trials=Section("trials", "trials", data=(trials_across(results),)),
        costs=Section("cost", "cost", tables=(_costs(results),), formats=("markdown", "csv")),
        shown=tables[:1],
        mixtures=tuple(
            dict.fromkeys(s for r in read.values() for s in mixtures(r.manifest, r.records))
        ),
        health=tuple(_of_each(read, _alarms)),
        texts=data_set_texts(
            results.sweep, compared, [section], is_of_test=not results.table.primary_of
        ),
    )


def _section(results: ResultsAcross) -> tuple[Section, DataSetResults]:
    """Return the table over all data sets, and what it shows."""
    compared, declared = compared_across(results), results.table
    first = next(iter(results.launched.values())).manifest
    figure = _figure(first, declared)
    section = data_sets_section(
        compared,
        declared,
        title=results.sweep,
        description=first.description,
        metric=figure.metric if figure else TEST_ERROR,
        margin_points=None if declared.primary_of else first.margin_points,
    )
    return section, compared


def _notes(results: ResultsAcross) -> Iterator[str]:
    """Yield what is unusual in the images, what is missing, and where the other reports are."""
    yield from _of_each(results.launched, _data_notes)
    yield from _not_launched(results)
    yield from _without_evaluation(results)
    names = ", ".join(each.manifest.sweep for each in results.launched.values())
    yield f"Each data set has a report of its own: {names}."


def _provenance(results: ResultsAcross) -> Provenance:
    launched = results.launched.values()
    manifests = [each.manifest for each in launched]
    keys = dict.fromkeys(key for each in manifests for key in each.cell_keys().values())
    return Provenance(
        sweep=results.sweep,
        description=manifests[0].description,
        departures=" ".join(_departures(results.launched)),
        trial_keys=tuple(keys),
        num_records=len({key for each in launched for key in each.records}),
    )


def numbers_across(results: ResultsAcross) -> Numbers:
    """Return the numbers that a paper may cite, by arm and metric."""
    return data_set_numbers(compared_across(results), is_of_test=not results.table.primary_of)


def compared_across(results: ResultsAcross) -> DataSetResults:
    """Return how the arms of a sweep compare on each data set and over all."""
    declared, manifests = results.table, [each.manifest for each in results.launched.values()]
    compared = data_set_results(
        _measured_data_sets(results),
        margin=None if declared.primary_of else margin_of(manifests[0]),
        like_these=declared.other_data_sets,
        ranks=declared.ranks,
    )
    figure = _figure(manifests[0], declared)
    return data_sets_as_measured(figure, compared) if figure else compared


def _measured_data_sets(results: ResultsAcross) -> list[MeasuredDataSet]:
    return [_measured(name, each, results.table) for name, each in results.columns.items()]


def _measured(name: str, results: Results | None, declared: DataSetsTable) -> MeasuredDataSet:
    """Return a data set's arms with the errors that they are compared by."""
    if results is None:
        return MeasuredDataSet(name, ())
    manifest, plan = results.manifest, results.manifest.plan
    key = _evaluation_key(manifest, declared.primary_of)
    if declared.primary_of and not key:
        return MeasuredDataSet(name, ())  # whose report says that it has no such evaluation
    arms_here = _compared_arms(results)
    arms = (
        primary_table(
            manifest, arms_here, results.wrong_images, results.predictions, evaluation_key=key
        )
        if key
        else tested_arms(arms_here, results.predictions)
    )
    compared = None
    if plan is not None and plan.seeds_at_looks and arms:
        if plan.judged_by == key:
            compared = tuple(comparisons_at_looks(manifest, arms))
        else:
            compared = tuple(comparisons_beside_looks(manifest, [arms])[0])
    return MeasuredDataSet(
        name,
        tuple(arms),
        planned_seeds=manifest.planned_seeds,
        slacks=tuning_slacks(manifest, results.predictions),
        images_of=manifest.part_of.images_of if manifest.part_of else (),
        launched_as=_launched_as(manifest, key),
        changes=_changes(manifest),
        at_looks=compared,
    )


def _figure(manifest: Manifest, declared: DataSetsTable) -> EvaluatedFigure | None:
    """Return the primary figure that arms are compared by, None for the test error."""
    key = _evaluation_key(manifest, declared.primary_of)
    figures = [primary_figure(each) for each in manifest.evaluations if each.evaluation_key == key]
    return next((figure for figure in figures if figure), None)


def _compared_arms(results: Results) -> tuple[ArmResults, ...]:
    """Return the arms that a data set's sweep compares; of a search those that it confirmed."""
    return compared_arms(results).arms if results.manifest.search else results.arms


def _evaluation_key(manifest: Manifest, kind: str) -> str:
    """Return the key of the evaluation whose primary figure is compared, "" for the test error."""
    return next((each.evaluation_key for each in manifest.evaluations if each.kind == kind), "")


def _recorded(results: Results, recorder: InputRecorder) -> Results:
    return replace(
        results,
        find_predictions=recorder.predictions,
        find_wrong_images=recorder.wrong_images,
        find_arrays=recorder.arrays,
    )


def trials_across(results: ResultsAcross) -> Table:
    """Return every cell of every data set with its trial's values, errors as fractions."""
    tables = {
        name: trials_table(each.manifest, each.records) for name, each in results.launched.items()
    }
    names = dict.fromkeys(c.fields[0] for table in tables.values() for c in table.columns)
    rows: list[list[Value]] = []
    for data_set, table in tables.items():
        fields = [column.fields[0] for column in table.columns]
        for row in table.rows:
            values = dict(zip(fields, (cell.values[0] for cell in row), strict=True))
            rows.append([data_set, *(values.get(name) for name in names)])
    return data_table("trials", (DATA_SET, *names), rows)


def _costs(results: ResultsAcross) -> Table:
    """Return what the trials of each data set took."""
    tables = {
        name: cost_table(each.manifest, each.records) for name, each in results.launched.items()
    }
    shared = min((table.columns for table in tables.values()), key=len)
    return Table(
        name="cost",
        title=f"Cost of {results.sweep}: what a trial took",
        columns=(Column("Data set", (DATA_SET,), align="left"), *shared),
        rows=tuple(
            (text_cell(name), *row[: len(shared)])
            for name, table in tables.items()
            for row in table.rows
        ),
        notes=tuple(f"{name}: {note}" for name, table in tables.items() for note in table.notes),
    )


def _data_notes(results: Results) -> Iterator[str]:
    """Yield alarms about splits and what is unusual in the images of a data set."""
    yield from split_alarms(results.manifest, results.arms, results.predictions)
    yield from copies_across_splits(results.arms)
    yield from data_sentences(results.arms)


def _without_evaluation(results: ResultsAcross) -> Iterator[str]:
    kind = results.table.primary_of
    for name, each in results.launched.items():
        if kind and not _evaluation_key(each.manifest, kind):
            yield f"{name} was launched without the evaluation {kind}: run the sweep again."


def _not_launched(results: ResultsAcross) -> Iterator[str]:
    unexplained: list[str] = []
    for name, each in results.columns.items():
        if reason := results.left_out.get(name):
            yield f"The last launch left {name} out: {reason}"
        elif each is None:
            unexplained.append(name)
    if unexplained:
        was = "was" if len(unexplained) == 1 else "were"
        yield f"{', '.join(unexplained)} {was} not launched."


def _unlike_launches(data_sets: Sequence[MeasuredDataSet]) -> Iterator[str]:
    """Yield which data sets and arms are not those of one sweep, and so have no overall verdict."""
    known = {each.name: each.launched_as for each in data_sets if each.arms}
    if not known:
        return
    first, again = next(iter(known)), "Run the sweep again on all data sets."
    if others := [name for name in known if known[name] != known[first]]:
        yield (
            f"{listed(others, len(others))}: launched with another base or other options than "
            f"{first}. {again}"
        )
    if arms := unlike_arms(data_sets):
        yield f"Not the same arm on all data sets: {listed(arms, len(arms))}. {again}"


def _departures(results: Mapping[str, Results]) -> Iterator[str]:
    """Yield what launches changed of the declared sweep, with the data sets where not on all."""
    names: dict[str, list[str]] = {}
    for name, each in results.items():
        if sentence := departure_sentence(each.manifest):
            names.setdefault(sentence, []).append(name)
    for sentence, of_these in names.items():
        on_some = f"{listed(of_these, len(of_these))}: " * (len(of_these) < len(results))
        yield f"{on_some}{sentence}"


def _launched_as(manifest: Manifest, evaluation_key: str) -> str:
    """Return what data sets of one table have in common.

    That is the base with the code of the user's parts, what the launch changed, the margin, and the
    evaluation whose primary figure is compared.
    """
    departures = {
        path: pair[1] for path, pair in manifest.departures.items() if path not in _OF_ONE_PLAN
    }
    base = manifest.part_of.definition if manifest.part_of else ""
    known = [base, departures, manifest.margin_points, evaluation_key]
    return json.dumps(known, sort_keys=True)


def _changes(manifest: Manifest) -> dict[str, str]:
    """Return what arms change, without those that are chosen or matched anew on each data set."""
    tuned = manifest.plan.tuned if manifest.plan else {}
    return {
        arm.name: json.dumps(arm.changes, sort_keys=True)
        for arm in manifest.arms
        if not arm.matched_to and arm.name not in tuned
    }


def _alarms(results: Results) -> Iterator[str]:
    yield from alarm_sentences(alarms_of(arms_as_trained(results.manifest, results.records)))


def _of_each(
    results: Mapping[str, Results], sentences: Callable[[Results], Iterator[str]]
) -> Iterator[str]:
    """Yield sentences of each data set, after its name."""
    for name, each in results.items():
        for sentence in sentences(each):
            yield f"{name}: {sentence}"


def _digest(results: ResultsAcross, recorders: Mapping[str, InputRecorder]) -> str:
    digests = [f"{name} {recorder.digest()}" for name, recorder in recorders.items()]
    return hashlib.sha256("\n".join([*results.columns, *digests]).encode()).hexdigest()
