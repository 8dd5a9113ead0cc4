"""What every tracking store holds of evaluations, which come after a trial has ended."""

from pathlib import Path

import pytest

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import StoreRefused
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import Outcome
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.examples import KEY, spec
from tests.sweeps.tracking.store_examples import put, read

LOOK, SECOND_LOOK = "ab" * 10, "cd" * 10


class EvaluationsContract:
    """What a record holds of evaluations that were made after its trial had ended."""

    def test_what_an_evaluation_found_is_there_once_it_is_noted(self, store: RecordStore) -> None:
        record_id, writer = put(store, outcome=Outcome.FINISHED), store.writer()
        before = read(store)
        numbers = {evaluation_metric("look", LOOK, name): v for name, v in (("a", 0.5), ("b", 2))}
        writer.log_metrics(record_id, numbers, 7, 0)
        assert read(store).evaluations == {}
        assert writer.recorded_evaluation_keys(record_id) == frozenset()
        for _ in range(2):
            writer.record_evaluation(record_id, LOOK, "look")
        evaluations = {LOOK: {"a": 0.5, "b": 2.0}}
        assert read(store) == before.model_copy(
            update={"evaluations": evaluations, "metrics": {**before.metrics, **numbers}}
        )
        assert store.records([KEY])[KEY].evaluations == evaluations
        assert store.writer().recorded_evaluation_keys(record_id) == {LOOK}

    def test_two_evaluations_of_a_kind_are_told_apart(self, store: RecordStore) -> None:
        record_id, writer = put(store, outcome=Outcome.FINISHED), store.writer()
        for key, value in ((LOOK, 0.25), (SECOND_LOOK, 0.5)):
            writer.log_metrics(record_id, {evaluation_metric("look", key, "a"): value}, 7, 0)
            writer.record_evaluation(record_id, key, "look")
        assert read(store).evaluations == {LOOK: {"a": 0.25}, SECOND_LOOK: {"a": 0.5}}

    def test_one_that_gives_no_numbers_is_there_too(self, store: RecordStore) -> None:
        record_id = put(store, outcome=Outcome.FINISHED)
        store.writer().record_evaluation(record_id, LOOK, "pictures")
        assert read(store).evaluations == {LOOK: {}}

    def test_what_is_told_of_the_trial_later_leaves_them(self, store: RecordStore) -> None:
        record_id, writer = put(store, outcome=Outcome.FINISHED), store.writer()
        writer.record_evaluation(record_id, LOOK, "look")
        writer.set_outcome(record_id, Outcome.FINISHED, reason="", time=9)
        writer.describe_attempt(record_id, spec(hardware="GPU 2"))
        assert read(store).evaluations == {LOOK: {}}

    def test_none_is_noted_of_a_record_that_never_was(self, store: RecordStore) -> None:
        for ask in (
            lambda: store.writer().record_evaluation("0" * 32, LOOK, "look"),
            lambda: store.writer().recorded_evaluation_keys("0" * 32),
        ):
            with pytest.raises(StoreRefused):
                ask()

    def test_the_first_recorded_result_stands_whichever_storage_has_another(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        put(store, outcome=Outcome.FINISHED)
        for storage, value in (("first", 0.25), ("second", 0.5)):
            carry_evaluation(store, tmp_path / storage, value)
        assert read(store).evaluations == {LOOK: {"a": 0.25}}
        text = store.artifact(read(store), f"{LOOK}.json").read_text(encoding="utf-8")
        assert EvaluationRecord.model_validate_json(text).metrics == {"a": 0.25}


def carry_evaluation(store: RecordStore, folder: Path, value: float) -> None:
    """Write an evaluation into a storage of its own, and copy it to the record."""
    fields = {"evaluation_key": LOOK, "trial_key": KEY, "evaluation": {"kind": "look"}}
    fields |= {"looks_at": "test", "metrics": {"a": value}, "time": round(100 * value), "fence": 1}
    record = EvaluationRecord.model_validate(fields)
    CellEvaluations(folder / "cells" / KEY).write(record, b"", {})
    queue = RecorderQueue(folder, "any")
    queue.add_evaluated([KEY], "example")
    Recorder(store.writer(), queue, folder / "cells").drain_evaluations()
    queue.close()
