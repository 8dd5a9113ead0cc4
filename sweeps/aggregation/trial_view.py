"""One trial closely, from Python: its record, config, curve and what was found of its network."""

from dataclasses import dataclass

from sweeps.aggregation.results.found_evaluations import FoundEvaluation, found_evaluations
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Json, Outcome, TrialRecord
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import CurvePoint, RecordStore


@dataclass(frozen=True)
class TrialView:
    """One trial closely.

    Attributes:
        config: Its full training config.
        curve: Its epochs, in order.
        weights: Where its weights lie (path or address), None where none are kept.
        evaluations: What was found of its network after its training.
    """

    record: TrialRecord
    config: Json
    curve: tuple[CurvePoint, ...]
    weights: str | None
    evaluations: tuple[FoundEvaluation, ...] = ()


def show(
    trial: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> TrialView:
    """Return one trial's record, config, curve and where its weights lie.

    Args:
        trial: The first characters of its trial key, or the id of its record.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If no trial, or more than one, answers to it.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_store(tracking_uri, storage)
    record = store.find(trial)
    return TrialView(
        record=record,
        config=store.config(record),
        curve=tuple(store.curve(record)),
        weights=store.location(record, ARTIFACT_WEIGHTS)
        if record.outcome is Outcome.FINISHED and store.holds(record, ARTIFACT_WEIGHTS)
        else None,
        evaluations=found_evaluations(record, store),
    )
