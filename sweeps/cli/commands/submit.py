"""`capsweep submit`: a sweep goes to a cluster, and this machine may be switched off."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic.fields import FieldInfo

from capsmodel.spelling import unknown
from sweeps.cli.declared_options import (
    ONLY_RUN,
    SYNTAX,
    launch_arguments,
    launch_fields,
    with_options,
)
from sweeps.cli.hints import followed, resume_command
from sweeps.cli.job_options import (
    JOB_SYNTAX,
    job_arguments,
    job_fields,
    kube_job,
    refuse_job_options,
    slurm_job,
)
from sweeps.cli.options import SweepArgument
from sweeps.cli.terminal import complain, say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.records.notify_command import without_notify, words_of
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.execution.launch_options import LaunchOptions
    from sweeps.remote.head import Head
    from sweeps.remote.submissions import Submission
    from sweeps.remote.submit import RemotePlan, Sendable

_PLACES = {
    "storage": "Storage folder there [default: the cluster's].",
    "tracking_uri": "MLflow tracking store, as seen from there and from here [default: the "
    "cluster's].",
}
_SCHEDULERS = ("ray", "slurm", "k8s")
_OF_THIS_MACHINE = ("address", "engine", "reports")


def _fields() -> dict[str, FieldInfo]:
    """Return the options of a launch there, with places of the cluster."""
    fields = launch_fields(without=_OF_THIS_MACHINE)
    for name, description in _PLACES.items():
        fields[name] = copy(fields[name])
        fields[name].description = description
    return fields


_To = Annotated[str, typer.Option("--to", metavar="ray|slurm|k8s", help="What runs jobs there.")]
_On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="FILE",
        help="The cluster: machines.txt or cluster.yaml; for Slurm its login node as ssh takes "
        "it [default: this machine]; for k8s kubectl's context [default: the current one].",
    ),
]
_Namespace = Annotated[
    str | None,
    typer.Option("--namespace", metavar="NAME", help="k8s: namespace [default: the context's]."),
]
_Address = Annotated[
    str | None,
    typer.Option("--address", metavar="URL", help="Ray's dashboard, where there is no file."),
]
_Sbatch = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- SBATCH", help="Slurm: more options of sbatch, such as -- --account=lab."
    ),
]
_Price = Annotated[
    float | None,
    typer.Option(
        "--price",
        min=0,
        help="What an hour of a machine costs; shows the costs [default: as the file says].",
    ),
]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show the plan and the job's file, and submit nothing."),
]
_Follow = Annotated[
    bool, typer.Option("--follow", help="Show the progress; Ctrl-C ends only the showing.")
]


@with_options({**job_fields(), **_fields()}, {**SYNTAX, **JOB_SYNTAX}, reads_environment=False)
def submit(
    sweep: SweepArgument,
    *,
    sbatch: _Sbatch = None,
    to: _To = "ray",
    on: _On = None,
    namespace: _Namespace = None,
    address: _Address = None,
    price: _Price = None,
    is_sure: _Yes = False,
    is_dry: _DryRun = False,
    is_followed: _Follow = False,
    options: Mapping[str, Any],
) -> None:
    """Run a sweep on a cluster; repeated, follow it, or train what is missing."""
    from sweeps.cli.remote_sweeps import follow_to_end
    from sweeps.remote.submit import job_file, sendable
    from sweeps.remote.submit import submit as submit_sweep

    job = {name: options[name] for name in job_fields()}
    options = {name: value for name, value in options.items() if name not in job}
    launch, place = _checked(options), {"on": on, "address": address, "namespace": namespace}
    sent, arguments = sendable(sweep), tuple(launch_arguments(options))
    find = partial(_head, launch, to=to, place=place, job=job, sbatch=sbatch or ())
    head = _head_that_runs(find, is_offered=is_followed and not is_dry)
    again = _command(head, str(sent.file or sweep), arguments)
    _follow_what_runs(head, again, arguments, is_dry=is_dry)
    plan = _plan(head, sent, options, launch)
    _end_if_done(head, plan, launch)
    _print_plan(plan, head, price, sent.note)
    _check(plan, head, sent, launch, price=price, is_dry=is_dry)
    arguments += _added_arguments(to, plan, launch)
    request: dict[str, Any] = {"sweep": plan.sweep, "arguments": arguments, "resume": again}
    if is_dry:
        _print_job_file(job_file(head, sent, **request, options=launch))
        return
    _ask(is_sure=is_sure)
    submission, is_new = submit_sweep(head, sent, **request, options=launch)
    _print_submitted(submission, head.link.name, is_new=is_new)
    if is_followed or not is_new:
        raise typer.Exit(follow_to_end(head, submission))


def _checked(options: Mapping[str, Any]) -> "LaunchOptions":
    """Return the options of a launch; whether there is its command's program is known there.

    Raises:
        BadInput: If one is not valid.
    """
    from sweeps.execution.launch_options import options_of

    launch = options_of(options)
    if launch.notify is not None:
        words_of(launch.notify)
    return launch


def _head_that_runs(find: "Callable[[], Head]", *, is_offered: bool) -> "Head":
    """Return the machine that takes the sweep; offer to start the head of a cluster that has none.

    Raises:
        BadInput: If there is none.
    """
    from sweeps.remote.cluster_file import NoHead

    try:
        return find()
    except NoHead as error:
        if not (is_offered and sys.stdin.isatty()):
            raise
        complain(str(error))
        if not typer.confirm(f"Start it now by {shlex.join(error.command)}?", default=True):
            raise typer.Exit(2) from error
        ray, *words = error.command
        program = str(Path(sys.executable).with_name(ray))
        if subprocess.run(
            [program, *words, "--yes", "--disable-usage-stats"], check=False
        ).returncode:
            raise
        return find()


def _head(
    launch: "LaunchOptions",
    *,
    to: str,
    place: Mapping[str, str | None],
    job: Mapping[str, Any],
    sbatch: Sequence[str],
) -> "Head":
    """Return the machine that takes the sweep.

    Raises:
        BadInput: If none is named, or it cannot be used.
    """
    from sweeps.execution.launch_options import AUTO_IS_LOCAL
    from sweeps.remote.head import RayHead, SlurmLogin
    from sweeps.remote.kube import KubeHead

    if to not in _SCHEDULERS:
        raise BadInput(unknown("scheduler", to, _SCHEDULERS))
    if launch.gpus_per_trial == "auto":
        raise BadInput(f"--gpus-per-trial is auto, but {AUTO_IS_LOCAL}.")
    for option, of, scheduler in (("address", "ray", "Ray"), ("namespace", "k8s", "Kubernetes")):
        if place[option] is not None and to != of:
            instead = f"leave out --to {to}" if of == "ray" else f"give --to {of}"
            raise BadInput(f"--{option} is for {scheduler} alone: leave it out, or {instead}.")
    storage = str(launch.storage) if launch.storage else None
    if to == "slurm":
        return SlurmLogin(place["on"], storage, slurm_job(job, sbatch))
    if to == "k8s":
        return KubeHead(place["on"], place["namespace"], storage, kube_job(job, sbatch))
    refuse_job_options(job, sbatch)
    head = RayHead(place["on"], place["address"])
    if head.cluster is None and not (launch.storage and launch.tracking_uri):
        raise BadInput(
            "An address alone does not say where the cluster keeps things: give --storage and "
            "--tracking-uri too, or --on with the cluster's file."
        )
    return head


def _command(head: "Head", sweep: str, arguments: Sequence[str]) -> str:
    """Return the command that submits a sweep again with these options of a launch."""
    where, last = _where(head)
    return resume_command(["submit", sweep, *where, *without_notify(arguments), *last])


def _where(head: "Head") -> tuple[list[str], list[str]]:
    """Return the arguments that lead to the machine: options, and what comes last."""
    from sweeps.remote.head import RayHead, SlurmLogin
    from sweeps.remote.kube import KubeHead

    if isinstance(head, SlurmLogin | KubeHead):
        assert head.job is not None
        arguments, last = job_arguments(head.job)
        names = ("to", "on", "namespace")
        where = [f"--{name}={value}" for name in names if (value := head.place.get(name))]
        return [*where, *arguments], last
    assert isinstance(head, RayHead)
    arguments = ["--on", str(head.cluster.path)] if head.cluster else ["--address", head.dashboard]
    return arguments, []


def _plan(
    head: "Head", sent: "Sendable", options: Mapping[str, Any], launch: "LaunchOptions"
) -> "RemotePlan":
    """Ask the machine what the launch would do."""
    from sweeps.remote.head import RayHead, SlurmLogin
    from sweeps.remote.kube import KubeHead
    from sweeps.remote.submit import plan_of_nodes, remote_plan

    planned = {name: value for name, value in options.items() if name not in ONLY_RUN}
    if isinstance(head, RayHead):
        return remote_plan(head, sent, launch_arguments(planned), launch.cpus_per_trial)
    of_nodes = ("cpus_per_trial", "gpus_per_trial", "max_concurrent", "storage")
    arguments = launch_arguments({n: value for n, value in planned.items() if n not in of_nodes})
    assert isinstance(head, SlurmLogin | KubeHead)
    return plan_of_nodes(head, sent, arguments, launch)


def _end_if_done(head: "Head", plan: "RemotePlan", launch: "LaunchOptions") -> None:
    """End the command if nothing is left to do, and say how to see the tables."""
    if tables := _tables_there(head, plan, launch):
        say(f"All {plan.num_cells:,} cells are there, so nothing is submitted. Tables: {tables}.")
        raise typer.Exit


def _tables_there(head: "Head", plan: "RemotePlan", launch: "LaunchOptions") -> str:
    """Return the command that shows the tables of a sweep of which nothing is left to do.

    It is "" if anything is left to do, or if no command here finds the sweep.
    """
    from sweeps.remote.head import SlurmLogin
    from sweeps.remote.submissions import submission_of

    if not plan.is_done or launch.keep_weights != "all":
        return ""
    place = {
        "storage": str(launch.storage) if launch.storage else None,
        "tracking_uri": launch.tracking_uri,
        **head.place,
    }
    noted = submission_of(plan.sweep)
    if noted and place.items() <= noted.model_dump().items():
        return str(SuggestedCommand("report", plan.sweep))
    if not isinstance(head, SlurmLogin) or head.on or launch.tracking_uri:
        return ""
    return str(SuggestedCommand("report", plan.sweep, "--storage", head.storage))


def _added_arguments(to: str, plan: "RemotePlan", launch: "LaunchOptions") -> tuple[str, ...]:
    """Return options that a launch needs where Ray has no node to count when it begins."""
    arguments: list[str] = []
    if to != "ray" and not launch.max_concurrent:
        arguments.append(f"--max-concurrent={plan.num_concurrent}")
    if to == "k8s" and launch.gpus_per_trial is None:  # pods for trials come only when some wait
        arguments.append(f"--gpus-per-trial={plan.gpus_per_trial:g}")
    return tuple(arguments)


def _follow_what_runs(head: "Head", again: str, arguments: Sequence[str], *, is_dry: bool) -> None:
    """Follow the launch of the same command, if it runs; a dry run only says that it does."""
    from sweeps.cli.remote_sweeps import follow_to_end
    from sweeps.remote.submit import running_submission

    if not is_quiet():
        say(f"Asking {head.link.name} ...")
    if running := running_submission(head, again, arguments):
        _print_submitted(running, head.link.name, is_new=False)
        if is_dry:
            raise typer.Exit
        raise typer.Exit(follow_to_end(head, running))


def _price_of(head: "Head", price: float | None) -> float | None:
    """Return what an hour of a machine costs: as given, or as the cluster's file says."""
    return head.cluster.price if price is None and head.cluster else price


def _check(
    plan: "RemotePlan",
    head: "Head",
    sent: "Sendable",
    launch: "LaunchOptions",
    *,
    price: float | None,
    is_dry: bool,
) -> None:
    """Make sure that the launch costs no more than it may, and that the machines can run it."""
    from sweeps.remote.submit import check_machines

    if plan.num_to_train and head.cluster and head.cluster.max_price is not None:
        limit = launch.time_limit_seconds
        plan.check_costs(_price_of(head, price), head.cluster.max_price, limit)
    settings = launch.settings or {}
    for unreachable in check_machines(head, sent, settings, may_download=not is_dry):
        say(f"{unreachable} The sweep runs on the others.")


def _print_plan(plan: "RemotePlan", head: "Head", price: float | None, note: str) -> None:
    """Print what the launch will do, what is not sent for it, and what it costs."""
    from sweeps.records.plain_text import counted, duration_text

    there = plan.num_cells - plan.num_to_train
    known = f", {there:,} of them there" if there else ""
    gpus = counted(plan.gpus_per_trial, "GPU")
    say(
        f"{plan.sweep} on {head.link.name}: {plan.num_cells:,} cells{known}; "
        f"{counted(plan.num_concurrent, 'trial')} at once, "
        f"{gpus if plan.gpus_per_trial else 'no GPU'} each."
    )
    _print_job(head)
    if note:
        say(note)
    if not plan.num_to_train:
        say("Nothing is left to train: the job records the cells and makes the tables.")
        return
    price = _price_of(head, price)
    if plan.seconds is None or plan.machine_hours is None:
        say("No estimate, as nothing like it was trained there yet.")
        return
    machines = f"{plan.num_machines} machine{'s' * (plan.num_machines != 1)}"
    costs = "" if price is None else f", which cost {plan.machine_hours * price:,.2f}"
    say(
        f"Estimate: about {duration_text(plan.seconds)} on {machines}, "
        f"{plan.machine_hours:.2g} machine hours{costs}."
    )


def _print_job(head: "Head") -> None:
    """Print the job that Slurm or Kubernetes will run."""
    from sweeps.records.plain_text import counted
    from sweeps.remote.head import SlurmLogin
    from sweeps.remote.kube import KubeHead

    if isinstance(head, SlurmLogin) and head.job:
        times = counted(head.job.attempts, "time")
        say(f"The job: {head.job.text}; started at most {times} while trials are missing.")
        if head.most_gpus and not head.job.gpus_per_node:
            say("Nodes of this partition have GPUs. --gpus-per-node 1 asks for one on each node.")
        say(f"Records: {head.storage} (all nodes must see it).")
    if isinstance(head, KubeHead) and head.job:
        say(
            f"Pods for trials: at most {head.job.nodes}, each with {head.job.memory_gib} GiB of "
            f"memory, {head.job.node_text}; one more for Ray's head."
        )


def _print_job_file(text: str) -> None:
    """Print the file of the job that would be submitted, "" where there is none."""
    from sweeps.records.plain_text import showable

    if text:
        typer.echo(f"\n{showable(text.rstrip())}\n")
    say("Dry run: nothing was written or submitted.")


def _ask(*, is_sure: bool) -> None:
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise BadInput("Nobody can be asked here whether to submit it: give --yes.")
    if not typer.confirm("Submit it?", default=True):
        raise typer.Exit(1)


def _print_submitted(submission: "Submission", place: str, *, is_new: bool) -> None:
    if not is_new:
        say(f"It is there already, as job {submission.job_id}.")
        return
    is_here = submission.to == "slurm" and not submission.on
    may = "you may log out" if is_here else "this machine may be switched off"
    say(f"Submitted to {place} as job {submission.job_id}; {may}.")
    if is_quiet():
        return
    name = submission.sweep
    if submission.to == "k8s":
        from sweeps.remote.kube import JOBS

        typer.echo(f"  {'file:':8}{JOBS}/{submission.job_id}.yaml")
    for label, command in (
        ("look:", SuggestedCommand("status", name)),
        ("follow:", followed(submission.resume)),
        ("stop:", SuggestedCommand("stop", name)),
        ("tables:", SuggestedCommand("report", name)),
    ):
        typer.echo(f"  {label:8}{command}")
