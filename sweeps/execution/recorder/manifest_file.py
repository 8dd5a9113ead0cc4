"""The manifest of a sweep, handed from the driver to the recorder as files, and kept.

The driver writes it whole once, when a launch begins, and then a line for each step of its growth
into a log beside it. The recorder puts both together and makes that the current manifest in the
tracking store now and then, and at the end. So the store lags behind by seconds, no trial waits for
it, and a step costs the same however long the sweep is. The files stay: a tracking store that has
lost the manifest gets it back from them.

    SWEEP.manifest.json     as the launch began
    SWEEP.manifest.jsonl    a first line with the hash of that file, then a line for each step
"""

import hashlib
import os
from pathlib import Path

from pydantic import ValidationError

from capsmodel.whole_file import write_whole
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_growth import GrowingManifest, ManifestLine
from sweeps.storage.appended import append_whole
from sweeps.storage.disk_room import retry_when_full
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import open_regular, read_descriptor, read_regular
from sweeps.tracking.manifests import manifest_text
from sweeps.tracking.store import RecordStore
from sweeps.tracking.validation import unknown_sweep, valid_manifest, valid_names


def manifest_file(journals: Path, sweep: str) -> Path:
    """Return where the manifest lies with which the launch of a sweep began."""
    return journals / f"{sweep}.manifest.json"


def log_file(journals: Path, sweep: str) -> Path:
    """Return where the log of its growth lies."""
    return journals / f"{sweep}.manifest.jsonl"


def hand_over(journals: Path, manifest: Manifest) -> None:
    """Hand the manifest with which a launch begins to the recorder."""
    write_whole(manifest_file(journals, manifest.sweep), manifest_text(manifest).encode())
    log_file(journals, manifest.sweep).unlink(missing_ok=True)  # the manifest holds all of it


def stored_sweeps(journals: Path) -> set[str]:
    """Return the sweeps with a manifest in the journals' folder, also those with a damaged one.

    A file with a name that no sweep can have, or with the manifest of another sweep, is somebody's
    copy and does not count.
    """
    end = ".manifest.json"
    names = valid_names(path.name.removesuffix(end) for path in journals.glob(f"*{end}"))
    return {name for name in names if not _is_of_another(journals, name)}


def stored_manifest(journals: Path, sweep: str) -> Manifest | None:
    """Return the manifest of the last launch of a sweep; None if it is missing or damaged.

    That of another sweep counts as missing.
    """
    try:
        text = ManifestReader(journals, sweep).text()
        return Manifest.model_validate_json(text) if text else None
    except (OSError, ValueError, RecursionError):
        return None


def hand_on(journals: Path, sweep: str, line: ManifestLine) -> None:
    """Hand one step of a manifest's growth to the recorder; on disk when this returns.

    Where the disk is full it waits for room.
    """
    retry_when_full(lambda: _append(journals, sweep, line), journals)


def _append(journals: Path, sweep: str, line: ManifestLine) -> None:
    log = log_file(journals, sweep)
    descriptor = open_regular(log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with os.fdopen(descriptor, "a+b", buffering=0) as file:
        data = line.text().encode() + b"\n"
        if not os.fstat(descriptor).st_size:  # new, or all that a full disk has left of one
            data = _first_line(read_regular(manifest_file(journals, sweep))) + data
        append_whole(file, data)
        os.fsync(descriptor)


class ManifestReader:
    """What the driver has handed over so far. Each line is read once."""

    def __init__(self, journals: Path, sweep: str) -> None:
        self._sweep = sweep
        self._path = manifest_file(journals, sweep)
        self._log = log_file(journals, sweep)
        self._start = b""
        self._offset = 0
        self._growing: GrowingManifest | None = None

    def text(self) -> str:
        """Return the manifest as it is now, "" where none was handed over.

        Raises:
            BadInput: If it is damaged, that of another sweep, or larger than is read of a file.
        """
        if not self._path.exists():
            return ""
        start = read_regular(self._path)
        if self._growing is None or start != self._start:
            self._growing = None  # should this one be refused, and be asked for again
            self._growing = GrowingManifest(valid_manifest(self._sweep, start))
            self._start, self._offset = start, 0
        is_new = self._take_lines(self._growing)
        return manifest_text(self._growing.manifest()) if is_new else self._start.decode()

    def _take_lines(self, growing: GrowingManifest) -> bool:
        """Take the whole lines that are new; return whether any were taken since the start."""
        first = _first_line(self._start)
        if not self._log.exists():
            return False
        descriptor = open_regular(self._log)
        if os.pread(descriptor, len(first), 0) != first:  # of another manifest
            os.close(descriptor)
            return False
        self._offset = os.lseek(descriptor, max(self._offset, len(first)), os.SEEK_SET)
        data = read_descriptor(descriptor, self._log)
        whole = data[: data.rfind(b"\n") + 1]
        for raw in whole.splitlines():
            if line := _line(raw):
                growing.take(line)
        self._offset += len(whole)
        return self._offset > len(first)


def _is_of_another(journals: Path, sweep: str) -> bool:
    """Return whether the file named by a sweep holds the whole manifest of another one."""
    try:
        manifest = Manifest.model_validate_json(read_regular(manifest_file(journals, sweep)))
    except (OSError, ValueError, RecursionError):
        return False
    return manifest.sweep != sweep


def _first_line(start: bytes) -> bytes:
    return f'{{"of":"{hashlib.sha256(start).hexdigest()}"}}\n'.encode()


def _line(raw: bytes) -> ManifestLine | None:
    """Return a line, None where a full disk has torn it."""
    try:
        return ManifestLine.model_validate_json(raw)
    except ValidationError:
        return None


def known_sweeps(sweep: str | None, storage: Storage, store: RecordStore) -> list[str]:
    """Return the names of all sweeps, by stored manifests and by records.

    Args:
        sweep: A name that has to be among them.
        storage: Storage folder of the manifests.
        store: The tracking store.

    Raises:
        BadInput: If it is not.
        StoreUnreachable: If the store does not answer.
    """
    known = stored_sweeps(storage.journals) | set(store.sweeps() if store.exists() else ())
    if sweep is not None and sweep not in known:
        raise unknown_sweep(sweep, sorted(known), store.address)
    return sorted(known)
