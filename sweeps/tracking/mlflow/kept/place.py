"""The folder of what is kept of one server, and the Parquet tables in it.

All of it is derived, and may be deleted at any time. What cannot be written is not kept, and what
cannot be read, or was changed on the disk, is deleted and asked for anew.
"""

import hashlib
import io
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from capsmodel.whole_file import write_whole
from sweeps.records.errors import BadInput
from sweeps.storage.locations import user_cache
from sweeps.storage.regular_files import open_regular, opened_folder, read_descriptor
from sweeps.tracking.mlflow.reading.client_runs import ClientRuns

_LOG = logging.getLogger(__name__)
_LAYOUT = 1  # of the tables: those of another lie in another folder
_MOST_BYTES = 2**31


def place_of(client: ClientRuns) -> Path | None:
    """Return the folder of a server, None where it has no experiment of ours, or the user no home.

    An address may lead to another server tomorrow, as those of this machine do: when its
    experiment was created tells them apart. The address is told by its digest, as it may hold a
    password.
    """
    experiment = client.experiment()
    if experiment is None:
        return None
    told = f"{_LAYOUT} {client.address} {experiment.experiment_id} {experiment.creation_time}"
    with suppress(RuntimeError):
        return user_cache() / "records" / hashlib.sha256(told.encode()).hexdigest()[:32]
    return None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, none where there is no sound one."""
    import pyarrow as pa  # here, as it takes long to import
    from pyarrow import parquet

    try:
        with opened_folder(path.parent) as folder:
            content = read_descriptor(open_regular(path, folder=folder), path, _MOST_BYTES)
        table = parquet.read_table(io.BytesIO(content), page_checksum_verification=True)
        return table.to_pylist()
    except (FileNotFoundError, RuntimeError):
        return []
    except (OSError, BadInput, pa.ArrowException, ValueError) as error:
        _LOG.info("%s cannot be read, and is made anew: %s", path, error)
        drop(path)
        return []


def write_rows(path: Path, rows: list[dict[str, Any]], schema: Any) -> None:
    """Write a table whole, in place of the one that is there.

    Args:
        path: Of the table.
        rows: Name of a column -> value.
        schema: Of the table, as pyarrow has it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    with suppress(OSError, BadInput, RuntimeError, pa.ArrowException):
        table = pa.Table.from_pylist(rows, schema)
        parquet.write_table(table, buffer, compression="zstd", write_page_checksum=True)
        write_kept(path, buffer.getvalue())


def write_kept(path: Path, content: bytes) -> None:
    """Write a file whole where only its owner looks.

    Raises:
        BadInput: If the folder is a stranger's.
        OSError: If it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with opened_folder(path.parent):
        write_whole(path, content)


def drop(path: Path) -> None:
    """Delete a file, if it is there and can be."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
