import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.execution.engine.process.engine_session import EngineSession
from sweeps.execution.engine.process.ray_engine import RayEngine

_PROGRAM = """
import contextlib, gc, json, os, sys, time
from pathlib import Path
from sweeps.execution.engine.process.ray_engine import RayEngine
engine = RayEngine(None, Path(os.devnull), num_ready=2)
os.environ.update(engine._own_ray_environment(), RAY_AUTH_MODE="token")

import psutil
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.execution.engine.tune.ray_private import inheriting_actors
from sweeps.execution.engine.tune.ray_session import ray_session


def train(config):
    from ray import tune
    ready = {"torch", "capsmodel.training.training", "sweeps.execution.worker.trial"}
    is_ready = ready <= set(sys.modules) and gc.isenabled() and gc.get_freeze_count() > 0
    tune.report({"pid": os.getpid(), "is_ready": is_ready})


def commands():
    by_pid = {}
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            by_pid[child.pid] = " ".join(child.cmdline())
    return by_pid


def idle():
    return [pid for pid, command in commands().items() if command.startswith("ray::IDLE")]


with scratch_folder() as folder, ray_session(None, str(folder), 2), inheriting_actors():
    from ray import tune
    while len(started := idle()) < 2:
        time.sleep(0.1)
    run = tune.RunConfig(storage_path=str(folder / "tune"), verbose=0)
    once = tune.TuneConfig(num_samples=2, reuse_actors=True)
    results = tune.Tuner(train, run_config=run, tune_config=once).fit()
    reports = [(result.metrics["pid"], result.metrics["is_ready"]) for result in results]
    print(json.dumps({"started": started, "reports": reports, "others": list(commands().values())}))
"""


# of a job that this one is a part of, and of a site: nobody is there to make them
_ENVIRONMENTS = {
    "RAY_JOB_CONFIG_JSON_ENV_VAR": '{"runtime_env": {"env_vars": {"OF_A_JOB": "1"}}}',
    "RAY_RUNTIME_ENV_HOOK": "no_such_module.hook",
}


@pytest.mark.slow
def test_trials_run_in_the_processes_that_were_started_with_ray():
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_ENVIRONMENTS},
    )
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout.splitlines()[-1])
    assert len(output["started"]) == 2  # though the machine may have more cores
    assert {pid for pid, _ in output["reports"]} <= set(output["started"])
    assert all(is_ready for _, is_ready in output["reports"])
    needless = ("dashboard.py", "agent.py", "agent/main.py")
    others = [command.split() for command in output["others"] if "--raylet_socket" not in command]
    agents = [Path(w).name for command in others for w in command if w.endswith(needless)]
    assert agents == ["idle_agent.py"] * 2


class Recorded(EngineSession):
    """Takes an environment and starts nothing."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        del log
        self.environment = environment
        self.num_ready: int | None = None

    def begin(self, address: str | None, scratch: Path, num_ready: int | None = None) -> None:
        self.num_ready = num_ready

    def wait(self, log: Path | None = None) -> None:
        del log

    def end(self) -> None:
        pass


@pytest.mark.parametrize(
    ("address", "num_ready"),
    [(None, 3), (None, None), ("192.0.2.1:6379", None)],
)
def test_processes_are_started_ahead_only_where_ray_is_started_here(
    address: str | None, num_ready: int | None, tmp_path: Path
):
    made: list[Recorded] = []

    def open_session(environment: dict[str, str], log: Path) -> Recorded:
        made.append(Recorded(environment, log))
        return made[0]

    log = tmp_path / "log"
    with RayEngine(address, log, num_ready=num_ready, open_session=open_session):
        environment = made[0].environment
    assert made[0].num_ready == num_ready
    assert ("RAY_AUTH_TOKEN" in environment) is (address is None)
    assert (environment.get("RAY_ENABLE_UV_RUN_RUNTIME_ENV") == "0") is (address is None)
