"""A sweep as a job of a Ray cluster: three nodes, one of which runs no trials."""

import json
import shlex
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.ray_nodes import RayNodes
from tests.end_to_end.command import clean_environment
from tests.end_to_end.expectations import expect_each_cell_finished_once
from tests.end_to_end.storage_view import num_starts
from tests.waiting import PATIENCE_SECONDS

_CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
_JOB = """\
import json, sys, time
from ray.job_submission import JobSubmissionClient
from ray.util.state import list_actors, list_nodes

dashboard, entrypoint = sys.argv[1:]
client = JobSubmissionClient(dashboard)
job = client.submit_job(entrypoint=entrypoint)
while not client.get_job_status(job).is_terminal():
    time.sleep(0.2)
actors = [(one.class_name, one.node_id) for one in list_actors(dashboard)]
nodes = [(one.node_id, one.is_head_node) for one in list_nodes(dashboard)]
status, logs = client.get_job_status(job).value, client.get_job_logs(job)
print(json.dumps({"status": status, "logs": logs, "actors": actors, "nodes": nodes}))
"""


@pytest.fixture(scope="module")
def nodes() -> Generator[RayNodes]:
    nodes = RayNodes()
    try:
        nodes.start_head()
        for _ in range(2):
            nodes.start_worker()
        yield nodes
    finally:
        nodes.close()


@pytest.mark.slow
def test_a_job_fills_each_cell_once_on_several_nodes_and_none_on_the_head(
    tmp_path: Path, nodes: RayNodes
) -> None:
    storage = tmp_path / "shared"
    arguments = ("quickstart", "--epochs=2", "--seeds=0-1", f"--storage={storage}")
    job = ended(submit(nodes, tmp_path, *arguments))
    assert job["status"] == "SUCCEEDED", job["logs"]
    assert "10 trained now, 10 of 10 cells filled" in job["logs"]
    expect_each_cell_finished_once(storage, num_cells=10, num_epochs=2)
    assert num_starts(storage) == 10

    (spec,) = (node for node, is_head in job["nodes"] if is_head)
    others = {"JobSupervisor", "Arbiter"}  # the job's own, and the one that divides the cluster
    places = [node for name, node in job["actors"] if name not in others]
    assert len(set(places)) == 2, job["actors"]
    assert spec not in places

    table = (tmp_path / "reports" / "quickstart" / "ablation.csv").read_text()
    assert len(table.splitlines()) == 1 + 5
    repeated = ended(submit(nodes, tmp_path, *arguments))
    assert "0 trained now, 10 of 10 cells filled" in repeated["logs"]


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", "0" * 64], ids=["without", "with a wrong one"])
def test_a_launch_without_the_token_is_refused_in_one_sentence(
    token: str, tmp_path: Path, nodes: RayNodes
) -> None:
    environment = {"RAY_AUTH_TOKEN": token} if token else {}
    environment |= {"HOME": str(tmp_path), "RAY_NUM_REDIS_GET_RETRIES": "2"}  # 20, a second each
    refused = subprocess.run(
        [_CAPSWEEP, "run", "quickstart", "--address", nodes.address],
        cwd=tmp_path,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "its token is missing or wrong" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("capsweep-store/cells/*"))


def submit(nodes: RayNodes, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Submit a launch over the cluster as a job that works in a folder."""
    command = shlex.join([_CAPSWEEP, "run", *arguments, "--address=auto"])
    entrypoint = f"cd {shlex.quote(str(folder))} && exec {command}"
    return subprocess.Popen(
        [sys.executable, "-c", _JOB, nodes.dashboard, entrypoint],
        env=nodes.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(job: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for a job's end; return its status and logs, and the cluster's actors and nodes."""
    output, errors = job.communicate(timeout=PATIENCE_SECONDS)
    assert job.returncode == 0, errors
    return json.loads(output.splitlines()[-1])
