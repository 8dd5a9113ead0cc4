"""The manifest that earlier launches of a sweep have left, in the store or beside the journals."""

from pathlib import Path
from typing import NamedTuple

from sweeps.execution.recorder.manifest_file import kept_manifest
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.store import RecordStore


class EarlierManifest(NamedTuple):
    """What earlier launches have left.

    Attributes:
        current: The sweep's manifest, None for one that the store does not know.
        adopted: That one, or where the store has lost it the one that was kept: what it tells of a
            plan's decisions stands.
    """

    current: Manifest | None
    adopted: Manifest | None


def earlier_manifest(
    store: RecordStore, journals: Path, sweep: str, *, may_be_replaced: bool
) -> EarlierManifest:
    """Return what earlier launches have left of a sweep.

    A manifest that the store has lost, or that is damaged there, is taken from beside the journals.

    Args:
        store: Of the records.
        journals: Where the last launch has kept its manifest.
        sweep: Its name.
        may_be_replaced: Whether the launch does without it if need be.

    Raises:
        BadInput: If neither can be read.
        StoreUnreachable: If the store does not answer.
    """
    kept = kept_manifest(journals, sweep)
    if not store.is_there() or sweep not in store.sweeps():
        return EarlierManifest(None, kept)
    try:
        current = store.manifest(sweep)
    except BadInput as error:
        if not kept and not may_be_replaced:
            raise BadInput(
                f"{error} No copy of the manifest is kept either: launch the sweep with --replace "
                f"as it was launched before; what was trained is found again."
            ) from error
        current = kept
    return EarlierManifest(current, current)
