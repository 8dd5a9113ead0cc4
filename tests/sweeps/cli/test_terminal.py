"""No text of a record, a sweep file or an argument commands the terminal, whatever is printed."""

import json
import logging
import sqlite3
import sys
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest

from sweeps.cli import entry, program
from tests.sweeps.cli.shell import Answer, Shell
from tests.sweeps.published import log_with

HOSTILE = "\x1b]0;owned\x07\x1b[2J\rfine\x9b31m\u202efaked\u2066"
WARNING = f"""
import warnings
from search_spaces.quickstart import SWEEP as _SWEEP
warnings.warn({HOSTILE!r})
SWEEP = _SWEEP.changed(name="loud")
"""


def clean(answer: Answer) -> None:
    """Hold an answer against what a terminal may be given."""
    for letter in answer.out + answer.err:
        assert letter == "\n" or unicodedata.category(letter) not in {"Cc", "Cf"}, repr(
            answer.out + answer.err
        )


FAULTS = {
    "an exception": f"raise RuntimeError({HOSTILE!r})",
    "an exception without words": """
class Silent(Exception):
    def __str__(self):
        raise ValueError("no words")
raise Silent
""",
    "an exit": f"raise SystemExit({HOSTILE!r})",
    "a syntax error": f"# {HOSTILE!r}\n)",
    "a long expression": "x = " + "+".join(["1"] * 20_000),
    "a deep expression": "x = " + "(" * 5_000 + ")" * 5_000,
    "a warning and no sweep": f"import warnings\nwarnings.warn({HOSTILE!r})",
    "an odd escape": "x = '\\d'",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_sweep_file_raises_is_told_in_one_clean_sentence(shell: Shell, fault: str) -> None:
    (shell.folder / "own.py").write_text(FAULTS[fault])
    answer = shell("plan", "./own.py")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1, answer.err
    assert answer.err.startswith("capsweep: own.py ")
    clean(answer)


@pytest.mark.filterwarnings("always")
def test_a_sweep_file_that_warns_is_planned_and_its_warning_is_one_clean_line(shell: Shell) -> None:
    (shell.folder / "own.py").write_text(WARNING)
    answer = shell("plan", "./own.py")
    assert answer.code == 0
    assert "UserWarning" in answer.err
    assert answer.err.count("\n") == 1
    clean(answer)


def test_a_fault_of_ours_is_told_cleanly(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        logging.getLogger("any").handle(logging.makeLogRecord({"levelno": 30, "msg": HOSTILE}))
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr(program.Command, "function", staticmethod(fail))
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as where pytest listens to none
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", ["capsweep", "list"])
    assert shell.folder
    with pytest.raises(RuntimeError) as raised:
        entry.main()
    sys.excepthook(raised.type, raised.value, raised.tb)
    captured = capsys.readouterr()
    assert captured.err.startswith("capsweep: ")
    assert "Traceback" in captured.err
    clean(Answer(1, captured.out, captured.err))


def test_hostile_records_are_shown_cleanly(shell: Shell, storage: Path) -> None:
    """Every text of every row of the store, and of the manifest."""
    _poison(storage)
    for command in ("status", "report", "best", "plan"):
        clean(shell(command, "quickstart"))


def _poison(storage: Path) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        database.execute("update runs set name = ?, artifact_uri = ?", (HOSTILE, HOSTILE))
        database.execute(
            "update tags set value = ? where key in ('mlflow.note.content', 'mlflow.runName')",
            (HOSTILE,),
        )
        database.execute("delete from tags where key = 'capsweep.log_sha256'")
    for path in storage.glob("artifacts/*/artifacts/sweep.jsonl"):
        manifest = json.loads(path.read_text())["entry"]["manifest"]
        manifest["description"] = HOSTILE
        for arm in manifest["arms"]:
            arm["name"] += HOSTILE
            arm["changes"] = {HOSTILE: HOSTILE}
        for cell in manifest["cells"]:
            cell["arm"] += HOSTILE
        manifest["baseline"] += HOSTILE
        manifest["departures"] = {HOSTILE: [HOSTILE, HOSTILE]}
        path.write_bytes(log_with(json.dumps(manifest)))
