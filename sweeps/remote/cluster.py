"""Machines of one's own become a cluster, are checked, and are released again."""

import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.checked_machine import CheckedMachine
from sweeps.remote.cluster_file import ClusterFile, ClusterMachine
from sweeps.remote.link import Link, MachineUnreachable, link_to
from sweeps.remote.messages import (
    Facts,
    GetFacts,
    GetNodes,
    HoldLock,
    Node,
    Nodes,
    Probe,
    Probed,
    ServicesEnded,
    ServicesStarted,
    StartHead,
    StartWorker,
    StopServices,
)
from sweeps.storage.disk_room import size_text

_JOIN_SECONDS = 60.0
_POLL_SECONDS = 1.0
_MOST_AT_ONCE = 16
_LONGEST_SIGHT_SECONDS = 1.0
_MOST_SKEW_SECONDS = 5.0
_FEWEST_BYTES = 2**30
_CORES_OF_SERVICES = 1  # of a head that trains: Ray's own processes, MLflow, drivers, recorders
_Item = TypeVar("_Item")
_Value = TypeVar("_Value")
_Probe = TypeVar("_Probe", Facts, Probed)


@dataclass(frozen=True)
class MachineUp:
    """A machine after the start of its cluster.

    Attributes:
        name: As its file calls it.
        address: Under which the others reach it.
        started: What was started on it; nothing where all of it ran.
        complaint: Why it cannot be reached, or does not run as the file says; "" if it does.
    """

    name: str
    address: str = ""
    started: tuple[str, ...] = ()
    complaint: str = ""


def start_cluster(
    cluster: ClusterFile, report: Callable[[str], None] = lambda _: None
) -> Iterator[MachineUp]:
    """Start on each machine what does not run there; yield each machine when it is ready.

    A worker that cannot be reached is left out.

    Args:
        cluster: The machines.
        report: Called with a sentence before each wait.

    Raises:
        BadInput: If the head cannot be reached, has too few cores for trials, a machine differs
            from it, or something does not start. What was started stays: the same call goes on
            from there.
    """
    report(f"Asking {', '.join(machine.name for machine in cluster.machines)} ...")
    links = [link_to(machine) for machine in cluster.machines]
    facts = facts_of_alike(cluster.machines, links)
    head_facts = facts[0]
    assert isinstance(head_facts, Facts)
    request = _head_request(cluster, head_facts)
    report(f"Starting what does not run on {cluster.head.name} ...")
    head = links[0].call(request, ServicesStarted)
    services = ("Ray",) * head.ray + ("MLflow",) * head.mlflow
    nodes = cluster_nodes(cluster)
    complaint = "" if head.ray else _complaint_about_cores(cluster, head_facts, nodes)
    yield MachineUp(cluster.head.name, head.address, services, complaint)
    alive = {node.address for node in nodes if node.is_alive}
    workers = list(zip(cluster.workers, links[1:], facts[1:], strict=True))
    missing: list[tuple[ClusterMachine, Link, str]] = []
    for machine, link, has in workers:
        if not isinstance(has, Facts):
            yield MachineUp(machine.name, complaint=str(has))
        elif has.address in alive:
            yield MachineUp(machine.name, has.address)
        else:
            missing.append((machine, link, has.address))
    if missing:
        report(f"Starting Ray on {', '.join(machine.name for machine, *_ in missing)} ...")
    starts = [(link, _worker_request(cluster, machine, head)) for machine, link, _ in missing]
    _at_once(starts, lambda start: start[0].call(start[1], ServicesStarted))
    for address, machine in _joined(cluster, {address: machine for machine, _, address in missing}):
        yield MachineUp(machine.name, address, ("Ray",))


def cluster_nodes(cluster: ClusterFile) -> tuple[Node, ...]:
    """Return the machines that Ray's head knows.

    Raises:
        BadInput: If it does not answer.
    """
    dashboard = f"http://127.0.0.1:{cluster.dashboard_port}"
    request = GetNodes(dashboard=dashboard, down=cluster.down)
    return link_to(cluster.head).call(request, Nodes).nodes


def stop_cluster(cluster: ClusterFile) -> Iterator[tuple[ClusterMachine, int | BadInput]]:
    """End what was started on each machine; yield how many processes, or why that was not possible.

    The head is last: it is what a worker would wait for.
    """
    request = StopServices(ports=(cluster.ray_port, cluster.mlflow_port))

    def stopped(machine: ClusterMachine) -> int | BadInput:
        try:
            return link_to(machine).call(request, ServicesEnded).num_processes
        except BadInput as error:
            return error

    yield from zip(cluster.workers, _at_once(cluster.workers, stopped), strict=True)
    yield cluster.head, stopped(cluster.head)


def _at_once(items: Sequence[_Item], call: Callable[[_Item], _Value]) -> list[_Value]:
    """Call a function for several machines at once."""
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        return list(pool.map(call, items))


def facts_of_alike(
    machines: Sequence[ClusterMachine], links: Sequence[Link]
) -> list[Facts | MachineUnreachable]:
    """Return what machines are and have, or why workers cannot be reached; the head first.

    Raises:
        BadInput: If the head cannot be reached, one has other releases than it or cannot answer,
            or one is named twice.
    """
    facts = _at_once(links, _facts_if_reached)
    head = facts[0]
    if isinstance(head, MachineUnreachable):
        raise head
    names: dict[str, str] = {}
    for machine, has in zip(machines, facts, strict=True):
        if isinstance(has, MachineUnreachable):
            continue
        if difference := differences(has, head):
            raise BadInput(
                f"{machine.name} has {difference[0]} and the head {difference[1]}: install the "
                f"same on all machines."
            )
        if other := names.get(has.address):
            raise BadInput(
                f"{other} and {machine.name} are one machine ({has.address}): name it once."
            )
        names[has.address] = machine.name
    return facts


def _facts_if_reached(link: Link) -> Facts | MachineUnreachable:
    try:
        return link.call(GetFacts(), Facts)
    except MachineUnreachable as error:
        return error


def differences(has: Facts, head: Facts) -> tuple[str, str] | None:
    """Return a release in which a machine differs from the head, and the head's."""
    for name in ("ray", "python"):
        here, there = getattr(has, name), getattr(head, name)
        if here.split(".")[: 2 + (name == "ray")] != there.split(".")[: 2 + (name == "ray")]:
            return f"{name.capitalize()} {here}", there
    return None


def _head_request(cluster: ClusterFile, has: Facts) -> StartHead:
    cpus, gpus = _head_share(cluster, has)
    return StartHead(
        storage=str(cluster.storage),
        data=str(cluster.data),
        mlflow_port=cluster.mlflow_port,
        ray_port=cluster.ray_port,
        dashboard_port=cluster.dashboard_port,
        cpus=cpus,
        gpus=gpus,
    )


def _head_share(cluster: ClusterFile, has: Facts) -> tuple[int | None, int | None]:
    """Return the cores and GPUs of the head that trials may use, None for all of them.

    Raises:
        BadInput: If no core is left for trials, and the file says that it trains.
    """
    cpus, gpus = cluster.head.cpus, cluster.head.gpus
    if not cluster.workers:
        return cpus, gpus
    if not cluster.head_trains:
        return cpus or 0, gpus or 0
    if cpus is None and has.cpus <= _CORES_OF_SERVICES:
        raise BadInput(
            f"{cluster.path} says 'head = trains', and {cluster.head.name} has a single core, "
            f"which MLflow and the sweeps' drivers need: leave the line out, or write cpus=1 after "
            f"the machine's name."
        )
    return has.cpus - _CORES_OF_SERVICES if cpus is None else cpus, gpus


def _complaint_about_cores(cluster: ClusterFile, has: Facts, nodes: Sequence[Node]) -> str:
    """Return what is wrong with the cores that Ray has of a head that trains, "" if nothing."""
    node = _ray_node(has, has, nodes)
    if node is None or not cluster.head_trains:
        return ""
    try:
        cpus, _ = _head_share(cluster, has)
    except BadInput as error:
        return str(error)
    if cpus is None or node.cpus == cpus:
        return ""
    file = shlex.quote(str(cluster.path))
    return (
        f"Ray runs there with {counted(node.cpus, 'core')} for trials, and 'head = trains' gives "
        f"them {cpus}: restart it by {SuggestedCommand('cluster', 'down', str(file))}, and then up."
    )


def _worker_request(
    cluster: ClusterFile, machine: ClusterMachine, head: ServicesStarted
) -> StartWorker:
    return StartWorker(
        storage=str(cluster.storage),
        data=str(cluster.data),
        mlflow_port=cluster.mlflow_port,
        head=f"{head.address}:{cluster.ray_port}",
        token=head.token,
        cpus=machine.cpus,
        gpus=machine.gpus,
    )


def _joined(
    cluster: ClusterFile, workers: Mapping[str, ClusterMachine]
) -> Iterator[tuple[str, ClusterMachine]]:
    """Yield the workers, by address, as they join the cluster."""
    deadline, missing = time.monotonic() + _JOIN_SECONDS, dict(workers)
    while missing:
        alive = {node.address for node in cluster_nodes(cluster) if node.is_alive}
        for address in alive & missing.keys():
            yield address, missing.pop(address)
        if not missing:
            return
        if time.monotonic() > deadline:
            machine = next(iter(missing.values()))
            raise BadInput(
                f"{machine.name} has not joined the cluster in {_JOIN_SECONDS:.0f} s: can it reach "
                f"the head's port {cluster.ray_port} at all, and the head its ports?"
            )
        time.sleep(_POLL_SECONDS)


# The check.


def check_cluster(cluster: ClusterFile) -> Iterator[CheckedMachine]:
    """Check each machine of a cluster; yield the results, the head first."""
    links = [link_to(machine) for machine in cluster.machines]
    facts = _at_once(links, lambda link: _tried(link, GetFacts(), Facts))
    head = facts[0]
    try:
        nodes = cluster_nodes(cluster) if isinstance(head, Facts) else None
    except BadInput as error:
        nodes = None
        if str(error) == cluster.down:  # all else would follow from that
            yield CheckedMachine(cluster.head.name, wrong=[cluster.down])
            return
    marker = f".capsweep-check-{secrets.token_hex(8)}"
    storage = cluster.storage or (isinstance(head, Facts) and head.storage) or ""
    data = cluster.data or (isinstance(head, Facts) and head.data) or ""
    with ExitStack() as connections:
        name = None
        if isinstance(head, Facts):
            name = _locked(connections, links[0], HoldLock(storage=storage, name=marker))
        of_head = Probe(storage=storage, data=data, mlflow_port=cluster.mlflow_port)
        of_worker = Probe(storage=storage, data=data, name=name)
        requests = [of_head] + [of_worker] * len(cluster.workers)
        probes = list(zip(links, requests, strict=True))
        sent_at = time.time()
        probed = _at_once(probes, lambda probe: _tried(*probe, Probed))
        window = (sent_at, time.time())
    for machine, has, shared in zip(cluster.machines, facts, probed, strict=True):
        checked, start = CheckedMachine(machine.name), cluster.start_command
        if isinstance(has, BadInput) or isinstance(shared, BadInput):
            checked.wrong.append(str(has if isinstance(has, BadInput) else shared))
            checked.not_checked.append("all else")
        else:
            reference = head if isinstance(head, Facts) else None
            trains = has is not head or cluster.head_trains
            _check_facts(checked, has, reference, nodes, start=start, trains=trains)
            if has is head and (cores := _complaint_about_cores(cluster, has, nodes or ())):
                checked.wrong.append(cores)
            _check_shares(checked, shared, probed[0], window, start=start)
        yield checked


def _tried(link: Link, request: GetFacts | Probe, value: type[_Probe]) -> _Probe | BadInput:
    try:
        return link.call(request, value)
    except BadInput as error:
        return error


def _locked(connections: ExitStack, link: Link, request: HoldLock) -> str | None:
    """Return the name of a file that the head holds locked, None if it cannot."""
    connection = connections.enter_context(link.opened(request))
    try:
        connection.reply()
    except BadInput:
        return None
    return request.name


def _check_facts(
    checked: CheckedMachine,
    has: Facts,
    head: Facts | None,
    nodes: Sequence[Node] | None,
    *,
    start: str,
    trains: bool,
) -> None:
    difference = differences(has, head) if head else None
    checked.add(
        f"Python {has.python}, Ray {has.ray}, torch {has.torch}",
        difference is None if head else None,
        f"it has {' and the head '.join(difference or ())}: install the same on both.",
    )
    _check_token(checked, has, head, start)
    node = _ray_node(has, head, nodes or ())
    checked.add(
        "Ray",
        node is not None if nodes is not None else (None if head is not has else False),
        f"it is not in the cluster: run {start}, which starts what is missing.",
    )
    if node is not None and trains:
        checked.add(
            f"{has.gpus} GPU{'s' * (has.gpus != 1)}",
            node.gpus == has.gpus,
            f"torch sees {has.gpus} GPUs there and Ray has {node.gpus:g}: see its driver "
            f"(nvidia-smi), or what gpus= says in the machines' file.",
        )


def _check_token(checked: CheckedMachine, has: Facts, head: Facts | None, start: str) -> None:
    mode = has.token_mode
    checked.add(
        "token",
        mode is not None and not mode & 0o077,
        f"it has no token in ~/.ray/auth_token: run {start}."
        if mode is None
        else f"others may read its ~/.ray/auth_token (mode {mode:o}): chmod 600 it there.",
    )
    checked.add(
        "the head's token",
        has.token == head.token if head else None,
        "its ~/.ray/auth_token is not the head's: delete it there if no other cluster uses it, "
        f"and run {start}.",
    )


def _ray_node(has: Facts, head: Facts | None, nodes: Sequence[Node]) -> Node | None:
    """Return what Ray has of a machine; the head may be at another address for ssh than for Ray."""
    for node in nodes:
        if node.is_alive and (node.is_head if has is head else node.address == has.address):
            return node
    return None


def _check_shares(
    checked: CheckedMachine,
    shared: Probed,
    of_head: Probed | BadInput,
    window: tuple[float, float],
    *,
    start: str,
) -> None:
    is_head = shared is of_head
    checked.add("storage", shared.is_writable, "its storage folder cannot be written to.")
    if is_head:
        checked.add("MLflow", shared.mlflow, f"MLflow does not answer: run {start}.")
    else:
        _check_sight(checked, shared)
    names = of_head.data if isinstance(of_head, Probed) else None
    missing = sorted(set(names or ()) - set(shared.data or ()))
    checked.add(
        "data",
        shared.data is not None and not missing,
        f"it lacks {', '.join(missing[:3])} of the head's data."
        if missing
        else "it has no folder of data.",
    )
    early, late = window[0] - shared.clock, shared.clock - window[1]
    skew = max(early, late, 0.0)
    checked.add("clock", skew < _MOST_SKEW_SECONDS, f"its clock differs by {skew:.0f} s: set it.")
    free = min(shared.free_bytes, shared.free_scratch_bytes)
    checked.add(
        f"{size_text(shared.free_bytes)} free",
        free >= _FEWEST_BYTES,
        f"only {size_text(shared.free_bytes)} are free in its storage folder and "
        f"{size_text(shared.free_scratch_bytes)} in its temporary folder: make room.",
    )


def _check_sight(checked: CheckedMachine, shared: Probed) -> None:
    """Check whether a worker sees the head's files and locks."""
    seen = shared.seen_after_seconds
    checked.add(
        "the head's files within a second",
        seen is not None and seen <= _LONGEST_SIGHT_SECONDS,
        "it does not see what the head writes into the storage folder: mount the same folder."
        if seen is None
        else f"it sees the head's files after {seen:.1f} s only: mount NFS with actimeo=0 and "
        f"lookupcache=positive.",
    )
    checked.add(
        "the head's locks",
        shared.sees_lock if seen is not None else None,
        "it does not see the head's lock, so two machines could train one cell: mount NFS 4 with "
        "locks (not nolock).",
    )
