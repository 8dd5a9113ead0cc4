"""Records in memory, for tests: the contract of a tracking store without a database.

Records are gone with the process. Any number of threads may read and write.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from sweeps.records import trial_record as names
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.answers import (
    absent_artifact,
    leave_out,
    no_sweep,
    only_one,
    refuse_unknown_artifact,
    slugs,
    those_that_count,
    valid_config,
    valid_manifest,
)
from sweeps.tracking.manifests import manifest_name
from sweeps.tracking.memory.shelf import HeldRecord, Shelf
from sweeps.tracking.memory.writer import MemoryWriter
from sweeps.tracking.store import CurvePoint, RecordWriter, ReportPublisher


class MemoryStore:
    """Records in memory; a `RecordStore`.

    Attributes:
        shelf: What it shares with its writers, for tests that play what others do to a store.
    """

    def __init__(self, address: str = "memory:") -> None:
        self.address = address
        self.shelf = Shelf(address)

    def is_there(self) -> bool:
        """Return True: there is nothing to be made."""
        return True

    def writer(self) -> RecordWriter:
        """Return what writes to these records."""
        with self.shelf.locked():
            return MemoryWriter(self.shelf)

    def publisher(self) -> ReportPublisher:
        """Return what adds a report's files to a sweep's own record."""
        return self.writer()

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.shelf.locked():
            return slugs(held.facts.get(facts.TAG_SWEEP, "") for held in self.shelf.live("sweep"))

    def sweep_id(self, sweep: str) -> str:
        """Return the id of the sweep's own record.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        with self.shelf.locked():
            return self._sweep(sweep).record_id

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest.

        Raises:
            BadInput: If there is no such sweep, or its manifest is missing or not valid.
        """
        with self.shelf.locked():
            held = self._sweep(sweep)
            return valid_manifest(sweep, _content(held, manifest_name(held.facts)))

    def current_manifest(self, sweep: str) -> Manifest | None:
        """Return the sweep's manifest, or None where the sweep was never launched.

        Raises:
            BadInput: If the manifest is not valid.
        """
        return self.manifest(sweep) if sweep in self.sweeps() else None

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that has one."""
        wanted = frozenset(keys)
        with self.shelf.locked():
            return self._counting(
                held
                for held in self.shelf.live("trial")
                if held.facts.get(facts.TAG_TRIAL_KEY) in wanted
            )

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        return self.records([key]).get(key)

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        given = str(prefix).strip().lower()  # what is no text begins no key
        with self.shelf.locked():
            live = self.shelf.live("trial") if given else []
            begins = [h for h in live if h.facts.get(facts.TAG_TRIAL_KEY, "").startswith(given)]
            of_id = [held for held in live if held.record_id == given]
            records = self._counting(begins) or self._counting(of_id)
        return only_one(records, prefix, self.address)

    def curve(self, record: TrialRecord) -> list[CurvePoint]:
        """Return the trial's epochs in order."""
        with self.shelf.locked():
            held = self.shelf.open(record.record_id)
            histories = [held.history(name) for name in names.EPOCH_METRICS]
        epochs = sorted(set[int]().union(*histories))
        nan = float("nan")
        return [CurvePoint(e, *(history.get(e, nan) for history in histories)) for e in epochs]

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value, in order."""
        with self.shelf.locked():
            return {
                record.trial_key: self.shelf.open(record.record_id).history(metric)
                for record in records
            }

    def config(self, record: TrialRecord) -> Json:
        """Return the trial's full training config.

        Raises:
            BadInput: If the record holds none, or it is not valid.
        """
        with self.shelf.locked():
            held = self.shelf.open(record.record_id)
            return valid_config(record, _content(held, names.ARTIFACT_CONFIG))

    def artifact(self, record: TrialRecord, name: str) -> Path:
        """Return the path of an artifact's copy, in a scratch folder of this object.

        Raises:
            BadInput: If the record does not hold the artifact, or no record can.
        """
        refuse_unknown_artifact(name)
        with self.shelf.locked():
            content = _content(self.shelf.open(record.record_id), name)
            path = self._scratch / record.record_id / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            return path

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        with self.shelf.locked():
            return name in self.shelf.open(record.record_id).files

    def location(self, record: TrialRecord, name: str) -> str:
        """Return an address that tells where an artifact lies."""
        return f"{self.address}{record.record_id}/{name}"

    @cached_property
    def _scratch(self) -> Path:
        folder = tempfile.mkdtemp(prefix="capsweep-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _sweep(self, sweep: str) -> HeldRecord:
        if record := self.shelf.sweep(sweep):
            return record
        raise no_sweep(sweep, self.sweeps(), self.address)

    def _counting(self, held: Iterable[HeldRecord]) -> dict[str, TrialRecord]:
        return those_that_count(map(_record, held))


def _record(held: HeldRecord) -> TrialRecord | None:
    try:
        return facts.record_of(held.record_id, held.facts, held.last_values())
    except ValidationError as error:
        leave_out(held.record_id, error)
        return None


def _content(held: HeldRecord, name: str) -> bytes:
    if name not in held.files:
        raise absent_artifact(held.record_id, name)
    return held.files[name]
