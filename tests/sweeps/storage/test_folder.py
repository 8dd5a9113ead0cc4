"""Nobody who can write into a folder leads a process elsewhere, holds it up or fills its memory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import PRIVATE, Folder, folder_of, in_storage
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
    "check a lock": lambda folder: is_locked(folder, NAME),
    "database": lambda folder: open_sqlite(folder, NAME),
    "format": lambda folder: store_format(Storage(folder.path)),
    "check": lambda folder: folder.check_files(NAME),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("untouched")
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.mark.parametrize("kind", IRREGULAR)
@pytest.mark.parametrize("opening", OPENINGS)
def test_what_is_no_regular_file_is_refused_and_left_alone(
    folder: Path, kind: str, opening: str
) -> None:
    path = folder / NAME
    IRREGULAR[kind](path)
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


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o1777])
def test_a_database_is_not_opened_where_everybody_may_put_files(folder: Path, mode: int) -> None:
    (folder / "journals").mkdir()
    folder.chmod(mode)
    journals = in_storage(folder / "journals")
    if mode == 0o777:
        with pytest.raises(BadInput, match=f"Everybody may put files into {folder}, also in place"):
            open_sqlite(journals, "one.db")
        assert not list((folder / "journals").iterdir())
    else:
        open_sqlite(journals, "one.db").close()


def test_each_folder_on_the_way_is_looked_at(folder: Path) -> None:
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "b" / "c" / "file").write_text("x")
    assert folder_of(folder / "a" / "b" / "c" / "file", folder).read("file") == b"x"
    (folder / "a" / "b").rename(folder.parent / "b")
    (folder / "a" / "b").symlink_to(folder.parent / "b")
    deep = Folder(folder, "a", "b", "c")
    for act in (
        lambda: deep.read("file"),
        lambda: deep.write("file", b"y"),
        lambda: deep.write_first("new", b"y"),
        lambda: deep.append("file"),
        lambda: deep.remove("file"),
        lambda: deep.remove_all("file"),
        lambda: deep.rename("file", Folder(folder), "file"),
        lambda: Folder(folder).rename("a", deep, "a"),
        deep.make,
        (deep / "d").make,
        deep.names,
        lambda: deep.check_files("file"),
    ):
        with pytest.raises(BadInput, match="a/b is a link or not a folder"):
            act()
    assert [*(folder.parent / "b" / "c").iterdir()] == [folder.parent / "b" / "c" / "file"]
    assert (folder.parent / "b" / "c" / "file").read_text() == "x"


def test_the_folder_that_the_user_has_named_may_be_a_link(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    Folder(folder.parent / "link", "a").make().write("file", b"x")
    assert (folder / "a" / "file").read_bytes() == b"x"


def test_an_error_of_the_disk_names_the_whole_path(folder: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Folder(folder).read("none")
    assert missing.value.filename == str(folder / "none")


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_the_umask_says_who_may_use_what_is_made(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        made = Folder(folder, "made").make()
        made.write("whole", b"")
        made.write_first("first", b"")
        os.close(made.append("log"))
        open_sqlite(made, "one.db").close()
        made.write("secret", b"", PRIVATE)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in made.path.iterdir()}
    assert modes.pop("secret") == 0o600
    assert set(modes.values()) == {0o666 & ~umask}
    assert made.path.stat().st_mode & 0o777 == 0o777 & ~umask
