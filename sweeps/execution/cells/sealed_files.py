"""Files that belong to a final record, which has the size and hash of each.

So a file that a full disk has cut, or that is lost, is noticed. Weights that a sweep does not want
are deleted with a note, which distinguishes them from lost ones.
"""

import hashlib
from pathlib import Path

from sweeps.execution.cells.folder import WEIGHTS, CellFolder
from sweeps.records.cell_contents import FinalRecord, SealedFile
from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import check_owner

_NOTE = "weights.deleted"


def sealed(*paths: Path) -> dict[str, SealedFile]:
    """Return the sizes and hashes of files for a final record."""
    return {path.name: SealedFile(size=path.stat().st_size, sha256=_hash(path)) for path in paths}


def delete_weights(folder: CellFolder) -> int:
    """Delete the weights of a cell on purpose, which a note says, and return their size."""
    check_owner(folder.path)
    if folder.attempt_files(WEIGHTS):
        (folder.path / _NOTE).touch()  # first: killed in between, they are there all the same
    return folder.delete_weights()


def check_files(folder: CellFolder, final: FinalRecord) -> None:
    """Check that files are as the final record says.

    Raises:
        BadInput: Naming the first.
    """
    for name, seal in final.files.items():
        path = folder.path / Path(name).name
        is_of_weights = name.startswith(WEIGHTS)
        if is_of_weights and not path.exists() and (folder.path / _NOTE).exists():
            continue
        if why := _damage(path, seal):
            raise BadInput(
                f"{path} is {why}, and is not recorded: put it back from a copy, or move the "
                f"folder {folder.path} away to train its cell again."
            )


def _damage(path: Path, seal: SealedFile) -> str:
    if not path.is_file():
        return "missing"
    if (size := path.stat().st_size) != seal.size:
        return f"damaged ({size} bytes instead of {seal.size})"
    return "" if _hash(path) == seal.sha256 else "damaged (its content was changed)"


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
