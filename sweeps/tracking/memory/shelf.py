"""What is held of records in memory, and by whom it is reached at a time."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.tracking import record_facts as facts


@dataclass
class HeldRecord:
    """What is held of one record.

    Attributes:
        started: Milliseconds since 1970, as `ended`.
        points: Metric -> (step, time, value as text) -> value, so that a copy falls on itself.
    """

    record_id: str
    started: int
    facts: dict[str, str]
    ended: int | None = None
    is_running: bool = True
    is_deleted: bool = False
    sweep_id: str = ""
    points: dict[str, dict[tuple[int, int, str], float]] = field(
        default_factory=dict[str, dict[tuple[int, int, str], float]]
    )
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def is_live(self) -> bool:
        """Whether readers see it."""
        return not self.is_deleted and facts.TAG_REPLACED not in self.facts

    def last_values(self) -> dict[str, float]:
        """Return the value of each metric's last step that was told last."""
        return {name: points[max(points)] for name, points in self.points.items()}

    def history(self, metric: str) -> dict[int, float]:
        """Return a metric, step -> value, in order. Of two values the later counts."""
        return {step: value for (step, _, _), value in sorted(self.points.get(metric, {}).items())}


class Shelf:
    """The records that the readers and writers of one store share.

    Attributes:
        is_away: Whether the store is to behave as one that does not answer.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_away = False
        self._held: dict[str, HeldRecord] = {}
        self._lock = threading.RLock()
        self._ids = count(1)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep all others out.

        Raises:
            StoreUnreachable: If the store is away.
        """
        with self._lock:
            if self.is_away:
                raise StoreUnreachable(f"The tracking store at {self.address} does not answer.")
            yield

    def add(self, record_facts: dict[str, str], started: int | None = None) -> HeldRecord:
        """Create a record, with a name that no other has."""
        begun = round(1000 * time.time()) if started is None else started
        record = HeldRecord(f"{next(self._ids):032x}", begun, record_facts)
        self._held[record.record_id] = record
        return record

    def live(self, type_of_record: str) -> list[HeldRecord]:
        """Return the records of a type that readers see, the earliest started first."""
        records = (
            held
            for held in self._held.values()
            if held.is_live and held.facts.get(facts.TAG_TYPE) == type_of_record
        )
        return sorted(records, key=lambda held: (held.started, held.record_id))

    def there(self, trial_key: str) -> list[HeldRecord]:
        """Return the records of a trial key that nobody has deleted."""
        return [
            held
            for held in self._held.values()
            if not held.is_deleted and held.facts.get(facts.TAG_TRIAL_KEY) == trial_key
        ]

    def sweep(self, name: str) -> HeldRecord | None:
        """Return a sweep's own record."""
        named = (
            record for record in self.live("sweep") if record.facts.get(facts.TAG_SWEEP) == name
        )
        return next(named, None)

    def clear(self) -> None:
        """Lose all records, as a server does that comes back with an empty database."""
        with self._lock:
            self._held.clear()

    def get(self, record_id: str) -> HeldRecord | None:
        """Return a record, also one that was set aside or deleted."""
        return self._held.get(record_id)

    def open(self, record_id: str) -> HeldRecord:
        """Return a record that is to be written to.

        Raises:
            StoreRefused: If there is none, or it was deleted.
        """
        held = self._held.get(record_id)
        if held is None or held.is_deleted:
            reason = f"there is no record {record_id}"
            raise StoreRefused(f"The tracking store at {self.address} refuses: {reason}.", reason)
        return held
