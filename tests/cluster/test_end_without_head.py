"""A worker that does not reach its head ends itself."""

import os
import shutil
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from tests.pages import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

_MOST_SECONDS = 3
_TIMEOUT = shutil.which("timeout")
_POLLS = 22  # of 20 within that time


def test_a_worker_ends_itself_once_its_head_is_gone_and_not_before(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\necho "$@" >> {ended}\n')
    sudo.chmod(0o755)
    miss = tmp_path / "miss"
    timeout = tmp_path / "timeout"  # one poll fails where the file is there
    timeout.write_text(f'#!/bin/sh\nrm {miss} 2> /dev/null && exit 1\nexec {_TIMEOUT} "$@"\n')
    timeout.chmod(0o755)
    polls: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as head:
        threading.Thread(target=_accept, args=(head, polls), daemon=True).start()
        port = str(head.getsockname()[1])
        command = ["bash", str(ROOT / "deploy/end_without_head.sh"), "127.0.0.1", port]
        path = f"{tmp_path}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
        watch = subprocess.Popen([*command, str(_MOST_SECONDS)], env=environment)
        wait_until(lambda: len(polls) >= _POLLS)
        miss.touch()
        wait_until(lambda: not miss.exists())
        seen = len(polls)
        wait_until(lambda: len(polls) > seen or watch.poll() is not None)
        assert ended.read_text() == "shutdown -c\n"  # that of the machine's boot
        subprocess.run([*command, "600"], env=environment, check=True)  # one is enough
        head.shutdown(socket.SHUT_RDWR)
    assert watch.wait(PATIENCE_SECONDS) == 0
    assert ended.read_text() == "shutdown -c\n" * 2 + "shutdown -h now\n"


def _accept(head: socket.socket, polls: list[int]) -> None:
    with suppress(OSError):  # the head is gone
        while True:
            head.accept()[0].close()
            polls.append(1)
