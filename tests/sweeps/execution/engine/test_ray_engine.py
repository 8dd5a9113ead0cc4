"""The engine's process may die, fall silent or lose Ray: jobs are handed out again, and once."""

import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from sweeps.execution.child_process import is_alive
from sweeps.execution.engine.engine import (
    CannotGoOn,
    ConcurrencyLimit,
    EpochEnded,
    Event,
    Job,
    Next,
    Stop,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process import engine_session, ray_engine
from sweeps.execution.engine.process.engine_session import EngineSession
from sweeps.execution.engine.process.ray_engine import RayEngine
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.errors import BadInput
from tests.sweeps.execution.examples import spec
from tests.sweeps.execution.first_process import as_first_process
from tests.waiting import wait_until

PROCESS = Path(__file__).with_name("engine_of_paper.py")
MACHINE = Machine(cpus=3)


class Driver:
    """Hands out cells, again when they are lost, and writes down what it hears."""

    def __init__(self, letters: str, stopped: str = "") -> None:
        self.waiting = deque(letters)
        self.running = set[str]()
        self.stopped = stopped
        self.ends: list[tuple[str, ...]] = []

    def next(self) -> Job | Next:
        if not self.waiting:
            return Next.WAIT if self.running else Next.DONE
        letter = self.waiting.popleft()
        self.running.add(letter)
        return Job(trials=(TrialJob(cells="/cells", spec=spec(letter * 20)),))

    def tell(self, event: Event) -> Stop | None:
        letter = event.trial_key[0]
        if isinstance(event, TrialStarted):
            return None
        if isinstance(event, EpochEnded):
            return Stop(trial_key=event.trial_key) if letter in self.stopped else None
        self.running.remove(letter)
        self.ends.append((letter, event.failure or "", event.reason))
        if event.failure is Failure.LOST:
            self.waiting.append(letter)
        return None

    @property
    def ended(self) -> str:
        """The letters of cells that ended in order, one after the other."""
        return "".join(letter for letter, failure, _ in self.ends if not failure)


class Paper:
    """Opens processes that speak as the engine's does, and have troubles, one after the other."""

    def __init__(self, folder: Path, *troubles: str) -> None:
        self.log = folder / "log"
        self.notices: list[str] = []
        self.sessions: list[EngineSession] = []
        self._troubles = deque(troubles)

    def open(self, environment: dict[str, str], log: Path) -> EngineSession:
        trouble = self._troubles.popleft() if self._troubles else "none"
        command = (sys.executable, str(PROCESS), trouble)
        with_path = environment | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.sessions.append(EngineSession(with_path, log, command))
        return self.sessions[-1]

    def engine(self, address: str | None = None) -> RayEngine:
        return RayEngine(address, self.log, self.notices.append, open_session=self.open)

    def run(self, driver: Driver) -> None:
        with self.engine() as engine:
            assert list(engine.machines) == [MACHINE]
            engine.run(driver, driver, num_concurrent=1)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Generator[None]:
    yield
    wait_until(lambda: not children(), pause_seconds=0.1)


def children() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if "engine_of_paper" in " ".join(child.cmdline()) or child.name() == "sleep"
    ]


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_session, "LONGEST_SILENCE", 2)


def test_every_job_ends_once(tmp_path: Path) -> None:
    driver = Driver("abc")
    Paper(tmp_path).run(driver)
    assert driver.ends == [("a", "", ""), ("b", "", ""), ("c", "", "")]


def test_a_limit_that_changes_is_told_the_process_once(tmp_path: Path) -> None:
    paper, limit = Paper(tmp_path), ConcurrencyLimit(5)

    class Changing(Driver):
        def next(self) -> Job | Next:
            limit.most = {"c": 2, "d": None}.get(
                self.waiting[0] if self.waiting else "", limit.most
            )
            return super().next()

    driver = Changing("abcde")
    engine = RayEngine(None, paper.log, open_session=paper.open, limit=limit)
    with engine:
        engine.run(driver, driver, num_concurrent=1)
    assert driver.ended == "abcde"
    told = [line for line in paper.log.read_text().splitlines() if line.startswith("at most")]
    assert told == ["at most 2 at once", "at most None at once"]


def test_an_end_that_the_process_reports_twice_is_told_once(tmp_path: Path) -> None:
    driver, paper = Driver("abc"), Paper(tmp_path, "repeats itself")
    paper.run(driver)
    assert driver.ends == [("a", "", ""), ("b", "", ""), ("c", "", "")]
    assert len(paper.sessions) == 1


def test_a_trial_is_stopped_where_the_answer_says_so(tmp_path: Path) -> None:
    driver = Driver("ab", stopped="b")
    Paper(tmp_path).run(driver)
    assert driver.ends == [("a", "", ""), ("b", Failure.KILLED, "stopped")]


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("is killed", "its process was killed by signal 9"),
        ("breaks", "its process ended with code 1"),
        ("loses ray", "one of Ray's own processes ended"),
        ("loses the cluster", "Ray has not answered 3 times in a row"),
    ],
)
def test_what_was_running_is_lost_and_goes_on_in_a_new_process(
    tmp_path: Path, trouble: str, why: str
) -> None:
    driver, paper = Driver("abc"), Paper(tmp_path, trouble)
    paper.run(driver)
    assert sorted(driver.ended) == ["a", "b", "c"]
    assert ("b", Failure.LOST, why) in driver.ends
    assert paper.notices == [f"Ray was lost, as {why}: it is restarted, and trials resume."]
    assert len(paper.sessions) == 2


@pytest.mark.usefixtures("little_patience")
def test_a_process_that_says_nothing_is_lost_and_ended(tmp_path: Path) -> None:
    driver, paper = Driver("abc"), Paper(tmp_path, "falls silent")
    paper.run(driver)
    assert sorted(driver.ended) == ["a", "b", "c"]
    assert ("b", Failure.LOST, "its process has said nothing for 2 seconds") in driver.ends


def test_it_is_started_three_times_anew_and_no_more(tmp_path: Path) -> None:
    driver, paper = Driver("a"), Paper(tmp_path, *["is killed at once"] * 4)
    with pytest.raises(CannotGoOn, match="lost 4 times in a row, at last as its process was kill"):
        paper.run(driver)
    assert driver.ends == [("a", Failure.LOST, "its process was killed by signal 9")] * 4


def test_a_trial_that_ends_between_shows_that_it_works(tmp_path: Path) -> None:
    driver, paper = Driver("abcdefgh"), Paper(tmp_path, *["is killed"] * 6)
    paper.run(driver)
    assert sorted(driver.ended) == list("abcdefgh")


def test_an_epoch_between_shows_it_too(tmp_path: Path) -> None:
    driver, paper = Driver("a"), Paper(tmp_path, *["is killed after an epoch"] * 4)
    paper.run(driver)
    assert driver.ended == "a"


def test_a_joined_cluster_is_not_started_anew(tmp_path: Path) -> None:
    driver, paper = Driver("abc"), Paper(tmp_path, "loses the cluster")
    with (
        paper.engine("10.0.0.1:6379") as engine,
        pytest.raises(CannotGoOn, match=r"cluster at 10\.0\.0\.1:6379 was lost: Ray has not"),
    ):
        engine.run(driver, driver, num_concurrent=1)
    assert ("b", Failure.LOST, "Ray has not answered 3 times in a row") in driver.ends


def test_the_machines_are_those_that_a_cluster_has_as_it_asks(tmp_path: Path) -> None:
    driver = Driver("a")
    with Paper(tmp_path, "shrinks").engine("10.0.0.1:6379") as engine:
        assert list(engine.machines) == [MACHINE]
        engine.run(driver, driver, num_concurrent=1)
        assert list(engine.machines) == [Machine(cpus=1)], "also when the process has ended"


def test_a_fresh_process_takes_over_after_some_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "JOBS_A_PROCESS", 2)
    driver, paper = Driver("abcde"), Paper(tmp_path)
    paper.run(driver)
    assert (driver.ended, len(paper.sessions), paper.notices) == ("abcde", 3, [])


def test_one_that_began_early_prints_where_it_is_told_to(tmp_path: Path) -> None:
    driver, paper, log = Driver("ab"), Paper(tmp_path), tmp_path / "sweep.log"
    log.write_text("of an earlier launch\n")
    engine = paper.engine()
    engine.begin()
    engine.adopt(log, paper.notices.append)
    with engine:
        engine.run(driver, driver, num_concurrent=3)
    assert sorted(driver.ended) == ["a", "b"]
    assert len(paper.sessions) == 1
    assert sorted(log.read_text().split("\n")) == [
        "",
        "it starts",
        "it trains 3 at once",
        "of an earlier launch",
    ]


def test_one_that_began_early_and_broke_says_what_it_printed(tmp_path: Path) -> None:
    paper, log = Paper(tmp_path, "breaks at the start"), tmp_path / "sweep.log"
    engine = paper.engine()
    engine.begin()
    engine.adopt(log, paper.notices.append)
    with pytest.raises(BadInput, match=r"ended with code 1; see .*sweep\.log"), engine:
        pass
    assert log.read_text() == "it starts\n"


def test_one_that_began_early_and_was_refused_meanwhile_says_why(tmp_path: Path) -> None:
    paper = Paper(tmp_path, "refuses")
    engine = paper.engine()
    engine.begin()
    wait_until(lambda: not any(map(is_alive, psutil.Process().children())))
    engine.adopt(tmp_path / "sweep.log", paper.notices.append)
    with pytest.raises(BadInput, match="could be started here: no room"), engine:
        pass


def test_ray_that_cannot_be_started_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No Ray cluster could be started here: no room"):
        Paper(tmp_path, "refuses").run(Driver("a"))
    with pytest.raises(BadInput, match=r"ended with code 1; see .*log"):
        Paper(tmp_path, "breaks at the start").run(Driver("a"))


def test_a_start_that_takes_too_long_ends_and_says_where_the_log_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_session, "LONGEST_START", 3)
    with pytest.raises(BadInput, match=r"it was not ready after 3 seconds; see .*/log\."):
        Paper(tmp_path, "never starts").run(Driver("a"))


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no namespace can be made here")
def test_ray_is_not_started_where_there_is_no_loopback(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sweeps import BadInput;"
        "from sweeps.execution.engine.process.ray_engine import RayEngine\n"
        "try:\n    RayEngine(None, Path(sys.argv[1]) / 'log').__enter__()\n"
        "except BadInput as error:\n    print(error)"
    )
    command = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command += [sys.executable, "-c", code, str(tmp_path)]
    output = subprocess.check_output(command, text=True, env=environment, timeout=60)
    assert output.startswith("Ray cannot be started: its processes reach each other at 127.0.0.1")
    assert "(Network is unreachable)" in output


def test_an_interrupted_driver_ends_all_that_was_started(tmp_path: Path) -> None:
    class Interrupted(Driver):
        def tell(self, event: Event) -> Stop | None:
            if isinstance(event, TrialEnded):
                raise KeyboardInterrupt
            return None

    driver = Interrupted("abc")
    with pytest.raises(KeyboardInterrupt):
        Paper(tmp_path).run(driver)
    assert not children(), "at once"


def test_a_driver_may_be_the_first_process_of_a_container(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path;"
        "from tests.sweeps.execution.engine.test_ray_engine import Driver, Paper;"
        "driver = Driver('a'); Paper(Path(sys.argv[1])).run(driver);"
        "print(os.getpid(), driver.ended)"
    )
    assert as_first_process(code, str(tmp_path)) == "1 a\n"


def test_a_driver_that_is_killed_takes_the_process_with_it(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path;"
        "from tests.sweeps.execution.engine.test_ray_engine import Paper;"
        "engine = Paper(Path(sys.argv[1])).engine().__enter__();"
        "print('there', flush=True); time.sleep(600)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    family = psutil.Process(process.pid).children(recursive=True)
    (engine_process,) = (child for child in family if child.ppid() == process.pid)
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(lambda: not is_alive(engine_process))
    for child in family:  # the rest is Ray's own affair
        with suppress(psutil.NoSuchProcess):
            child.kill()
