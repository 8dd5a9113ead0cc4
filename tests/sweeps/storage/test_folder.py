"""Nobody who can write into a folder leads a process elsewhere, holds it up or fills its memory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import Folder, in_storage
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import open_sqlite
from sweeps.storage.store_format import check_format, store_format

STRANGER = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


def _link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "victim")


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent.parent / "made")


def _num_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


IRREGULAR: dict[str, Callable[[Path], None]] = {
    "link": _link,
    "dangling link": _dangling,
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
}
NAME = "format.json"
OPENINGS: dict[str, Callable[[Folder], object]] = {
    "read": lambda folder: folder.read(NAME),
    "append": lambda folder: folder.append(NAME),
    "lock": lambda folder: FileLock(folder, NAME).acquire(),
    "look at a lock": lambda folder: is_locked(folder, NAME),
    "database": lambda folder: open_sqlite(folder, NAME),
    "format": lambda folder: store_format(Storage(folder.path)),
    "check": lambda folder: folder.check_file(NAME),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("untouched")
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.mark.parametrize("what", IRREGULAR)
@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_no_regular_file_is_refused_and_left_alone(
    folder: Path, what: str, opening: str
) -> None:
    path = folder / NAME
    IRREGULAR[what](path)
    with pytest.raises(BadInput, match=r"format\.json"):
        OPENINGS[opening](Folder(folder))
    assert (folder.parent / "victim").read_text() == "untouched"
    assert not (folder.parent / "made").exists()


@pytest.mark.parametrize("opening", ["append", "lock", "database"])
def test_a_file_that_has_another_name_elsewhere_is_not_written_to(
    folder: Path, opening: str
) -> None:
    path, victim = folder / NAME, folder.parent / "victim"
    path.hardlink_to(victim)
    with pytest.raises(BadInput, match=r"format\.json is known by another name"):
        OPENINGS[opening](Folder(folder))
    assert victim.read_text() == "untouched"
    assert Folder(folder).read(NAME) == b"untouched"
    assert not is_locked(Folder(folder), NAME)


def test_a_file_is_read_up_to_its_limit(folder: Path) -> None:
    (folder / "file").write_bytes(b"12345")
    assert Folder(folder).read("file", 5) == b"12345"
    with pytest.raises(BadInput, match="too large to be read: it has 5 bytes, where 4 are"):
        Folder(folder).read("file", 4)


def test_refusing_leaves_no_file_open(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    open_files = _num_open()
    for _ in range(3):
        with pytest.raises(BadInput):
            Folder(folder).open("pipe")
    assert _num_open() == open_files


def test_a_folder_that_is_a_link_is_refused(folder: Path) -> None:
    (folder / "elsewhere").symlink_to(folder.parent)
    with pytest.raises(BadInput, match="is a link or not a folder"):
        Folder(folder, "elsewhere").check()
    Folder(folder, "not there").check()


@as_root
@pytest.mark.parametrize(
    ("mode", "group", "is_used"),
    [(0o755, 0, False), (0o2775, 0, True), (0o2775, STRANGER, False), (0o777, 0, False)],
)
def test_a_strangers_folder_is_used_only_where_a_group_shares_what_is_around_it(
    folder: Path, mode: int, group: int, is_used: bool
) -> None:
    cell = folder / "cell"
    cell.mkdir()
    folder.chmod(mode)
    os.chown(cell, STRANGER, group)
    if is_used:
        in_storage(cell).check()
    else:
        with pytest.raises(BadInput, match=f"belongs to user {STRANGER}"):
            in_storage(cell).check()


@as_root
def test_what_the_owner_of_the_folder_put_there_is_used_and_a_strangers_file_is_not(
    folder: Path,
) -> None:
    (folder / "file").write_text("mine")
    os.chown(folder / "file", STRANGER, STRANGER)
    with pytest.raises(BadInput, match=f"belongs to user {STRANGER}"):
        Folder(folder).read("file")
    os.chown(folder, STRANGER, STRANGER)
    assert Folder(folder).read("file") == b"mine"


@pytest.mark.parametrize("name", ["cells", "journals", "artifacts", "replaced", "logs"])
def test_no_folder_of_a_storage_leads_out_of_it(folder: Path, name: str) -> None:
    (folder / name).symlink_to(folder.parent)
    with pytest.raises(BadInput, match=f"{name} is a link or not a folder"):
        check_format(Storage(folder))


def test_no_database_of_a_storage_leads_out_of_it(folder: Path) -> None:
    (folder / "mlflow.db").symlink_to(folder.parent / "victim")
    with pytest.raises(BadInput, match=r"mlflow\.db is not a regular file"):
        check_format(Storage(folder))
