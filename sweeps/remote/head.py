"""The machine that runs the drivers of a cluster's sweeps, from the machine of a command."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from urllib.parse import urlsplit

from sweeps.records.errors import BadInput
from sweeps.remote.cluster_file import ClusterFile, read_cluster_file
from sweeps.remote.link import Link, link_to, link_to_here, tunnel
from sweeps.remote.messages import Ended, Frame, GetNodes, Node, Nodes, RunCommand, RunJob, Text

Show = Callable[[Text | Frame], None]


class Head:
    """The head of a cluster, reached by ssh or by the address of Ray's dashboard alone.

    Args:
        on: The cluster's file.
        address: The dashboard's address, where there is no file.

    Attributes:
        cluster: The cluster of the file; None where there is only an address.
        link: Leads to an agent that reaches the dashboard.
        dashboard: The dashboard's address, as that agent reaches it.

    Raises:
        BadInput: If not just one of both is given, or cannot be used.
    """

    cluster: ClusterFile | None
    link: Link
    dashboard: str

    def __init__(self, on: str | None = None, address: str | None = None) -> None:
        if (on is None) == (address is None):
            raise BadInput(
                "Where is the cluster? Give --on with its file (machines.txt or cluster.yaml), or "
                "--address with the address of Ray's dashboard, such as http://127.0.0.1:8265."
            )
        if on is not None:
            self.cluster = read_cluster_file(on)
            self.link = link_to(self.cluster.head)
            self.dashboard = f"http://127.0.0.1:{self.cluster.dashboard_port}"
        else:
            self.cluster, self.dashboard = None, _dashboard(address or "")
            self.link = link_to_here(self.dashboard)

    def nodes(self) -> tuple[Node, ...]:
        """Return the machines that Ray's head knows.

        Raises:
            BadInput: If it does not answer.
        """
        down = self.cluster.down if self.cluster else ""
        return self.link.call(GetNodes(dashboard=self.dashboard, down=down), Nodes).nodes

    def run(
        self,
        words: Sequence[str],
        show: Show,
        files: Mapping[str, str] | None = None,
        *,
        columns: int | None = None,
    ) -> int:
        """Run capsweep there, show what it prints, and return its exit code.

        Args:
            words: After `capsweep`.
            show: Takes what it prints.
            files: Name -> text of files in the folder in which it runs.
            columns: Width of what it prints; None for its own.

        Raises:
            BadInput: If it cannot be run there.
        """
        words, files = tuple(words), files or {}
        request = (
            RunCommand(words=words, files=files, columns=columns)
            if self.cluster
            else RunJob(dashboard=self.dashboard, words=words, files=files, columns=columns)
        )
        return self.link.call(request, Ended, show).exit_code

    @contextmanager
    def records(self, tracking_uri: str | None) -> Generator[str]:
        """Yield an address of the cluster's tracking store while the block runs.

        Args:
            tracking_uri: The one that the launch was given, None for the cluster's own.

        Raises:
            BadInput: If it cannot be reached from here.
        """
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
