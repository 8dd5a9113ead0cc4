"""What the contract of tracking stores writes and reads."""

from typing import Any

from capsmodel.metrics import EpochMetrics
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.examples import KEY, epoch, spec

OTHER = "f" * 20


CONFIG = {"batch_size": 3, "model": {"kind": "capsnet", "routing": {"kind": "dynamic"}}}


HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \u2028 é"


WEIGHTS = "weights.safetensors"


def reported_epochs(*numbers: int, time: int = 1000) -> list[tuple[EpochMetrics, int]]:
    """Return epochs and when they are told."""
    return [(epoch(number), time + number) for number in numbers]


def put(
    store: RecordStore,
    key: str = KEY,
    outcome: Outcome = Outcome.RUNNING,
    time: int = 1,
    **changes: Any,
) -> str:
    """Write a trial's record and return its id."""
    writer, of_trial = store.writer(), spec(key, **changes)
    record_id = writer.create_trial(of_trial, "own", time)
    writer.describe_trial(record_id, of_trial)
    if outcome is not Outcome.RUNNING:
        writer.set_outcome(record_id, outcome, time=time + 1)
    return record_id


def read(store: RecordStore, key: str = KEY) -> TrialRecord:
    """Return the record of a trial key."""
    record = store.record(key)
    assert record is not None
    return record
