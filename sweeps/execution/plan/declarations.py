"""The tables and evaluations of a sweep as its manifest tells of them."""

from typing import Any

from search_spaces.evaluation_key import evaluation_key
from search_spaces.sweep import Sweep
from search_spaces.tables import EvaluationsTable
from sweeps.records.manifest_evaluation import ManifestEvaluation


def manifest_tables(sweep: Sweep) -> list[dict[str, Any]]:
    """Return the tables of a sweep, that of its evaluations among them where they give numbers."""
    tables = tuple(sweep.tables or sweep.plan.default_tables())
    is_there = any(isinstance(table, EvaluationsTable) for table in tables)
    has_numbers = any(evaluation.metrics for evaluation in sweep.evaluations)
    shown = (*tables, EvaluationsTable()) if has_numbers and not is_there else tables
    return [table.model_dump(mode="json") for table in shown]


def manifest_evaluations(sweep: Sweep) -> tuple[ManifestEvaluation, ...]:
    """Return what a sweep declares to be looked at in each finished trial's network."""
    return tuple(
        ManifestEvaluation(
            evaluation_key=evaluation_key(evaluation),
            kind=evaluation.kind,
            settings=evaluation.model_dump(mode="json", exclude={"kind"}),
            looks_at=evaluation.looks_at,
            metrics=evaluation.metrics,
        )
        for evaluation in sweep.evaluations
    )
