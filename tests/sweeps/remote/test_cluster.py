"""What machines have to have alike before they become a cluster, and what a check makes of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote import cluster
from sweeps.remote.cluster import check_cluster, start_cluster
from sweeps.remote.cluster_file import ClusterFile, Machine
from sweeps.remote.messages import Facts, Node, Nodes, Probed

HEAD = Facts(
    host="head",
    address="10.0.0.1",
    python="3.11.7",
    ray="2.60.0",
    torch="2.15.0",
    cpus=4,
    gpus=0,
    token="a",
    token_mode=0o600,
)
SHARED = Probed(
    seen_after_seconds=0.1,
    sees_lock=True,
    is_writable=True,
    clock=0.0,
    data=("mnist",),
    free_bytes=2**40,
    free_scratch_bytes=2**40,
    mlflow=True,
)
FILE = ClusterFile(Path("/m.txt"), Machine("head"), (Machine("w1"),), storage="/s", data="/d")
NODES = Nodes(
    nodes=tuple(
        Node(address=address, is_alive=True, is_head=is_head, cpus=1, gpus=gpus)
        for address, is_head, gpus in (("10.0.0.1", True, 0), ("10.0.0.2", False, 2))
    )
)


class Machines:
    """Answers of two machines; those of the worker differ from those of the head."""

    def __init__(self, facts: dict[str, Any], shared: dict[str, Any]) -> None:
        worker = {"host": "w1", "address": "10.0.0.2", "gpus": 2, **facts}
        self.facts = {"head": HEAD, "w1": HEAD.model_copy(update=worker)}
        self.shared = {"head": SHARED, "w1": SHARED.model_copy(update=shared)}

    def __call__(self, machine: Machine) -> Any:
        machines = self

        class Link:
            def call(self, request: Any, value: type[Any], *_: Any) -> Any:
                answers: dict[type[Any], Callable[[], Any]] = {
                    Facts: lambda: machines.facts[machine.name],
                    Probed: lambda: machines.shared[machine.name],
                    Nodes: lambda: NODES,
                }
                return answers[value]()

            def opened(self, request: Any) -> Any:
                class Connection:
                    def __enter__(self) -> Any:
                        return self

                    def __exit__(self, *_: object) -> None: ...

                    def reply(self) -> None: ...

                return Connection()

        return Link()


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(cluster.time, "time", lambda: 0.0)

    def answer(facts: dict[str, Any] | None = None, **shared: Any) -> None:
        monkeypatch.setattr(cluster, "link_to", Machines(facts or {}, shared))

    return answer


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"ray": "2.59.0"}, "w1 has Ray 2.59.0 and the head 2.60.0: install the same"),
        ({"python": "3.12.1"}, "w1 has Python 3.12.1 and the head 3.11.7: install the same"),
        ({"address": "10.0.0.1"}, "head and w1 are one machine (10.0.0.1): name it once"),
    ],
    ids=["Ray", "Python", "one machine"],
)
def test_machines_that_differ_are_not_started(
    facts: dict[str, Any], sentence: str, answering: Callable[..., None]
) -> None:
    answering(facts)
    with pytest.raises(BadInput) as error:
        list(start_cluster(FILE))
    assert sentence in str(error.value)


def test_a_cluster_as_it_has_to_be_has_nothing_wrong(answering: Callable[..., None]) -> None:
    answering({"python": "3.11.9"})
    for machine in check_cluster(FILE):
        assert (machine.wrong, machine.not_checked) == ((), ())


@pytest.mark.parametrize(
    ("facts", "shared", "sentence"),
    [
        ({"ray": "2.59.0"}, {}, "it has Ray 2.59.0 and the head 2.60.0"),
        ({"token_mode": None}, {}, "it has no token"),
        ({"token_mode": 0o644}, {}, "(mode 644): chmod 600 it there"),
        ({"token": "b"}, {}, "is not the head's: delete it there"),
        ({"address": "10.0.0.9"}, {}, "it is not in the cluster"),
        ({"gpus": 1}, {}, "torch sees 1 GPUs there and Ray has 2"),
        ({}, {"is_writable": False}, "cannot be written to"),
        ({}, {"seen_after_seconds": None, "sees_lock": None}, "mount the same folder"),
        ({}, {"seen_after_seconds": 3.0}, "after 3.0 s only: mount NFS with actimeo=0"),
        ({}, {"sees_lock": False}, "two machines could train one cell: mount NFS 4 with locks"),
        ({}, {"data": None}, "it lacks mnist of the head's data"),
        ({}, {"clock": 60.0}, "its clock differs by 60 s: set it"),
        ({}, {"free_scratch_bytes": 5}, "in its temporary folder: make room"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_is_wrong_with_a_worker_is_said_with_what_to_do(
    facts: dict[str, Any],
    shared: dict[str, Any],
    sentence: str,
    answering: Callable[..., None],
) -> None:
    answering(facts, **shared)
    head, worker = check_cluster(FILE)
    assert head.wrong == ()
    assert len(worker.wrong) == 1
    assert sentence in worker.wrong[0]


def test_a_lock_that_could_not_be_tried_is_not_called_right(
    answering: Callable[..., None],
) -> None:
    answering(seen_after_seconds=None, sees_lock=None)
    _, worker = check_cluster(FILE)
    assert worker.not_checked == ("the head's locks",)
    assert "the head's locks" not in worker.right
