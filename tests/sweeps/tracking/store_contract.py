"""What recorder, launches and readers rely on in every tracking store.

A new store subclasses `StoreContract`: it says how one is made, and how people delete a record.
"""

import math
from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.trial_record import METRIC_TEST_ERROR, Outcome, TrialRecord
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.record_facts import EpochTold, OutcomeFacts
from sweeps.tracking.store import CurvePoint, FreedWeights, RecordStore
from tests.sweeps.execution.examples import KEY, epoch, head, manifest

OTHER = "f" * 20
CONFIG = {"batch_size": 3, "model": {"kind": "capsnet", "routing": {"kind": "dynamic"}}}
HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \u2028 é"
FOUND = "weights.safetensors"


def told(*numbers: int, time: int = 1000) -> list[EpochTold]:
    """Return epochs and when they are told."""
    return [EpochTold(epoch(number), time + number) for number in numbers]


def put(
    store: RecordStore,
    key: str = KEY,
    outcome: Outcome = Outcome.RUNNING,
    time: int = 1,
    **changes: Any,
) -> str:
    """Write a trial's record and return its id."""
    writer, of_trial = store.writer(), head(key, **changes)
    record_id = writer.create_trial(of_trial, "own", time)
    writer.describe_trial(record_id, of_trial)
    if outcome is not Outcome.RUNNING:
        writer.set_outcome(record_id, outcome, OutcomeFacts(), time + 1)
    return record_id


def read(store: RecordStore, key: str = KEY) -> TrialRecord:
    """Return the record of a trial key."""
    record = store.record(key)
    assert record is not None
    return record


class RecordsContract:
    """How trials' records are found, and which of them count."""

    def delete(self, store: Any, record_id: str) -> None:
        """Delete a record as people do, past the writer."""
        raise NotImplementedError

    def test_a_new_store_holds_nothing(self, store: RecordStore) -> None:
        assert store.sweeps() == []
        assert store.records([KEY]) == {}
        assert store.record(KEY) is None
        assert store.current_manifest("example") is None
        assert store.writer().find_trial(KEY) is None
        assert store.writer().find_sweep("example") is None

    def test_a_record_is_there_for_every_reader_and_writer_at_once(
        self, store: RecordStore
    ) -> None:
        writer, other = store.writer(), store.writer()
        record_id = writer.create_trial(head(), "own", 1)
        found = other.find_trial(KEY)
        assert found == (record_id, Outcome.RUNNING)
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
        found = store.writer().find_trial(KEY)
        assert found == (earliest, outcome)

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
        assert not writer.is_gone(record_id)
        self.delete(store, record_id)
        assert writer.is_gone(record_id)
        assert writer.find_trial(KEY) is None
        assert store.records([KEY]) == {}
        for write in (
            lambda: writer.log_epochs(record_id, told(1)),
            lambda: writer.describe_trial(record_id, head()),
            lambda: writer.set_outcome(record_id, Outcome.FINISHED, OutcomeFacts(), 2),
        ):
            with pytest.raises(StoreRefused) as error:
                write()
            assert error.value.reason
        writer.refuse_absence()
        assert put(store) != record_id

    def test_a_record_that_never_was_is_gone(self, store: RecordStore) -> None:
        assert store.writer().is_gone("0" * 32)

    def test_records_set_aside_count_no_more(self, store: RecordStore) -> None:
        put(store, outcome=Outcome.FINISHED, time=1)
        put(store, outcome=Outcome.FAILED, time=2)
        kept = put(store, OTHER)
        writer = store.writer()
        for _ in range(2):
            writer.set_aside([KEY, "a" * 20])
        assert store.records([KEY, OTHER]).keys() == {OTHER}
        assert writer.find_trial(KEY) is None
        assert read(store, OTHER).record_id == kept
        with pytest.raises(BadInput, match="no trial"):
            store.find(KEY)
        anew = put(store, time=3)
        assert read(store).record_id == anew

    def test_a_trial_is_found_by_the_beginning_of_its_key_or_its_id(
        self, store: RecordStore
    ) -> None:
        record_id = put(store, seed=7)
        put(store, OTHER)
        for given in (KEY, KEY[:6], f" {KEY[:6].upper()} ", record_id):
            assert store.find(given).seed == 7

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
        of_trial = head(config=CONFIG, hardware="a GPU", data_fingerprint="d", **known)
        writer = store.writer()
        record_id = writer.create_trial(of_trial, "own", 1)
        writer.describe_trial(record_id, of_trial)
        writer.log_epochs(record_id, told(1, 2))
        errors = {METRIC_TEST_ERROR: 0.125, f"{METRIC_TEST_ERROR}.familiar": 0.25}
        writer.log_metrics(record_id, errors, 3000, 2)
        facts = OutcomeFacts("", 2, 1.5, 9, "missed", ("all capsules are dead",))
        writer.set_outcome(record_id, Outcome.FINISHED, facts, 3000)
        assert read(store) == TrialRecord(
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
            duration_seconds=1.5,
            peak_memory_bytes=9,
            device="a GPU",
            data_fingerprint="d",
            versions="{}",
            settings={"batch_size": "3", "model": "capsnet", "model.routing": "dynamic"},
            **known,
        )

    def test_epochs_sent_again_with_their_times_are_dropped(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        strange = [EpochTold(epoch(3, math.nan), 5), EpochTold(epoch(4, math.inf), 6)]
        for _ in range(2):
            writer.log_epochs(record_id, told(1, 2))
            writer.log_epochs(record_id, [*told(2), *strange])
        losses = store.histories([read(store)], "train_loss")[KEY]
        assert list(losses) == [1, 2, 3, 4]
        assert self.num_points(store, record_id, "train_loss") == 4
        assert [losses[1], losses[2], losses[4]] == [0.5, 0.5, math.inf]
        assert math.isnan(losses[3])
        assert [point.epoch for point in store.curve(read(store))] == [1, 2, 3, 4]
        assert store.curve(read(store))[0] == CurvePoint(1, 0.5, 0.5, 0.25)
        assert read(store).epochs == 4
        assert read(store).train_loss == math.inf

    def test_an_epoch_told_again_later_has_its_later_value(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        writer.log_epochs(record_id, [EpochTold(epoch(1, 0.25), 20)])
        writer.log_epochs(record_id, [EpochTold(epoch(1, 0.75), 10)])
        assert store.histories([read(store)], "train_loss") == {KEY: {1: 0.25}}

    def test_histories_hold_one_metric_of_many_trials(self, store: RecordStore) -> None:
        for key, numbers in ((KEY, (1, 2)), (OTHER, (2, 3, 1))):
            store.writer().log_epochs(put(store, key), told(*numbers))
        records = store.records([KEY, OTHER])
        histories = store.histories(records.values(), "validation_error")
        assert {key: list(history) for key, history in histories.items()} == {
            KEY: [1, 2],
            OTHER: [1, 2, 3],
        }
        assert store.histories(records.values(), "nonsense") == {KEY: {}, OTHER: {}}

    def test_the_last_epoch_is_that_of_which_all_is_there(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        assert writer.last_epoch(record_id) == 0
        writer.log_metrics(record_id, {"train_loss": 0.5}, 1, 1)
        assert writer.last_epoch(record_id) == 0
        writer.log_epochs(record_id, told(1, 2))
        writer.log_metrics(record_id, {"train_loss": 0.5, "test_error": 0.5}, 1, 3)
        assert writer.last_epoch(record_id) == 2
        writer.log_metrics(record_id, {}, 1, 9)
        assert writer.last_epoch(record_id) == 2

    def test_the_numbers_of_health_are_kept_by_epoch(self, store: RecordStore) -> None:
        line = epoch(1).model_copy(update={"health": {"dead_capsules": 0.25}})
        store.writer().log_epochs(put(store), [EpochTold(line, 1)])
        assert store.histories([read(store)], "health.dead_capsules") == {KEY: {1: 0.25}}

    def test_what_is_not_told_with_an_outcome_stays(self, store: RecordStore) -> None:
        record_id, writer = put(store), store.writer()
        writer.set_outcome(record_id, Outcome.FAILED, OutcomeFacts("ValueError: no", 3), 5)
        writer.set_outcome(record_id, Outcome.INTERRUPTED, OutcomeFacts(epochs=4))
        record = read(store)
        told_of = (record.outcome, record.reason, record.epochs)
        assert told_of == ("interrupted", "ValueError: no", 4)
        writer.set_outcome(record_id, Outcome.RUNNING, OutcomeFacts(reason=""), 6)
        record = read(store)
        assert (record.outcome, record.reason, record.epochs) == ("running", "", 4)

    def test_another_attempt_changes_what_it_ran_on_and_nothing_else(
        self, store: RecordStore
    ) -> None:
        record_id = put(store, config=CONFIG, hardware="GPU 1", num_parameters=7)
        writer = store.writer()
        before = read(store)
        writer.describe_attempt(record_id, head(hardware="GPU 2", threads=4, num_parameters=9))
        changed = {"device": "GPU 2", "threads": 4}
        assert read(store) == before.model_copy(update=changed)
        attempt = head(hardware="GPU 3", git_revision="r")
        writer.set_outcome(record_id, Outcome.FINISHED, OutcomeFacts(attempt=attempt), 5)
        changed = {"device": "GPU 3", "threads": 1, "git_revision": "r", "outcome": "finished"}
        assert read(store) == before.model_copy(update=changed)

    def test_describing_a_trial_again_changes_nothing(self, store: RecordStore) -> None:
        record_id = put(store, config=CONFIG)
        before = read(store)
        store.writer().describe_trial(record_id, head(config=CONFIG))
        assert read(store) == before

    def test_hostile_texts_come_back_as_they_were(self, store: RecordStore) -> None:
        record_id = put(store, arm=HOSTILE, config={"text": HOSTILE})
        told_of = OutcomeFacts(reason=HOSTILE, warnings=(HOSTILE,))
        store.writer().set_outcome(record_id, Outcome.FAILED, told_of, 5)
        record = read(store)
        assert (record.arm, record.reason, record.warnings) == (HOSTILE, HOSTILE, (HOSTILE,))
        assert record.settings == {"text": HOSTILE}
        assert store.config(record) == {"text": HOSTILE}


class ArtifactsContract:
    """The files of a trial's record."""

    def test_an_artifact_comes_back_byte_for_byte(self, store: RecordStore, tmp_path: Path) -> None:
        record_id, writer = put(store), store.writer()
        for content in (b"old", bytes(range(256))):
            (tmp_path / FOUND).write_bytes(content)
            writer.upload(record_id, tmp_path / FOUND)
        writer.upload(record_id, tmp_path / "log.txt")  # is not there
        record = read(store)
        assert store.holds(record, FOUND)
        assert not store.holds(record, "log.txt")
        assert store.artifact(record, FOUND).read_bytes() == bytes(range(256))
        assert Path(store.location(record, FOUND)).name == FOUND
        with pytest.raises(BadInput, match=r"holds no log\.txt"):
            store.artifact(record, "log.txt")
        with pytest.raises(BadInput, match="Known:"):
            store.artifact(record, "../../secret")

    def test_deleted_weights_are_gone_and_say_what_they_freed(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        record_id, writer = put(store), store.writer()
        for name in (FOUND, "log.txt"):
            (tmp_path / name).write_bytes(b"x" * 10)
            writer.upload(record_id, tmp_path / name)
        assert writer.delete_weights(record_id) == FreedWeights(10, "")
        assert writer.delete_weights(record_id) == FreedWeights(0, "")
        assert not store.holds(read(store), FOUND)
        assert store.holds(read(store), "log.txt")

    def test_the_users_own_source_is_an_artifact(self, store: RecordStore) -> None:
        put(store, source="x = 'é'\n")
        path = store.artifact(read(store), "parts.py")
        first, rest = path.read_text(encoding="utf-8").split("\n", 1)
        assert first.startswith("# ")
        assert first.endswith("schema_version 1")
        assert rest == "x = 'é'\n"

    def test_a_record_without_a_config_is_refused_one(self, store: RecordStore) -> None:
        store.writer().create_trial(head(), "own", 1)
        with pytest.raises(BadInput, match=r"holds no config\.json"):
            store.config(read(store))


class SweepsContract:
    """Sweeps' own records, their manifests and reports."""

    def files(self, store: Any, record_id: str) -> dict[str, bytes]:
        """Return the files of a record, by their paths in it."""
        raise NotImplementedError

    def test_a_sweep_is_opened_once_and_runs_until_it_is_settled(self, store: RecordStore) -> None:
        writer = store.writer()
        sweep_id = publish_manifest(writer, manifest())
        assert publish_manifest(store.writer(), manifest()) == sweep_id
        assert writer.open_sweep("example", "") == store.sweep_id("example") == sweep_id
        assert writer.find_sweep("example") == (sweep_id, True)
        for exit_code in (0, 3, 130):
            writer.settle_sweep(sweep_id, exit_code)
            assert writer.find_sweep("example") == (sweep_id, False)
            writer.settle_sweep(sweep_id, None)
            assert writer.find_sweep("example") == (sweep_id, True)

    def test_sweeps_are_told_by_name_sorted(self, store: RecordStore) -> None:
        for name in ("quickstart", "example"):
            store.writer().open_sweep(name, "what for")
        put(store)
        assert store.sweeps() == ["example", "quickstart"]
        with pytest.raises(BadInput, match=r"no sweep 'quickstrt' in .* Did you mean 'quickstart'"):
            store.sweep_id("quickstrt")
        with pytest.raises(BadInput, match="no sweep"):
            store.manifest("x' OR '1' = '1")
        assert store.current_manifest("quickstrt") is None

    def test_the_manifest_published_last_is_current_and_earlier_ones_stay(
        self, store: RecordStore
    ) -> None:
        first, second = manifest(), manifest(seeds=(0, 1, 2))
        names: list[set[str]] = []
        for published in (first, second, second, first):
            sweep_id = publish_manifest(store.writer(), published)
            assert store.manifest("example") == published
            assert store.current_manifest("example") == published
            names.append(set(self.files(store, sweep_id)))
        assert names[0] < names[1]
        assert names[1] == names[2] == names[3]

    def test_a_manifest_that_is_not_valid_is_refused_in_one_sentence(
        self, store: RecordStore
    ) -> None:
        sweep_id = publish_manifest(store.writer(), manifest())
        other = manifest().model_copy(update={"sweep": "other"}).model_dump_json()
        for text, complaint in (("{}", "Field required"), (other, "that of 'other'")):
            store.writer().set_manifest(sweep_id, text)
            sentence = f"manifest of sweep 'example' is not valid.*{complaint}"
            with pytest.raises(BadInput, match=sentence) as error:
                store.manifest("example")
            assert "\n" not in str(error.value)

    def test_a_sweep_without_a_manifest_is_refused(self, store: RecordStore) -> None:
        store.writer().open_sweep("example", "")
        with pytest.raises(BadInput, match=r"holds no manifest\.json"):
            store.manifest("example")

    def test_a_report_published_again_replaces_the_files_of_its_names(
        self, store: RecordStore, tmp_path: Path
    ) -> None:
        sweep_id = publish_manifest(store.writer(), manifest())
        paths = [tmp_path / "ablation.md", tmp_path / "cost.csv"]
        for content in (b"old", b"new"):
            for path in paths:
                path.write_bytes(content)
            store.writer().publish_files(sweep_id, paths)
        held = self.files(store, sweep_id)
        assert [held[f"report/{path.name}"] for path in paths] == [b"new", b"new"]
        assert store.manifest("example") == manifest()


class AbsenceContract:
    """A store that does not answer, and one that nobody has written to."""

    def test_a_store_that_does_not_answer_says_so_in_one_sentence(self, away: RecordStore) -> None:
        for ask in (away.sweeps, away.writer, lambda: away.records([KEY])):
            with pytest.raises(StoreUnreachable) as error:
                ask()
            assert "\n" not in str(error.value)
            assert "secret" not in str(error.value)

    def test_one_that_answers_is_not_refused(self, store: RecordStore) -> None:
        store.writer().refuse_absence()
        assert store.is_there()


class StoreContract(
    RecordsContract, ContentsContract, ArtifactsContract, SweepsContract, AbsenceContract
):
    """All of it, for the fixtures `store`, which is empty, and `away`, which does not answer."""
