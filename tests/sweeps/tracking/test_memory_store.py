"""The store in memory keeps the contract, also for many threads at once."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from sweeps.records.trial_record import Outcome
from sweeps.tracking.record_facts import TAG_SEED
from tests.sweeps.execution.examples import KEY, spec
from tests.sweeps.tracking.memory_store import MemoryStore
from tests.sweeps.tracking.store_contract import StoreContract
from tests.sweeps.tracking.store_examples import put, read, reported_epochs

NUM_THREADS = 8


class TestMemory(StoreContract):
    """The contract, in memory."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    def away(self) -> MemoryStore:
        store = MemoryStore()
        store.backend.is_unreachable = True
        return store

    def delete(self, store: MemoryStore, record_id: str) -> None:
        run = store.backend.get(record_id)
        assert run is not None
        run.is_deleted = True

    def num_points(self, store: MemoryStore, record_id: str, metric: str) -> int:
        run = store.backend.get(record_id)
        assert run is not None
        return len(run.points[metric])

    def files(self, store: MemoryStore, record_id: str) -> dict[str, bytes]:
        run = store.backend.get(record_id)
        assert run is not None
        return run.files


def test_two_stores_share_nothing() -> None:
    put(MemoryStore())
    assert MemoryStore().record(KEY) is None


def test_a_record_that_does_not_validate_is_left_out_with_a_warning(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    run = store.backend.get(put(store))
    assert run is not None
    run.facts[TAG_SEED] = "seven"
    with caplog.at_level(logging.WARNING, "sweeps.tracking"):
        assert store.records([KEY]) == {}
    assert "no valid record: seed" in caplog.text


def test_many_threads_write_and_read_at_once(store: MemoryStore) -> None:
    keys = [f"{number:020x}" for number in range(NUM_THREADS)]

    def work(key: str) -> int:
        writer = store.writer()
        record_id = writer.create_trial(spec(key), "own", 1)
        for number in range(1, 51):
            writer.log_epochs(record_id, reported_epochs(number))
            store.records(keys)
        return len(store.histories([read(store, key)], "train_loss")[key])

    with ThreadPoolExecutor(NUM_THREADS) as pool:
        assert list(pool.map(work, keys)) == [50] * NUM_THREADS
    records = store.records(keys)
    assert len({record.record_id for record in records.values()}) == NUM_THREADS
    assert {record.outcome for record in records.values()} == {Outcome.RUNNING}
