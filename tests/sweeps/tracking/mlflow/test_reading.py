import http.server
import logging
import socket
import threading
import time
from pathlib import Path

import pytest

from sweeps.records import trial_record as names
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.records.trial_record import Outcome
from sweeps.tracking import record_facts as facts
from sweeps.tracking.mlflow.connection import connect
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.runs import EXPERIMENT
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    trial_key,
    unfinished,
)
from tests.sweeps.published import log_with
from tests.sweeps.tracking.mlflow.runs import put_artifact, put_config, put_sweep, put_trial


@pytest.fixture
def store(mlflow_store):
    return mlflow_store


def reader_of(uri, folder=Path("artifacts")):
    """Return the reader of an address that leads nowhere, or to something odd."""
    return MlflowStore(uri, folder)


def test_what_was_put_into_the_store_comes_out(client, store, tmp_path):
    manifest, records = known_sweep()
    parent = put_sweep(client, manifest, records.values(), tmp_path)

    assert store.sweeps() == ["known"]
    assert store.sweep_id("known") == parent
    assert store.manifest("known") == manifest
    read = store.records(manifest.cell_keys().values())
    same = {"record_id": "", "ended_at": None}
    assert {key: trial.model_copy(update=same) for key, trial in read.items()} == {
        key: trial.model_copy(update=same) for key, trial in records.items()
    }


def test_only_the_keys_asked_for_come_back(client, store):
    for seed in range(3):
        put_trial(client, finished("a", seed, 5))

    assert list(store.records([trial_key("a", 1)])) == [trial_key("a", 1)]
    assert store.records([]) == {}


@pytest.mark.parametrize("few", [0, 100], ids=["page by page", "one by one"])
def test_more_records_than_a_page_are_all_found(few, client, tracking_uri, monkeypatch):
    store = MlflowStore(tracking_uri, Path("artifacts"), by_client=True)
    monkeypatch.setattr("sweeps.tracking.mlflow.client_runs._PAGE", 2)
    monkeypatch.setattr("sweeps.tracking.mlflow.client_runs._FEW", few)
    keys = {trial_key("a", seed) for seed in range(5)}
    put_trial(client, unfinished("a", 0, Outcome.INTERRUPTED, ""), start=1)
    for seed in range(5):
        put_trial(client, finished("a", seed, 5, epochs=1), start=2 + seed)

    records = store.records(keys | {trial_key("never trained", 0), "' OR"})
    assert records.keys() == keys
    assert all(record.outcome.is_final for record in records.values())


def test_replaced_records_are_never_counted(client, store):
    put_trial(client, finished("a", 0, 5), **{facts.TAG_REPLACED: "2026-01-01"})

    assert store.records([trial_key("a", 0)]) == {}
    with pytest.raises(BadInput, match="no trial"):
        store.find(trial_key("a", 0))


def test_replaced_sweeps_are_not_listed(client, store, tmp_path):
    parent = put_sweep(client, manifest_of(["a"]), [], tmp_path)
    client.set_tag(parent, facts.TAG_REPLACED, "yes")

    assert store.sweeps() == []


def test_of_two_records_of_one_key_the_final_one_counts(client, store):
    put_trial(client, unfinished("a", 0, Outcome.INTERRUPTED, ""), start=1)
    final = put_trial(client, finished("a", 0, 5), start=2)
    put_trial(client, unfinished("a", 0, Outcome.FAILED, ""), start=3)

    assert store.records([trial_key("a", 0)])[trial_key("a", 0)].record_id == final


@pytest.mark.parametrize("trial", [finished("a", 0, 5), unfinished("a", 0, Outcome.FAILED, "")])
def test_of_two_equal_records_the_earliest_started_counts(trial, client, store):
    put_trial(client, trial, start=200)
    earliest = put_trial(client, trial, start=100)

    assert store.records([trial_key("a", 0)])[trial_key("a", 0)].record_id == earliest


def test_a_record_that_does_not_validate_is_left_out_with_a_warning(client, store, caplog):
    put_trial(client, finished("a", 0, 5), **{facts.TAG_SEED: "seven"})
    put_trial(client, finished("a", 1, 5))

    with caplog.at_level(logging.WARNING, "sweeps.tracking"):
        records = store.records([trial_key("a", 0), trial_key("a", 1)])
    assert records.keys() == {trial_key("a", 1)}
    assert "no valid record: seed" in caplog.text


def test_an_unknown_sweep_names_the_nearest_known_one(client, store, tmp_path):
    put_sweep(client, manifest_of(["a"], sweep="quickstart"), [], tmp_path)

    with pytest.raises(BadInput, match=r"no sweep 'quickstrt' in .* Did you mean 'quickstart'\?"):
        store.manifest("quickstrt")


def test_a_sweep_name_cannot_end_the_quotes_of_a_search(client, store, tmp_path):
    put_sweep(client, manifest_of(["a"]), [], tmp_path)

    with pytest.raises(BadInput, match="no sweep"):
        store.manifest("x' OR '1' = '1")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (lambda m: m.replace('"name":"ablation"', '"name":"../../x"'), "tables.0.ablation.name"),
        (lambda m: m.replace('"seeds":[0,1,2]', '"seeds":[0]'), "cells are not each arm"),
        (lambda m: m.replace('"sweep":"known"', '"sweep":"other"'), "that of 'other'"),
        (lambda m: m[:-5], "Invalid JSON"),
        (lambda m: "[" * 100_000, "Invalid JSON"),
    ],
)
def test_a_log_that_is_not_valid_is_refused_in_one_sentence(
    content, complaint, client, store, tmp_path
):
    parent = put_sweep(client, manifest_of(["a"]), [], tmp_path)
    bad = content(manifest_of(["a"]).model_dump_json())
    log = log_with(bad).decode()
    put_artifact(client, parent, names.ARTIFACT_SWEEP_LOG, log, tmp_path)

    with pytest.raises(BadInput, match=f"log of sweep 'known' is not valid.*{complaint}") as e:
        store.manifest("known")
    assert "\n" not in str(e.value)


def test_a_log_that_is_too_large_is_not_read(client, store, tmp_path, monkeypatch):
    monkeypatch.setitem(vars_of_artifacts()["_LARGEST"], "sweep", 100)
    put_sweep(client, manifest_of(["a"]), [], tmp_path)

    with pytest.raises(BadInput, match="too large"):
        store.manifest("known")


def vars_of_artifacts():
    from sweeps.tracking.mlflow import artifacts

    return vars(artifacts)


def test_a_log_that_is_gone_is_said_to_be(client, store, tmp_path):
    tags = {facts.TAG_TYPE: "sweep", facts.TAG_SWEEP: "known"}
    client.create_run(client.get_experiment_by_name(EXPERIMENT).experiment_id, tags=tags)

    with pytest.raises(BadInput, match=r"holds no sweep.jsonl"):
        store.manifest("known")


def test_a_trial_is_found_by_the_beginning_of_its_key_or_its_run_id(client, store):
    run = put_trial(client, finished("a", 0, 5))
    put_trial(client, finished("a", 1, 5))

    assert store.find(trial_key("a", 0)[:8]).seed == 0
    assert store.find(run).seed == 0


def test_an_ambiguous_beginning_is_refused_with_the_choices(client, store):
    keys = [f"{'ab' * 9}{n:02d}" for n in range(2)]
    for seed, key in enumerate(keys):
        put_trial(client, finished("a", seed, 5, trial_key=key))

    with pytest.raises(BadInput, match=f"2 trial keys: {keys[0]}, {keys[1]}"):
        store.find("abab")


@pytest.mark.parametrize("text", ["", "zzz", "x' OR '1'='1", "%"])
def test_a_trial_that_is_not_there_gets_one_sentence(text, client, store):
    put_trial(client, finished("a", 0, 5))

    with pytest.raises(BadInput, match="There is no trial"):
        store.find(text)


def test_a_history_has_a_value_for_each_epoch_in_order(client, store):
    put_trial(client, finished("a", 0, 6, epochs=3))
    record = store.find(trial_key("a", 0))

    (history,) = store.histories([record], "validation_error").values()
    assert [*history] == [1, 2, 3]
    assert history[1] == 6 / 600


def test_histories_hold_one_metric_of_many_trials_by_epoch(client, store):
    for seed in range(3):
        put_trial(client, finished("a", seed, 6, epochs=2 + seed))
    records = store.records(trial_key("a", seed) for seed in range(3))

    histories = store.histories(records.values(), names.METRIC_VALIDATION_ERROR)
    expected = {trial_key("a", seed): 2 + seed for seed in range(3)}
    assert {key: max(history) for key, history in histories.items()} == expected
    assert histories[trial_key("a", 0)] == {1: 6 / 600, 2: 6 / 600}


def test_an_epoch_told_twice_has_its_later_value(client, store):
    run = put_trial(client, finished("a", 0, 6, epochs=1))
    client.log_metric(run, "train_loss", 0.75, timestamp=2, step=1)

    assert store.histories([store.find(run)], "train_loss") == {trial_key("a", 0): {1: 0.75}}


def test_a_record_knows_which_artifacts_it_holds(client, store, tmp_path):
    run = put_trial(client, finished("a", 0, 5))
    put_artifact(client, run, names.ARTIFACT_LOG, "hello", tmp_path)

    assert store.holds(store.find(run), names.ARTIFACT_LOG)
    assert not store.holds(store.find(run), names.ARTIFACT_WEIGHTS)


def test_a_config_comes_out_as_it_was_put(client, store, tmp_path):
    run = put_trial(client, finished("a", 0, 5))
    put_config(client, run, {"model": {"kind": "capsnet"}}, tmp_path)

    assert store.config(store.find(run)) == {"model": {"kind": "capsnet"}}


def test_artifacts_have_known_names_only(client, store, tmp_path):
    run = put_trial(client, finished("a", 0, 5))
    put_artifact(client, run, names.ARTIFACT_LOG, "hello", tmp_path)
    record = store.find(run)

    assert store.artifact(record, names.ARTIFACT_LOG).read_text() == "hello"
    assert Path(store.location(record, names.ARTIFACT_LOG)).read_text() == "hello"
    with pytest.raises(BadInput, match="Known:"):
        store.artifact(record, "../../secret")
    with pytest.raises(BadInput, match="holds no weights"):
        store.artifact(record, names.ARTIFACT_WEIGHTS)


def test_an_artifact_that_leads_out_of_its_run_is_refused(client, store, tmp_path):
    run = put_trial(client, finished("a", 0, 5))
    put_artifact(client, run, names.ARTIFACT_LOG, "hello", tmp_path)
    record = store.find(run)
    path = Path(store.location(record, names.ARTIFACT_LOG))
    path.unlink()
    path.symlink_to("/etc/passwd")

    with pytest.raises(BadInput, match="is not a regular file but a link"):
        store.artifact(record, names.ARTIFACT_LOG)


def test_reading_a_store_that_is_not_there_creates_nothing(tmp_path):
    store = reader_of(f"sqlite:///{tmp_path}/mlflow.db")

    assert not store.exists()
    with pytest.raises(BadInput, match="There is no tracking store at"):
        store.sweeps()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_mlflow_store_is_refused_and_left_alone(tmp_path):
    for name, content in (("empty.db", b""), ("text.db", b"not a database at all" * 100)):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(BadInput):
            reader_of(f"sqlite:///{path}").sweeps()
        assert path.read_bytes() == content


@pytest.mark.parametrize("uri", ["./mlruns", "file:///tmp/mlruns", "nonsense", ""])
def test_an_address_that_is_no_store_is_refused(uri):
    with pytest.raises(BadInput, match="is not a tracking store"):
        reader_of(uri).sweeps()


def test_a_store_without_the_experiment_is_empty(empty_database):
    assert reader_of(f"sqlite:///{empty_database}").sweeps() == []


def test_a_server_that_refuses_gets_one_sentence_without_its_password():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    with pytest.raises(StoreUnreachable, match="does not answer") as error:
        reader_of(f"http://user:secret@127.0.0.1:{port}").sweeps()
    assert "secret" not in str(error.value)
    assert f"127.0.0.1:{port}" in str(error.value)


def test_a_server_that_never_answers_is_given_up_soon(monkeypatch):
    monkeypatch.setattr("sweeps.tracking.mlflow.connection.PATIENCE_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        started = time.monotonic()
        with pytest.raises(StoreUnreachable, match="does not answer"):
            reader_of(f"http://127.0.0.1:{silent.getsockname()[1]}").sweeps()
    assert time.monotonic() - started < 30, "MLflow's own patience with an answer"


@pytest.mark.parametrize("num_lost", [2, 3])
def test_a_server_that_loses_an_answer_is_asked_again_three_times_in_all(num_lost):
    asked: list[str] = []

    class Dropping(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if len(asked) > num_lost:
                self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Dropping)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        if num_lost < 3:
            connect(address)
        else:
            with pytest.raises(StoreUnreachable, match="does not answer"):
                connect(address)
    finally:
        server.shutdown()
        server.server_close()
    assert asked == ["/health"] * 3


def test_a_server_that_answers_nonsense_gets_one_sentence():
    class Teapot(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(418)

        do_POST = do_GET  # noqa: N815 - the base's name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Teapot)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(StoreUnreachable, match="cannot be read") as error:
            reader_of(f"http://127.0.0.1:{server.server_port}").sweeps()
        assert "\n" not in str(error.value)
    finally:
        server.shutdown()
        server.server_close()
