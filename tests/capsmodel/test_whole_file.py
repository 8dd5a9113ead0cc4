import errno
import os
from pathlib import Path

import pytest

from capsmodel.whole_file import write_first, write_whole


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

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, crash)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone


def no_hard_links(*_: object, **__: object) -> None:
    raise PermissionError(errno.EPERM, "as FAT and some FUSE file systems answer")


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_of_two_writers_the_first_writes_the_file(
    tmp_path: Path, has_hard_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_hard_links:
        monkeypatch.setattr(os, "link", no_hard_links)
    path = tmp_path / "file"
    assert write_first(path, b"first")
    assert not write_first(path, b"second")
    assert path.read_bytes() == b"first"
    assert path.stat().st_nlink == 1
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone


def test_a_link_that_nfs_made_and_then_says_was_there_is_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def answer_lost(source: str, target: str, **folders: None) -> None:
        link(source, target, **folders)
        raise FileExistsError(errno.EEXIST, "the request was sent twice")

    monkeypatch.setattr(os, "link", answer_lost)
    assert write_first(tmp_path / "file", b"first")
    assert not write_first(tmp_path / "file", b"second")


def test_a_link_in_place_of_the_file_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.symlink_to(tmp_path / "nowhere")
    assert not write_first(path, b"first")
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208 - names alone


def test_a_disk_that_fails_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="full"):
        write_first(tmp_path / "file", b"first")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names alone
