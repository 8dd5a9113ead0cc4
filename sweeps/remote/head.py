"""The machine that takes a cluster's sweeps, from the machine of a command."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sweeps.records.errors import BadInput
from sweeps.remote.cluster_file import ClusterFile, ClusterMachine, read_cluster_file
from sweeps.remote.link import Link, link_to, link_to_here, tunnel
from sweeps.remote.messages import (
    CommandEnded,
    FollowJob,
    FollowSlurmJob,
    Frame,
    GetNodes,
    GetRunning,
    GetSlurm,
    JobState,
    Node,
    Nodes,
    RunCommand,
    RunJob,
    Running,
    SlurmFacts,
    SlurmJob,
    StopJob,
    StopSlurmJob,
    Text,
)
from sweeps.remote.submissions import Submission
from sweeps.storage.locations import Storage

Show = Callable[[Text | Frame], None]


class Head(ABC):
    """What takes sweeps: Ray's head, a login node of Slurm, or Kubernetes.

    Attributes:
        link: Leads to an agent that reaches the scheduler.
        scheduler: Its name.
        cluster: The cluster of its file; None where there is no file.
        place: The fields of a submission that lead to it.
        start_command: What starts the scheduler again; "" where a user cannot.
    """

    link: Link
    scheduler: str
    cluster: ClusterFile | None = None
    place: Mapping[str, Any]
    start_command: str = ""

    def run(
        self,
        arguments: Sequence[str],
        show: Show,
        files: Mapping[str, str] | None = None,
        *,
        columns: int | None = None,
    ) -> int:
        """Run capsweep there, show what it prints, and return its exit code.

        Args:
            arguments: After `capsweep`.
            show: Takes what it prints.
            files: Name -> text of files in the folder in which it runs.
            columns: Width of what it prints; None for its own.

        Raises:
            BadInput: If it cannot be run there.
        """
        request = RunCommand(arguments=tuple(arguments), files=files or {}, columns=columns)
        return self.link.call(request, CommandEnded, show).exit_code

    @abstractmethod
    def records(self, tracking_uri: str | None) -> AbstractContextManager[str | None]:
        """Yield the address of the tracking store while the block runs.

        It is None where the records can only be read there.

        Args:
            tracking_uri: The one that the launch was given, None for the cluster's own.

        Raises:
            BadInput: If it cannot be reached from here.
        """

    @abstractmethod
    def follow(
        self, submission: Submission, show: Show, position: int = 0, *, to_its_end: bool = True
    ) -> JobState:
        """Show what the job of a submission prints; return its state.

        Args:
            submission: The submission.
            show: Takes what the job prints, and its live view.
            position: How many characters of it are known.
            to_its_end: Until the job ends; else what there is now.

        Raises:
            BadInput: If the scheduler does not answer.
        """

    @abstractmethod
    def end(self, submission: Submission, *, is_now: bool = False) -> JobState:
        """Have the scheduler end a job.

        Args:
            submission: The submission of the job.
            is_now: Whether its trials are ended at once.

        Raises:
            BadInput: If the scheduler does not answer.
        """

    def queued_job(self, submission: Submission) -> JobState | None:
        """Return the state of a job as the scheduler's queue has it; None where there is no queue.

        Raises:
            BadInput: If the scheduler does not answer.
        """
        del submission
        return None

    def is_launching(self, submission: Submission) -> bool:
        """Return whether a launch of the sweep runs there that its job does not show.

        Raises:
            BadInput: If the machine does not answer.
        """
        del submission
        return False


class RayHead(Head):
    """The head of a Ray cluster, reached by ssh or by the address of Ray's dashboard alone.

    Args:
        on: The cluster's file.
        address: The dashboard's address, where there is no file.

    Attributes:
        cluster: The cluster of the file; None where there is only an address.
        dashboard: The dashboard's address, as the agent reaches it.

    Raises:
        BadInput: If not just one of both is given, or cannot be used.
    """

    scheduler = "Ray"
    cluster: ClusterFile | None
    dashboard: str

    def __init__(self, on: str | None = None, address: str | None = None) -> None:
        if (on is None) == (address is None):
            raise BadInput(
                "Where is the cluster? Give --on with its file (machines.txt or cluster.yaml), "
                "--address with the address of Ray's dashboard, such as http://127.0.0.1:8265, or "
                "--to slurm or --to k8s."
            )
        if on is not None:
            self.cluster = read_cluster_file(on)
            self.link = link_to(self.cluster.head)
            self.dashboard = f"http://127.0.0.1:{self.cluster.dashboard_port}"
            self.start_command = self.cluster.start_command
            self.place = {"on": str(self.cluster.path)}
        else:
            self.cluster, self.dashboard = None, _dashboard(address or "")
            self.link = link_to_here(self.dashboard)
            self.place = {"address": self.dashboard}

    def nodes(self) -> tuple[Node, ...]:
        """Return the machines that Ray's head knows.

        Raises:
            BadInput: If it does not answer.
        """
        down = self.cluster.down if self.cluster else ""
        return self.link.call(GetNodes(dashboard=self.dashboard, down=down), Nodes).nodes

    def run(
        self,
        arguments: Sequence[str],
        show: Show,
        files: Mapping[str, str] | None = None,
        *,
        columns: int | None = None,
    ) -> int:
        if self.cluster:
            return super().run(arguments, show, files, columns=columns)
        request = RunJob(
            dashboard=self.dashboard, arguments=tuple(arguments), files=files or {}, columns=columns
        )
        return self.link.call(request, CommandEnded, show).exit_code

    @contextmanager
    def records(self, tracking_uri: str | None) -> Generator[str]:
        if tracking_uri:
            place = nullcontext(tracking_uri)
        elif self.cluster:
            place = self._tunnelled(self.cluster)
        else:
            raise BadInput("Give --tracking-uri: the address alone does not lead to the records.")
        with place as uri:
            yield uri

    @contextmanager
    def _tunnelled(self, cluster: ClusterFile) -> Generator[str]:
        with tunnel(cluster.head, cluster.mlflow_port) as port:
            yield f"http://127.0.0.1:{port}"

    def follow(
        self, submission: Submission, show: Show, position: int = 0, *, to_its_end: bool = True
    ) -> JobState:
        request = FollowJob(
            dashboard=self.dashboard,
            job_id=submission.job_id,
            sweep=submission.sweep if to_its_end else "",
            position=position,
            is_followed=to_its_end,
        )
        return self.link.call(request, JobState, show)

    def end(self, submission: Submission, *, is_now: bool = False) -> JobState:
        request = StopJob(dashboard=self.dashboard, job_id=submission.job_id)
        return self.link.call(request, JobState)

    def is_launching(self, submission: Submission) -> bool:
        if not self.cluster:
            return False
        request = GetRunning(sweep=submission.sweep, storage=submission.storage)
        return self.link.call(request, Running).is_running


class SlurmLogin(Head):
    """A login node of Slurm: this machine, or one that ssh reaches.

    Args:
        on: Its name as `ssh` takes it; None for this machine.
        storage: The storage folder; None for that of the login node.
        job: What a job asks for; None where none is submitted.

    Attributes:
        on: The same.
        storage: The storage folder there, absolute.
        job: The same.
        most_gpus: GPUs of the node with most that the job may get, 0 before `check_job`, or if
            that is not known.

    Raises:
        BadInput: If it cannot be reached, or there is no Slurm.
    """

    scheduler = "Slurm"

    def __init__(
        self, on: str | None = None, storage: str | None = None, job: SlurmJob | None = None
    ) -> None:
        self.on, self.job, self.most_gpus = on, job, 0
        self.link = link_to(ClusterMachine(on)) if on else link_to_here("Slurm")
        self.storage = self.link.call(GetSlurm(storage=storage), SlurmFacts).storage
        self.place = {"to": "slurm", "on": on, "storage": self.storage}

    def check_job(self) -> None:
        """Compare the job with Slurm's nodes, and take no more cores than these have by default.

        Raises:
            BadInput: If Slurm has no such partition or nodes, or does not answer.
        """
        job = self.job
        assert job is not None
        facts = self.link.call(GetSlurm(storage=self.storage, job=job), SlurmFacts)
        self.most_gpus = facts.most_gpus
        if not job.cpus_per_node and job.cores > (facts.most_cores or job.cores):
            self.job = job.model_copy(update={"cpus_per_node": facts.most_cores})

    @contextmanager
    def records(self, tracking_uri: str | None) -> Generator[str | None]:
        here = None if self.on else Storage(Path(self.storage)).default_tracking_uri
        yield tracking_uri or here

    def follow(
        self, submission: Submission, show: Show, position: int = 0, *, to_its_end: bool = True
    ) -> JobState:
        request = FollowSlurmJob(
            sweep=submission.sweep,
            storage=self.storage,
            position=position,
            is_followed=to_its_end,
        )
        return self.link.call(request, JobState, show)

    def end(self, submission: Submission, *, is_now: bool = False) -> JobState:
        request = StopSlurmJob(sweep=submission.sweep, storage=self.storage, is_now=is_now)
        return self.link.call(request, JobState)

    def queued_job(self, submission: Submission) -> JobState | None:
        return self.follow(submission, lambda _: None, to_its_end=False)


def _dashboard(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise BadInput(
            f"'{address}' is not the address of Ray's dashboard: give one such as "
            f"http://127.0.0.1:8265."
        )
    return address.rstrip("/")
