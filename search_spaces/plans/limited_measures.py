"""Limits of a search on metrics of evaluations: which one gives a metric, and whether it may.

Selection never sees the test split, so that only evaluations of validation images can be limited.
"""

from collections.abc import Sequence

from capsmodel.evaluation import Evaluation
from capsmodel.settings.messages import unknown
from search_spaces.evaluation_key import evaluation_key
from search_spaces.plans.base import Definition
from search_spaces.space.limits import Limit


def check_limited_measures(limits: Sequence[Limit], definition: Definition) -> None:
    """Check that trials take the limited measures, and that selection may see them.

    Raises:
        ValueError: For the first limit on what no trial measures or selection may not see.
    """
    for limit in limits:
        kind, metric = limit.evaluation
        if kind:
            _check_limited_evaluation(kind, metric, definition.evaluations)


def _check_limited_evaluation(kind: str, metric: str, evaluations: Sequence[Evaluation]) -> None:
    of_kind = [evaluation for evaluation in evaluations if evaluation.kind == kind]
    start = f"The limit on '{kind}.{metric}'"
    if not of_kind:
        known = dict.fromkeys(evaluation.kind for evaluation in evaluations)
        missing = unknown("evaluation of a limit", kind, known)
        raise ValueError(f"{missing} Declare what is limited by Sweep(evaluations=[...]).")
    if len(of_kind) > 1:
        raise ValueError(
            f"{start} names one evaluation, and the sweep has {len(of_kind)} of the kind '{kind}': "
            f"leave the others out."
        )
    if of_kind[0].looks_at == "test":
        seen = [each.kind for each in evaluations if each.looks_at == "validation" and each.metrics]
        raise ValueError(
            f"{start} cannot be kept, as the evaluation '{kind}' looks at test images, and "
            f"selection never sees the test split: limit one that looks at validation images "
            f"(the sweep has {', '.join(seen) or 'none'})."
        )
    if of_kind[0].other_trials:
        raise ValueError(
            f"{start} cannot be kept, as the evaluation '{kind}' is made once all trainings have "
            f"ended, and the search needs it between them: limit another measure."
        )
    metrics = [each.name for each in of_kind[0].metrics]
    if metric not in metrics:
        raise ValueError(unknown(f"metric of the evaluation '{kind}'", metric, metrics))


def keys_of_measures(limits: Sequence[Limit], definition: Definition) -> dict[str, str]:
    """Return the keys of the evaluations whose metrics are limited, measure -> key."""
    keys = {evaluation.kind: evaluation_key(evaluation) for evaluation in definition.evaluations}
    return {limit.measure: keys[limit.evaluation[0]] for limit in limits if limit.evaluation[0]}
