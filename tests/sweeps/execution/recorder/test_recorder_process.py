"""The recorder's process: what it waits for, what decides its word, what it leaves behind."""

import logging
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeps.aggregation.report import summary_of
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.channel import Channel
from sweeps.execution.recorder import client as recorder_client
from sweeps.execution.recorder import recorder_process
from sweeps.execution.recorder.__main__ import WithoutPasswords
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_process import Finish, RecorderProcess
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.sweep_log import SweepLog
from sweeps.records.errors import StoreRefused
from sweeps.records.manifest import ManifestCell
from sweeps.records.trial_record import Outcome
from sweeps.storage.locations import Storage
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.examples import KEY, epoch, final, manifest, reported, spec, start
from tests.sweeps.execution.recorder.scene import SPEC, START, Scene
from tests.sweeps.execution.recorder.test_recorder_client import Clock
from tests.sweeps.execution.search.examples import proposed, searched
from tests.sweeps.published import publish_manifest, write_manifest
from tests.sweeps.storage.test_file_lock import end, holding
from tests.sweeps.tracking.memory_store import MemoryWriter
from tests.waiting import PATIENCE_SECONDS, wait_until

FOREIGN = "e" * 20


@pytest.mark.parametrize(("busy", "rest"), [(0.0, 0.25), (0.05, 1.0), (30.0, 5.0)])
def test_it_takes_a_twentieth_of_a_processor(busy: float, rest: float):
    assert recorder_process._rest_after(busy) == pytest.approx(rest)


class Session:
    """A recorder process run here, with a driver's end of its channel."""

    def __init__(self, scene: Scene, store: RecordStore) -> None:
        self.scene = scene
        self.own, self.driver = socket.socketpair()
        self.storage = Storage(scene.folder)
        self.address = store.address
        self.records = scene.records = store.writer()
        self.process = RecorderProcess(self.storage, store, "example", channel_on(self.own))
        scene.queue.close()
        scene.queue = RecorderQueue(self.storage.journals, self.address)
        self.sweep_id = publish_manifest(self.records, manifest())
        scene.queue.add([KEY], "example", self.sweep_id)

    def speak(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Send from the driver how long the rest may take."""
        channel_on(self.driver).send(Finish(timeout_seconds=seconds))

    def grant(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Send the messages of the driver and run the process to its end."""
        self.speak(seconds)
        return self.process.run()

    def leave(self) -> int:
        """Close the driver's end and run the process to its end."""
        self.driver.close()
        return self.process.run()

    def is_running(self) -> bool:
        """Return whether the store has the sweep as one that runs."""
        sweep = self.records.find_sweep("example")
        assert sweep is not None
        return sweep.is_running

    def foreign_cell(self) -> CellFolder:
        self.scene.queue.add([FOREIGN], "foreign", "own")
        folder = CellFolder(self.scene.cells, FOREIGN)
        folder.path.mkdir()
        return folder


@pytest.fixture
def session(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    yield from session_of(scene, scene.store, monkeypatch)


@pytest.fixture
def mlflow_session(
    scene: Scene, mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    """Return a session whose store another process can open by its address."""
    yield from session_of(scene, mlflow_store, monkeypatch)


def session_of(
    scene: Scene, store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    monkeypatch.setattr(recorder_process, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(recorder_process, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(recorder_process, "LOAD_SECONDS", 0.0)
    monkeypatch.setattr(recorder_process, "ORPHAN_SECONDS", PATIENCE_SECONDS)
    session = Session(scene, store)
    with session.own, session.driver:
        yield session


def channel_on(end: socket.socket) -> Channel:
    return Channel(end.fileno(), end.fileno())


def test_the_process_writes_to_mlflow_without_loading_what_makes_frames(tmp_path: Path) -> None:
    script = """
import sys
from sweeps.execution.recorder import __main__ as recorder
from sweeps.tracking.opening import open_store
recorder._do_without_frames()
open_store(None, sys.argv[1]).writer().open_sweep("example", "")
print("mlflow" in sys.modules, "pandas.core" in sys.modules)
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = {**os.environ, "MLFLOW_TRACKING_URI": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["True", "False"]


def test_what_is_told_is_carried_to_the_end(session: Session) -> None:
    session.scene.report(START, reported(1), reported(2))
    session.scene.finish()
    assert session.grant() == 0
    assert session.process.error == ""
    assert session.scene.outcome() == "finished"
    assert session.is_running(), "the driver settles it"


def fill(session: Session, cell: ManifestCell, error: float) -> None:
    """Let a trial finish with a validation error."""
    folder = CellFolder(session.scene.cells, cell.trial_key)
    folder.path.mkdir(exist_ok=True)
    head = spec(cell.trial_key, arm=cell.arm, seed=cell.seed)
    curve = (epoch(1, error=0.9), epoch(2, error=error))
    folder.write_final(final(key=cell.trial_key, head=head, curve=curve))


def numbers_shown(session: Session) -> dict[str, float]:
    return session.scene.store.backend.open(session.sweep_id).last_values()


def test_the_row_of_a_running_sweep_has_its_counts_and_the_best_error_so_far(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(session.storage.journals, manifest())
    record = recorder_process.SweepRecord(session.scene.store, session.storage, "example")
    record.publish()
    assert numbers_shown(session) == {"num_trials": 0}

    errors = {("base", 0): 0.3, ("base", 1): 0.2, ("other", 0): 0.125, ("other", 1): 0.375}
    for place, cell in enumerate(manifest().cells):
        fill(session, cell, errors[cell.arm, cell.seed])
        if place == 1:  # one seed of each arm
            record.publish()
            assert numbers_shown(session) == {"num_trials": 2, "validation_error": 0.125}
    record.publish()
    summary = summary_of(session.scene.store, manifest())
    assert summary.numbers == {"num_trials": 0}, "the store has no record yet"
    assert numbers_shown(session) == {"num_trials": 4, "validation_error": 0.25}, "of other"

    monkeypatch.setattr(MemoryWriter, "log_metrics", pytest.fail)
    record.publish()
    session.records.settle_sweep(session.sweep_id, 130)
    record.publish()


def test_a_store_that_takes_no_numbers_of_a_sweep_gets_its_trials(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreRefused("no numbers", "no numbers")

    monkeypatch.setattr(MemoryWriter, "log_metrics", refuse)
    write_manifest(session.storage.journals, manifest())
    session.scene.report(START, reported(1), reported(2))
    session.scene.finish()
    assert session.grant() == 0
    assert session.scene.outcome() == "finished"


def test_it_waits_for_a_worker_that_outlives_the_driver(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.scene.report(START, reported(1))
    worker = holding(session.scene.cell.path / "lock")
    is_busy, looks = CellFolder.is_busy, list[bool]()

    def look(folder: CellFolder) -> bool:
        looks.append(is_busy(folder))
        if len(looks) == 3:  # it has waited, and would look again
            session.scene.report(reported(2))
            end(worker)
        return looks[-1]

    monkeypatch.setattr(CellFolder, "is_busy", look)
    assert session.leave() == 0
    assert looks[:4] == [True, True, True, False]
    assert session.scene.outcome() == "interrupted"
    assert session.scene.stored_run().facts["capsweep.epochs"] == "2"


def test_a_worker_that_does_not_end_is_waited_for_no_longer_than_granted(session: Session) -> None:
    session.scene.report(START, reported(1))
    worker = holding(session.scene.cell.path / "lock")
    try:
        started = time.monotonic()
        assert session.grant(0.3) == 0, "all that was told is carried"
        assert time.monotonic() - started >= 0.3
        assert worker.poll() is None
    finally:
        end(worker)


def test_the_sweep_of_a_driver_that_is_gone_is_marked_as_killed(session: Session) -> None:
    session.scene.report(START, reported(1))
    assert session.leave() == 0
    assert not session.is_running()


def test_the_sweep_is_left_to_a_driver_that_holds_it(session: Session) -> None:
    driver = holding(session.storage.journals / "example.lock")
    try:
        assert session.leave() == 0
    finally:
        end(driver)
    assert session.is_running()


def refusing(monkeypatch: pytest.MonkeyPatch, trial_key: str) -> list[str]:
    """Have the store refuse a trial's record. Returns the keys that it is asked for."""
    asked: list[str] = []
    real = MemoryWriter.find_trial

    def find(records: MemoryWriter, key: str) -> Any:
        asked.append(key)
        if key == trial_key:
            raise StoreRefused("It refuses.", "value too long\nfor http://me:secret@host")
        return real(records, key)

    monkeypatch.setattr(MemoryWriter, "find_trial", find)
    return asked


def test_what_the_store_refuses_is_complained_of_and_the_rest_is_settled(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "f" * 20
    session.scene.queue.add([KEY, other], "example", session.sweep_id)
    folder = CellFolder(session.scene.cells, other)
    folder.path.mkdir()
    folder.append(start(key=other))
    session.scene.finish()
    refusing(monkeypatch, KEY)
    assert session.grant(0.3) == 3
    assert session.process.error == "value too long for http://host"
    assert session.scene.outcome_of(other) == "interrupted"


def test_at_the_end_another_sweeps_backlog_decides_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.foreign_cell().write_final(final(1))
    session.scene.finish()
    asked = refusing(monkeypatch, FOREIGN)
    assert session.grant() == 0
    assert FOREIGN not in asked, "its own recorder carries it"
    assert session.process.error == ""


def speaking_when(
    is_so: Callable[[], object], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have the driver speak when, after one of the process's turns, something holds."""
    serve, spoken = RecorderProcess._serve, list[bool]()

    def serve_and_speak(process: RecorderProcess) -> bool:
        is_serving = serve(process)
        if not spoken and is_so():
            spoken.append(True)
            session.speak()
        return is_serving

    monkeypatch.setattr(RecorderProcess, "_serve", serve_and_speak)


def test_another_sweeps_record_that_cannot_be_settled_decides_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = session.foreign_cell()
    foreign.append(start(key=FOREIGN))
    speaking_when(lambda: session.records.find_trial(FOREIGN), session, monkeypatch)
    assert session.process.run() == 0
    session.scene.queue.update(FOREIGN, outcome="running")
    session.scene.stored_run().is_deleted = True
    session.scene.finish()
    assert session.grant() == 0


def test_another_sweeps_cells_are_carried_while_the_driver_goes_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = SPEC.model_copy(update={"trial_key": FOREIGN, "sweep": "foreign"})
    session.foreign_cell().write_final(final(1, head=foreign))
    speaking_when(lambda: session.records.find_trial(FOREIGN), session, monkeypatch)
    assert session.process.run() == 0


def test_the_store_is_opened_for_what_an_epoch_tells_and_not_for_a_start_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_process, "LOAD_SECONDS", math.inf)
    session.scene.report(START)
    turns = iter(range(99))

    def is_carried() -> bool:
        is_recorded = session.records.find_trial(KEY) is not None
        if (turn := next(turns)) == 3:
            session.scene.report(reported(1))
        assert not is_recorded or turn > 3, "what a start alone tells may wait"
        return is_recorded

    speaking_when(is_carried, session, monkeypatch)
    assert session.process.run() == 0
    assert session.scene.outcome() == "interrupted"


def test_a_log_is_published_while_it_grows_less_often_the_longer_that_takes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, after = Clock(), proposed(searched(), 2)
    monkeypatch.setattr(recorder_process, "time", clock)
    for session in session_of(scene, scene.store, monkeypatch):
        log = SweepLog(session.storage.journals, "example")
        log.declare(after.declared)

        def num_published(seconds: float, process: RecorderProcess = session.process) -> int:
            clock.seconds += seconds
            process._serve()
            return len(scene.store.sweep_log("example"))

        log.append(after.decisions[0])
        assert num_published(4) == 1
        assert num_published(2) == 2
        assert num_published(1000) == 2
        log.append(after.decisions[1])
        assert num_published(45) == 2
        assert num_published(10) == 3


def test_a_store_that_is_away_is_complained_of(session: Session) -> None:
    session.scene.finish()
    session.scene.store.backend.is_unreachable = True
    assert session.grant(0.2) == 3
    assert "does not answer" in session.process.error


def test_a_driver_hears_the_complaint_of_its_recorder(
    mlflow_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_client, "_STOP_SECONDS", PATIENCE_SECONDS)
    (mlflow_session.scene.cell.path / "final.json").write_text("{")
    client = RecorderClient(mlflow_session.storage, mlflow_session.address, "example")
    log = mlflow_session.storage.logs / "recorder-example.log"
    wait_until(lambda: "cannot be read" in log.read_text())
    assert client.finish(0.5) is False
    assert "final.json cannot be read" in client.error
    assert "\n" not in client.error
    client.stop()


def kill(pid: int) -> None:
    """Kill a child and wait until it is dead, without taking its exit code from its parent."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


class TestKeepingAlive:
    """A recorder that dies is started again, now and then."""

    @pytest.fixture
    def client(
        self, mlflow_session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[RecorderClient]:
        monkeypatch.setattr(recorder_client, "_SECONDS_BETWEEN_STARTS", 0.0)
        client = RecorderClient(mlflow_session.storage, mlflow_session.address, "example")
        yield client
        client.stop()

    def test_it_is_started_again_but_not_for_ever(self, client: RecorderClient) -> None:
        pids = {client.pid}
        for _ in range(9):
            kill(client.pid)
            client.keep_alive()
            pids.add(client.pid)
        assert len(pids) == 5

    def test_one_that_dies_soon_is_not_started_again_at_once(
        self, client: RecorderClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pid = client.pid
        kill(pid)
        monkeypatch.setattr(recorder_client, "_SECONDS_BETWEEN_STARTS", math.inf)
        client.keep_alive()
        assert client.pid == pid

    def test_one_that_lives_is_left_alone(self, client: RecorderClient) -> None:
        pid = client.pid
        client.keep_alive()
        client.keep_alive()
        assert client.pid == pid

    def test_stopped_it_settles_what_it_can(
        self, client: RecorderClient, mlflow_session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recorder_client, "_STOP_SECONDS", PATIENCE_SECONDS)
        mlflow_session.scene.report(START, reported(1))
        wait_until(lambda: mlflow_session.records.find_trial(KEY))
        client.stop()
        trial = mlflow_session.records.find_trial(KEY)
        assert trial is not None
        assert trial.outcome is Outcome.INTERRUPTED
        client.stop()


def test_no_line_of_its_log_has_a_password() -> None:
    try:
        raise ConnectionError("http://me:s3cret@127.0.0.1:5000/api: refused")
    except ConnectionError:
        record = logging.LogRecord(
            "urllib3",
            logging.WARNING,
            "",
            1,
            "retrying %s",
            ("https://you:t0ken@host/x",),
            sys.exc_info(),
        )
    line = WithoutPasswords("%(levelname)s %(message)s").format(record)
    assert "retrying https://host/x" in line
    assert "ConnectionError: http://127.0.0.1:5000/api: refused" in line
    assert "s3cret" not in line
    assert "t0ken" not in line
