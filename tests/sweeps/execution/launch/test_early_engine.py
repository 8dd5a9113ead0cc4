"""Ray begins before the rest of a launch is loaded, where that is likely to be of use."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.child_process import ChildLostError
from sweeps.execution.launch import early_engine as early_module
from sweeps.execution.launch.early_engine import early_engine
from sweeps.execution.launch_options import LaunchOptions

CORES = 4


class Begun:
    """An engine that counts what is done to it."""

    made: "list[Begun]"

    def __init__(self, address: str | None, log: Path, *, num_ready: int) -> None:
        assert address is None
        assert log.parent.is_dir()
        self.num_ready = num_ready
        self.num_ends = 0
        self.has_begun = False
        type(self).made.append(self)

    def begin(self) -> None:
        """Begin."""
        self.has_begun = True

    def end(self) -> None:
        """End."""
        self.num_ends += 1
        self.has_begun = False


class Breaking(Begun):
    """One whose process ends at once."""

    def begin(self) -> None:
        """Fail to."""
        raise ChildLostError("its process ended")


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Begun, Breaking):
        kind.made = []
    monkeypatch.setattr(early_module, "RayEngine", Begun)
    monkeypatch.setattr(early_module, "_ACCELERATORS", ())
    monkeypatch.setattr(early_module, "num_cores", lambda: CORES)
    monkeypatch.delitem(sys.modules, "torch", raising=False)


@pytest.mark.usefixtures("small_machine")
def test_it_begins_and_is_ended_with_the_block(tmp_path: Path) -> None:
    with early_engine("quickstart", LaunchOptions(storage=tmp_path)) as begun:
        assert begun is not None
        assert Begun.made[0].num_ready == CORES
        assert Begun.made[0].num_ends == 0
    assert Begun.made[0].num_ends == 1


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    ("options", "num_ready"), [({"cpus_per_trial": 2}, 2), ({"max_concurrent": 1}, 1)]
)
def test_no_more_processes_are_made_ready_than_trials_run_at_once(
    tmp_path: Path, options: dict[str, Any], num_ready: int
) -> None:
    with early_engine("quickstart", LaunchOptions(storage=tmp_path, **options)):
        assert Begun.made[0].num_ready == num_ready


def launched_before(folder: Path, _: pytest.MonkeyPatch) -> LaunchOptions:
    (folder / "journals").mkdir()
    (folder / "journals" / "quickstart.jsonl").touch()
    return LaunchOptions(storage=folder)


def named_and_launched_before(folder: Path, _: pytest.MonkeyPatch) -> LaunchOptions:
    (folder / "journals").mkdir()
    (folder / "journals" / "other.jsonl").touch()
    return LaunchOptions(storage=folder, name="other")


def a_cluster(folder: Path, _: pytest.MonkeyPatch) -> LaunchOptions:
    return LaunchOptions(storage=folder, address="10.0.0.1:6379")


def asked_for_a_gpu(folder: Path, _: pytest.MonkeyPatch) -> LaunchOptions:
    return LaunchOptions(storage=folder, gpus_per_trial=0.5)


def a_machine_with_a_gpu(folder: Path, patch: pytest.MonkeyPatch) -> LaunchOptions:
    patch.setattr(early_module, "_ACCELERATORS", ("/dev/null",))
    return LaunchOptions(storage=folder)


def many_cores(folder: Path, patch: pytest.MonkeyPatch) -> LaunchOptions:
    patch.setattr(early_module, "num_cores", lambda: 64)
    return LaunchOptions(storage=folder)


def all_loaded(folder: Path, patch: pytest.MonkeyPatch) -> LaunchOptions:
    patch.setitem(sys.modules, "torch", early_module)
    return LaunchOptions(storage=folder)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize(
    "where",
    [
        launched_before,
        named_and_launched_before,
        a_cluster,
        asked_for_a_gpu,
        a_machine_with_a_gpu,
        many_cores,
        all_loaded,
    ],
)
def test_it_does_not_begin_where_that_may_be_of_no_use(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: Callable[[Path, pytest.MonkeyPatch], LaunchOptions],
) -> None:
    with early_engine("quickstart", where(tmp_path, monkeypatch)) as begun:
        assert begun is None
    assert not Begun.made


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("launchable", ["quikstart", "mine.py", Path("mine.py")])
def test_it_does_not_begin_where_there_is_no_such_sweep(
    tmp_path: Path, launchable: str | Path
) -> None:
    with early_engine(launchable, LaunchOptions(storage=tmp_path)) as begun:
        assert begun is None


@pytest.mark.usefixtures("small_machine")
def test_one_that_breaks_at_once_leaves_it_to_the_launch_to_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_module, "RayEngine", Breaking)
    with early_engine("quickstart", LaunchOptions(storage=tmp_path)) as begun:
        assert begun is None


def test_a_refused_launch_writes_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    program = "import sys; from sweeps.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "run", "quickstart", "--seeds=0", "--add-seeds=1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "--seeds replaces the list of seeds" in ended.stderr
    assert not list(tmp_path.iterdir())


FROM_PYTHON = """
import sys
from sweeps.execution.launch import early_engine

class Begun:
    has_begun = False

    def __init__(self, *_, **__):
        pass

    def begin(self):
        self.has_begun = True
        print("begun", "torch" in sys.modules)

    def end(self):
        print("ended", "torch" in sys.modules)

early_engine.RayEngine, early_engine._ACCELERATORS = Begun, ()
early_engine.num_cores = lambda: 2

import sweeps

try:
    sweeps.run("quickstart", seeds=[0], add_seeds=[1])
except sweeps.BadInput as error:
    print(error)
"""


def test_from_python_it_begins_too_before_torch_is_loaded(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FROM_PYTHON]
    lines = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True).splitlines()
    assert lines[:2] == ["begun False", "ended True"]
    assert lines[2].startswith("--seeds replaces the list of seeds")
    assert not list(tmp_path.iterdir())
