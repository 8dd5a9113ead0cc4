"""Putting what was trained aside: folders, records, and the recorder's account of them."""

from collections.abc import Sequence
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import BadInput
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordWriter


def put_aside(
    trial_keys: Sequence[str], storage: Storage, records: RecordWriter, tracking_uri: str
) -> None:
    """Move cells to `replaced/` and mark their records, so that no reader counts them.

    The recorder forgets first and the records are marked last: killed at any point between, either
    the old results still count or the same call does the rest.

    Raises:
        BadInput: If another sweep is training one of them.
    """
    busy = [key for key in trial_keys if CellFolder(storage.cells, key).is_busy()]
    if busy:
        raise BadInput(
            f"--fresh cannot put aside {len(busy)} cells that another sweep is training now: wait "
            f"for it to end."
        )
    queue = RecorderQueue(storage.journals, tracking_uri)
    queue.forget(trial_keys)
    queue.close()
    storage.replaced.mkdir(exist_ok=True)
    for key in trial_keys:
        if (storage.cells / key).is_dir():
            (storage.cells / key).rename(_free_name(storage.replaced / key))
    records.set_aside(trial_keys)


def _free_name(path: Path) -> Path:
    number = 1
    while (candidate := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return candidate
