"""`capsweep ui` serves the records, on this machine only."""

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest
from mlflow import MlflowClient

CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))


@pytest.mark.slow
def test_the_ui_is_served_on_loopback_alone_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}").create_experiment("capsweep")
    command = [CAPSWEEP, "ui", "--port", "0", "--storage", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.readline() + process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+)", printed)
        assert address, printed
        with urllib.request.urlopen(address[0], timeout=20) as answer:
            assert answer.status == 200

        server = psutil.Process(process.pid).children()[0]
        everyone = [server, *server.children(recursive=True)]
        listening = {
            connection.laddr.ip
            for one in everyone
            for connection in one.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }
        assert listening == {"127.0.0.1"}

        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not psutil.pid_exists(server.pid)


def test_a_store_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [CAPSWEEP, "ui", "--storage", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "There are no records in" in done.stderr
    assert not (tmp_path / "none").exists()
