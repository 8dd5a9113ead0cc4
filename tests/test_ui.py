"""`capsweep ui` serves the records, on this machine only."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from sweeps.execution.child_process import is_alive
from sweeps.records.errors import BadInput
from sweeps.tracking.mlflow import ui
from sweeps.tracking.mlflow.ui import serve
from sweeps.tracking.opening import open_store
from tests.waiting import PATIENCE_SECONDS, wait_until

CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
IGNORING_CTRL_C = ("sh", "-c", 'trap "" INT; exec "$0" "$@"')  # as a script's background job does
LISTENING = """\
#!{python}
import signal, socket, subprocess, sys
{patience}
subprocess.Popen(["sleep", "86399"])
port = int(sys.argv[sys.argv.index("--port") + 1])
with socket.create_server(("127.0.0.1", port)) as listener:
    while True:
        listener.accept()[0].close()
"""


@pytest.mark.slow
def test_the_ui_is_served_on_loopback_alone_and_ends_with_ctrl_c_also_in_the_background(
    tmp_path: Path,
) -> None:
    writer = open_store(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path).writer()
    run_id = writer.open_sweep("example", "what for")
    (tmp_path / "table.md").write_text("a table")
    writer.publish_files(run_id, [tmp_path / "table.md"])
    command = [*IGNORING_CTRL_C, CAPSWEEP, "ui", "--port", "0", "--storage", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            processes = see_the_ui(process, run_id)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
            assert not [child for child in processes if is_alive(child)]
        finally:
            process.terminate()


def see_the_ui(process: "subprocess.Popen[str]", run_id: str) -> list[psutil.Process]:
    """Look at the UI that a process serves, and at a file; return MLflow's processes."""
    assert process.stdout is not None
    printed = process.stdout.readline()
    assert "is starting" in printed
    address = re.search(r"http://127\.0\.0\.1:(\d+)", printed)
    assert address, printed
    assert f"{address[0]}/#/experiments/1/runs?workflowType=machine_learning" in printed
    assert "It answers now." in process.stdout.readline()
    with urllib.request.urlopen(address[0], timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200
    file = f"{address[0]}/get-artifact?path=report/table.md&run_uuid={run_id}"
    with urllib.request.urlopen(file, timeout=PATIENCE_SECONDS) as answer:
        assert answer.read() == b"a table"
    processes = psutil.Process(process.pid).children(recursive=True)
    listening = {
        connection.laddr.ip
        for child in processes
        for connection in child.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}
    assert not [child for child in processes if "jobs" in " ".join(child.cmdline())]
    return processes


def test_a_pipe_among_the_artifacts_is_refused_as_the_server_would_wait_for_it(
    tmp_path: Path, empty_database: Path
) -> None:
    shutil.copy(empty_database, tmp_path)
    pipe = tmp_path / "artifacts" / "0123" / "artifacts" / "weights.safetensors"
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match=f"{pipe} is a pipe, a socket or a device, and MLflow's UI"):
        serve(0, None, tmp_path)


STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as while it sends a file without end"


@pytest.mark.parametrize(
    ("number", "patience"),
    [(signal.SIGINT, ""), (signal.SIGTERM, ""), (signal.SIGINT, STUBBORN)],
    ids=["SIGINT", "SIGTERM", "SIGINT while it answers"],
)
def test_a_signal_that_was_ignored_ends_the_ui_and_stays_ignored_afterwards(
    number: signal.Signals,
    patience: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    empty_database: Path,
) -> None:
    shutil.copy(empty_database, tmp_path)
    server = tmp_path / "server"
    server.write_text(LISTENING.format(python=sys.executable, patience=patience))
    server.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(server))  # in place of Python with MLflow
    monkeypatch.setattr(ui, "_END_SECONDS", 1.0)

    processes: list[psutil.Process] = []

    def end_it() -> None:
        reported: list[str] = []
        wait_until(
            lambda: reported.append(capfd.readouterr().out) or "Ctrl-C ends it" in "".join(reported)
        )
        processes.extend(psutil.Process().children(recursive=True))
        os.kill(os.getpid(), number)

    before = signal.signal(number, signal.SIG_IGN)
    ending = threading.Thread(target=end_it)
    try:
        ending.start()
        serve(0, None, tmp_path)
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
        ending.join()
    assert "The UI has ended" in capfd.readouterr().out
    assert len(processes) == 2
    wait_until(lambda: not [child for child in processes if is_alive(child)])


def test_the_address_is_there_before_the_server_answers_and_no_more_is_said_of_one_that_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    empty_database: Path,
) -> None:
    shutil.copy(empty_database, tmp_path)
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\necho it cannot\n")
    server.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(server))  # in place of Python with MLflow
    with pytest.raises(BadInput, match=r"^MLflow's UI did not start: it cannot$"):
        serve(0, None, tmp_path)
    (line,) = capfd.readouterr().out.splitlines()
    assert re.fullmatch(r"MLflow's UI is starting, .* It will be at http://127\.0\.0\.1:\d+", line)


def test_a_store_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [CAPSWEEP, "ui", "--storage", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "There is no tracking store at" in done.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "place",
    ["file:///etc", "/etc", "http://example.org/x", "mlflow-artifacts://example.org/x", "s3://x/y"],
)
def test_a_store_with_a_row_that_leads_elsewhere_is_not_served(
    tmp_path: Path, empty_database: Path, place: str
) -> None:
    shutil.copy(empty_database, tmp_path)
    writer = open_store(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path).writer()
    run_id = writer.open_sweep("example", "what for")
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.execute("update runs set artifact_uri = ?", (place,))
    with pytest.raises(BadInput, match="MLflow's UI would open that"):
        serve(0, None, tmp_path)
    assert open_store(None, tmp_path).writer().find_sweep("example")
    assert run_id


def test_a_database_that_is_a_link_is_not_served(tmp_path: Path, empty_database: Path) -> None:
    (tmp_path / "mlflow.db").symlink_to(empty_database)
    with pytest.raises(BadInput, match="is not a regular file"):
        serve(0, None, tmp_path)
