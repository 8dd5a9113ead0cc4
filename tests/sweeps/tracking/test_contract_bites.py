"""The contract of stores finds each fault that is put into one."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from capsmodel.metrics import EpochMetrics
from sweeps.records.trial_record import ARTIFACT_SWEEP_LOG, Outcome
from tests.sweeps.tracking.memory_store import MemoryBackend, MemoryStore, MemoryWriter, StoredRun
from tests.sweeps.tracking.test_memory_store import TestMemory as Contract

MEMORY = "tests.sweeps.tracking.memory_store"
live, log_epochs, set_sweep_log = (
    MemoryBackend.live,
    MemoryWriter.log_epochs,
    MemoryWriter.set_sweep_log,
)
set_outcome, open_record = MemoryWriter.set_outcome, MemoryBackend.open


def backwards(backend: MemoryBackend, type_of_record: str) -> list[StoredRun]:
    return live(backend, type_of_record)[::-1]


def a_little_later(
    writer: MemoryWriter, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]
) -> None:
    run = writer._backend.open(record_id)
    shift = len(run.points.get("train_loss", ()))
    log_epochs(writer, record_id, [(line, time - shift) for line, time in epochs])


def with_the_last_time(
    writer: MemoryWriter, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]
) -> None:
    log_epochs(writer, record_id, [(line, 0) for line, _ in epochs])


def without_the_earlier(writer: MemoryWriter, sweep_id: str, text: str) -> None:
    writer._backend.open(sweep_id).files.clear()
    set_sweep_log(writer, sweep_id, text)


def for_people_only(writer: MemoryWriter, sweep_id: str, text: str) -> None:
    writer._backend.open(sweep_id).files[ARTIFACT_SWEEP_LOG] = text.encode()


def forgetting(
    writer: MemoryWriter,
    record_id: str,
    outcome: Outcome,
    *,
    reason: str | None = None,
    epochs: int | None = None,
    time: int | None = None,
) -> None:
    set_outcome(writer, record_id, outcome, reason=reason or "", epochs=epochs or 0, time=time)


def deleted_too(backend: MemoryBackend, record_id: str) -> StoredRun:
    run = backend.get(record_id)
    return run or open_record(backend, record_id)


def nothing(*_: Any, **__: Any) -> None:
    """Leave all as it is."""


def none_at_all(*_: Any) -> frozenset[str]:
    return frozenset()


def never(*_: Any) -> bool:
    return False


def all_of_them(writer: MemoryWriter, record_id: str) -> frozenset[int]:
    run = writer._backend.open(record_id)
    return frozenset[int]().union(*(run.history(name) for name in run.points))


def the_last(records: Iterable[Any]) -> dict[str, Any]:
    return {record.trial_key: record for record in records if record}


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "the latest counts": (
        "MemoryBackend.live",
        backwards,
        "test_of_two_equal_records_the_earliest_started_counts",
    ),
    "final ones do not count first": (
        "counted_records",
        the_last,
        "test_a_final_record_counts_before_one_that_started_earlier",
    ),
    "copies stay": (
        "MemoryWriter.log_epochs",
        a_little_later,
        "test_epochs_sent_again_with_their_times_are_dropped",
    ),
    "times are lost": (
        "MemoryWriter.log_epochs",
        with_the_last_time,
        "test_an_epoch_told_again_later_has_its_later_value",
    ),
    "one metric makes an epoch": (
        "MemoryWriter.epochs",
        all_of_them,
        "test_epochs_are_those_of_which_all_is_there",
    ),
    "what is not told is lost": (
        "MemoryWriter.set_outcome",
        forgetting,
        "test_what_is_not_told_with_an_outcome_stays",
    ),
    "an evaluation is not noted": (
        "MemoryWriter.record_evaluation",
        nothing,
        "test_what_an_evaluation_found_is_there_once_it_is_noted",
    ),
    "no evaluation was ever noted": (
        "MemoryWriter.recorded_evaluation_keys",
        none_at_all,
        "test_what_an_evaluation_found_is_there_once_it_is_noted",
    ),
    "nothing is set aside": (
        "MemoryWriter.mark_replaced",
        nothing,
        "test_records_set_aside_count_no_more",
    ),
    "nothing is ever gone": (
        "MemoryWriter.is_deleted",
        never,
        "test_deleted_records_are_gone_and_not_written_to",
    ),
    "nothing is deleted": (
        "MemoryWriter.delete_record",
        nothing,
        "test_a_record_that_the_writer_deletes_is_gone_for_all",
    ),
    "deleted records are written to": (
        "MemoryBackend.open",
        deleted_too,
        "test_deleted_records_are_gone_and_not_written_to",
    ),
    "earlier manifests go": (
        "MemoryWriter.set_sweep_log",
        without_the_earlier,
        "test_the_manifest_published_last_is_current_and_earlier_ones_stay",
    ),
    "manifests are not kept by hash": (
        "MemoryWriter.set_sweep_log",
        for_people_only,
        "test_the_manifest_published_last_is_current_and_earlier_ones_stay",
    ),
    "sweeps are never settled": (
        "MemoryWriter.settle_sweep",
        nothing,
        "test_a_sweep_is_opened_once_and_runs_until_it_is_settled",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place, broken, law = FAULTS[fault]
    arguments: dict[str, Any] = {}
    if law == "test_of_two_equal_records_the_earliest_started_counts":
        arguments["outcome"] = Outcome.FAILED
    if law == "test_a_final_record_counts_before_one_that_started_earlier":
        arguments["final"] = Outcome.FINISHED
    getattr(Contract(), law)(store=MemoryStore(), **arguments)
    monkeypatch.setattr(f"{MEMORY}.{place}", broken)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(Contract(), law)(store=MemoryStore(), **arguments)
