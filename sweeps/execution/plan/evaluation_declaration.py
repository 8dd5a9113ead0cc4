"""The evaluations of a sweep as its manifest tells of them."""

from search_spaces.evaluation_key import evaluation_key
from search_spaces.sweep import Sweep
from sweeps.records.manifest_evaluation import ManifestEvaluation


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
