"""A launch says how many cells there will be before it starts anything."""

from pathlib import Path
from typing import Any

import pytest

from search_spaces.sweep import Sweep
from sweeps.execution.engine.engine import EngineSetting
from sweeps.execution.launch import launch as launching
from sweeps.execution.launch import train_missing
from sweeps.execution.launch.run import run
from sweeps.execution.plan import definition
from sweeps.execution.survey.survey import Survey
from sweeps.execution.view import disk_watch
from sweeps.execution.view.board import Board
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import Folder


def interrupted(*_: object) -> None:
    """Stand in for the stage that trains."""
    raise KeyboardInterrupt


def test_the_cells_are_told_before_any_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launching, "fill", interrupted)
    result = run(
        "quickstart_search", trials=5, storage=tmp_path / "store", reports=tmp_path / "reports"
    )
    assert result.exit_code == 130
    output = capsys.readouterr().out
    assert output == "quickstart_search: 5 proposals + 1 base training = 6 cells.\n"


def test_a_disk_that_is_full_is_told_of_before_any_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launching, "fill", interrupted)
    monkeypatch.setattr(disk_watch, "free_bytes", lambda _: 2**20)
    run("quickstart_search", trials=5, storage=tmp_path / "store", reports=tmp_path / "reports")
    full = f"The disk of {tmp_path / 'store'} is full: this waits until 2 MiB are free"
    assert full in capsys.readouterr().out


def test_a_launch_where_everybody_may_write_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(0o777)
    with pytest.raises(BadInput, match="Everybody may put files into"):
        run("quickstart", storage=tmp_path / "store", reports=tmp_path / "reports")
    assert not list((tmp_path / "store").iterdir())


def test_while_ray_starts_the_view_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    activities: list[str] = []

    def starting(setting: EngineSetting) -> None:
        board = getattr(setting.say, "__self__", None)
        assert isinstance(board, Board)
        activities.append(board.doing)
        raise BadInput(f"Ray could not be started; see {setting.log.name}.")

    monkeypatch.setattr(train_missing, "ENGINES", {"ray": starting})
    with pytest.raises(BadInput, match=r"see quickstart\.log"):
        run("quickstart", storage=tmp_path / "store", reports=tmp_path / "reports")
    assert activities == ["starting Ray"]


def test_a_launch_reads_the_sweeps_file_once_and_surveys_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from search_spaces.quickstart import SWEEP as Q\nSWEEP = Q.changed({}, name='mine')\n"
    path = tmp_path / "mine.py"
    path.write_text(source)
    calls: list[str] = []
    real_file, real_survey = definition.sweep_from_file, launching.survey_of

    def read(path: Path) -> tuple[Sweep, str]:
        calls.append("file")
        return real_file(path)

    def surveyed(*arguments: Any) -> Survey:
        calls.append("survey")
        assert is_locked(Folder(tmp_path / "store", "journals"), "mine.lock"), (
            "the lock is taken first"
        )
        return real_survey(*arguments)

    monkeypatch.setattr(definition, "sweep_from_file", read)
    monkeypatch.setattr(launching, "survey_of", surveyed)
    monkeypatch.setattr(launching, "fill", interrupted)
    assert run(path, storage=tmp_path / "store", reports=tmp_path / "reports").exit_code == 130
    assert calls == ["file", "survey"]
