"""Stores as small archives: a store names no folder outside itself and can be unpacked anywhere."""

import hashlib
import io
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

STORAGE = "capsweep-store"


def pack(folder: Path, archive: Path) -> None:
    """Pack a folder with a store in it, without logs, empty locks and where it was made."""
    shutil.rmtree(folder / STORAGE / "logs")
    with closing(sqlite3.connect(folder / STORAGE / "mlflow.db")) as opened, opened:
        # MLflow's own experiment, which capsweep does not use, names the working folder
        opened.execute("update experiments set artifact_location = '' where experiment_id = 0")
    for database in folder.rglob("*.db"):
        with closing(sqlite3.connect(database)) as opened:
            opened.execute("vacuum")
    for path in (*folder.rglob("*.lock"), *folder.rglob("*.db-journal")):
        path.unlink()  # only now, as SQLite mends what a killed process left by its journal
    pack_files(folder, archive)


def pack_files(folder: Path, archive: Path) -> None:
    """Pack the files of a folder as they are."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            _add(packed, str(path.relative_to(folder)), path.read_bytes(), str(folder))


def files_of(archive: Path) -> dict[str, bytes]:
    """Return the files of an archive by their path."""
    with tarfile.open(archive) as packed:
        opened = {member.name: packed.extractfile(member) for member in packed}
        return {name: file.read() for name, file in opened.items() if file}


def _add(packed: tarfile.TarFile, name: str, content: bytes, place: str) -> None:
    assert place.encode() not in content, f"{name} tells where it was made"
    member = tarfile.TarInfo(name)  # without owner, time and mode: they are of the machine
    member.size = len(content)
    packed.addfile(member, io.BytesIO(content))


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack into a folder, as if the store had been made in it, and return the folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (folder / STORAGE / "logs").mkdir(exist_ok=True)
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Return what a folder holds: path -> hash, of databases `path: table` -> rows in words."""
    result: dict[str, str] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if path.suffix == ".db":
            result |= {f"{name}: {table}": rows for table, rows in _rows(path).items()}
        elif not path.name.endswith((".lock", ".db-journal")):
            result[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return result


def _rows(database: Path) -> dict[str, str]:
    with closing(sqlite3.connect(database)) as opened:
        tables = opened.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {
            table: "\n".join(sorted(map(repr, opened.execute(f'select * from "{table}"'))))
            for (table,) in tables
        }


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return what was added, taken away or changed, by name."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
