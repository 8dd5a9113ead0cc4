"""What evaluations found of one trial, read from its record."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.regular_files import read_regular
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class FoundEvaluation:
    """One evaluation that a trial's record holds.

    Attributes:
        metrics: Name -> value, as the record holds them.
        told: All that the evaluation left, None where its file is gone or cannot be read.
    """

    key: str
    metrics: Mapping[str, float]
    told: EvaluationRecord | None


def found_evaluations(record: TrialRecord, store: RecordStore) -> tuple[FoundEvaluation, ...]:
    """Return the evaluations that a record holds, by their keys.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    return tuple(
        FoundEvaluation(key, metrics, _told(record, key, store))
        for key, metrics in sorted(record.evaluations.items())
    )


def _told(record: TrialRecord, key: str, store: RecordStore) -> EvaluationRecord | None:
    try:
        content = read_regular(store.artifact(record, f"{key}.json"))
        return EvaluationRecord.model_validate_json(content)
    except (BadInput, ValidationError):
        return None
