"""Files that belong to a final record, which has the size and hash of each.

So a file that a full disk has cut, or that is lost, is noticed. Weights that a sweep does not want
are deleted with a note, which distinguishes them from lost ones.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from sweeps.execution.cells.folder import WEIGHTS, CellFolder
from sweeps.records.cell_contents import FinalRecord, SealedFile
from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder

_NOTE = "weights.deleted"


def sealed(folder: CellFolder, *paths: Path) -> dict[str, SealedFile]:
    """Return the sizes and hashes of files of a cell, for its final record."""
    return {path.name: _seal(folder, path.name) for path in paths}


def delete_weights(folder: CellFolder) -> int:
    """Delete the weights of a cell on purpose, which a note says, and return their size."""
    if folder.attempt_files(WEIGHTS):  # the note first: killed in between, they are there
        os.close(folder.files.append(_NOTE))
    return folder.delete_weights()


def check_files(folder: CellFolder, final: FinalRecord) -> None:
    """Check that files are as the final record says.

    Raises:
        BadInput: Naming the first.
    """
    for name, seal in final.files.items():
        path = folder.path / name
        is_of_weights = name.startswith(WEIGHTS)
        if is_of_weights and not path.exists() and (folder.path / _NOTE).exists():
            continue
        if why := _damage(folder, name, seal):
            raise BadInput(
                f"{path} is {why}, and is not recorded: put it back from a copy, or move the "
                f"folder {folder.path} away to train its cell again."
            )


def _damage(folder: CellFolder, name: str, seal: SealedFile) -> str:
    try:
        actual = _seal(folder, name)
    except FileNotFoundError:
        return "missing"
    if actual.size != seal.size:
        return f"damaged ({actual.size} bytes instead of {seal.size})"
    return "" if actual.sha256 == seal.sha256 else "damaged (its content was changed)"


def is_sealed(path: Path, seal: SealedFile) -> bool:
    """Return whether a copy of a file is as the seal says; not if it cannot be read."""
    with suppress(OSError, BadInput):
        descriptor = Folder(path.parent).open(path.name)
        if os.fstat(descriptor).st_size == seal.size:
            return _seal_of(descriptor) == seal
        os.close(descriptor)
    return False


def _seal(folder: CellFolder, name: str) -> SealedFile:
    return _seal_of(folder.files.open(name))


def _seal_of(descriptor: int) -> SealedFile:
    """Return the size and hash of an open file, and close it."""
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        return SealedFile(size=size, sha256=hashlib.file_digest(file, "sha256").hexdigest())
