"""How long commands that only read wait for an MLflow server, at first and again.

    python -m benchmarks.readers.served 100 1000

Prints a table: wall-clock seconds of one run each, and processor seconds. The server is that of
`capsweep ui` on this machine, over stores as `benchmarks.readers.run` reads them.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.readers.run import SWEEP
from benchmarks.readers.stores import make_store

CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
COMMANDS = ("best", "best", "status", "report", "report")


def main() -> None:
    print("| trials | command | seconds | processor seconds |\n|---|---|---|---|")
    for count in [int(word) for word in sys.argv[1:]] or [100]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_store(folder / "store", count)
            with served(folder / "store") as address:
                for command in COMMANDS:
                    seconds, processor = measured(command, address, folder)
                    print(
                        f"| {count:,} | `{command}` | {seconds:.1f} | {processor:.1f} |", flush=True
                    )


@contextmanager
def served(storage: Path) -> Generator[str]:
    """Serve a store while the block runs, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [CAPSWEEP, "ui", "--storage", str(storage), "--port", str(port)]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                urllib.request.urlopen(f"{address}/health").close()
                break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


def measured(command: str, address: str, folder: Path) -> tuple[float, float]:
    """Return the wall-clock and processor seconds of a command whose cache is its own."""
    argv = [CAPSWEEP, command, SWEEP, "--tracking-uri", address]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    started = time.perf_counter()
    process = subprocess.Popen(argv, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} has failed with exit code {process.returncode}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
