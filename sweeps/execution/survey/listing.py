"""The launched sweeps: state, cells, size and age of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.launch_process.launch_lock import running_sweeps
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.surveyed_cells import CellState, surveyed
from sweeps.execution.sweep_log import (
    Launch,
    is_launching,
    known_sweeps,
    last_launch,
    stored_manifest,
)
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.locations import Storage, bytes_below, resolve_storage
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class ListedSweep:
    """A launched sweep.

    Attributes:
        state: "starting" (a launch that has no cells yet), "running", "complete", "failed" (a
            trial raised), "interrupted" (or killed), "incomplete", "elsewhere" (incomplete, and
            launched from another storage folder) or "unreadable".
        num_filled: Cells that hold a result.
        num_cells: Number of cells at the end, at most.
        num_failed: Cells whose trial raised.
        num_bytes: Size of its cells and records in the storage folder, also if another sweep has
            them too; None if none of them lie there.
        last_at: Time of its last event, seconds since 1970; None if unknown.
        complaint: Why it cannot be read, "" if it can.
        tags: Its tags.
        note: Its note, "" for none.
    """

    sweep: str
    state: str
    num_filled: int = 0
    num_cells: int = 0
    num_failed: int = 0
    num_bytes: int | None = None
    last_at: float | None = None
    complaint: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""


def listed_sweeps(
    tracking_uri: str | RecordStore | None = None, storage: str | Path | None = None
) -> list[ListedSweep]:
    """Return the sweeps that the store or the storage folder knows, the most recent first.

    Raises:
        BadInput: If there is neither a store nor a sweep in the folder.
        StoreUnreachable: If the tracking store does not answer.
    """
    place = resolve_storage(storage)
    store = open_to_read(tracking_uri, str(place.root))
    known = known_sweeps(None, place, store)
    starting = running_sweeps(place.journals).difference(known)
    if not known and not starting:
        store.sweeps()  # says that there is no store
    recorded = set(store.sweeps() if store.exists() else ())
    manifests: dict[str, Manifest] = {}
    launches: dict[str, Launch | None] = {}
    listed = [ListedSweep(name, "starting") for name in starting]
    for name in known:
        try:
            launches[name] = last_launch(place.journals, name)
            manifests[name] = _manifest(name, store if name in recorded else None, place)
        except BadInput as error:
            listed.append(ListedSweep(name, "unreadable", complaint=str(error)))
    keys = {cell.trial_key for manifest in manifests.values() for cell in manifest.cells}
    records = store.records(keys) if recorded else {}
    for name, manifest in manifests.items():
        listed.append(_listed(manifest, records, launches[name], place))
    return sorted(listed, key=lambda sweep: (-(sweep.last_at or 0), sweep.sweep))


def _manifest(name: str, store: RecordStore | None, place: Storage) -> Manifest:
    """Return a sweep's manifest from the store, or by the log here if there is no store."""
    manifest = store.manifest(name) if store else stored_manifest(place.journals, name)
    if manifest is None:
        raise BadInput(f"The log of '{name}' is damaged, and the store has none.")
    return manifest


def _listed(
    manifest: Manifest, records: Mapping[str, TrialRecord], launch: Launch | None, place: Storage
) -> ListedSweep:
    keys = {cell.trial_key for cell in manifest.cells}
    recorded = {key: records[key] for key in keys if key in records}
    unsettled = [key for key in keys if key not in recorded or not recorded[key].outcome.is_final]
    cells = surveyed(manifest.cells, folder_states(place, unsettled), recorded)
    num_filled = sum(cell.is_filled for cell in cells)
    num_failed = sum(cell.state is CellState.FAILED for cell in cells)
    is_complete = num_filled == manifest.num_expected
    times = [record.ended_at for record in recorded.values()]
    times += [launch.ended or launch.started] if launch else []
    return ListedSweep(
        manifest.sweep,
        _state(manifest.sweep, launch, place, is_complete=is_complete, has_failed=num_failed > 0),
        num_filled=num_filled,
        num_cells=manifest.num_expected,
        num_failed=num_failed,
        num_bytes=_num_bytes(place, keys, recorded),
        last_at=max((time for time in times if time), default=None),
        tags=manifest.tags,
        note=manifest.note,
    )


def _state(
    sweep: str, launch: Launch | None, place: Storage, *, is_complete: bool, has_failed: bool
) -> str:
    if is_launching(place.journals, sweep):
        return "running"
    if is_complete:
        return "complete"
    if has_failed:
        return "failed"
    if launch is None:
        return "elsewhere"
    return "interrupted" if launch.exit_code in {None, 130} else "incomplete"


def _num_bytes(place: Storage, keys: set[str], records: Mapping[str, TrialRecord]) -> int | None:
    folders = [place.cells / key for key in keys]
    folders += [place.artifacts / record.record_id for record in records.values()]
    sizes = [size for folder in folders if (size := bytes_below(folder)) is not None]
    return sum(sizes) if sizes else None
