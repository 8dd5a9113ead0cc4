"""Results of evaluations, by arm."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from capsmodel.metrics import Metric
from search_spaces.tables import Curve, EvaluationsTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import MEAN_ENDS, heading, recorded_mean_cell
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    arm_cell,
    count_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.evaluation_comparisons import ComparedEvaluation
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_by_image
from sweeps.aggregation.results.predictions import Predictions, WrongImages
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import has_window
from sweeps.aggregation.tables.columns import with_departures
from sweeps.aggregation.tables.compared_evaluation_table import (
    compared_evaluation_table,
    coordinate_values,
    names_of_tables,
    trial_values,
)
from sweeps.aggregation.tables.confusion_figure import confusion_figures
from sweeps.aggregation.tables.coordinate_figure import evaluation_figure, is_of
from sweeps.aggregation.tables.evaluations_notes import evaluation_text, recorded_notes
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome, TrialRecord

NOT_AVAILABLE = "not available"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_COLUMNS = (
    Column("Evaluation", ("evaluation", "evaluation_key"), align="left"),
    Column("Metric", ("metric", "unit", "split", "coordinate", "at", "axis_unit"), align="left"),
    Column("Arm", ("arm", "is_baseline"), align="left"),
    Column("n", ("n", "num_planned")),
    Column("Mean", tuple(f"mean{end}" for end in MEAN_ENDS)),
    Column("Not available", ("num_not_available",), hide_if_empty=True),
)


@dataclass(frozen=True)
class _Finished:
    """An arm with its finished trials by seed, and what is known of images by trial key."""

    arm: ArmResults
    trials: Mapping[int, TrialRecord]
    wrong: WrongImages
    predictions: Mapping[str, Predictions]

    def values(self, evaluation: ManifestEvaluation, metric: Metric) -> dict[int, float]:
        by_seed = {
            seed: trial.evaluations.get(evaluation.evaluation_key, {}).get(metric.name)
            for seed, trial in self.trials.items()
        }
        return {seed: value for seed, value in by_seed.items() if value is not None}

    def mean(self, evaluation: ManifestEvaluation, metric: Metric) -> MeanOfArm:
        values, key = self.values(evaluation, metric), evaluation.evaluation_key
        trials = [self.trials[seed] for seed in values]
        known = [self.wrong.get(trial.trial_key, {}).get(key, {}) for trial in trials]
        wrong = [by_name[metric.name] for by_name in known if metric.name in by_name]
        lengths = {len(flags) for flags in wrong}
        is_split = evaluation.looks_at == "validation" and self.arm.splits  # of other images each
        has_same = len(lengths) == 1 and len({trial.data_fingerprint for trial in trials}) == 1
        if len(wrong) < len(trials) or not has_same or is_split:
            return mean_by_image(self.arm, values, None)
        predicted = self.predictions.get(trials[0].trial_key)
        shown = predicted and (
            predicted.test if evaluation.looks_at == "test" else predicted.validation
        )
        seen = shown.first(len(wrong[0])) if shown else None
        return mean_by_image(self.arm, values, wrong, seen.objects if seen else None)

    def num_without(self, evaluation: ManifestEvaluation) -> int:
        key = evaluation.evaluation_key
        return sum(key not in trial.evaluations for trial in self.trials.values())


def make_evaluations(declared: EvaluationsTable, results: Results) -> Section:
    """Return the table."""
    manifest = results.manifest
    has_shares = any(
        metric.is_fraction for evaluation in manifest.evaluations for metric in evaluation.metrics
    )
    predictions = results.predictions if has_shares else {}
    names = dict(enumerate(names_of_tables(results.evaluated, declared.name)))
    evaluated = {names[place]: evaluation for place, evaluation in enumerate(results.evaluated)}
    by_image = {
        name: evaluation for name, evaluation in evaluated.items() if evaluation.primary.is_by_image
    }
    is_matched = has_window(results.arms) and any(arm.is_baseline for arm in results.arms)
    of_test_errors = results.compared if by_image and is_matched else ()
    compared = tuple(
        compared_evaluation_table(
            manifest, evaluation, predictions, name, of_test_errors=of_test_errors
        )
        for name, evaluation in by_image.items()
    )
    others = evaluations_table(
        manifest,
        results.records,
        declared.name,
        wrong=results.wrong_images if has_shares else {},
        predictions=predictions,
        shown=shown_metrics(by_image.values()),
    )
    confusions, notes = confusion_figures(results, declared.name)
    return Section(
        declared.name,
        declared.kind,
        tables=(*compared, *([others] if others.rows or not compared else [])),
        data=tuple(trial_values(each, f"{name}-trials") for name, each in by_image.items()),
        figures=(*_curves(manifest, evaluated), *confusions),
        notes=notes,
    )


def _curves(manifest: Manifest, evaluated: Mapping[str, ComparedEvaluation]) -> Iterator[Figure]:
    """Yield the figure of each evaluation that has points and no figure of its own elsewhere."""
    for name, evaluation in evaluated.items():
        if evaluation.points and not _is_drawn_elsewhere(manifest, evaluation):
            yield evaluation_figure(manifest, evaluation, name)


def shown_metrics(evaluated: Iterable[ComparedEvaluation]) -> set[tuple[str, str]]:
    """Return the key of the evaluation and the name of each metric that their tables show."""
    return {
        (compared.evaluation.evaluation_key, name)
        for compared in evaluated
        for figure in (compared.primary, *compared.points)
        for name in figure.figure.weights
    }


def _is_drawn_elsewhere(manifest: Manifest, evaluated: ComparedEvaluation) -> bool:
    curves = [table for table in manifest.tables if isinstance(table, Curve)]
    return any(is_of(declared, evaluated) for declared in curves)


def evaluations_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    name: str = "evaluations",
    *,
    wrong: WrongImages = _NOTHING,
    predictions: Mapping[str, Predictions] = _NOTHING,
    shown: Collection[tuple[str, str]] = (),
) -> Table:
    """Return one row per evaluation, metric and arm, in the manifest's order, without comparisons.

    A trial that the sweep's scheduler stopped has none, nor has one that has not finished.

    Args:
        manifest: The sweep's arms, cells and evaluations.
        records: Records by trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
        wrong: Which images count in the shares of evaluations. Without them means have no interval.
        predictions: Predictions by trial key, which tell whether images are views of one object.
        shown: Key of the evaluation and name of each metric that has a table of its own.
    """
    stopped = {(cell.arm, cell.seed) for cell in manifest.cells if cell.stopped}
    arms = [
        _Finished(arm, _finished(arm, stopped), wrong, predictions)
        for arm in arm_results(manifest, records)
    ]
    others = [
        (evaluation, metric)
        for evaluation in manifest.evaluations
        for metric in evaluation.metrics
        if (evaluation.evaluation_key, metric.name) not in shown
    ]
    rows = [_row(evaluation, metric, arm) for evaluation, metric in others for arm in arms]
    means = [
        (evaluation, arm.mean(evaluation, metric)) for evaluation, metric in others for arm in arms
    ]
    is_any_missing = any(arm.num_without(evaluation) for arm in arms for evaluation, _ in others)
    table = Table(
        name=name,
        title=f"Evaluations of {manifest.sweep}, by arm",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=tuple(
            recorded_notes(
                manifest,
                [evaluation for evaluation, _ in others],
                means,
                is_any_missing=is_any_missing,
            )
        ),
    )
    return with_departures(manifest, table)


def _finished(arm: ArmResults, stopped: set[tuple[str, int]]) -> dict[int, TrialRecord]:
    return {
        seed: trial
        for seed, trial in arm.trials.items()
        if trial is not None
        and trial.outcome is Outcome.FINISHED
        and (arm.arm.name, seed) not in stopped
    }


def _row(evaluation: ManifestEvaluation, metric: Metric, finished: _Finished) -> tuple[Cell, ...]:
    values = finished.values(evaluation, metric)
    without = finished.num_without(evaluation)
    mean = recorded_mean_cell(finished.mean(evaluation, metric).interval, metric)
    return (
        Cell(evaluation_text(evaluation), (evaluation.kind, evaluation.evaluation_key)),
        Cell(
            heading(metric),
            (
                *(metric.name, metric.unit, evaluation.looks_at),
                *coordinate_values(metric.at).values(),
            ),
        ),
        arm_cell(finished.arm.arm.name, finished.arm.is_baseline),
        count_cell(len(values), len(finished.arm.trials)),
        replace(mean, text=NOT_AVAILABLE) if not values and without > 0 else mean,
        Cell(str(without or ""), (without,)),
    )
