"""The process of a check, forked from that of the tests, which has torch loaded already."""

import os
import signal
import subprocess
import time
import traceback
from collections.abc import Sequence

import torch


class Forked:
    """What `check_process.start` returns, as far as it is used."""

    def __init__(self, arguments: list[str], descriptors: Sequence[int]) -> None:
        del descriptors
        leave = os._exit
        self._code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                from sweeps.execution import check_process

                torch.set_num_threads(1)  # threads of the parent do not exist here
                code = check_process.main(arguments)
            except BaseException:  # noqa: BLE001 - nothing may return into the tests
                traceback.print_exc()
            leave(code)

    def poll(self) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self, timeout: float = 60.0) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("check", timeout)
            time.sleep(0.01)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
