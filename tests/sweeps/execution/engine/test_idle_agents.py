"""What stands in for Ray's agents: only with a release that was tried, and never left behind."""

import subprocess
import sys

import psutil
import pytest
import ray
from ray._private import services

from sweeps.execution.engine.process.ended_group import is_alive
from sweeps.execution.engine.tune import idle_agent
from sweeps.execution.engine.tune.idle_agents import idle_agents
from tests.waiting import wait_until

_PARENT = """
import os, subprocess, sys
words = [sys.executable, "-I", "-S", sys.argv[1], str(os.getpid())]
child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_one_ends_with_its_parent_even_if_it_had_no_time_to_begin():
    command = [sys.executable, "-c", _PARENT, idle_agent.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    wait_until(lambda: not is_alive(child))


@pytest.mark.parametrize("release", ["2.61.0", "3.0.0"])
def test_another_release_of_ray_is_started_as_it_is(monkeypatch: pytest.MonkeyPatch, release: str):
    start = services.start_ray_process
    monkeypatch.setattr(ray, "__version__", release)
    with idle_agents():
        assert services.start_ray_process is start


def test_only_what_starts_ray_s_machine_is_changed(monkeypatch: pytest.MonkeyPatch):
    started: list[list[str]] = []
    monkeypatch.setattr(services, "start_ray_process", started.append)
    monkeypatch.setattr(ray, "__version__", "2.60.0")
    with idle_agents():
        services.start_ray_process(["gcs_server", "--session-name=one"])
    assert started == [["gcs_server", "--session-name=one"]]
