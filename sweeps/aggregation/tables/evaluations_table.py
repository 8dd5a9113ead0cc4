"""Results of evaluations, by arm."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from capsmodel.metrics import Metric
from search_spaces.tables import EvaluationsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import heading, recorded_mean_cell
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    arm_cell,
    count_cell,
    text_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.tables.ablation_lead import split_words
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.sweep_results import Results
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome, TrialRecord

NOT_AVAILABLE = "not available"
_COLUMNS = (
    Column("Evaluation", ("evaluation", "evaluation_key"), align="left"),
    Column("Metric", ("metric", "unit", "split"), align="left"),
    Column("Arm", ("arm", "is_baseline"), align="left"),
    Column("n", ("n", "num_planned")),
    Column("Mean", ("mean", "mean_low", "mean_high")),
    Column("Not available", ("num_not_available",), hide_if_empty=True),
)


@dataclass(frozen=True)
class _Finished:
    """An arm with its finished trials by seed."""

    arm: ArmResults
    trials: Mapping[int, TrialRecord]

    def values(self, evaluation: ManifestEvaluation, metric: Metric) -> dict[int, float]:
        by_seed = {
            seed: trial.evaluations.get(evaluation.evaluation_key, {}).get(metric.name)
            for seed, trial in self.trials.items()
        }
        return {seed: value for seed, value in by_seed.items() if value is not None}

    def num_without(self, evaluation: ManifestEvaluation) -> int:
        key = evaluation.evaluation_key
        return sum(key not in trial.evaluations for trial in self.trials.values())


def make_evaluations(declared: EvaluationsTable, results: Results) -> Section:
    """Return the table."""
    table = evaluations_table(results.manifest, results.records, declared.name)
    return Section(declared.name, declared.kind, tables=(table,))


def evaluations_table(
    manifest: Manifest, records: Mapping[str, TrialRecord], name: str = "evaluations"
) -> Table:
    """Return one row an evaluation, metric and arm, in the manifest's order.

    A trial that the sweep's scheduler stopped has none, nor has one that has not finished.

    Args:
        manifest: The sweep's arms, cells and evaluations.
        records: Records by trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
    """
    stopped = {(cell.arm, cell.seed) for cell in manifest.cells if cell.stopped}
    arms = [_finished(arm, stopped) for arm in arm_results(manifest, records)]
    rows = [
        _row(evaluation, metric, arm)
        for evaluation in manifest.evaluations
        for metric in evaluation.metrics
        for arm in arms
    ]
    table = Table(
        name=name,
        title=f"Evaluations of {manifest.sweep}, by arm",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(manifest, arms)),
    )
    return with_departures(manifest, table)


def _finished(arm: ArmResults, stopped: set[tuple[str, int]]) -> _Finished:
    trials = {
        seed: trial
        for seed, trial in arm.trials.items()
        if trial is not None
        and trial.outcome is Outcome.FINISHED
        and (arm.arm.name, seed) not in stopped
    }
    return _Finished(arm, trials)


def _row(evaluation: ManifestEvaluation, metric: Metric, finished: _Finished) -> tuple[Cell, ...]:
    values = finished.values(evaluation, metric)
    without = finished.num_without(evaluation)
    mean = recorded_mean_cell(finished.arm.interval(values), metric)
    return (
        Cell(evaluation_words(evaluation), (evaluation.kind, evaluation.evaluation_key)),
        Cell(heading(metric), (metric.name, metric.unit, evaluation.looks_at)),
        arm_cell(finished.arm.arm.name, finished.arm.is_baseline),
        count_cell(len(values), len(finished.arm.trials)),
        replace(mean, text=NOT_AVAILABLE) if not values and without > 0 else mean,
        Cell(str(without or ""), (without,)),
    )


def evaluation_words(evaluation: ManifestEvaluation) -> str:
    """Return an evaluation's kind with its settings."""
    settings = ", ".join(f"{name} {value}" for name, value in evaluation.settings.items())
    return text_cell(f"{evaluation.kind} ({settings})" if settings else evaluation.kind).text


def _notes(manifest: Manifest, arms: Sequence[_Finished]) -> Iterator[str]:
    yield (
        f"n: finished trials looked at, out of those of the arm. Mean: {PLUS_MINUS} half the width "
        "of its 95 % t interval (n - 1 degrees of freedom); where n is 1 there is none."
    )
    splits = {evaluation.looks_at for evaluation in manifest.evaluations}
    if words := split_words(manifest):
        yield words
    if "test" in splits:
        names = dict.fromkeys(e.kind for e in manifest.evaluations if e.looks_at == "test")
        yield f"Of test images, which nothing is chosen by: {', '.join(names)}."
    if "validation" in splits:
        names = dict.fromkeys(e.kind for e in manifest.evaluations if e.looks_at == "validation")
        yield f"Of validation images: {', '.join(names)}."
    if any(arm.num_without(evaluation) for arm in arms for evaluation in manifest.evaluations):
        yield (
            "Not available: finished trials that could not be looked at, as their weights were not "
            "kept or the evaluation failed."
        )
