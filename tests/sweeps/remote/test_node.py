"""What an agent refuses to do on its machine."""

import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capsmodel.launch_folder import SENT_SWEEP
from sweeps.records.errors import BadInput
from sweeps.remote import node
from sweeps.remote.messages import GetFiles, PrepareData, RunCommand, StartHead, StartWorker
from sweeps.remote.submit import sendable

HOST = socket.gethostname()
_CHANGED = (  # by an agent, in its own environment
    "RAY_AUTH_MODE",
    "RAY_USAGE_STATS_ENABLED",
    "CAPSWEEP_STORAGE",
    "CAPSWEEP_DATA",
    "CAPSWEEP_TRACKING_URI",
    SENT_SWEEP,
)
_DATA = '''
"""A sweep over data that one machine has."""

from typing import Literal

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSet
from search_spaces import ListedArms
from search_spaces.sweep import Sweep


class Photos(DataSet):
    """Photographs."""

    kind: Literal["photos"] = "photos"
    image_shape = (1, 28, 28)
    num_classes = 2

    def load(self, device):
        raise ValueError("There are no photos in /root/photos: copy them there.")


SWEEP = Sweep(
    name="photos",
    description="Photographs.",
    base=TrainingConfig(data=Photos()),
    plan=ListedArms(baseline="all", arms={"all": {}}),
    seeds=(0,),
    parts=[Photos],
)
'''


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in _CHANGED:
        monkeypatch.setenv(name, "")
    return folder


@pytest.fixture
def worker(tmp_path: Path) -> StartWorker:
    """Return the request to join a head."""
    storage, data = str(tmp_path / "store"), str(tmp_path / "data")
    return StartWorker(
        storage=storage, data=data, mlflow_port=9, head="127.0.0.1:9", token="a", cpus=1, gpus=0
    )


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what puts a script in the place of the commands of this Python."""
    program = tmp_path / "program"
    monkeypatch.setattr(node, "program", lambda name: str(program))

    def put(script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return put


def ignore(*_: object) -> None:
    """Take no reply."""


def test_a_command_runs_in_a_folder_with_its_files(
    put: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **b: started.append(start(*a, **b)) or started[-1]
    )
    monkeypatch.setattr(node, "AT_END", [])
    monkeypatch.setenv("COLUMNS", "9")
    put('echo "$@"; ls; cat mine.py >&2; echo $COLUMNS $RAY_AUTH_MODE $CAPSWEEP_SENT_SWEEP; exit 3')
    replies: list[Any] = []
    request = RunCommand(
        arguments=("plan", "mine.py"), files={"mine.py": "SWEEP = 3\n"}, columns=80
    )
    assert node.run_command(request, replies.append).exit_code == 3
    printed = "".join(reply.text for reply in replies)
    assert printed == "plan mine.py\nmine.py\nSWEEP = 3\n80 token 1\n"
    replies.clear()
    node.run_command(RunCommand(arguments=("list",)), replies.append)
    assert "".join(reply.text for reply in replies).endswith("9 token 1\n")
    for process in started:  # in an agent it goes with the process
        process.stdout.close()


def test_a_file_is_sent_by_its_name_and_not_to_a_path() -> None:
    request = RunCommand(arguments=("list",), files={"../mine.py": ""})
    with pytest.raises(BadInput, match=r"^'\.\./mine\.py' is no name of a file"):
        node.run_command(request, ignore)


def test_a_worker_joins_with_the_token_the_folders_and_the_variables_of_the_head(
    worker: StartWorker, put: Callable[[str], None], home: Path
) -> None:
    put('echo "$@" > $HOME/words; echo $CAPSWEEP_CLUSTER $RAY_AUTH_MODE > $HOME/variables')
    assert node.start_worker(worker, ignore).ray
    token = home / ".ray/auth_token"
    assert (token.read_text(), token.stat().st_mode & 0o777) == ("a", 0o600)
    assert Path(worker.storage).is_dir()
    assert Path(worker.data).is_dir()
    assert f"export CAPSWEEP_STORAGE={worker.storage}\n" in (home / "capsweep-env.sh").read_text()
    arguments = (home / "words").read_text().split()
    assert arguments[0] == "start"
    assert {"--address=127.0.0.1:9", "--num-cpus=1", "--num-gpus=0"} <= {*arguments}
    assert (home / "variables").read_text() == "ray 127.0.0.1:9 token\n"


def test_a_worker_with_the_token_of_another_cluster_is_not_taken_away(
    worker: StartWorker, home: Path
) -> None:
    token = home / ".ray/auth_token"
    token.parent.mkdir()
    token.write_text("b")
    sentence = f"{HOST} has another token in ~/.ray/auth_token than the head"
    with pytest.raises(BadInput, match=re.escape(sentence)):
        node.start_worker(worker, ignore)
    assert token.read_text() == "b"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo first; echo; echo the port is taken; echo; exit 1", "the port is taken"),
        ("exit 1", "it has said nothing"),
        ("exec sleep 60", "it has not started in 0 s"),
    ],
    ids=["last line", "silent", "hangs"],
)
def test_a_ray_that_does_not_start_is_named_with_its_last_words(
    script: str,
    reason: str,
    worker: StartWorker,
    put: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(script)
    if reason.startswith("it has not"):
        monkeypatch.setattr(node, "_START_SECONDS", 0.1)
    sentence = (
        f"Ray does not start on {HOST} with its head at 127.0.0.1:9: {reason}. Is the port free "
        f"there, and reachable from here?"
    )
    with pytest.raises(BadInput) as error:
        node.start_worker(worker, ignore)
    assert str(error.value) == sentence


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    request = StartHead(
        storage="/proc/store", data=str(tmp_path), mlflow_port=9, ray_port=9, dashboard_port=9
    )
    with pytest.raises(BadInput, match=f"The folder /proc/store cannot be made on {HOST} "):
        node.start_head(request, ignore)


@pytest.mark.parametrize(
    ("request_fields", "sentence"),
    [
        (
            {"sweep": "photos.py", "files": {"photos.py": _DATA}},
            "There are no photos in /root/photos: copy them there.",
        ),
        ({"sweep": "quikstart"}, "Did you mean 'quickstart'?"),
        ({"sweep": "mine.py", "files": {"mine.py": "SWEEP = 1\n"}}, "mine.py defines no sweep"),
    ],
    ids=["data", "name", "no sweep"],
)
def test_a_sweep_that_cannot_be_trained_here_is_refused(
    request_fields: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(sentence)):
        node.prepare_data(PrepareData(**request_fields), ignore)


def test_files_that_are_not_sent_are_named_as_the_sweep_names_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path / "data"))
    text = _DATA.replace("Photos()", "ImageFolder('shapes/')").replace("[Photos]", "[]")
    files = {"mine.py": text.replace("import DataSet", "import DataSet, ImageFolder")}
    with pytest.raises(BadInput) as error:
        node.prepare_data(PrepareData(sweep="mine.py", files=files), ignore)
    sentence = (
        f"'shapes/' is not in the data folder '{tmp_path}/data': a sweep is sent without files of "
        f"your own. Copy them to '{tmp_path}/data/shapes', or name an absolute path on the shared "
        f"folder"
    )
    assert str(error.value).startswith(f"mine.py cannot be run: {sentence} (line ")


def test_a_folder_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadInput, match=f"The folder /none/there cannot be read on {HOST} "):
        node.read_files(GetFiles(storage="/none", names=("there",)), ignore)


def test_a_sweep_is_sent_with_the_modules_of_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("import nets\n")
    Path("nets.py").write_text("x = 1\nraise ValueError('It runs here.')\n")
    sent = sendable("mine.py")
    Path("nets.py").unlink()
    assert (sent.argument, [*sent.files]) == ("mine.py", ["mine.py"])
    with pytest.raises(BadInput, match=r"It runs here \(nets\.py, line 2\)\.$"):
        node.prepare_data(PrepareData(sweep=sent.argument, files=sent.files), ignore)
