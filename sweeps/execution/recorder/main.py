"""The recorder's process, started by a driver with the descriptors of two pipes.

    python -m sweeps.execution.recorder.main CALLS ANSWERS

It loads what writes to a store, is told for which, takes calls, and carries records once it is told
to: see `calls`, and `process` for what the driver says of the end.
"""

import logging
import os
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from sweeps.execution.recorder.call_server import CallServer
from sweeps.execution.recorder.calls import Serve
from sweeps.execution.recorder.process import RecorderProcess
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import open_regular
from sweeps.tracking.opening import load_writing, open_store


def main() -> int:
    """Serve one driver until it is gone. Returns 0, or 3 with records left."""
    server = CallServer(*map(int, sys.argv[1:]))
    load_writing()  # while the driver finds out whom this is for
    told = server.whom()
    if told is None:
        return 0
    _print_to(Path(told.log))
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    driver = sys.stdout
    with redirect_stdout(sys.stderr):  # the driver reads nothing there but what it is told
        return _serve_driver(server, told, driver)


def _serve_driver(server: CallServer, told: Serve, driver: TextIO) -> int:
    store = open_store(told.tracking_uri, told.storage)
    if not server.serve(store):
        return 0
    server.go_on()

    def tell(num_done: int, num_left: int) -> None:
        with suppress(OSError):  # the driver is gone
            driver.write(f"{num_done} {num_left}\n")
            driver.flush()

    process = RecorderProcess(Storage(Path(told.storage)), store, told.sweep, tell)
    exit_code = process.run()
    process.let_others_serve()
    with suppress(OSError):
        driver.write(process.complaint)
        driver.flush()
    os.dup2(2, 1)  # which ends the pipe: nothing more is said there
    server.tell_end(exit_code)
    return exit_code


def _print_to(log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def leave(exit_code: int) -> None:
    """End at once: what is loaded has threads and handlers that the driver would wait for."""
    logging.shutdown()
    os._exit(exit_code)


if __name__ == "__main__":
    raise SystemExit(leave(main()))
