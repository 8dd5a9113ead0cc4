"""The own record of the sweep whose driver a recorder serves, and the store that it is in."""

import time
from pathlib import Path

from sweeps.execution.recorder.manifest_file import ManifestReader
from sweeps.records.manifest import Manifest
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.store import RecordStore, RecordWriter

MANIFEST_SECONDS = 5.0  # at least, between two manifests of a search that grows
INTERRUPTED_EXIT_CODE = 130


class SweepRecord:
    """Keeps a sweep's manifest current in a store, and makes all anew where the store has lost it.

    Args:
        store: Connected to when it is first needed.
        journals: Where the driver hands the manifest over.
        sweep: The sweep's name.
    """

    def __init__(self, store: RecordStore, journals: Path, sweep: str) -> None:
        self._store = store
        self._sweep = sweep
        self._writer: RecordWriter | None = None
        self._manifest = ManifestReader(journals, sweep)
        self._published = ""
        self._started_at = self._published_at = time.monotonic()

    @property
    def writer(self) -> RecordWriter:
        """The store, open for writing."""
        if self._writer is None:
            self._writer = self._store.writer()
        return self._writer

    @property
    def is_open(self) -> bool:
        """Whether the store is open for writing."""
        return self._writer is not None

    @property
    def is_due(self) -> bool:
        """Whether the manifest is to be published again: less often in a longer search.

        Each is an artifact that stays, so their number grows as the logarithm of the time.
        """
        now = time.monotonic()
        return now > self._published_at + max(MANIFEST_SECONDS, (now - self._started_at) / 20)

    def publish(self) -> None:
        """Make the manifest that the driver has handed over, with its growth, the current one."""
        text = self._manifest.text()
        if text not in {"", self._published} and (record := self.writer.find_sweep(self._sweep)):
            self.writer.set_manifest(record.record_id, text)
            self._published = text
        self._published_at = time.monotonic()

    def settle(self) -> None:
        """Mark the sweep as interrupted, if it is marked as running."""
        record = self.writer.find_sweep(self._sweep)
        if record and record.is_running:
            self.writer.settle_sweep(record.record_id, INTERRUPTED_EXIT_CODE)

    def is_lost(self) -> bool:
        """Return whether the store holds nothing of a sweep that was launched.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        if not self._manifest.text():
            return False
        return not self._store.is_there() or self.writer.find_sweep(self._sweep) is None

    def make_anew(self) -> str:
        """Make the store, the sweep's record and its manifest anew; return the record's id.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        self._writer = None
        self._published = self._manifest.text()
        return publish_manifest(self.writer, Manifest.model_validate_json(self._published))
