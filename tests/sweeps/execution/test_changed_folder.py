"""Code of a sweep may change the working directory: the launch stays in its own."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sweeps.execution.engine.engine import EngineSetting, EpochEnded, Event, Job, Stop
from sweeps.execution.engine.inline_engine import InlineEngine
from sweeps.execution.launch.launch import prepare_data
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import define
from sweeps.execution.plan.growing_definition import GrowingDefinition
from tests.sweeps.execution.engine.engine_contract import Driver
from tests.sweeps.execution.test_sweep_check import broken
from tests.sweeps.execution.worker.test_evaluation import job_of as evaluation_of
from tests.sweeps.execution.worker.test_failed_trial import LATE
from tests.sweeps.execution.worker.trials import job_of


class Seeing(Driver):
    """Notes the working directory when a trial starts and ends."""

    def __init__(self, *jobs: Job) -> None:
        super().__init__(*jobs)
        self.folders: list[Path] = []

    def tell(self, event: Event) -> Stop | None:
        if not isinstance(event, EpochEnded):
            self.folders.append(Path.cwd())
        return super().tell(event)


# Where it stands, and what changes the directory there.
CHANGES = {
    "an import": ("import torch\n", "import torch, os; os.chdir('/')\n"),
    "load": ("        return splits\n", "        import os; os.chdir('/'); return splits\n"),
    "a plan": ("        arms = {", "        import os; os.chdir('/'); arms = {"),
    "a model": ("        return MyNetwork", "        import os; os.chdir('/'); return MyNetwork"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_definition_leaves_the_directory_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    broken(tmp_path, *CHANGES[name])
    define("mine.py", Changes(), ())
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize(
    ("statement", "num_failed"),
    [("os.chdir('/')", 0), ("os.chdir('/'); 1 / 0", 2)],
)
def test_each_trial_in_the_process_of_the_launch_begins_in_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, num_failed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "import os\n" + LATE.replace("loss = Margin", f"{statement}; loss = Margin")
    source = source.replace("<= 0.5", "<= 2")
    trials = [job_of(tmp_path, seed, source) for seed in (0, 1)]
    late = {"loss": {"kind": "late"}}
    specs = [job.spec.model_copy(update={"config": job.spec.config | late}) for job in trials]
    jobs = [job.model_copy(update={"spec": spec}) for job, spec in zip(trials, specs, strict=True)]
    driver = Seeing(Job(trials=tuple(jobs)))
    InlineEngine(EngineSetting(tmp_path / "log", print)).run(driver, driver, num_concurrent=1)
    assert driver.folders == [tmp_path] * 4, "at the start and the end of each"
    failures = [ended.reason for ended in driver.ended if ended.failure]
    assert len(failures) == num_failed, failures
    assert all("ZeroDivisionError" in reason for reason in failures)


def test_an_evaluation_leaves_the_directory_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def evaluate(*_: object, **__: object) -> None:
        os.chdir("/")

    monkeypatch.setattr("sweeps.execution.engine.inline_engine.run_evaluations", evaluate)
    driver = Driver(Job(evaluations=(evaluation_of(tmp_path),)))
    InlineEngine(EngineSetting(tmp_path / "log", print)).run(driver, driver, num_concurrent=1)
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("root", ["~/pictures", "pictures", "/pictures"])
def test_workers_get_an_absolute_data_root(monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    monkeypatch.setenv("CAPSWEEP_DATA", root)
    prepare_data(cast(GrowingDefinition, SimpleNamespace(data_sets=list)))
    assert os.environ["CAPSWEEP_DATA"] == str(Path.cwd() / Path(root).expanduser())
