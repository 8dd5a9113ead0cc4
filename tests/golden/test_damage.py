"""What others have put into a store that was finished is named, and a repair puts it right."""

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN
from tests.sweeps.cli.shell import Shell

SWEEP = FINISHED_DESIGN.sweep


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return FINISHED_DESIGN.unpacked(tmp_path) / STORAGE


@pytest.fixture
def shell(
    storage: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(storage.parent, monkeypatch, capsys)


def test_weights_in_place_of_which_a_pickle_lies(
    shell: Shell, storage: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, *_ = sorted(storage.glob("artifacts/*/artifacts/weights.safetensors"))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(pickle.dumps({"weights": 1}))
    changed = bytearray(contents[1])
    changed[-1] ^= 1  # still a sound file, of other numbers
    second.write_bytes(changed)
    for command in ("status", "best"):
        caplog.clear()
        assert shell(command, SWEEP).code == 0
        assert caplog.text.count("are damaged or were replaced, and are not used") == 1
    repaired = shell("repair", SWEEP)
    assert repaired.code == 0, repaired.err
    assert repaired.out.count("they are put back from its folder") == 2
    assert (first.read_bytes(), second.read_bytes()) == contents
    assert "All is whole" in shell("repair", SWEEP).out
    for cell in storage.glob("cells/*/weights*.safetensors"):
        cell.write_bytes(b"")
    first.write_bytes(b"")
    lost = shell("repair", SWEEP)
    assert (lost.code, lost.out.count("holds none that are whole: train it again")) == (3, 1)


def test_texts_without_end_are_left_out_by_name(
    shell: Shell, storage: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        (run,) = database.execute(
            "select run_uuid from tags where key = 'capsweep.type' and value = 'trial'"
        ).fetchone()
        long = "update tags set value = ? where run_uuid = ? and key = 'capsweep.device'"
        database.execute(long, ("x" * 2**22, run))
    said = f"Run {run} is left out: its capsweep.device is longer than any text of a record."
    for command in ("status", "best"):
        caplog.clear()
        assert shell(command, SWEEP).code == 0
        assert said in caplog.text
    assert "1 records of" in shell("repair", SWEEP).out
    caplog.clear()
    assert shell("status", SWEEP).code == 0
    assert caplog.text == ""
    assert "All is whole" in shell("repair", SWEEP).out
