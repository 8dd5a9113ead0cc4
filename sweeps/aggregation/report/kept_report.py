"""What is kept of a report in the user's cache: what a terminal is shown, and its files' digests.

It is derived, may be deleted at any time, and counts only for what it was made from.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from capsmodel.whole_file import write_whole
from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.table import Table
from sweeps.records.errors import BadInput
from sweeps.storage.locations import user_cache
from sweeps.storage.regular_files import open_regular, opened_folder, read_descriptor


class KeptReport(BaseModel):
    """What is kept.

    Attributes:
        made_from: A digest of all that decides the report.
        files: Name -> SHA-256 of each file, in the order in which they were written.
        shown: As of `Report`, like all others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    made_from: str
    files: dict[str, str]
    shown: tuple[Table, ...]
    mixtures: tuple[str, ...]
    left_out: tuple[str, ...]

    def stands_in(self, folder: Path) -> bool:
        """Return whether all files are there, and as they were written."""
        try:
            return all(_content(folder / name) == digest for name, digest in self.files.items())
        except (OSError, BadInput):
            return False


def keep_report(address: str, folder: Path, made_from: str, made: Report) -> None:
    """Keep what a terminal is shown of a report. Where that cannot be, nothing is.

    Args:
        address: Of the store.
        folder: Of the report.
        made_from: See `KeptReport`.
        made: The report.
    """
    with suppress(OSError, BadInput, RuntimeError):
        kept = KeptReport(
            made_from=made_from,
            files={path.name: _content(path) for path in made.paths},
            shown=made.shown,
            mixtures=made.mixtures,
            left_out=made.left_out,
        )
        place = _place(address, folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with opened_folder(place.parent):
            write_whole(place, kept.model_dump_json().encode())


def find_kept_report(address: str, folder: Path, made_from: str) -> KeptReport | None:
    """Return what is kept of a report that was made from just this and stands in its folder."""
    with suppress(OSError, BadInput, RuntimeError, ValidationError, AssertionError):
        place = _place(address, folder)
        with opened_folder(place.parent) as around:
            content = read_descriptor(open_regular(place, folder=around), place)
        kept = KeptReport.model_validate_json(content)
        return kept if kept.made_from == made_from and kept.stands_in(folder) else None
    return None


def _place(address: str, folder: Path) -> Path:
    """Return where it is kept.

    Raises:
        RuntimeError: If the user has no home.
    """
    whose = hashlib.sha256(f"{address}\0{folder.resolve()}".encode()).hexdigest()
    return user_cache() / "reports" / f"{whose}.json"


def _content(path: Path) -> str:
    with os.fdopen(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
