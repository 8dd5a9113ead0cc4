"""A Ray cluster of several nodes on this machine, with ports, folders and a token of its own."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.end_to_end.command import clean_environment
from tests.end_to_end.tracking_server import free_ports
from tests.waiting import PATIENCE_SECONDS, wait_until

_START = (
    str(Path(sys.executable).with_name("ray")),
    "start",
    "--block",
    "--object-store-memory=80000000",
    "--disable-usage-stats",
    "--log-color=false",
)
_ATTEMPTS = 3
_NUM_PORTS = 100  # more than three nodes take in all their attempts
_TOKEN_FILE = "RAY_AUTH_TOKEN_PATH"  # also what marks the cluster's processes as ours
_METRIC_PORTS = ("AUTOSCALER_METRIC_PORT", "DASHBOARD_METRIC_PORT")  # no option sets these


class RayNodes:
    """Nodes that are started by `ray start`, as by hand on machines of one's own.

    Attributes:
        address: What a driver joins.
        dashboard: Address of the head's dashboard, which takes jobs.
        environment: In which a client has the token.
    """

    def __init__(self) -> None:
        # sockets lie below it, and their paths may have about 100 characters at most
        self._folder = Path(tempfile.mkdtemp(prefix="ray-nodes-", dir="/tmp"))
        token = self._folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = clean_environment() | {"RAY_AUTH_MODE": "token", _TOKEN_FILE: str(token)}
        self._ports = iter(free_ports(_NUM_PORTS))  # at once: no two of the cluster are the same
        self.environment |= {name: str(next(self._ports)) for name in _METRIC_PORTS}
        self._dashboard_port = next(self._ports)
        self.dashboard = f"http://127.0.0.1:{self._dashboard_port}"
        self.address = ""
        self._nodes: list[subprocess.Popen[bytes]] = []

    def start_head(self) -> None:
        """Start the node that runs no trials."""
        options = ["--head", "--num-cpus=0", "--num-gpus=0", "--dashboard-host=127.0.0.1"]
        options += [f"--dashboard-port={self._dashboard_port}", f"--temp-dir={self._folder}"]
        options += [f"--{name}={next(self._ports)}" for name in ("port", "ray-client-server-port")]
        output = self._start(*options)
        self.address = next(
            word.split("=")[1].strip("'\"")
            for word in output.split()
            if word.startswith("--address=")
        )
        wait_until(self._has_dashboard)  # on a busy machine it is there seconds later

    def _has_dashboard(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._dashboard_port), timeout=1):
                return True
        except OSError:
            return False

    def start_worker(
        self,
        num_cpus: int = 1,
        num_gpus: int = 0,
        *,
        within: Sequence[str] = (),
        host: str = "",
    ) -> None:
        """Start a node, once those before it run: at once they fail each other.

        Args:
            num_cpus: Its cores.
            num_gpus: GPUs that it says it has.
            within: Words before the command, as of a network namespace.
            host: Its address there.
        """
        options = [f"--address={self.address}", f"--num-cpus={num_cpus}", f"--num-gpus={num_gpus}"]
        self._start(*options, *([f"--node-ip-address={host}"] if host else []), within=within)

    @property
    def roots(self) -> list[int]:
        """The process ids of the commands that hold a node each."""
        return [node.pid for node in self._nodes if node.poll() is None]

    def kill_last_worker(self) -> None:
        """Kill every process of the last node at once, as if its machine had gone."""
        node = psutil.Process(self._nodes[-1].pid)
        for process in [*node.children(recursive=True), node]:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def close(self) -> None:
        """Kill every process of the cluster, and no other, and remove its folder."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while processes := list(self._processes()):
            assert time.monotonic() < deadline, processes
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(processes, timeout=1)
        for node in self._nodes:
            node.wait(PATIENCE_SECONDS)
        shutil.rmtree(self._folder)

    def _start(self, *options: str, within: Sequence[str] = ()) -> str:
        """Start a node, wait until it has joined, and return what it printed.

        Ray gives up on a node after 30 seconds, which is little on a busy machine: then again.
        """
        for _ in range(_ATTEMPTS):
            output = self._folder / f"node-{len(self._nodes)}.out"
            with output.open("wb") as file:
                node = subprocess.Popen(
                    [*within, *_START, *options, *self._own_ports()],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            self._nodes.append(node)
            while node.poll() is None:
                if "will now block forever" in (printed := output.read_text()):
                    return printed
                time.sleep(0.1)
        raise AssertionError(output.read_text())

    def _own_ports(self) -> list[str]:
        names = ("node-manager", "object-manager", "metrics-export", "runtime-env-agent")
        agents = ("dashboard-agent-listen", "dashboard-agent-grpc")
        ports = [f"--{name}-port={next(self._ports)}" for name in (*names, *agents)]
        return [*ports, "--min-worker-port=0", "--max-worker-port=0"]  # which the system chooses

    def _processes(self) -> Generator[psutil.Process]:
        mark = self.environment[_TOKEN_FILE]
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get(_TOKEN_FILE) == mark:
                    yield process
