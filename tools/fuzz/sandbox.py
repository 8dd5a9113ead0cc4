"""Where a store is fuzzed, and what must not be touched beside it."""

import hashlib
import os
import select
import shutil
import socket
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tools.fuzz.mutations import NOT_YOURS, ZEROS, Traps

STORE = "capsweep-store"
_FILES = "api/2.0/mlflow-artifacts/artifacts"  # where MLflow believes that files lie
_VICTIMS = (
    *("weights.safetensors", "predictions.safetensors", "config.json", "final.json", "lock"),
    *("outbox.jsonl", "log.txt", "x.tmp", "sweep.jsonl", "note.txt", "mlflow.db", "format.json"),
)
_OUTPUTS = {STORE, "reports", "__pycache__"}


@dataclass
class Place:
    """Where a store is fuzzed: a working folder, and what must not be touched beside it.

    Attributes:
        base: The folder of all.
        pristine: The store as it was made, with what else the working folder begins with.
        canary: Listens, so that a request to it is seen, also by a process of a process.
    """

    base: Path
    canary: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def work(self) -> Path:
        """The working folder of the commands."""
        return self.base / "work"

    @property
    def storage(self) -> Path:
        """The store that is fuzzed."""
        return self.work / STORE

    @property
    def pristine(self) -> Path:
        """A copy of the working folder before anything was done to it."""
        return self.base / "pristine"

    @property
    def traps(self) -> Traps:
        """Where a hostile store would lead."""
        host, port = self.canary.getsockname()
        return Traps(self.base / "victim", f"http://{host}:{port}/{_FILES}")

    def renew(self) -> None:
        """Put all back as it was."""
        for folder in (self.work, self.base / "victim"):
            _remove(folder)
        shutil.copytree(self.pristine, self.work)
        (self.base / "victim").mkdir()
        (self.base / "tmp").mkdir(exist_ok=True)
        for name in _VICTIMS:
            (self.base / "victim" / name).write_text(NOT_YOURS)
        (self.base / "victim" / ZEROS).write_bytes(bytes(4096))
        (self.base / "requests").write_text("")

    def outside(self) -> dict[str, str]:
        """Return the state of all files outside the storage and report folders: path -> state."""
        seen: dict[str, str] = {}
        for top in (self.work, self.base / "victim"):
            for folder, names, files in os.walk(top):
                if Path(folder) == self.work:
                    names[:] = [name for name in names if name not in _OUTPUTS]
                for path in (Path(folder, name) for name in (*names, *files)):
                    seen[str(path.relative_to(self.base))] = _file_state(path)
        return seen

    def requests(self) -> list[str]:
        """Return the addresses of other hosts that were asked since all was put back."""
        asked = (self.base / "requests").read_text().splitlines()
        while select.select([self.canary], [], [], 0)[0]:
            self.canary.accept()[0].close()
            asked.append("the canary, by a process of a process")
        return asked


def _file_state(path: Path) -> str:
    """Return a text that changes when a file is written, even with the same contents.

    Not the time of the last change of its entry: that a second name of it is taken away from the
    storage changes nothing of the file.
    """
    status = path.lstat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(status.st_mode) else ""
    facts = (status.st_uid, status.st_ino, status.st_size, status.st_mtime_ns, digest)
    return " ".join([f"{status.st_mode:o}", *map(str, facts)])


def _remove(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        for path in (folder, *folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)
