"""The file of a cluster: what it says, and what is refused in it."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote import cluster_file
from sweeps.remote.cluster_file import ClusterMachine, read_cluster_file
from sweeps.remote.submit import RemotePlan


def test_a_file_of_machines_has_settings_and_a_machine_a_line(tmp_path: Path) -> None:
    file = tmp_path / "machines.txt"
    file.write_text(
        "# ours\n\nstorage = /shared/my sweeps  # NFS\nmlflow_port=5050\n"
        "me@head.example.org\nworker1 cpus=8 gpus=2\n10.0.0.7\n"
    )
    cluster = read_cluster_file(file)
    assert cluster.head == ClusterMachine("me@head.example.org")
    assert cluster.workers == (
        ClusterMachine("worker1", cpus=8, gpus=2),
        ClusterMachine("10.0.0.7"),
    )
    assert (cluster.storage, cluster.data) == ("/shared/my sweeps", "/shared/my sweeps/data")
    assert (cluster.mlflow_port, cluster.ray_port, cluster.dashboard_port) == (5050, 6379, 8265)
    assert not cluster.head_takes_trials


@pytest.mark.parametrize(
    ("lines", "takes_trials"),
    [
        ("head\nw1\n", False),
        ("head cpus=0\nw1\n", False),
        ("head = trains\nhead\nw1\n", True),
        ("head cpus=2\nw1\n", True),
        ("head\n", True),
    ],
    ids=["with a worker", "without a core", "by the setting", "by its cores", "alone"],
)
def test_the_head_takes_trials_if_its_file_says_so_or_it_is_alone(
    lines: str, takes_trials: bool, tmp_path: Path
) -> None:
    file = tmp_path / "machines.txt"
    file.write_text(f"storage = /s\n{lines}")
    cluster = read_cluster_file(file)
    assert cluster.head_takes_trials == takes_trials
    assert cluster.head_trains == lines.startswith("head = trains")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "names no machine"),
        ("# nothing\n", "names no machine"),
        ("storage = /s\n", "names no machine"),
        ("head\n", "names no storage folder"),
        ("storage = shared\nhead\n", "line 1: 'storage' is 'shared': give an absolute path"),
        ("storage = /s\nhead\nhead\n", "line 3: 'head' stands there twice"),
        ("storage = /s\nstorage = /t\nhead\n", "line 2: 'storage' is set twice"),
        ("storge = /s\nhead\n", "Did you mean 'storage'?"),
        ("storage = /s\nray_port = 99999\nhead\n", "give a port, 1 to 65535"),
        ("storage = /s\nray_port = many\nhead\n", "give a port, 1 to 65535"),
        ("storage = /s\nhead = w1\nw1\n", "line 2: 'head' is 'w1': write 'head = trains' to let"),
        ("storage = /s\nhead = \nw1\n", "'head' is '': write 'head = trains'"),
        ("head = trains\nhead = trains\nw1\n", "line 2: 'head' is set twice"),
        ("storage = /s\nhead = trains\nw1 cpus=0\nw2\n", "gives trials no core of w1 (cpus=0)"),
        ("storage = /s\nhead cpus=two\n", "cpus=NUMBER and gpus=NUMBER may stand, got 'cpus=two'"),
        ("storage = /s\nhead memory=3\n", "got 'memory=3'"),
        ("storage = /s\nhead cpu=3\n", "got 'cpu=3'. Did you mean 'cpus'?"),
        ("storage = /s\nhead gpus\n", "got 'gpus'."),
        ("storage = /s\n-oProxyCommand=x\n", "'-oProxyCommand=x' is no name of a machine"),
    ],
    ids=lambda value: value[-40:].strip().replace("\n", "; "),
)
def test_a_line_that_cannot_be_understood_is_named(
    text: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "machines.txt"
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        read_cluster_file(file)
    assert sentence in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("machines.txt", None, "cannot be read (No such file or directory)"),
        ("machines.txt", b"\xff\xfe", "cannot be read (it is not UTF-8 text)"),
        ("cluster.yaml", None, "cannot be read (No such file or directory)"),
        ("cluster.yaml", b"a: [1", "is not valid YAML"),
        ("cluster.yaml", b"- a\n", "describes no cluster"),
        ("cluster.yaml", b"cluster_name: x\n", "it lacks auth.ssh_user or provider.type"),
    ],
    ids=["no machines", "no text", "no cluster", "no YAML", "a list", "no user"],
)
def test_a_file_that_is_none_is_refused(
    name: str, text: bytes | None, sentence: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text)
    with pytest.raises(BadInput) as error:
        read_cluster_file(tmp_path / name)
    assert sentence in str(error.value)


def test_the_head_on_aws_is_reached_by_a_key_of_rays_for_its_region(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(cluster_file, "_head_address", lambda *_: "54.0.0.1")
    (tmp_path / ".ssh").mkdir()
    for name in ("ray-autoscaler_1_us-west-2", "ray-autoscaler_eu-west-1", "id"):
        (tmp_path / ".ssh" / f"{name}.pem").touch()
    file = tmp_path / "cluster.yaml"
    file.write_text("provider: {type: aws, region: us-west-2}\nauth: {ssh_user: ubuntu}\n")
    cluster = read_cluster_file(file)
    key = str(tmp_path / ".ssh" / "ray-autoscaler_1_us-west-2.pem")
    assert cluster.head == ClusterMachine("ubuntu@54.0.0.1", ssh_options=("-i", key))
    assert cluster.start_command == f"ray up {file}"


def test_a_cluster_of_rays_on_machines_of_ones_own_says_where_its_head_is(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "provider: {type: local, head_ip: 10.0.0.1}\n"
        "auth: {ssh_user: me, ssh_private_key: /keys/mine}\n"
        "head_node_type: head\n"
        "available_node_types:\n"
        "  head: {resources: {CPU: 0}}\n"
        "  spare: {resources: {CPU: 1}, max_workers: 0}\n"
        "  gpu: {resources: {CPU: 4, GPU: 1}}\n"
    )
    cluster = read_cluster_file(file)
    assert cluster.head == ClusterMachine("me@10.0.0.1", ssh_options=("-i", "/keys/mine"))
    assert (cluster.storage, cluster.workers) == (None, ())
    assert cluster.worker_resources == {"CPU": 4, "GPU": 1}


AWS = """\
provider: {{type: aws, region: us-west-2, yours: {{{prices}}}}}
auth: {{ssh_user: ubuntu}}
"""


def test_a_file_for_aws_says_what_an_hour_costs_and_a_sweep_may_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_file, "_head_address", lambda *_: "10.0.0.1")
    path = tmp_path / "cluster.yaml"
    path.write_text(AWS.format(prices="price: 1.01, max_price: 20"))
    cluster = read_cluster_file(path)
    assert (cluster.price, cluster.max_price) == (1.01, 20)
    path.write_text(AWS.format(prices="max_price: cheap"))
    with pytest.raises(BadInput, match="'max_price' is 'cheap': give a price"):
        read_cluster_file(path)


def plan(seconds: float | None) -> RemotePlan:
    """Return the plan of a launch on 4 machines."""
    return RemotePlan("mine", 10, 10, 1.0, 4, seconds=seconds, num_machines=4)


@pytest.mark.parametrize(
    ("seconds", "price", "limit", "sentence"),
    [
        (7200.0, 1.0, None, r"It would cost about 8.00 \(2.0 hours of 4 machines at 1.00\)"),
        (None, 1.0, None, "is not known: give a --time-limit"),
        (7200.0, None, None, "is not known: give price in its file or --price"),
        (None, 1.0, 7200.0, "It would cost about 8.00"),
        (3600.0, 1.0, None, ""),
        (7200.0, 1.0, 3600.0, ""),
    ],
    ids=["too dear", "no estimate", "no price", "long limit", "cheap", "ended by its limit"],
)
def test_a_sweep_that_may_cost_more_than_allowed_is_refused(
    seconds: float | None, price: float | None, limit: float | None, sentence: str
) -> None:
    refused = pytest.raises(BadInput, match=sentence) if sentence else nullcontext()
    with refused:
        plan(seconds).check_costs(price, 5.0, limit)
