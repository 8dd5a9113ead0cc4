"""Which evaluations a sweep may declare."""

from collections.abc import Iterable, Sequence

from capsmodel.evaluation import Evaluation
from search_spaces.evaluation_key import evaluation_key


def refuse_evaluations(evaluations: Sequence[Evaluation]) -> None:
    """Refuse evaluations that every trial has already, or that are declared twice.

    Raises:
        ValueError: In one sentence.
    """
    for evaluation in evaluations:
        if evaluation.is_measured_in_training:
            raise ValueError(
                f"Every trial measures '{evaluation.kind}' at its end, so its record holds it "
                f"already: leave it out of Sweep(evaluations=...)."
            )
    keys = [evaluation_key(evaluation) for evaluation in evaluations]
    for kind in _twice(zip(keys, evaluations, strict=True)):
        raise ValueError(
            f"The evaluation '{kind}' is declared twice with the same settings: leave one out."
        )


def _twice(evaluations: Iterable[tuple[str, Evaluation]]) -> list[str]:
    seen: set[str] = set()
    kinds: list[str] = []
    for key, evaluation in evaluations:
        kinds += [str(evaluation.kind)] if key in seen else []
        seen.add(key)
    return kinds
