"""What `--on` names: the file of a cluster, `machines.txt` of one's own or `cluster.yaml` of Ray's.

A file of machines has a name or address as `ssh` takes it on each line, the head first, and
settings:

    storage = /shared/capsweep      # a folder that all machines see
    head = trains                   # the head takes trials too [default: only if it is alone]
    head.example.org
    worker1 cpus=8 gpus=2           # what Ray may use of it [default: all that it has]
    worker2
"""

import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from capsmodel.spelling import hint, unknown
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.aws.settings import SHIPPED_IDS

_FOLDERS = ("storage", "data")
_PORTS = ("mlflow_port", "ray_port", "dashboard_port")
_SETTINGS = (*_FOLDERS, *_PORTS, "head")
_NUMBERS = ("cpus", "gpus")
_SETTING = re.compile(r"([A-Za-z_]+)\s*=\s*(.*)")
_HEAD_IP_SECONDS = 120.0


class NoHead(BadInput):
    """The head of a cluster of Ray's does not run.

    Args:
        path: The cluster's file.
        reason: Why there is none.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.command = ["ray", "up", str(path)]
        super().__init__(
            f"The cluster of {path} has no head ({reason}). Its disk keeps what was trained: start "
            f"the head, {shlex.join(self.command)}, and give the same command again."
        )


@dataclass(frozen=True)
class ClusterMachine:
    """A machine of a cluster.

    Attributes:
        name: As `ssh` takes it.
        cpus: Cores that Ray may use, None for all of them.
        gpus: GPUs likewise.
        ssh_options: Words for `ssh` before the name.
    """

    name: str
    cpus: int | None = None
    gpus: int | None = None
    ssh_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClusterFile:
    """A cluster as its file describes it.

    Attributes:
        path: The file, absolute.
        head: The machine with Ray's head, MLflow and the drivers of the sweeps.
        workers: The other machines; none where Ray starts and ends them.
        head_trains: Whether the file lets the head take trials beside its workers.
        storage: The storage folder that all machines see; None where the machines know it.
        data: The folder of the data sets; None likewise.
        mlflow_port: Port of MLflow's server on the head, on the loopback.
        ray_port: Port of Ray's head.
        dashboard_port: Port of Ray's dashboard on the head, on the loopback.
        worker_resources: What each worker has that Ray would start; empty without such.
        price: What an hour of a worker costs, None if the file does not say it.
        max_price: What a submitted sweep may cost, None for any.
    """

    path: Path
    head: ClusterMachine
    workers: tuple[ClusterMachine, ...] = ()
    head_trains: bool = False
    storage: str | None = None
    data: str | None = None
    mlflow_port: int = 5000
    ray_port: int = 6379
    dashboard_port: int = 8265
    worker_resources: Mapping[str, float] = field(default_factory=dict[str, float])
    price: float | None = None
    max_price: float | None = None

    @property
    def start_command(self) -> str:
        """The command that starts it, or what it lacks."""
        path = str(self.path)
        ours, of_ray = SuggestedCommand("cluster", "up", path), shlex.join(["ray", "up", path])
        return str(ours) if self.storage else of_ray

    @property
    def down(self) -> str:
        """The error if Ray does not run on the head."""
        return f"Ray does not run on {self.head.name}: start it with {self.start_command}."

    @property
    def head_takes_trials(self) -> bool:
        """Whether trials run on the head of a file of machines."""
        return self.head_trains or not self.workers or bool(self.head.cpus)

    @property
    def machines(self) -> tuple[ClusterMachine, ...]:
        """The head, and then the workers."""
        return (self.head, *self.workers)


def read_cluster_file(path: str | Path) -> ClusterFile:
    """Return the cluster that a file describes.

    Raises:
        BadInput: If there is no such file, or it describes none.
    """
    path = Path(path).expanduser().absolute()
    if path.suffix in {".yaml", ".yml"}:
        return _ray_cluster(path)
    return read_machines(path)


def read_machines(path: Path) -> ClusterFile:
    """Return the cluster of a file of machines.

    Raises:
        BadInput: If there is no such file, a line of it cannot be understood, or two contradict
            each other.
    """
    settings: dict[str, str] = {}
    machines: dict[str, ClusterMachine] = {}
    for place, line in _lines(path):
        if match := _SETTING.fullmatch(line):
            _add_setting(settings, place, match[1], match[2].strip())
            continue
        machine = _machine(place, line)
        if machine.name in machines:
            raise BadInput(f"{place}: '{machine.name}' stands there twice: name it once.")
        machines[machine.name] = machine
    if not machines:
        raise BadInput(f"{path} names no machine: write one a line, the head first.")
    if "storage" not in settings:
        raise BadInput(
            f"{path} names no storage folder: add a line such as 'storage = /shared/capsweep', a "
            f"folder that all of its machines see."
        )
    head, *workers = machines.values()
    if "head" in settings and head.cpus == 0:
        raise BadInput(
            f"{path} says 'head = trains' and gives trials no core of {head.name} (cpus=0): leave "
            f"one of them out."
        )
    return ClusterFile(
        path,
        head,
        tuple(workers),
        head_trains="head" in settings,
        storage=settings["storage"],
        data=settings.get("data", f"{settings['storage']}/data"),
        mlflow_port=int(settings.get("mlflow_port", 5000)),
        ray_port=int(settings.get("ray_port", 6379)),
        dashboard_port=int(settings.get("dashboard_port", 8265)),
    )


def _add_setting(settings: dict[str, str], place: str, name: str, value: str) -> None:
    """Add a setting.

    Raises:
        BadInput: If no setting has that name, it is set already, or the value cannot be.
    """
    if name not in _SETTINGS:
        raise BadInput(f"{place}: {unknown('setting', name, _SETTINGS)}")
    if name in settings:
        raise BadInput(f"{place}: '{name}' is set twice: set it once.")
    if name in _FOLDERS and not value.startswith("/"):
        raise BadInput(f"{place}: '{name}' is '{one_line(value)}': give an absolute path.")
    is_number = re.fullmatch(r"\d{1,5}", value)
    if name in _PORTS and not (is_number and 0 < int(value) < 2**16):
        raise BadInput(f"{place}: '{name}' is '{one_line(value)}': give a port, 1 to 65535.")
    if name == "head" and value != "trains":
        raise BadInput(
            f"{place}: 'head' is '{one_line(value)}': write 'head = trains' to let the first "
            f"machine take trials too, or leave the line out."
        )
    settings[name] = value


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line that is not empty, with its place as errors name it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadInput(
            f"The machines' file '{path}' cannot be read ({reason}): give a file with a machine "
            f"a line, or Ray's cluster.yaml."
        ) from error
    for number, line in enumerate(text.splitlines(), 1):
        if content := line.partition("#")[0].strip():
            yield f"{path}, line {number}", content


def _machine(place: str, line: str) -> ClusterMachine:
    name, *settings = line.split()
    if name.startswith("-"):
        raise BadInput(f"{place}: '{one_line(name)}' is no name of a machine.")
    numbers: dict[str, int] = {}
    for word in settings:
        key, _, value = word.partition("=")
        if key not in _NUMBERS or not re.fullmatch(r"\d{1,5}", value):
            raise BadInput(
                f"{place}: after a machine's name, cpus=NUMBER and gpus=NUMBER may stand, got "
                f"'{one_line(word)}'.{hint(key, _NUMBERS) * (key not in _NUMBERS)}"
            )
        numbers[key] = int(value)
    return ClusterMachine(name, numbers.get("cpus"), numbers.get("gpus"))


# Ray's own file.


def aws_cluster(file: str | Path) -> dict[str, Any] | None:
    """Parse a cluster file of Ray; None if its provider is not AWS, or it is a file of machines.

    Raises:
        BadInput: If it cannot be read.
    """
    path = Path(file).expanduser().absolute()
    if path.suffix not in {".yaml", ".yml"}:
        return None
    config = _yaml(path)
    return config if (config.get("provider") or {}).get("type") == "aws" else None


def check_filled(path: Path, config: Mapping[str, Any]) -> None:
    """Make sure that a file for AWS has the ids of an account.

    Raises:
        BadInput: If it has those of the shipped file.
    """
    if SHIPPED_IDS["security_group"] in str(config):
        init = SuggestedCommand("cluster", "init", "aws", "--file", str(path))
        raise BadInput(
            f"{path} does not name what a cluster needs in your account on AWS: {init} makes it "
            f"and fills in the file, or write your own ids into it (docs/aws.md)."
        )


def has_head(path: Path, config: Mapping[str, Any]) -> bool:
    """Return whether the head of a cluster of Ray's runs."""
    try:
        return bool(_head_address(path, config["provider"]))
    except BadInput:
        return False


def _ray_cluster(path: Path) -> ClusterFile:
    config = _yaml(path)
    check_filled(path, config)
    auth, provider = config.get("auth") or {}, config.get("provider") or {}
    user = auth.get("ssh_user")
    if not user or not provider.get("type"):
        raise BadInput(
            f"{path} is no cluster of Ray's: it lacks auth.ssh_user or provider.type. Take "
            f"cluster.yaml as a pattern, or name a file of machines."
        )
    address = _head_address(path, provider)
    key = auth.get("ssh_private_key")
    keys = [Path(key).expanduser()] if key else _ray_keys(provider)
    options = tuple(word for file in keys for word in ("-i", str(file)))
    head = ClusterMachine(f"{user}@{address}", ssh_options=options)
    types = config.get("available_node_types") or {}
    resources = [
        node_type.get("resources") or {}
        for name, node_type in types.items()
        if name != config.get("head_node_type") and node_type.get("max_workers", 1)
    ]
    yours = provider.get("yours") or {}
    return ClusterFile(
        path,
        head,
        worker_resources=resources[0] if resources else {},
        price=_price(path, yours, "price"),
        max_price=_price(path, yours, "max_price"),
    )


def _price(path: Path, yours: Mapping[str, Any], name: str) -> float | None:
    """Return a price in a cluster's file, or None if it has none.

    Raises:
        BadInput: If it is no price.
    """
    value = yours.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and 0 < value < math.inf):
        return value
    raise BadInput(f"{path}: '{name}' is '{one_line(str(value))}': give a price, such as 1.01.")


def _yaml(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise BadInput(f"The cluster's file '{path}' cannot be read ({reason}).") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{path} is not valid YAML: {one_line(str(error))[:200]}") from error
    if not isinstance(config, dict):
        raise BadInput(f"{path} describes no cluster: take cluster.yaml as a pattern.")
    return config


def _ray_keys(provider: Mapping[str, Any]) -> list[Path]:
    """Return the keys that `ray up` has made for AWS, one of which is the cluster's.

    Ray numbers a key whose name another user of the account has taken.
    """
    if provider["type"] != "aws":
        return []
    folder = Path("~/.ssh").expanduser()
    name = (provider.get("key_pair") or {}).get("key_name")
    pattern = f"{name}*.pem" if name else f"ray-autoscaler*_{provider.get('region')}.pem"
    return sorted(folder.glob(pattern))


def _head_address(path: Path, provider: Mapping[str, Any]) -> str:
    if provider["type"] == "local":
        return str(provider.get("head_ip"))
    ray = str(Path(sys.executable).with_name("ray"))
    command = [ray, "get-head-ip", str(path)]
    try:
        asked = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_HEAD_IP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"'{shlex.join(command)}' has not ended in {_HEAD_IP_SECONDS:.0f} s: is the cloud's "
            f"service reachable?"
        ) from None
    lines = asked.stdout.split()
    if asked.returncode or not lines:
        reason = one_line((asked.stderr.strip().splitlines() or ["no address"])[-1])[:200]
        raise NoHead(path, reason)
    return lines[-1]
