"""What machines have to have alike before they become a cluster, and what a check makes of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote import cluster, head, submit
from sweeps.remote.cluster import check_cluster, start_cluster
from sweeps.remote.cluster_file import ClusterFile, ClusterMachine
from sweeps.remote.link import MachineUnreachable
from sweeps.remote.messages import (
    DataReady,
    Facts,
    Node,
    Nodes,
    Probed,
    ServicesStarted,
    StartHead,
)

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
FILE = ClusterFile(
    Path("/m.txt"), ClusterMachine("head"), (ClusterMachine("w1"),), storage="/s", data="/d"
)
NODES = Nodes(
    nodes=tuple(
        Node(address=address, is_alive=True, is_head=is_head, cpus=1, gpus=gpus)
        for address, is_head, gpus in (("10.0.0.1", True, 0), ("10.0.0.2", False, 2))
    )
)


class Machines:
    """The answers of two machines. The worker answers otherwise than the head."""

    def __init__(self, facts: dict[str, Any], shared: dict[str, Any]) -> None:
        self.nodes: Nodes | BadInput = NODES
        self.ready: DataReady | BadInput = DataReady()
        self.asked: list[tuple[str, str]] = []
        self.requests: list[Any] = []
        self.ray_runs = False
        worker = {"host": "w1", "address": "10.0.0.2", "gpus": 2, **facts}
        self.facts: dict[str, Facts | BadInput] = {
            "head": HEAD,
            "w1": HEAD.model_copy(update=worker),
        }
        self.shared = {"head": SHARED, "w1": SHARED.model_copy(update=shared)}

    def __call__(self, machine: ClusterMachine) -> Any:
        machines = self

        class Link:
            def call(self, request: Any, value: type[Any], *_: Any) -> Any:
                answers: dict[type[Any], Callable[[], Any]] = {
                    Facts: lambda: machines.facts[machine.name],
                    Probed: lambda: machines.shared[machine.name],
                    Nodes: lambda: machines.nodes,
                    ServicesStarted: lambda: ServicesStarted(
                        address="10.0.0.1", ray=machine.name == "head" and not machines.ray_runs
                    ),
                    DataReady: lambda: machines.ready,
                }
                answer = answers[value]()
                if isinstance(answer, BaseException):
                    raise answer
                machines.asked.append((machine.name, request.call))
                machines.requests.append(request)
                return answer

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
        assert (machine.wrong, machine.not_checked) == ([], [])


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
    of_head, worker = check_cluster(FILE)
    assert of_head.wrong == []
    assert len(worker.wrong) == 1
    assert sentence in worker.wrong[0]


@pytest.fixture
def one_lost(monkeypatch: pytest.MonkeyPatch) -> Machines:
    """A head with two workers, the first of which ssh does not reach."""
    machines = Machines({}, {})
    machines.facts["w2"] = machines.facts["w1"]
    machines.facts["w1"] = MachineUnreachable("w1 cannot be reached by ssh.")
    link(monkeypatch, machines)
    return machines


def link(monkeypatch: pytest.MonkeyPatch, machines: Machines) -> None:
    """Have machines answer wherever one is asked."""
    for module in (cluster, submit, head):
        monkeypatch.setattr(module, "link_to", machines)


FILE_OF_THREE = replace(FILE, workers=(ClusterMachine("w1"), ClusterMachine("w2")))


@pytest.mark.usefixtures("one_lost")
def test_up_starts_the_machines_that_it_reaches_and_names_the_others() -> None:
    reported: list[str] = []
    up = {machine.name: machine for machine in start_cluster(FILE_OF_THREE, reported.append)}
    assert up["head"].started == ("Ray",)
    assert up["w1"].complaint == "w1 cannot be reached by ssh."
    assert (up["w2"].address, up["w2"].complaint) == ("10.0.0.2", "")
    assert reported[0] == "Asking head, w1, w2 ..."


@pytest.mark.parametrize(
    ("trains", "machine", "share"),
    [
        (False, ClusterMachine("head"), (0, 0)),
        (False, ClusterMachine("head", cpus=2), (2, 0)),
        (True, ClusterMachine("head"), (HEAD.cpus - 1, None)),
        (True, ClusterMachine("head", cpus=4, gpus=1), (4, 1)),
    ],
    ids=["default", "cores named", "trains", "trains on what is named"],
)
@pytest.mark.parametrize("is_alone", [False, True], ids=["with a worker", "alone"])
def test_ray_gets_of_the_head_what_the_file_gives_trials(
    trains: bool,
    machine: ClusterMachine,
    share: tuple[int | None, int | None],
    is_alone: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines({}, {})
    monkeypatch.setattr(cluster, "link_to", machines)
    workers = () if is_alone else FILE.workers
    file = replace(FILE, head=machine, head_trains=trains, workers=workers)
    list(start_cluster(file))
    (request,) = (asked for asked in machines.requests if isinstance(asked, StartHead))
    assert (request.cpus, request.gpus) == ((machine.cpus, machine.gpus) if is_alone else share)


TRAINS = replace(FILE, head_trains=True)


def test_a_head_without_a_core_to_spare_is_not_started_to_train(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines({}, {})
    machines.facts["head"] = HEAD.model_copy(update={"cpus": 1})
    monkeypatch.setattr(cluster, "link_to", machines)
    with pytest.raises(
        BadInput, match=r"^/m\.txt says 'head = trains', and head has a single core"
    ):
        list(start_cluster(TRAINS))
    assert {call for _, call in machines.asked} == {"facts"}
    named = replace(TRAINS, head=ClusterMachine("head", cpus=1))
    assert next(start_cluster(named)).started == ("Ray",)


@pytest.mark.usefixtures("answering")  # for the clock
def test_a_head_whose_ray_was_started_without_cores_for_trials_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines({}, {})
    machines.ray_runs = True  # with one core for trials
    monkeypatch.setattr(cluster, "link_to", machines)
    sentence = (
        "Ray runs there with 1 core for trials, and 'head = trains' gives them 3: restart it by "
        "capsweep cluster down /m.txt, and then up."
    )
    assert [machine.complaint for machine in start_cluster(TRAINS)] == [sentence, ""]
    assert [machine.wrong for machine in check_cluster(TRAINS)] == [[sentence], []]
    fits = replace(TRAINS, head=ClusterMachine("head", cpus=1))
    assert [machine.complaint for machine in start_cluster(fits)] == ["", ""]
    assert [machine.wrong for machine in check_cluster(fits)] == [[], []]


@pytest.mark.usefixtures("answering")  # for the clock
def test_a_check_compares_the_gpus_of_a_head_that_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines({}, {})
    machines.facts["head"] = HEAD.model_copy(update={"gpus": 1})
    monkeypatch.setattr(cluster, "link_to", machines)
    trains = replace(TRAINS, head=ClusterMachine("head", cpus=1))
    (of_head, _), (of_default, _) = check_cluster(trains), check_cluster(FILE)
    assert "torch sees 1 GPUs there and Ray has 0" in of_head.wrong[0]
    assert of_default.wrong == []


def test_a_head_that_is_not_reached_is_not_left_out(one_lost: Machines) -> None:
    one_lost.facts["head"] = MachineUnreachable("head cannot be reached by ssh.")
    with pytest.raises(MachineUnreachable, match="head cannot be reached"):
        list(start_cluster(FILE_OF_THREE))


def machines_for_submit(folder: Path, *names: str) -> tuple[MachineUnreachable, ...]:
    """Check machines before a sweep is submitted to them; return those that are not reached."""
    file = folder / "m.txt"
    file.write_text("\n".join(["storage = /s", *names]))
    return submit.check_machines(
        head.RayHead(str(file)), submit.Sendable("quickstart", None, {}), {}
    )


def test_a_sweep_is_submitted_without_a_worker_that_is_not_reached(
    one_lost: Machines, tmp_path: Path
) -> None:
    (unreachable,) = machines_for_submit(tmp_path, "head", "w1", "w2")
    assert str(unreachable) == "w1 cannot be reached by ssh."
    prepared = [name for name, call in one_lost.asked if call == "prepare_data"]
    assert prepared == ["head", "w2"]


def test_a_sweep_is_not_submitted_where_no_worker_is_reached(
    one_lost: Machines, tmp_path: Path
) -> None:
    with pytest.raises(MachineUnreachable, match="w1 cannot be reached"):
        machines_for_submit(tmp_path, "head", "w1")
    assert [call for _, call in one_lost.asked] == ["facts"]


def test_a_sweep_is_submitted_to_a_head_that_trains_without_any_worker(
    one_lost: Machines, tmp_path: Path
) -> None:
    (unreachable,) = machines_for_submit(tmp_path, "head = trains", "head", "w1")
    assert str(unreachable) == "w1 cannot be reached by ssh."
    assert [name for name, call in one_lost.asked if call == "prepare_data"] == ["head"]


def test_no_sweep_is_submitted_to_machines_that_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link(monkeypatch, Machines({"ray": "2.59.0"}, {}))
    with pytest.raises(BadInput, match=r"w1 has Ray 2\.59\.0 and the head 2\.60\.0"):
        machines_for_submit(tmp_path, "head", "w1")


def test_a_machine_that_lacks_the_data_of_a_sweep_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machines = Machines({}, {})
    machines.ready = BadInput("There are no photos.")
    link(monkeypatch, machines)
    with pytest.raises(BadInput, match=r"^On head: There are no photos\.$"):
        machines_for_submit(tmp_path, "head", "w1")


def test_a_check_of_a_cluster_that_is_down_says_that_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines({}, {})
    machines.nodes = BadInput(FILE.down)
    monkeypatch.setattr(cluster, "link_to", machines)
    (checked,) = check_cluster(FILE)
    assert checked.wrong == ["Ray does not run on head: start it with capsweep cluster up /m.txt."]


def test_a_lock_that_could_not_be_tried_is_not_called_right(
    answering: Callable[..., None],
) -> None:
    answering(seen_after_seconds=None, sees_lock=None)
    _, worker = check_cluster(FILE)
    assert worker.not_checked == ["the head's locks"]
    assert "the head's locks" not in worker.right
