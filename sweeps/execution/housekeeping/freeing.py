"""The edge that deletes: under the lock of the cell, through no link, and no further than told."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.housekeeping.leftovers import Kind, Leftover
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.regular_files import opened_folder


@dataclass(frozen=True)
class Freed:
    """What was deleted, and why other things were not.

    Attributes:
        complaints: A sentence for each thing that could not be deleted.
    """

    leftovers: tuple[Leftover, ...]
    complaints: tuple[str, ...]


def free(found: Iterable[Leftover]) -> Freed:
    """Delete what was found. A cell that a trial has begun to write to since is left alone."""
    freed: list[Leftover] = []
    complaints: list[str] = []
    for leftover in found:
        try:
            if _is_freed(leftover):
                freed.append(leftover)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, BadInput) as error:
            complaints.append(f"{leftover.path} could not be deleted: {error}")
    return Freed(tuple(freed), tuple(complaints))


def _is_freed(leftover: Leftover) -> bool:
    if leftover.cell is None:
        _delete(leftover)
        return True
    folder = CellFolder(leftover.cell.parent, leftover.cell.name)
    with FileLock(folder.lock) as lock:
        if lock.acquire():
            _delete(leftover)
            return True
    return False


def _delete(leftover: Leftover) -> None:
    """Delete a file, or a cell's whole folder, by the folder that it lies in and no other."""
    with opened_folder(leftover.path.parent) as parent:
        if leftover.kind is Kind.REPLACED:
            shutil.rmtree(leftover.path.name, dir_fd=parent)
        else:
            os.unlink(leftover.path.name, dir_fd=parent)
