import os
from pathlib import Path

import pytest

from capsmodel.whole_file import write_whole


def test_a_written_file_is_read_back_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_the_old_file_whole(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), crash)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone
