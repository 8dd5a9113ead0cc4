"""The command line in an empty folder."""

import sys
from pathlib import Path

import pytest

from sweeps.cli import entry
from sweeps.storage.folder import Folder


def _no_cache() -> Folder:
    """Raise the error for a user without a cache, as that of the person who tests is not asked."""
    raise RuntimeError("Could not determine home directory.")


class Answer:
    def __init__(self, code: object, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


class Shell:
    """The command line in an empty folder."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        for name in ("CAPSWEEP_STORAGE", "CAPSWEEP_TRACKING_URI"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("sweeps.execution.survey.checked_speeds.user_cache", _no_cache)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))  # no submitted sweeps
        # others write to this disk meanwhile: two answers of plan would tell another room
        monkeypatch.setattr("sweeps.execution.survey.survey.free_bytes", lambda folder: 64 * 2**30)

    def __call__(self, *arguments: str) -> Answer:
        self._monkeypatch.setattr(sys, "argv", ["capsweep", *arguments])
        # else the usage names how pytest was started, if that was by `python -m`
        self._monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            entry.main()
        captured = self._capsys.readouterr()
        return Answer(ended.value.code, captured.out, captured.err)

    def files(self) -> dict[str, bytes]:
        paths = [path for path in self.folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in paths}

    def refused(self, *arguments: str) -> str:
        """Return the one sentence that refuses the arguments."""
        before = self.files()
        answer = self(*arguments)
        assert answer.code == 2, answer.err
        assert answer.out == ""
        assert answer.err.startswith("capsweep: ")
        assert answer.err.count("\n") == 1, answer.err
        assert "Traceback" not in answer.err
        assert self.files() == before, "nothing is written"
        return answer.err.removeprefix("capsweep: ").strip()
