"""`capsweep cluster`: machines become a cluster, are checked, are released."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capsmodel.spelling import unknown
from sweeps.cli.printed_checks import print_checked
from sweeps.cli.terminal import say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted, one_line
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.remote.cluster_file import ClusterFile


_MachinesFile = Annotated[
    str, typer.Argument(metavar="FILE", help="machines.txt: a machine a line, the head first.")
]
_Region = Annotated[
    str | None, typer.Option(help="Region [default: that of your settings of AWS].")
]
_Name = Annotated[str | None, typer.Option(help="Name of the cluster [default: as the file says].")]
_Workers = Annotated[int | None, typer.Option(help="The most workers [default: as the file says].")]
_GpuType = Annotated[
    str | None,
    typer.Option(metavar="TYPE", help="A GPU, such as L4, or a machine, such as g5.xlarge."),
]
_OnDemand = Annotated[
    bool, typer.Option("--on-demand", help="Workers are on-demand machines, not spot ones.")
]
_SshFrom = Annotated[
    str | None,
    typer.Option(metavar="CIDR", help="Who may log in [default: this machine's address]."),
]
_HeadProfile = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="An instance profile that there is, for the head."),
]
_File = Annotated[str, typer.Option(metavar="FILE", help="The cluster's file.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, and change nothing.")]


def up(file: _MachinesFile) -> None:
    """Start Ray and MLflow on your machines; again, mend a cluster that has lost some.

    The file has a setting, storage = FOLDER (which all machines see), and a machine a line as ssh
    takes it, the head first: worker1, or user@10.0.0.7 cpus=8 gpus=2. With head = trains the head
    takes trials too.
    """
    _up(_machines(file, "up"))


def down(file: _MachinesFile) -> None:
    """End what was started on your machines."""
    _down(_machines(file, "down"))


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="machines.txt, or cluster.yaml.")],
) -> None:
    """Check all that sweeps need on the machines, or in an account on AWS."""
    from sweeps.remote.cluster_file import read_cluster_file

    num_wrong = _check_account(file)
    _check(read_cluster_file(file))
    if num_wrong:
        raise typer.Exit(1)


def init(
    provider: Annotated[str, typer.Argument(metavar="aws", help="Whose machines.")],
    *,
    region: _Region = None,
    name: _Name = None,
    workers: _Workers = None,
    gpu_type: _GpuType = None,
    on_demand: _OnDemand = False,
    ssh_from: _SshFrom = None,
    head_profile: _HeadProfile = None,
    file: _File = "cluster.yaml",
    is_dry_run: _DryRun = False,
    is_sure: _Yes = False,
) -> None:
    """Make what a cluster needs in an account on AWS, and write cluster.yaml.

    It makes what is missing: a security group, an encrypted disk, the head's role; all of it has a
    tag, and `capsweep cluster destroy` deletes it. Given again, it goes on.
    """
    from sweeps.cli.aws_cluster import init_cluster
    from sweeps.remote.aws.plan import ClusterOptions

    if provider != "aws":
        raise BadInput(unknown("provider", provider, ["aws"]))
    options = ClusterOptions(
        name=name,
        region=region,
        num_workers=workers,
        gpu_type=gpu_type,
        is_on_demand=on_demand,
        ssh_from=ssh_from,
        head_profile=head_profile,
    )
    init_cluster(options, Path(file), is_dry_run=is_dry_run, is_sure=is_sure)


def destroy(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The cluster.yaml of init.")],
    *,
    records_too: Annotated[
        bool, typer.Option("--records-too", help="Delete the disk, with all records on it.")
    ] = False,
    is_dry_run: _DryRun = False,
    is_sure: _Yes = False,
) -> None:
    """End all machines, and delete what init has made in the account on AWS.

    The disk with the records stays, unless --records-too is given. Given again, it goes on.
    """
    from sweeps.cli.aws_cluster import destroy_cluster

    destroy_cluster(Path(file), with_records=records_too, is_dry_run=is_dry_run, is_sure=is_sure)


def _machines(file: str, action: str) -> "ClusterFile":
    """Return the cluster of a file of machines.

    Raises:
        BadInput: If it is one of Ray's.
    """
    from sweeps.remote.cluster_file import read_cluster_file

    if file.endswith((".yaml", ".yml")):
        raise BadInput(f"Ray starts and ends the machines of {file}: ray {action} {file}.")
    return read_cluster_file(file)


def _check_account(file: str) -> int:
    """Look at the account of a cluster on AWS before its head is looked at; return what is wrong.

    Raises:
        Exit: If there is no head yet, with 1 if anything is wrong.
    """
    from sweeps.remote.aws.check import check_account
    from sweeps.remote.cluster_file import aws_cluster, check_filled, has_head

    path, config = Path(file).expanduser().absolute(), aws_cluster(file)
    if config is None:
        return 0
    check_filled(path, config)
    account = check_account(config)
    print_checked([account], len(account.name))
    if not has_head(path, config):
        say(f"The cluster has no head yet. Start it with: ray up {file}")
        raise typer.Exit(1 if account.wrong else 0)
    return len(account.wrong)


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
    num_wrong = print_checked(check_cluster(cluster), width)
    if cluster.storage is None:
        say("Workers come and go with the trials: only the head was checked.")
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


cluster: Mapping[str, Callable[..., None]] = {
    "init": init,
    "up": up,
    "check": check,
    "down": down,
    "destroy": destroy,
}
"""The words after `capsweep cluster`."""
