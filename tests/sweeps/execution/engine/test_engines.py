"""The engines of the package keep the contract, and give the same to the bit."""

from pathlib import Path
from typing import get_args

import pytest

from sweeps.execution.engine.engine import EngineSetting, Event, Job, Stop
from sweeps.execution.engine.engines import ENGINES
from sweeps.execution.engine.inline_engine import InlineEngine
from sweeps.execution.interruption import Interrupted
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.worker import trial
from tests.sweeps.execution.engine.engine_contract import Driver, check_engine
from tests.sweeps.execution.worker.trials import folder_of, job_of


@pytest.mark.parametrize(
    "name", [pytest.param("ray", marks=pytest.mark.slow), "inline"], ids=["ray", "inline"]
)
def test_it_keeps_the_contract(name: str, tmp_path: Path) -> None:
    check_engine(ENGINES[name], tmp_path)


def test_the_options_name_all_engines() -> None:
    assert tuple(ENGINES) == get_args(LaunchOptions.model_fields["engine"].annotation)


def test_what_a_trial_prints_in_the_process_of_the_launch_stays_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_of(tmp_path)
    driver = Driver(Job(trials=(job,)))
    with InlineEngine(EngineSetting(tmp_path / "log", print)) as engine:
        engine.run(driver, driver, num_concurrent=1)
    assert "base, seed 0" in capsys.readouterr().out
    assert "base, seed 0" not in (folder_of(job).path / "log.txt").read_text()


def test_an_interruption_in_a_users_code_is_no_failure_of_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(trial, "warm_up", interrupted)
    job = job_of(tmp_path)
    driver = Driver(Job(trials=(job,)))
    with pytest.raises(Interrupted):
        InlineEngine(EngineSetting(tmp_path / "log", print)).run(driver, driver, num_concurrent=1)
    assert driver.ended == []
    lines, _ = folder_of(job).read_outbox()
    assert lines == []


def test_an_error_of_the_launch_is_no_failure_of_the_trial_that_it_meets(tmp_path: Path) -> None:
    class Broken(Driver):
        def tell(self, event: Event) -> Stop | None:
            raise KeyError("of the plan")

    job = job_of(tmp_path)
    driver = Broken(Job(trials=(job,)))
    with pytest.raises(KeyError, match="of the plan"):
        InlineEngine(EngineSetting(tmp_path / "log", print)).run(driver, driver, num_concurrent=1)
    assert folder_of(job).failed_since(0) is None


def test_a_traceback_stands_in_the_terminal_and_in_the_trials_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_of(tmp_path)
    spec = job.spec.model_copy(update={"config": job.spec.config | {"batch_size": "none"}})
    job = job.model_copy(update={"spec": spec})
    driver = Driver(Job(trials=(job,)))
    InlineEngine(EngineSetting(tmp_path / "log", print)).run(driver, driver, num_concurrent=1)
    assert "Traceback" in capsys.readouterr().err
    assert "Traceback" in folder_of(job).log.read_text()
