"""What every tracking store holds of trials: which records there are, and what is in them."""

import math
from dataclasses import replace
from typing import Any

import pytest

from sweeps.records.errors import BadInput, StoreRefused
from sweeps.records.trial_record import METRIC_TEST_ERROR, Outcome, TrialRecord
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.examples import KEY, epoch, final, spec
from tests.sweeps.tracking.store_examples import CONFIG, HOSTILE, OTHER, put, read, reported_epochs


class RecordsContract:
    """How trials' records are found, and which of them count."""

    def delete(self, store: Any, record_id: str) -> None:
        """Delete a record as a user does, not through the writer."""
        raise NotImplementedError

    def test_a_new_store_holds_nothing(self, store: RecordStore) -> None:
        assert store.sweeps() == []
        assert store.records([KEY]) == {}
        assert store.record(KEY) is None
        assert store.writer().find_trial(KEY) is None
        assert store.writer().find_sweep("example") is None

    def test_a_record_is_there_for_every_reader_and_writer_at_once(
        self, store: RecordStore
    ) -> None:
        writer, other = store.writer(), store.writer()
        record_id = writer.create_trial(spec(), "own", 1)
        trial = other.find_trial(KEY)
        assert trial == (record_id, Outcome.RUNNING)
        assert read(store).record_id == record_id
        assert read(store).outcome is Outcome.RUNNING

    def test_only_the_keys_asked_for_come_back(self, store: RecordStore) -> None:
        put(store)
        put(store, OTHER)
        assert list(store.records([OTHER, "a" * 20, "' OR", ""])) == [OTHER]
        assert store.records([]) == {}
        assert store.record("x' OR '1'='1") is None

    @pytest.mark.parametrize("outcome", [Outcome.FINISHED, Outcome.FAILED])
    def test_of_two_equal_records_the_earliest_started_counts(
        self, outcome: Outcome, store: RecordStore
    ) -> None:
        put(store, outcome=outcome, time=200)
        earliest = put(store, outcome=outcome, time=100)
        assert read(store).record_id == earliest
        assert store.records([KEY])[KEY].record_id == earliest
        trial = store.writer().find_trial(KEY)
        assert trial == (earliest, outcome)

    @pytest.mark.parametrize("final", [Outcome.FINISHED, Outcome.DIVERGED])
    def test_a_final_record_counts_before_one_that_started_earlier(
        self, final: Outcome, store: RecordStore
    ) -> None:
        put(store, outcome=Outcome.INTERRUPTED, time=1)
        counted = put(store, outcome=final, time=2)
        put(store, outcome=Outcome.FAILED, time=3)
        put(store, outcome=Outcome.FINISHED, time=4)
        assert read(store).record_id == counted
        assert store.records([KEY])[KEY].record_id == counted

    def test_deleted_records_are_gone_and_not_written_to(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        assert not writer.is_deleted(record_id)
        self.delete(store, record_id)
        assert writer.is_deleted(record_id)
        assert writer.find_trial(KEY) is None
        assert store.records([KEY]) == {}
        assert store.deleted([KEY, OTHER]) <= {KEY}, "a store may keep no trace"
        for write in (
            lambda: writer.log_epochs(record_id, reported_epochs(1)),
            lambda: writer.describe_trial(record_id, spec(config=CONFIG)),
            lambda: writer.set_outcome(record_id, Outcome.FINISHED, time=2),
        ):
            with pytest.raises(StoreRefused) as error:
                write()
            assert error.value.reason
        writer.check_reachable()
        assert put(store) != record_id

    def test_a_record_that_the_writer_deletes_is_gone_for_all(self, store: RecordStore) -> None:
        record_id, other_id, writer = put(store), put(store, OTHER), store.writer()
        sweep_id = writer.open_sweep("gone", "")
        for stored_id in (record_id, sweep_id):
            writer.delete_record(stored_id)
        other = store.writer()
        assert [other.is_deleted(stored_id) for stored_id in (record_id, sweep_id, other_id)] == [
            True,
            True,
            False,
        ]
        assert (other.find_trial(KEY), other.find_sweep("gone")) == (None, None)
        assert (other.records_of(KEY), other.records_of(OTHER)) == ((), (other_id,))
        assert store.records([KEY, OTHER]).keys() == {OTHER}
        assert "gone" not in store.sweeps()
        with pytest.raises(StoreRefused):
            writer.delete_record("0" * 32)

    def test_it_is_known_when_each_sweep_first_tested_on_some_data(
        self, store: RecordStore
    ) -> None:
        writer = store.writer()
        for sweep in ("example", "later", "elsewhere", "untested"):
            writer.open_sweep(sweep, "")
        for place, (sweep, data, time) in enumerate(
            [
                ("example", "abc", 3000),
                ("example", "abc", 2000),
                ("later", "abc", 5000),
                ("elsewhere", "def", 1000),
                ("untested", "abc", 1000),
                ("never opened", "abc", 1000),
            ]
        ):
            record_id = put(store, f"{place:020x}", sweep=sweep, data_fingerprint=data, time=time)
            if sweep != "untested":
                writer.log_metrics(record_id, {METRIC_TEST_ERROR: 0.5}, time, 1)
        assert store.first_tests(["abc", "x' OR '1'='1"]) == {"example": 2.0, "later": 5.0}
        assert store.first_tests(["abc", "def"]).keys() == {"example", "later", "elsewhere"}
        assert store.first_tests([]) == store.first_tests([""]) == {}

    @pytest.mark.parametrize("name", [None, 0.5, ("a",)])
    def test_what_is_no_text_is_the_name_of_nothing(self, store: RecordStore, name: Any) -> None:
        put(store)
        for ask, sentence in ((store.manifest, "There is no sweep"), (store.find, "no trial")):
            with pytest.raises(BadInput, match=sentence):
                ask(name)

    def test_a_record_that_never_was_is_gone(self, store: RecordStore) -> None:
        assert store.writer().is_deleted("0" * 32)

    def test_records_set_aside_count_no_more(self, store: RecordStore) -> None:
        put(store, outcome=Outcome.FINISHED, time=1)
        put(store, outcome=Outcome.FAILED, time=2)
        other_id = put(store, OTHER)
        writer = store.writer()
        for _ in range(2):
            writer.mark_replaced([KEY, "a" * 20])
        assert store.records([KEY, OTHER]).keys() == {OTHER}
        assert writer.find_trial(KEY) is None
        assert len(writer.records_of(KEY)) == 2
        assert writer.records_of(OTHER) == (other_id,)
        assert read(store, OTHER).record_id == other_id
        with pytest.raises(BadInput, match="no trial"):
            store.find(KEY)
        anew = put(store, time=3)
        assert read(store).record_id == anew

    def test_a_trial_is_found_by_the_beginning_of_its_key_or_its_id(
        self, store: RecordStore
    ) -> None:
        record_id = put(store, seed=7)
        put(store, OTHER)
        for prefix in (KEY, KEY[:6], f" {KEY[:6].upper()} ", record_id):
            assert store.find(prefix).seed == 7

    def test_an_ambiguous_beginning_is_refused_with_the_choices(self, store: RecordStore) -> None:
        keys = [f"{'ab' * 9}{number:02d}" for number in range(2)]
        for key in keys:
            put(store, key)
        with pytest.raises(BadInput, match=f"2 trial keys: {keys[0]}, {keys[1]}"):
            store.find("abab")

    @pytest.mark.parametrize("text", ["", "zzz", "x' OR '1'='1", "%"])
    def test_a_trial_that_is_not_there_gets_one_sentence(
        self, text: str, store: RecordStore
    ) -> None:
        put(store)
        with pytest.raises(BadInput, match="There is no trial") as error:
            store.find(text)
        assert "\n" not in str(error.value)


class ContentsContract:
    """What a trial's record holds after what was written to it."""

    def num_points(self, store: Any, record_id: str, metric: str) -> int:
        """Return how many values of a metric are there, copies included."""
        raise NotImplementedError

    def test_a_record_holds_what_was_told(self, store: RecordStore) -> None:
        known: dict[str, Any] = {"arm": "base", "seed": 3, "num_parameters": 7, "threads": 2}
        of_trial = spec(config=CONFIG, hardware="a GPU", data_fingerprint="d", **known)
        writer = store.writer()
        record_id = writer.create_trial(of_trial, "own", 1)
        writer.describe_trial(record_id, of_trial)
        writer.log_epochs(record_id, reported_epochs(1, 2))
        errors = {METRIC_TEST_ERROR: 0.125, f"{METRIC_TEST_ERROR}.familiar": 0.25}
        warned = ("all capsules are dead",)
        data: dict[str, Any] = {
            "num_images": {"training": 9, "test": 3},
            "data_notes": ("one is seen twice",),
        }
        told = {"target": "missed", "warnings": warned, "extra_test_errors": {"familiar": 0.25}}
        machine = {"duration_seconds": 1.5, "peak_memory_bytes": 9}
        writer.set_final(record_id, final(head=of_trial, **told, **machine, **data))
        record = read(store)
        assert record.ended_at in {None, 3.0}, "a store may tell when, in seconds"
        assert record == TrialRecord(
            ended_at=record.ended_at,
            record_id=record_id,
            trial_key=KEY,
            outcome=Outcome.FINISHED,
            sweep="example",
            epochs=2,
            metrics={
                "train_loss": 0.5,
                "validation_loss": 0.5,
                "validation_error": 0.25,
                **errors,
            },
            target="missed",
            warnings=("all capsules are dead",),
            **data,
            duration_seconds=1.5,
            peak_memory_bytes=9,
            device="a GPU",
            data_fingerprint="d",
            versions="{}",
            **known,
        )

    def test_a_record_has_the_figures_of_the_epoch_that_was_tested(
        self, store: RecordStore
    ) -> None:
        record_id, writer = put(store), store.writer()
        last = replace(epoch(2, 0.75), validation_error=0.5, best_epoch=1)
        epochs = [*reported_epochs(1), (last, 5)]
        writer.log_epochs(record_id, epochs)
        assert read(store).validation_error == 0.5
        curve = tuple(metrics for metrics, _ in epochs)
        writer.set_final(record_id, final(curve=curve))
        record = read(store)
        assert (record.epochs, record.tested_epoch) == (2, 1)
        assert (record.train_loss, record.validation_error) == (0.5, 0.25)
        assert store.histories([record], "validation_error")[KEY] == {1: 0.25, 2: 0.5}

    def test_of_a_trial_that_diverged_no_epoch_was_tested(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        curve = (epoch(1), replace(epoch(2, math.nan), best_epoch=1))
        writer.set_final(record_id, final(curve=curve, outcome=Outcome.DIVERGED, test_error=None))
        assert read(store).tested_epoch is None

    def test_epochs_sent_again_with_their_times_are_dropped(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        strange = [(epoch(3, math.nan), 5), (epoch(4, math.inf), 6)]
        for _ in range(2):
            writer.log_epochs(record_id, reported_epochs(1, 2))
            writer.log_epochs(record_id, [*reported_epochs(2), *strange])
        losses = store.histories([read(store)], "train_loss")[KEY]
        assert list(losses) == [1, 2, 3, 4]
        assert self.num_points(store, record_id, "train_loss") == 4
        assert [losses[1], losses[2], losses[4]] == [0.5, 0.5, math.inf]
        assert math.isnan(losses[3])
        assert read(store).epochs == 4
        assert read(store).train_loss == math.inf

    def test_an_epoch_told_again_later_has_its_later_value(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        writer.log_epochs(record_id, [(epoch(1, 0.25), 20)])
        writer.log_epochs(record_id, [(epoch(1, 0.75), 10)])
        assert store.histories([read(store)], "train_loss") == {KEY: {1: 0.25}}

    def test_histories_hold_one_metric_of_many_trials(self, store: RecordStore) -> None:
        for key, numbers in ((KEY, (1, 2)), (OTHER, (2, 3, 1))):
            store.writer().log_epochs(put(store, key), reported_epochs(*numbers))
        records = store.records([KEY, OTHER])
        histories = store.histories(records.values(), "validation_error")
        assert {key: list(history) for key, history in histories.items()} == {
            KEY: [1, 2],
            OTHER: [1, 2, 3],
        }
        assert store.histories(records.values(), "nonsense") == {KEY: {}, OTHER: {}}

    def test_epochs_are_those_of_which_all_is_there(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        assert writer.epochs(record_id) == frozenset()
        writer.log_metrics(record_id, {"train_loss": 0.5}, 1, 1)
        assert writer.epochs(record_id) == frozenset()
        writer.log_epochs(record_id, reported_epochs(1, 3))
        writer.log_metrics(record_id, {"train_loss": 0.5, "test_error": 0.5}, 1, 4)
        assert writer.epochs(record_id) == {1, 3}
        writer.log_metrics(record_id, {}, 1, 9)
        assert writer.epochs(record_id) == {1, 3}

    def test_the_numbers_of_health_are_kept_by_epoch(self, store: RecordStore) -> None:
        line = replace(epoch(1), health={"dead_capsules": 0.25})
        store.writer().log_epochs(put(store), [(line, 1)])
        assert store.histories([read(store)], "health.dead_capsules") == {KEY: {1: 0.25}}

    def test_what_is_not_told_with_an_outcome_stays(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        writer.set_outcome(record_id, Outcome.FAILED, reason="ValueError: no", epochs=3, time=5)
        writer.set_outcome(record_id, Outcome.INTERRUPTED, epochs=4)
        record = read(store)
        told_of = (record.outcome, record.reason, record.epochs)
        assert told_of == ("interrupted", "ValueError: no", 4)
        writer.set_outcome(record_id, Outcome.RUNNING, reason="", time=6)
        record = read(store)
        assert (record.outcome, record.reason, record.epochs) == ("running", "", 4)

    def test_another_attempt_changes_what_it_ran_on_and_nothing_else(
        self, store: RecordStore
    ) -> None:
        record_id = put(store, config=CONFIG, hardware="GPU 1", num_parameters=7)
        writer = store.writer()
        before = read(store)
        writer.describe_attempt(record_id, spec(hardware="GPU 2", threads=4, num_parameters=9))
        changed = {"device": "GPU 2", "threads": 4}
        assert read(store) == before.model_copy(update=changed)
        attempt = spec(hardware="GPU 3", git_revision="r")
        writer.set_final(record_id, final(0, head=attempt, test_error=None))
        changed = {"device": "GPU 3", "threads": 1, "git_revision": "r", "outcome": "finished"}
        after = read(store)
        changed |= {"duration_seconds": 2.0, "ended_at": after.ended_at}
        assert after == before.model_copy(update=changed)

    def test_describing_a_trial_again_changes_nothing(self, store: RecordStore) -> None:
        record_id = put(store, config=CONFIG)
        before = read(store)
        store.writer().describe_trial(record_id, spec(config=CONFIG))
        assert read(store) == before

    def test_hostile_texts_come_back_as_they_were(self, store: RecordStore) -> None:
        record_id = put(store, arm=HOSTILE, config={"text": HOSTILE})
        store.writer().set_final(record_id, final(reason=HOSTILE, warnings=(HOSTILE,)))
        record = read(store)
        assert (record.arm, record.reason, record.warnings) == (HOSTILE, HOSTILE, (HOSTILE,))
        assert store.config(record) == {"text": HOSTILE}
