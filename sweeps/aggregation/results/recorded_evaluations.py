"""The evaluations of one trial, read from its record."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.folder import read_named_file
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class RecordedEvaluation:
    """One evaluation in a trial's record.

    Attributes:
        metrics: Name -> value, in the record's unit.
        record: All that the evaluation wrote; None if its file is missing or unreadable.
    """

    key: str
    metrics: Mapping[str, float]
    record: EvaluationRecord | None


def recorded_evaluations(record: TrialRecord, store: RecordStore) -> tuple[RecordedEvaluation, ...]:
    """Return the evaluations in a record, sorted by key.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    return tuple(
        RecordedEvaluation(key, metrics, _read(record, key, store))
        for key, metrics in sorted(record.evaluations.items())
    )


def _read(record: TrialRecord, key: str, store: RecordStore) -> EvaluationRecord | None:
    try:
        content = read_named_file(store.artifact(record, f"{key}.json"))
        return EvaluationRecord.model_validate_json(content)
    except (BadInput, ValidationError):
        return None
