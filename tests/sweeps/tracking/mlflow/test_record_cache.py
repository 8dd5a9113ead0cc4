"""What a server said of final records is not asked again, and is never out of date."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from safetensors.numpy import save

from sweeps.records.errors import StoreRefused
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.trial_record import ARTIFACT_PREDICTIONS, EPOCH_METRICS, Outcome, TrialRecord
from sweeps.tracking.mlflow import record_cache
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.record_cache import read_rows, write_rows
from sweeps.tracking.opening import open_to_read
from tests.sweeps.execution.examples import spec
from tests.sweeps.tracking.mlflow.faulty_server import FaultyServer, faulty_server
from tests.sweeps.tracking.store_examples import reported_epochs

KEYS = [f"{number:020x}" for number in range(3)]
LOOK = "e" * 20
PREDICTIONS = save({})
CHECKS = 8  # is it there, our experiment, what was replaced, deleted, evaluated, each found first


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "capsweep" / "records"


@pytest.fixture
def server(tmp_path: Path, empty_database: Path, cache: Path) -> Iterator[FaultyServer]:
    with faulty_server(tmp_path, empty_database) as server:
        yield server


def reader(server: FaultyServer, tmp_path: Path) -> MlflowStore:
    store = open_to_read(server.address, tmp_path)
    assert isinstance(store, MlflowStore)
    return store


def anew(server: FaultyServer, tmp_path: Path) -> MlflowStore:
    return MlflowStore(server.address, tmp_path / "artifacts")


def finish(server: FaultyServer, tmp_path: Path, key: str, time: int = 1) -> str:
    writer, of_trial = anew(server, tmp_path).writer(), spec(key)
    record_id = writer.create_trial(of_trial, "own", time)
    writer.describe_trial(record_id, of_trial)
    writer.log_epochs(record_id, reported_epochs(1, 2))
    predictions = tmp_path / ARTIFACT_PREDICTIONS
    predictions.write_bytes(PREDICTIONS)
    writer.upload(record_id, predictions)
    writer.set_outcome(record_id, Outcome.FINISHED, epochs=2, time=9)
    return record_id


def evaluate(server: FaultyServer, tmp_path: Path, record_id: str) -> None:
    writer = anew(server, tmp_path).writer()
    writer.log_metrics(record_id, {evaluation_metric("look", LOOK, "a"): 0.5}, 7, 0)
    writer.record_evaluation(record_id, LOOK, "look")


def all_of(store: MlflowStore) -> tuple[object, ...]:
    """Return what tables read."""
    records = store.records(KEYS)
    histories = [store.histories(records.values(), metric) for metric in EPOCH_METRICS]
    files = [
        store.artifact(record, ARTIFACT_PREDICTIONS).read_bytes() for record in records.values()
    ]
    return records, histories, files, [store.config(record) for record in records.values()]


def asked(server: FaultyServer, question: Callable[[], object]) -> int:
    before = server.num_requests
    question()
    return server.num_requests - before


def test_what_is_final_is_asked_for_once(server: FaultyServer, tmp_path: Path) -> None:
    for key in KEYS:
        finish(server, tmp_path, key)
    fresh = all_of(anew(server, tmp_path))
    first = asked(server, lambda: all_of(reader(server, tmp_path)))
    assert asked(server, lambda: all_of(reader(server, tmp_path))) <= CHECKS < first
    assert all_of(reader(server, tmp_path)) == fresh


def test_the_files_of_records_that_a_search_found_cost_two_requests_each(
    server: FaultyServer, tmp_path: Path
) -> None:
    for key in KEYS:
        finish(server, tmp_path, key)
    for store in (anew(server, tmp_path), reader(server, tmp_path), reader(server, tmp_path)):
        records = store.records(KEYS).values()
        download = partial(store.artifacts, records, ARTIFACT_PREDICTIONS)
        assert asked(server, download) <= 2 * len(KEYS) + 1, "one to know the server"


def test_what_is_not_final_is_asked_for_each_time(server: FaultyServer, tmp_path: Path) -> None:
    writer = anew(server, tmp_path).writer()
    record_id = writer.create_trial(spec(KEYS[0]), "own", 1)
    for number in (1, 2):
        writer.log_epochs(record_id, reported_epochs(number))
        store = reader(server, tmp_path)
        (record,) = store.records(KEYS).values()
        assert store.histories([record], EPOCH_METRICS[0])[KEYS[0]].keys() == {
            *range(1, number + 1)
        }


def test_a_final_record_that_lacks_an_epoch_may_be_repaired(
    server: FaultyServer, tmp_path: Path
) -> None:
    writer = anew(server, tmp_path).writer()
    record_id = finish(server, tmp_path, KEYS[0])
    writer.set_outcome(record_id, Outcome.FINISHED, epochs=3, time=9)
    assert all_of(reader(server, tmp_path)) == all_of(anew(server, tmp_path))
    writer.log_epochs(record_id, reported_epochs(3))
    assert all_of(reader(server, tmp_path))[1] == all_of(anew(server, tmp_path))[1]


def test_another_server_at_the_same_address_is_another(
    server: FaultyServer, tmp_path: Path
) -> None:
    finish(server, tmp_path, KEYS[0])
    assert reader(server, tmp_path).records(KEYS)
    server.come_back_empty()
    assert reader(server, tmp_path).records(KEYS) == {}


def test_a_record_that_was_deleted_and_restored_is_there(
    server: FaultyServer, tmp_path: Path
) -> None:
    record_id, client = finish(server, tmp_path, KEYS[0]), MlflowClient(server.address)
    for change, number in ((client.delete_run, 0), (client.restore_run, 1)):
        assert reader(server, tmp_path).records(KEYS).keys() == set(KEYS[: 1 - number])
        change(record_id)
        assert reader(server, tmp_path).records(KEYS).keys() == set(KEYS[:number])


def test_a_record_that_was_freed_is_believed_for_ten_minutes_at_most(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_id = finish(server, tmp_path, KEYS[0])
    assert reader(server, tmp_path).records(KEYS)
    client = anew(server, tmp_path).writer().client  # pyright: ignore
    embedded = MlflowClient(f"sqlite:///{server.database}")
    client.delete_run(record_id)  # pyright: ignore
    embedded._tracking_client.store._hard_delete_run(record_id)  # pyright: ignore
    assert record_cache.MAX_AGE_SECONDS <= 600
    monkeypatch.setattr(record_cache, "MAX_AGE_SECONDS", 0)
    assert reader(server, tmp_path).records(KEYS) == {}


@pytest.mark.parametrize("damage", [b"", b"no table", None], ids=["empty", "other", "one bit"])
def test_what_was_damaged_is_asked_for_anew(
    server: FaultyServer, tmp_path: Path, cache: Path, damage: bytes | None
) -> None:
    finish(server, tmp_path, KEYS[0])
    before = all_of(reader(server, tmp_path))
    num_asked = asked(server, lambda: all_of(reader(server, tmp_path)))
    cached = [path for path in cache.rglob("*") if path.is_file()]
    assert len(cached) == 4
    for path in cached:
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 1
        path.write_bytes(bytes(content) if damage is None else damage)
        assert all_of(reader(server, tmp_path)) == before
    assert asked(server, lambda: all_of(reader(server, tmp_path))) == num_asked


@pytest.mark.parametrize("name", ["records.parquet", "histories.parquet"])
def test_a_table_of_another_kind_is_made_anew(
    server: FaultyServer, tmp_path: Path, cache: Path, name: str
) -> None:
    finish(server, tmp_path, KEYS[0])
    before = all_of(reader(server, tmp_path))
    (place,) = cache.iterdir()
    other = {"records.parquet": "histories.parquet", "histories.parquet": "records.parquet"}
    (place / name).write_bytes((place / other[name]).read_bytes())
    assert all_of(reader(server, tmp_path)) == before


def test_a_record_without_a_time_is_asked_for_anew(
    server: FaultyServer, tmp_path: Path, cache: Path
) -> None:
    finish(server, tmp_path, KEYS[0])
    before = all_of(reader(server, tmp_path))
    (place,) = cache.iterdir()
    rows = [{**row, "told_at": None} for row in read_rows(place / "records.parquet")]
    schema = pa.schema([("record", pa.string()), ("told_at", pa.float64())])
    write_rows(place / "records.parquet", rows, schema)
    assert all_of(reader(server, tmp_path)) == before


def test_where_nothing_can_be_kept_all_is_asked_for(
    server: FaultyServer, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "cache").write_text("in the way")
    finish(server, tmp_path, KEYS[0])
    for _ in range(2):
        assert all_of(reader(server, tmp_path)) == all_of(anew(server, tmp_path))


def test_an_artifact_that_was_cut_off_is_not_kept(
    server: FaultyServer, tmp_path: Path, cache: Path
) -> None:
    record_id = finish(server, tmp_path, KEYS[0])
    path = tmp_path / ARTIFACT_PREDICTIONS
    path.write_bytes(PREDICTIONS[:-1])
    writer = anew(server, tmp_path).writer()
    writer.upload(record_id, path)
    store = reader(server, tmp_path)
    (record,) = store.records(KEYS).values()
    assert store.artifact(record, ARTIFACT_PREDICTIONS).read_bytes() == PREDICTIONS[:-1]
    path.write_bytes(PREDICTIONS)
    writer.upload(record_id, path)
    assert all_of(reader(server, tmp_path))[2] == [PREDICTIONS]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_whatever_happens_the_same_is_told_as_anew(
    server: FaultyServer, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    client = MlflowClient(server.address)
    ids: list[str] = []

    def create() -> None:
        ids.append(finish(server, tmp_path, chance.choice(KEYS), len(ids) + 1))

    def look() -> None:
        evaluate(server, tmp_path, chance.choice(ids))

    def start() -> None:
        anew(server, tmp_path).writer().create_trial(spec(chance.choice(KEYS)), "own", 99)

    happenings = [
        create,
        create,
        look,
        start,
        lambda: client.delete_run(chance.choice(ids)),
        lambda: anew(server, tmp_path).writer().mark_replaced([chance.choice(KEYS)]),
    ]
    create()
    for _ in range(15):
        with suppress(MlflowException, StoreRefused):  # of a run that is deleted already
            chance.choice(happenings)()
        assert seen(reader(server, tmp_path)) == seen(anew(server, tmp_path))


def seen(store: MlflowStore) -> dict[str, TrialRecord]:
    return store.records(KEYS)
