"""An embedded store reads the same by SQL as by MLflow's client, whatever its rows hold."""

import logging
import math
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import EPOCH_METRICS, Outcome
from sweeps.tracking import record_facts as facts
from sweeps.tracking.mlflow.connection import opened_database
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.sql_runs import TESTED_SCHEMAS, SqlRuns
from tests.sweeps.execution.examples import KEY
from tests.sweeps.tracking.store_examples import put

KEYS = [f"{'ab' * 9}{number:02d}" for number in range(3)]
SWEEPS = ["one", "two"]
TEXTS = st.sampled_from(["", "x", "finished", "failed", "7", "-3", "1e999", "[]", '["w"]', "é"])
ODD: Any = st.one_of(TEXTS, st.none(), st.binary(max_size=3), st.integers(-3, 3))
NUMBERS: Any = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([sys.float_info.max, -sys.float_info.max, math.inf, -math.inf, 0.0]),
    st.sampled_from(["odd", b"\x01"]),
)
OWN_TAGS = [
    facts.TAG_OUTCOME,
    facts.TAG_SEED,
    facts.TAG_EPOCHS,
    facts.TAG_WARNINGS,
    facts.TAG_REPLACED,
    f"capsweep.evaluation.{'e' * 20}",
]
POINTS = st.tuples(st.sampled_from(EPOCH_METRICS), NUMBERS, *[st.integers(0, 3)] * 2, st.booleans())
RUN = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["trial", "trial", "trial", "sweep", "arm", None]),
        "key": st.sampled_from([*KEYS, KEYS[0].upper(), "odd"]),
        "sweep": st.sampled_from(SWEEPS),
        "outcome": st.sampled_from([*(outcome.value for outcome in Outcome), "odd"]),
        "tags": st.dictionaries(st.sampled_from(OWN_TAGS), ODD, max_size=2),
        "params": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "points": st.lists(POINTS, max_size=4),
        "is_deleted": st.booleans(),
        "start": st.sampled_from([1, 1, 2, "odd"]),
        "end": st.sampled_from([None, 0, 5, "odd", 2**62]),
    }
)


def fill(database: Path, runs: list[dict[str, Any]]) -> None:
    """Write rows as MLflow has them, or as nobody should."""
    with closing(sqlite3.connect(database)) as opened, opened:
        for number, run in enumerate(runs):
            run_id = f"{number:032x}"
            stage = "deleted" if run["is_deleted"] else "active"
            opened.execute(
                "insert into runs (run_uuid, user_id, status, start_time, end_time,"
                " lifecycle_stage, experiment_id) values (?, 'me', 'FINISHED', ?, ?, ?, 1)",
                (run_id, run["start"], run["end"], stage),
            )
            tags = {
                facts.TAG_TYPE: run["kind"],
                facts.TAG_TRIAL_KEY: run["key"],
                facts.TAG_SWEEP: run["sweep"],
                facts.TAG_OUTCOME: run["outcome"],
                facts.TAG_SEED: "1",
            }
            rows = [(name, value, run_id) for name, value in (tags | run["tags"]).items()]
            opened.executemany("insert into tags values (?, ?, ?)", rows)
            texts = [(name, value, run_id) for name, value in run["params"].items()]
            opened.executemany("insert into params values (?, ?, ?)", texts)
            for metric, value, time, epoch, is_nan in run["points"]:
                point = (metric, value, time, epoch, is_nan, run_id)
                for table in ("metrics", "latest_metrics"):
                    opened.execute(
                        f"insert or replace into {table}"
                        " (key, value, timestamp, step, is_nan, run_uuid)"
                        " values (?, ?, ?, ?, ?, ?)",
                        point,
                    )


def answers_of(store: MlflowStore) -> Iterator[object]:
    """Yield a reader's answer to every question as text, in which NaN is equal to itself."""
    yield store.sweeps()
    for sweep in (*SWEEPS, "three"):
        yield said(lambda name=sweep: store.sweep_id(name))
    records = store.records(KEYS)
    yield repr(sorted(records.items()))
    for key in KEYS:
        yield repr(store.record(key))
    for prefix in ("ab", KEYS[1], "0" * 31 + "1", "odd"):
        yield said(lambda start=prefix: repr(store.find(start)))
    for metric in (*EPOCH_METRICS, "nonsense"):
        yield repr(store.histories(records.values(), metric))


def said(ask: Any) -> object:
    try:
        return ask()
    except BadInput as error:
        return str(error)


@contextmanager
def both(empty_database: Path, runs: list[dict[str, Any]]) -> Iterator[list[MlflowStore]]:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "mlflow.db"
        shutil.copy(empty_database, database)
        with closing(sqlite3.connect(database)) as opened, opened:
            opened.execute(
                "insert into experiments (experiment_id, name, lifecycle_stage)"
                " values (1, 'capsweep', 'active')"
            )
        fill(database, runs)
        address, artifacts = f"sqlite:///{database}", Path(folder) / "artifacts"
        yield [MlflowStore(address, artifacts, by_client=by_client) for by_client in (True, False)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(runs=st.lists(RUN, max_size=5))
def test_both_readers_say_the_same(empty_database: Path, runs: list[dict[str, Any]]) -> None:
    with both(empty_database, runs) as (client, sql):
        assert [*answers_of(sql)] == [*answers_of(client)]


def test_a_deleted_experiment_is_empty_for_both(empty_database: Path) -> None:
    run = {"kind": "trial", "key": KEYS[0], "sweep": "one", "outcome": "finished", "tags": {}}
    run |= {"params": {}, "points": [], "is_deleted": False, "start": 1, "end": 5}
    with both(empty_database, [run]) as (client, sql):
        assert sql.record(KEYS[0]) == client.record(KEYS[0]) is not None
        path = sql.address.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as opened, opened:
            opened.execute("update experiments set lifecycle_stage = 'deleted'")
        assert sql.record(KEYS[0]) is None
        assert client.record(KEYS[0]) is None


def test_a_schema_that_was_not_tested_is_left_to_mlflow_and_said_so(
    mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(mlflow_store, outcome=Outcome.FINISHED)
    by_sql = mlflow_store.records([KEY])
    monkeypatch.setattr("sweeps.tracking.mlflow.sql_runs.TESTED_SCHEMAS", frozenset())
    with caplog.at_level(logging.INFO, "sweeps"):
        assert mlflow_store.records([KEY]) == by_sql
    assert "has a schema that MLflow has to read" in caplog.text


def test_the_schema_of_the_installed_mlflow_was_tested(empty_database: Path) -> None:
    with closing(sqlite3.connect(empty_database)) as opened:
        assert {*opened.execute("select * from alembic_version")} <= {(v,) for v in TESTED_SCHEMAS}


def test_nothing_is_written_and_what_is_written_meanwhile_is_seen_next(
    mlflow_store: MlflowStore,
) -> None:
    put(mlflow_store, KEYS[0], outcome=Outcome.FINISHED)
    database = Path(mlflow_store.address.removeprefix("sqlite:///"))
    before = database.read_bytes()
    assert list(mlflow_store.records(KEYS)) == [KEYS[0]]
    assert database.read_bytes() == before
    with opened_database(database) as opened:
        runs = SqlRuns(opened)
        assert len(runs.trials(KEYS)) == 1
        with closing(sqlite3.connect(database, timeout=0)) as writer:
            writer.execute("begin immediate")
            writer.execute("insert into tags select 'late', 'x', run_uuid from runs")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                writer.commit()
            assert all("late" not in run.tags for run in runs.trials(KEYS))
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened.execute("delete from runs")


def test_a_link_in_place_of_the_database_is_not_followed(
    mlflow_store: MlflowStore, tmp_path: Path
) -> None:
    put(mlflow_store)
    database = Path(mlflow_store.address.removeprefix("sqlite:///"))
    database.rename(tmp_path / "elsewhere.db")
    database.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(BadInput, match="is not a regular file"):
        mlflow_store.records([KEY])
