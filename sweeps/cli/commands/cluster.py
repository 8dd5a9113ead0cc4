"""`capsweep cluster`: machines of one's own become a cluster, are checked, are released."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capsmodel.spelling import unknown
from sweeps.cli.terminal import say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted, one_line
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.remote.cluster import CheckedMachine
    from sweeps.remote.cluster_file import ClusterFile


def cluster(
    action: Annotated[str, typer.Argument(metavar="up|check|down", help="What to do.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="machines.txt; check takes cluster.yaml too.")
    ],
) -> None:
    """Start Ray and MLflow on your machines, check all that sweeps need there, or end them.

    The file has a setting, storage = FOLDER (which all machines see), and a machine a line as ssh
    takes it, the head first: worker1, or user@10.0.0.7 cpus=8 gpus=2. With head = trains the head
    takes trials too. `up` starts what does not run, so that it also mends a cluster that has lost
    machines.
    """
    from sweeps.remote.cluster_file import read_cluster_file

    if action not in _ACTIONS:
        raise BadInput(unknown("action", action, [*_ACTIONS]))
    if action != "check" and file.endswith((".yaml", ".yml")):
        raise BadInput(f"Ray starts and ends the machines of {file}: ray {action} {file}.")
    num_wrong = _check_account(file) if action == "check" else 0
    _ACTIONS[action](read_cluster_file(file))
    if num_wrong:
        raise typer.Exit(1)


def _check_account(file: str) -> int:
    """Look at the account of a cluster on AWS before its head is looked at; return what is wrong.

    Raises:
        Exit: If there is no head yet, with 1 if anything is wrong.
    """
    from sweeps.remote.aws import check_account
    from sweeps.remote.cluster_file import aws_cluster, has_head

    path, config = Path(file).expanduser().absolute(), aws_cluster(file)
    if config is None:
        return 0
    account = check_account(path, config)
    _print_checked([account], len(account.name))
    if not has_head(path, config):
        say(f"The cluster has no head yet. Start it with: ray up {file}")
        raise typer.Exit(1 if account.wrong else 0)
    return len(account.wrong)


def _print_checked(machines: "Iterable[CheckedMachine]", width: int) -> int:
    """Print what was found of each machine; return how much is wrong."""
    num_wrong = 0
    for machine in machines:
        num_wrong += len(machine.wrong)
        parts = [f"ok: {', '.join(machine.right)}"] * bool(machine.right)
        parts += [f"not checked: {', '.join(machine.not_checked)}"] * bool(machine.not_checked)
        lines = ["; ".join(parts)] if parts else []
        for line in [*lines, *(f"WRONG: {sentence}" for sentence in machine.wrong)]:
            typer.echo(f"{machine.name:{width}}  {one_line(line)}")
    return num_wrong


def _up(cluster: "ClusterFile") -> None:
    from sweeps.remote.cluster import cluster_nodes, start_cluster

    width = max(len(machine.name) for machine in cluster.machines)
    num_left_out = 0
    for machine in start_cluster(cluster, (lambda _: None) if is_quiet() else say):
        if machine.complaint:
            num_left_out += 1
            typer.echo(f"{machine.name:{width}}  {one_line(machine.complaint)}")
            continue
        started = f"{' and '.join(machine.started)} started" if machine.started else "runs"
        typer.echo(f"{machine.name:{width}}  {machine.address:15}  {started}")
    alive = [node for node in cluster_nodes(cluster) if node.is_alive]
    cpus, gpus = sum(node.cpus for node in alive), sum(node.gpus for node in alive)
    of_head = sum(node.cpus for node in alive if node.is_head) if cluster.workers else 0
    on_head = f", {counted(of_head, 'core')} of them on {cluster.head.name}" if of_head else ""
    say(f"For trials: {counted(cpus, 'core')} and {counted(gpus, 'GPU')}{on_head}.")
    if num_left_out:
        raise typer.Exit(1)
    if not is_quiet():
        say(f"Next: {SuggestedCommand('submit', 'SWEEP', '--on', str(cluster.path))}")


def _check(cluster: "ClusterFile") -> None:
    from sweeps.remote.cluster import check_cluster

    width = max(len(machine.name) for machine in cluster.machines)
    num_wrong = _print_checked(check_cluster(cluster), width)
    if cluster.storage is None:
        say("Workers come and go with the trials, so only the head was looked at: not checked.")
    if num_wrong:
        say(f"{num_wrong} problem{'s' * (num_wrong > 1)} to fix before a sweep can rely on it.")
        raise typer.Exit(1)
    say("Nothing is wrong.")


def _down(cluster: "ClusterFile") -> None:
    from sweeps.remote.cluster import stop_cluster

    width, has_failed = max(len(machine.name) for machine in cluster.machines), False
    for machine, ended in stop_cluster(cluster):
        has_failed |= isinstance(ended, BadInput)
        outcome = str(ended) if isinstance(ended, BadInput) else f"{ended} processes ended"
        typer.echo(f"{machine.name:{width}}  {one_line(outcome)}")
    if has_failed:
        raise typer.Exit(1)
    if not is_quiet():
        say(f"Records and reports stay in {cluster.storage}.")


_ACTIONS: Mapping[str, Callable[["ClusterFile"], None]] = {
    "up": _up,
    "check": _check,
    "down": _down,
}
