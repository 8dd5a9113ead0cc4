"""Which evaluations of a sweep are there, and which are to be made: pure functions of values."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome


class EvaluationState(StrEnum):
    """Where an evaluation of a finished trial stands."""

    RECORDED = "recorded"
    TO_RECORD = "to record"
    TO_MAKE = "to make"
    NOT_AVAILABLE = "not available"


@dataclass(frozen=True)
class SurveyedEvaluation:
    """An evaluation of one finished trial, and where it stands."""

    trial_key: str
    evaluation: ManifestEvaluation
    state: EvaluationState


def surveyed_evaluations(
    manifest: Manifest,
    outcomes: Mapping[str, Outcome],
    recorded: Mapping[str, Collection[str]],
    noted: Mapping[str, Collection[str]],
    has_weights: Callable[[str], bool],
) -> tuple[SurveyedEvaluation, ...]:
    """Say of every evaluation of every finished trial of a sweep where it stands.

    A trial that the sweep's scheduler stopped has none, whatever became of it in another sweep;
    nor has one that diverged, failed or is not over.

    Args:
        manifest: What the sweep declares.
        outcomes: By trial key, as far as known.
        recorded: Trial key -> keys of the evaluations that its record holds.
        noted: Trial key -> keys of those that its cell's folder holds.
        has_weights: Whether a trial's weights are kept; asked only where one is to be made.
    """
    finished = dict.fromkeys(
        cell.trial_key
        for cell in manifest.cells
        if cell.stopped is None and outcomes.get(cell.trial_key) is Outcome.FINISHED
    )

    def state_of(trial: str, key: str) -> EvaluationState:
        if key in recorded.get(trial, ()):
            return EvaluationState.RECORDED
        if key in noted.get(trial, ()):
            return EvaluationState.TO_RECORD
        is_possible = has_weights(trial)
        return EvaluationState.TO_MAKE if is_possible else EvaluationState.NOT_AVAILABLE

    return tuple(
        SurveyedEvaluation(trial, evaluation, state_of(trial, evaluation.evaluation_key))
        for trial in finished
        for evaluation in manifest.evaluations
    )


def count(planned: Iterable[SurveyedEvaluation], state: EvaluationState) -> int:
    """Return how many evaluations are in a state."""
    return sum(evaluation.state is state for evaluation in planned)
