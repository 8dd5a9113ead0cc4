"""What the commands print of evaluations, nothing where there are none."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.aggregation.results.found_evaluations import FoundEvaluation
    from sweeps.execution.survey.status import SweepStatus
    from sweeps.records.trial_record import Json


def print_standing(status: "SweepStatus", out: Console) -> None:
    """Print a line for each evaluation that a sweep declares: of how many trials it is there."""
    from sweeps.execution.survey.surveyed_evaluations import EvaluationState, count

    words = {
        EvaluationState.RECORDED: "recorded",
        EvaluationState.TO_RECORD: "made and not yet recorded",
        EvaluationState.TO_MAKE: "missing",
        EvaluationState.NOT_AVAILABLE: "not available, as the weights were not kept",
    }
    for declared in status.declared:
        own = [evaluation for evaluation in status.evaluations if evaluation.evaluation == declared]
        counts = {state: count(own, state) for state in words}
        told = [f"{counts[state]} {text}" for state, text in words.items() if counts[state]]
        name = _words(declared.kind, declared.settings)
        standing = ", ".join(told) or "no trial has finished yet"
        out.print(escape(f"evaluation {name}: {standing}"), soft_wrap=True)


def print_found(evaluations: "Sequence[FoundEvaluation]", out: Console) -> None:
    """Print what the evaluations of a trial found."""
    for evaluation in evaluations:
        for line in _lines(evaluation):
            out.print(escape(line), soft_wrap=True)


def _lines(evaluation: "FoundEvaluation") -> Iterator[str]:
    """Yield a line for an evaluation, and one for each metric."""
    told = evaluation.told
    if told is None:
        yield f"evaluation {evaluation.key}: its file is gone or cannot be read"
        yield from (f"  {name}: {value:.5g}" for name, value in sorted(evaluation.metrics.items()))
        return
    yield f"evaluation {_words(told.kind, told.settings)}, of {told.looks_at} images"
    for name, value in told.metrics.items():
        metric = told.metric_of(name)
        yield f"  {one_line(metric.text)}: {metric.written(value)}"
    if told.pictures:
        yield f"  pictures: {', '.join(told.pictures)}"
    yield from (f"  {one_line(sentence)}" for sentence in told.left_out)


def _words(kind: str, settings: "Json") -> str:
    shown = ", ".join(f"{name} {value}" for name, value in settings.items())
    return one_line(f"{kind} ({shown})" if shown else kind)
