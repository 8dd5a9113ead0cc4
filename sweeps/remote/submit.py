"""Sweeps are submitted to a cluster, followed, and their reports written here."""

import ast
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.execution.survey.estimate import FROM_CHECK
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted, listed, one_line
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.cluster import facts_of_alike
from sweeps.remote.cluster_file import ClusterMachine
from sweeps.remote.head import Head, RayHead, Show, SlurmLogin
from sweeps.remote.kube import KubeHead
from sweeps.remote.link import MachineUnreachable, decoded_files, link_to
from sweeps.remote.messages import (
    DataReady,
    Facts,
    Files,
    Frame,
    GetFiles,
    JobFile,
    JobState,
    Node,
    NodeJob,
    PrepareData,
    SlurmJob,
    SubmitSweep,
    Submitted,
    SubmitToSlurm,
    Text,
    TryOnSlurm,
)
from sweeps.remote.submissions import Submission, submissions
from sweeps.storage.disk_room import size_text
from sweeps.storage.folder import Folder

if TYPE_CHECKING:
    from sweeps.aggregation.report import Report
    from sweeps.execution.launch_options import LaunchOptions

_RETRY_SECONDS = 5.0
_MOST_RETRIES = 60
_MOST_PATHS = 5


@dataclass(frozen=True)
class Sendable:
    """A sweep that can be sent.

    Attributes:
        argument: The sweep as `capsweep run` takes it there.
        file: Its own file here, None for a sweep of the package.
        files: Name -> text of what is sent.
        left_here: Files and folders of this machine whose absolute paths the sweep's file names.
    """

    argument: str
    file: Path | None
    files: Mapping[str, str]
    left_here: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What is not sent, "" if nothing is known of."""
        names = listed([f"'{path}'" for path in self.left_here], _MOST_PATHS)
        start = "Not sent, and needed at the same path on each machine that trains"
        return f"{start}: {names}." if names else ""


def sendable(sweep: str) -> Sendable:
    """Return a sweep as it is sent: the text of its file, with the modules of its folder in it.

    Raises:
        BadInput: If it is a file that cannot be read, or imports what cannot travel.
    """
    if not sweep.endswith(".py"):
        return Sendable(sweep, None, {})
    from search_spaces.neighbours import sendable_text

    path = Path(sweep)
    try:
        text = sendable_text(path)
    except ValueError as error:
        raise BadInput(str(error)) from error
    return Sendable(path.name, path.absolute(), {path.name: text}, _paths_in(text))


def _paths_in(text: str) -> tuple[str, ...]:
    """Return the absolute paths among the texts of a file at which something lies here."""
    constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    paths = {
        value for value in constants if isinstance(value, str) and value.startswith(("/", "~/"))
    }
    return tuple(sorted(path for path in paths if _exists(Path(path))))


def _exists(path: Path) -> bool:
    try:
        return len(path.parts) > 1 and path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # as of a text that is no path
        return False


@dataclass(frozen=True)
class RemotePlan:
    """What a launch there would do.

    Attributes:
        sweep: Name of the sweep.
        num_cells: Cells in the end, at most.
        num_to_train: Cells that are known and not trained yet.
        gpus_per_trial: GPUs that each trial gets.
        num_concurrent: Trials at once.
        seconds: How long it will take; None if that is not known.
        num_machines: Machines on which the trials run.
        is_done: Whether it would only rebuild the report.
    """

    sweep: str
    num_cells: int
    num_to_train: int
    gpus_per_trial: float
    num_concurrent: int
    seconds: float | None
    num_machines: int
    is_done: bool = False

    @property
    def machine_hours(self) -> float | None:
        """Hours of the machines that train; None if that is not known."""
        return None if self.seconds is None else self.seconds / 3600 * self.num_machines

    def check_costs(self, price: float | None, most: float, limit: float | None) -> None:
        """Make sure that a launch costs no more than it may.

        Args:
            price: What an hour of a machine costs, None if that is not known.
            most: What the launch may cost.
            limit: Its time limit in seconds, None for none.

        Raises:
            BadInput: If it would cost more, or nothing tells what it costs.
        """
        seconds = min((bound for bound in (self.seconds, limit) if bound is not None), default=None)
        if price is None or seconds is None:
            missing = "price in its file or --price" if price is None else "a --time-limit"
            raise BadInput(
                f"The cluster has a max_price of {most:,.2f}, and what this sweep costs is not "
                f"known: give {missing}."
            )
        costs = seconds / 3600 * self.num_machines * price
        if costs > most:
            raise BadInput(
                f"It would cost about {costs:,.2f} ({seconds / 3600:.1f} hours of "
                f"{self.num_machines} machines at {price:,.2f}), and the cluster's max_price is "
                f"{most:,.2f}: give fewer seeds or a --time-limit, or raise max_price in its file."
            )


def remote_plan(head: RayHead, sent: Sendable, arguments: Sequence[str], cpus: int) -> RemotePlan:
    """Ask a cluster of Ray what a launch would do.

    Args:
        head: The cluster's head.
        sent: The sweep.
        arguments: The options of the launch that `capsweep plan` takes.
        cpus: Cores of each trial.

    Raises:
        BadInput: If it would be refused.
    """
    nodes = head.nodes()
    answer = _planned(head, sent, ["--address", "auto", *arguments])
    return RemotePlan(
        sweep=answer["sweep"],
        num_cells=answer["num_cells"],
        num_to_train=_num_to_train(answer),
        gpus_per_trial=answer["gpus_per_trial"],
        num_concurrent=answer["num_concurrent"],
        seconds=answer["estimate_seconds"],
        num_machines=_num_machines(head, nodes, answer, cpus),
        is_done=answer["is_done"],
    )


def plan_of_nodes(
    head: SlurmLogin | KubeHead, sent: Sendable, arguments: Sequence[str], launch: "LaunchOptions"
) -> RemotePlan:
    """Ask what a launch would do on the nodes of a job.

    The answering machine's own cores and GPUs do not count: its estimate is carried over to the
    job's.

    Args:
        head: The login node, or MLflow's pod.
        sent: The sweep.
        arguments: The options of the launch that `capsweep plan` takes, without those on cores,
            GPUs and numbers of trials.
        launch: All options of the launch.

    Raises:
        BadInput: If it would be refused, no trial fits on a node or in the job's time.
    """
    answer = _planned(head, sent, ["--gpus-per-trial=0", f"--storage={head.storage}", *arguments])
    if isinstance(head, SlurmLogin):
        head.check_job()  # last, as it needs Slurm, and what is wrong with a sweep needs none
    job = head.job
    assert job is not None
    at_once, gpus = _fit(job, launch)
    num_to_train, seconds = _num_to_train(answer), answer["estimate_seconds"]
    if answer.get("estimate_source", "").startswith(FROM_CHECK):
        seconds = None  # its CPU is not that of the nodes
    if seconds is not None and num_to_train:
        of_one = seconds * answer["num_concurrent"] / num_to_train
        seconds = of_one * max(1.0, num_to_train / at_once)
        if isinstance(job, SlurmJob) and of_one > job.seconds:
            raise BadInput(
                f"One trial takes about {of_one / 60:.0f} minutes and the job has "
                f"{job.seconds / 60:.0f}: give a --time in which a trial ends."
            )
    return RemotePlan(
        sweep=answer["sweep"],
        num_cells=answer["num_cells"],
        num_to_train=num_to_train,
        gpus_per_trial=gpus,
        num_concurrent=at_once,
        seconds=seconds,
        num_machines=job.nodes,
        is_done=answer["is_done"],
    )


def _fit(job: NodeJob, launch: "LaunchOptions") -> tuple[int, float]:
    """Return how many trials a job takes at once, and the GPUs of each.

    Raises:
        BadInput: If no trial fits on a node.
    """
    gpus = launch.gpus_per_trial
    assert gpus != "auto"
    if gpus is None:
        gpus = 1.0 if job.gpus_per_node else 0.0
    fit = job.cores // launch.cpus_per_trial
    if gpus:
        fit = min(fit, int(job.gpus_per_node / gpus))
    if not fit:
        raise BadInput(
            f"No trial fits on a node: it takes {counted(launch.cpus_per_trial, 'core')} and "
            f"{counted(gpus, 'GPU')}, and each node of the job has {counted(job.cores, 'core')} "
            f"and {counted(job.gpus_per_node, 'GPU')}. Give --cpus-per-node or --gpus-per-node."
        )
    return min(launch.max_concurrent or fit * job.nodes, fit * job.nodes), gpus


def _planned(head: Head, sent: Sendable, arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return the answer of `capsweep plan` there.

    Raises:
        BadInput: If the launch would be refused, or its disk is too small.
    """
    printed: list[str] = []
    plan = ["plan", sent.argument, "--json", *arguments]
    code = head.run(plan, lambda reply: printed.append(reply.text), sent.files)
    answer = _answer("".join(printed))
    if answer and answer.get("refusal"):
        raise BadInput(answer["refusal"])
    if code or answer is None or answer.get("error"):
        raise BadInput(str((answer or {}).get("error") or _last_line("".join(printed))))
    disk = answer["disk"]
    if disk["most_bytes"] > disk["free_bytes"]:
        raise BadInput(
            f"The storage folder there has {size_text(disk['free_bytes'])} free, and the sweep "
            f"takes {size_text(disk['most_bytes'])} at most: make room there, such as by "
            f"{SuggestedCommand('clean')}, or give another --storage."
        )
    return answer


def _num_to_train(answer: Mapping[str, Any]) -> int:
    filled = ("recorded", "to record", "stopped early")
    return answer["num_cells"] - sum(answer["counts"].get(state, 0) for state in filled)


def check_machines(
    head: Head, sent: Sendable, settings: Mapping[str, Any], *, may_download: bool = True
) -> tuple[MachineUnreachable, ...]:
    """Make sure that the machines have the same releases and a sweep's data.

    The head is first, which may download the data.

    Machines that only Ray reaches are not checked.

    Args:
        head: The cluster's head.
        sent: The sweep.
        settings: What the launch changes of it.
        may_download: Whether to check data, which downloads those that are missing.

    Returns:
        Why workers cannot be reached, which the launch does without.

    Raises:
        BadInput: Naming the machine that differs or lacks data, or if the head or all workers are
            not reached.
    """
    if isinstance(head, SlurmLogin | KubeHead):  # its nodes see the same disk
        if may_download:
            request = PrepareData(sweep=sent.argument, files=sent.files, settings=settings)
            head.link.call(request, DataReady)
        return ()
    if not isinstance(head, RayHead) or not head.cluster:
        return ()
    machines = head.cluster.machines
    facts = facts_of_alike(machines, [link_to(machine) for machine in machines])
    lost = tuple(has for has in facts if not isinstance(has, Facts))
    if lost and len(lost) == len(head.cluster.workers) and not head.cluster.head_takes_trials:
        raise lost[0]  # no machine for trials is left
    if not may_download:
        return lost
    request = PrepareData(sweep=sent.argument, files=sent.files, settings=settings)

    def prepared(machine: ClusterMachine) -> None:
        try:
            link_to(machine).call(request, DataReady)
        except BadInput as error:
            raise BadInput(f"On {machine.name}: {error}") from error

    prepared(machines[0])
    reached = [
        machine for machine, has in zip(machines, facts, strict=True) if isinstance(has, Facts)
    ]
    with ThreadPoolExecutor() as pool:
        list(pool.map(prepared, reached[1:]))
    return lost


def _num_machines(
    head: RayHead, nodes: Sequence[Node], answer: Mapping[str, Any], cpus: int
) -> int:
    """Return on how many machines the trials run: those there, or those that Ray would start."""
    if there := sum(node.is_alive and node.cpus >= cpus for node in nodes):
        return there
    has = head.cluster.worker_resources if head.cluster else {}
    gpus = answer["gpus_per_trial"]
    fit = [
        int(has[name] / each)
        for name, each in (("CPU", cpus), ("GPU", gpus))
        if each and has.get(name)
    ]
    return math.ceil(answer["num_concurrent"] / max(1, min(fit, default=1)))


def _answer(printed: str) -> dict[str, Any] | None:
    """Return the JSON object in what a command, and libraries around it, have printed."""
    start = printed.find("{\n") if not printed.startswith("{") else 0
    try:
        return json.JSONDecoder().raw_decode(printed, max(start, 0))[0]
    except ValueError:
        return None


def _last_line(printed: str) -> str:
    lines = printed.strip().splitlines()
    return one_line(lines[-1])[:300] if lines else "The cluster has said nothing."


def submit(
    head: Head,
    sent: Sendable,
    *,
    sweep: str,
    arguments: tuple[str, ...],
    resume: str,
    options: "LaunchOptions",
) -> tuple[Submission, bool]:
    """Submit a sweep as a job, unless a job of it is queued or runs; note it here.

    Args:
        head: The machine that takes it.
        sent: The sweep.
        sweep: Its name.
        arguments: The options of the launch, as the command line writes them.
        resume: The command that submits it again.
        options: The same as `arguments`.

    Returns:
        The submission, and whether its job is new.

    Raises:
        BadInput: If the cluster does not take it, or the sweep runs with other options.
    """
    storage = str(options.storage) if options.storage else None
    request = _request(sent, sweep=sweep, arguments=arguments, resume=resume)
    _check_not_elsewhere(head, sweep)
    answer = _submitted(head, request, storage)
    if not answer.is_new and answer.arguments != request["arguments"]:
        raise BadInput(
            f"'{sweep}' is there already as job {answer.job_id} with other options: stop it first "
            f"({SuggestedCommand('stop', sweep)}), or give this one a --name."
        )
    fields: dict[str, Any] = {
        "sweep": sweep,
        "resume": resume,
        "job_id": answer.job_id,
        "words": arguments,
        "file": str(sent.file) if sent.file else None,
        "storage": storage,
        "tracking_uri": options.tracking_uri,
        "folder": str(Path.cwd()),
    }
    submission = Submission.model_validate({**fields, **head.place})
    submission.write()
    return submission, answer.is_new


def _request(
    sent: Sendable, *, sweep: str, arguments: tuple[str, ...], resume: str
) -> Mapping[str, Any]:
    """Return the fields that all requests to submit a sweep have; arguments as in `submit`."""
    return {
        "sweep": sweep,
        "arguments": (sent.argument, *arguments),
        "resume": resume,
        "files": sent.files,
    }


def job_file(
    head: Head,
    sent: Sendable,
    *,
    sweep: str,
    arguments: tuple[str, ...],
    resume: str,
    options: "LaunchOptions",
) -> str:
    """Return the file of the job that `submit` would submit, "" for Ray, whose jobs have none.

    Nothing is written. Slurm checks the job.

    Args:
        head: The machine that would take it.
        sent: The sweep.
        sweep: As in `submit`.
        arguments: The same.
        resume: The same.
        options: The same.

    Raises:
        BadInput: If the scheduler does not take it or does not answer, or the sweep runs with other
            options.
    """
    request = _request(sent, sweep=sweep, arguments=arguments, resume=resume)
    _check_not_elsewhere(head, sweep)
    if isinstance(head, SlurmLogin):
        assert head.job is not None
        tried = TryOnSlurm(**request, storage=head.storage, job=head.job)
        return "\n".join(head.link.call(tried, JobFile).lines)
    if isinstance(head, KubeHead):
        storage = str(options.storage) if options.storage else None
        return head.job_file(SubmitSweep(**request, dashboard="", storage=storage))
    return ""


def _check_not_elsewhere(head: Head, sweep: str) -> None:
    """Make sure that no job of a sweep goes on over another storage folder under Slurm.

    Its note here would be replaced, and no command would find it again.

    Raises:
        BadInput: If one does.
    """
    if not isinstance(head, SlurmLogin):
        return
    for noted in submissions():
        is_elsewhere = noted.to == "slurm" and (noted.on, noted.storage) != (head.on, head.storage)
        if noted.sweep == sweep and is_elsewhere and goes_on(head_of(noted), noted):
            raise BadInput(
                f"'{sweep}' was submitted to {noted.storage} as job {noted.job_id}, which has not "
                f"ended: give --storage {noted.storage}, or stop it first "
                f"({SuggestedCommand('stop', sweep)})."
            )


def _submitted(head: Head, request: Mapping[str, Any], storage: str | None) -> Submitted:
    if isinstance(head, SlurmLogin):
        assert head.job is not None
        to_slurm = SubmitToSlurm(**request, storage=head.storage, job=head.job)
        return head.link.call(to_slurm, Submitted)
    if isinstance(head, KubeHead):
        return head.submit(SubmitSweep(**request, dashboard="", storage=storage))
    assert isinstance(head, RayHead)
    to_ray = SubmitSweep(**request, dashboard=head.dashboard, storage=storage)
    return head.link.call(to_ray, Submitted)


def head_of(submission: Submission) -> Head:
    """Return where a sweep was submitted.

    Raises:
        BadInput: If it cannot be found any more.
    """
    if submission.to == "slurm":
        return SlurmLogin(submission.on, submission.storage)
    if submission.to == "k8s":
        return KubeHead(submission.on, submission.namespace, submission.storage)
    return RayHead(submission.on, submission.address)


def running_submission(head: Head, resume: str, arguments: Sequence[str]) -> Submission | None:
    """Return the submission that the same command has made, if its job goes on.

    Args:
        head: The cluster's head.
        resume: The command, without what a launch does only once, such as --retrain.
        arguments: The options of the launch: none that it was not given.
    """
    for submission in submissions():
        is_same = submission.resume == resume and {*arguments} <= {*submission.words}
        if is_same and goes_on(head, submission):
            return submission
    return None


def follow(
    head: Head, submission: Submission, show: Show, report: Callable[[str], None]
) -> JobState:
    """Show what a job prints until it has ended; a lost connection is made anew.

    Args:
        head: The cluster's head.
        submission: The submission of the job.
        show: Takes what it prints, and its live view.
        report: Called with a sentence when the connection is lost.

    Raises:
        BadInput: If the cluster does not answer any more.
    """
    position, num_lost = 0, 0

    def shown(reply: Text | Frame) -> None:
        nonlocal position, num_lost
        num_lost = 0
        if isinstance(reply, Text) and not reply.is_note:
            position += len(reply.text)
        show(reply)

    while True:
        try:
            state = head.follow(submission, shown, position)
        except BadInput as error:
            num_lost += 1
            if num_lost > _MOST_RETRIES:
                raise
            report(f"{error} Trying again.")
            time.sleep(_RETRY_SECONDS)
            continue
        if state.has_ended:
            return state


def job_state(head: Head, submission: Submission) -> tuple[JobState, str]:
    """Return the state of a job, and what it has printed so far."""
    printed: list[str] = []
    state = head.follow(submission, lambda reply: printed.append(reply.text), to_its_end=False)
    return state, "".join(printed)


def goes_on(head: Head, submission: Submission) -> bool:
    """Return whether a job goes on; False if the scheduler does not answer.

    Raises:
        MachineUnreachable: If the head cannot be reached.
    """
    try:
        return not job_state(head, submission)[0].has_ended
    except MachineUnreachable:
        raise
    except BadInput:
        return False


def has_ended(head: Head, submission: Submission) -> bool:
    """Return whether no launch of a submitted sweep runs any more.

    Raises:
        BadInput: If the cluster does not answer.
    """
    return not head.is_launching(submission) and job_state(head, submission)[0].has_ended


def tables_of(submission: Submission) -> tuple[type[Any], ...]:
    """Return the classes of a sweep's own tables, which only its file gives; none without it."""
    if not submission.file or not Path(submission.file).exists():
        return ()
    from search_spaces.sweep_file import sweep_from_file

    try:
        return sweep_from_file(Path(submission.file))[0].custom_tables
    except ValueError as error:
        raise BadInput(str(error)) from error


def write_report_here(
    submission: Submission, tracking_uri: str, tables: Sequence[type[Any]]
) -> "Report":
    """Rebuild the report of an ended sweep from its records, and note that.

    Args:
        submission: Its reports go to the folder in which it was submitted.
        tracking_uri: Leads to its records.
        tables: Classes of its own tables.

    Raises:
        SweepError: If it cannot be made.
    """
    from sweeps.aggregation.report import report

    folder = Path(submission.folder, "reports")
    made = report(submission.sweep, tracking_uri, reports=folder, tables=tables)
    submission.model_copy(update={"is_reported": True}).write()
    return made


def copy_report_here(head: SlurmLogin, submission: Submission) -> Path:
    """Copy the report that a launch has written there, and note that; return its folder.

    Raises:
        BadInput: If it is not there.
    """
    there = GetFiles(storage=head.storage, names=("reports", submission.sweep))
    folder = Folder(Path(submission.folder, "reports"), submission.sweep)
    contents = decoded_files(head.link.call(there, Files), head.link.name)
    folder.make()
    for name, content in contents.items():
        folder.write(name, content)
    submission.model_copy(update={"is_reported": True}).write()
    return folder.path
