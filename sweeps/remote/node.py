"""What the agent does on its machine: it starts and ends Ray and MLflow, and runs commands.

All that it starts as a service has a mark in its environment, by which it is ended later, and no
other process.
"""

import os
import platform
import shlex
import socket
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

from capsmodel.launch_folder import SENT_SWEEP
from sweeps.execution.engine.cgroup import num_cores
from sweeps.execution.sweep_log import is_launching
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.records.suggested_command import PLAIN_VARIABLE
from sweeps.remote.cluster_token import made_token, read_token, write_token
from sweeps.remote.messages import (
    MOST_BYTES,
    MOST_FILES,
    CommandEnded,
    DataReady,
    Facts,
    Files,
    GetFacts,
    GetFiles,
    GetRunning,
    PrepareData,
    RunCommand,
    Running,
    Send,
    ServicesEnded,
    ServicesStarted,
    StartHead,
    StartWorker,
    StopServices,
    Text,
)
from sweeps.remote.mlflow_server import MlflowServer
from sweeps.remote.services import MARK, answers, end_services, program, service_environment
from sweeps.storage.folder import Folder
from sweeps.storage.locations import resolve_storage

_ENVIRONMENT = "capsweep-env.sh"
_START_SECONDS = 120.0
_OBJECT_STORE_BYTES = 2**28  # trials pass nothing through it
AT_END: list[Callable[[], object]] = []
"""What is called when the connection ends before the answer."""


def facts(_: GetFacts, _send: Send) -> Facts:
    """Return what this machine is and has."""
    import torch

    token, mode = read_token()
    return Facts(
        host=socket.gethostname(),
        address=_address(),
        python=platform.python_version(),
        ray=version("ray"),
        torch=version("torch"),
        cpus=num_cores(),
        gpus=torch.cuda.device_count(),
        token=token,
        token_mode=mode,
        storage=os.environ.get("CAPSWEEP_STORAGE"),
        tracking_uri=os.environ.get("CAPSWEEP_TRACKING_URI"),
        data=os.environ.get("CAPSWEEP_DATA"),
    )


def run_command(request: RunCommand, send: Send) -> CommandEnded:
    """Run capsweep in a folder with some files, and send what it prints."""
    with tempfile.TemporaryDirectory(prefix="capsweep-") as folder:
        write_files(Folder(Path(folder)), request.files)
        variables = {PLAIN_VARIABLE: "1", SENT_SWEEP: "1"}
        variables |= {"COLUMNS": str(request.columns)} if request.columns else {}
        process = subprocess.Popen(
            [program("capsweep"), *request.arguments],
            cwd=folder,
            env={**os.environ, **variables, "RAY_AUTH_MODE": "token"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        AT_END.append(process.terminate)
        assert process.stdout is not None
        while text := os.read(process.stdout.fileno(), 1 << 16):
            send(Text(text=text.decode(errors="replace")))
        return CommandEnded(exit_code=process.wait())


def prepare_data(request: PrepareData, _send: Send) -> DataReady:
    """Make sure that the data of a sweep are here.

    Raises:
        BadInput: If some are missing and cannot be downloaded.
    """
    from sweeps.execution.launch.launch import prepare_data
    from sweeps.execution.plan.changes import Changes
    from sweeps.execution.plan.definition import define

    with tempfile.TemporaryDirectory(prefix="capsweep-") as folder:
        write_files(Folder(Path(folder)), request.files)
        os.chdir(folder)
        os.environ[SENT_SWEEP] = "1"
        sweep = f"./{request.sweep}" if request.files else request.sweep
        changes = Changes(settings=dict(request.settings))
        prepare_data(define(sweep, changes, (), checks_together=False))
        os.chdir("/")
    return DataReady()


def running(request: GetRunning, _send: Send) -> Running:
    """Return whether a launch of a sweep runs here."""
    storage = resolve_storage(request.storage)
    return Running(is_running=is_launching(storage.journals, request.sweep))


def write_files(folder: Folder, files: Mapping[str, str]) -> None:
    """Write files into a folder.

    Raises:
        BadInput: If a name is a path.
    """
    for name, text in files.items():
        folder.write(name, text.encode())


def read_files(request: GetFiles, _send: Send) -> Files:
    """Return the files of a folder, without the folders among them.

    Raises:
        BadInput: If it cannot be read, is too large to be sent, or has a link in it.
    """
    folder, contents, num_bytes = Folder(Path(request.storage), *request.names), {}, 0
    try:
        with folder.opened():  # which says so if it is not there
            names = [name for name in folder.names() if _is_wanted(folder.path / name, request)]
        for name in names:
            content = folder.read(name)
            contents[name] = b64encode(content).decode()
            num_bytes += len(content)
            if len(contents) > MOST_FILES or num_bytes > MOST_BYTES:
                raise BadInput(
                    f"The folder {folder.path} has more than {MOST_FILES:,} files or "
                    f"{MOST_BYTES:,} bytes, and is not sent: copy it by scp."
                )
    except OSError as error:
        raise BadInput(
            f"The folder {folder.path} cannot be read on {socket.gethostname()} ({error.strerror})."
        ) from error
    return Files(files=contents)


def _is_wanted(path: Path, request: GetFiles) -> bool:
    return not path.is_dir() and (request.files is None or path.name in request.files)


# Ray and MLflow.


def start_head(request: StartHead, _send: Send) -> ServicesStarted:
    """Start Ray's head and MLflow's server, each unless it runs.

    Raises:
        BadInput: If one of them does not start.
    """
    token = made_token()
    _write_environment(request)
    address = _address()
    folder = f"{request.storage}/mlflow"
    mlflow = MlflowServer(request.mlflow_port)
    starts_mlflow = mlflow.start(f"sqlite:///{folder}/mlflow.db", f"{folder}/artifacts")
    starts_ray = not answers(f"http://127.0.0.1:{request.dashboard_port}/api/version", token)
    if starts_ray:
        end_services(request.ray_port)
        _start_ray(
            f"{address}:{request.ray_port}",
            request,
            "--head",
            f"--port={request.ray_port}",
            f"--node-ip-address={address}",
            "--dashboard-host=127.0.0.1",
            f"--dashboard-port={request.dashboard_port}",
        )
    mlflow.wait()
    return ServicesStarted(address=address, token=token, ray=starts_ray, mlflow=starts_mlflow)


def start_worker(request: StartWorker, _send: Send) -> ServicesStarted:
    """Have this machine join a head, after ending what is left of an earlier one.

    Raises:
        BadInput: If it has the token of another cluster, or Ray does not start.
    """
    here = read_token()[0]
    if here and here != request.token:
        raise BadInput(
            f"{socket.gethostname()} has another token in ~/.ray/auth_token than the head: if no "
            f"other cluster uses it, delete it there and start again."
        )
    write_token(request.token)
    _write_environment(request)
    end_services(int(request.head.rpartition(":")[2]))
    _start_ray(request.head, request, f"--address={request.head}")
    return ServicesStarted(address=_address(), ray=True)


def stop(request: StopServices, _send: Send) -> ServicesEnded:
    """End the services of one cluster that an agent has started here."""
    return ServicesEnded(num_processes=sum(map(end_services, request.ports)))


def _start_ray(head: str, request: StartHead | StartWorker, *options: str) -> None:
    options += (f"--object-store-memory={_OBJECT_STORE_BYTES}", "--disable-usage-stats")
    options += (f"--num-cpus={num_cores() if request.cpus is None else request.cpus}",)
    if request.gpus is not None:
        options += (f"--num-gpus={request.gpus}",)
    environment = {**service_environment(), MARK: f"ray {head}", "RAY_AUTH_MODE": "token"}
    try:
        started = subprocess.run(
            [program("ray"), "start", "--log-color=false", *options],
            env=environment,
            cwd=Path.home(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _no_ray(head, f"it has not started in {_START_SECONDS:.0f} s") from None
    if started.returncode:
        lines = [line for line in started.stdout.splitlines() if line.strip()]
        raise _no_ray(head, one_line(lines[-1])[:300] if lines else "it has said nothing")


def _no_ray(head: str, reason: str) -> BadInput:
    return BadInput(
        f"Ray does not start on {socket.gethostname()} with its head at {head}: {reason}. Is the "
        f"port free there, and reachable from here?"
    )


# What the machine has.


def _address() -> str:
    """Return the address under which the other machines reach this one: that which ssh came to."""
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) == 4 and not connection[2].startswith(("127.", "::1")):
        return connection[2]
    from ray.util import get_node_ip_address

    return get_node_ip_address()


def _write_environment(request: StartHead | StartWorker) -> None:
    """Write the variables of the cluster, for this process and for shells that read the file."""
    values = {
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "CAPSWEEP_STORAGE": request.storage,
        "CAPSWEEP_DATA": request.data,
        "CAPSWEEP_TRACKING_URI": f"http://127.0.0.1:{request.mlflow_port}",
    }
    os.environ.update(values)
    text = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())
    Folder(Path.home()).write(_ENVIRONMENT, text.encode())
    for folder in (request.storage, request.data):
        try:
            Folder(Path(folder)).make()
        except OSError as error:
            raise BadInput(
                f"The folder {folder} cannot be made on {socket.gethostname()} "
                f"({error.strerror}): mount it there."
            ) from error
