"""What a launch itself writes into a tracking store: its sweep's own record, and what is to go."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from sweeps.tracking.shown_sweep import ShowsSweeps


class FoundSweep(NamedTuple):
    """A sweep's own record as a writer finds it."""

    record_id: str
    is_running: bool


class FreedWeights(NamedTuple):
    """What became of recorded weights that were to be deleted.

    Attributes:
        freed_bytes: 0 where there were none, or they are still there.
        complaint: Why they are still there, in one sentence; "" where they are not.
    """

    freed_bytes: int
    complaint: str


class ReportPublisher(Protocol):
    """What adds files of a report; every `RecordWriter` is one."""

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        ...


class LaunchWriter(ReportPublisher, ShowsSweeps, Protocol):
    """A store as a launch writes to it; every `RecordWriter` is one.

    Each method may be repeated after a failure or a kill and then does what is left. A call that
    fails raises `StoreRefused`, whether or not the store answers: `refuse_absence` tells.
    """

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        ...

    def set_aside(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced: no reader counts them any more."""
        ...

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record, and look whether they are gone."""
        ...

    def find_sweep(self, sweep: str) -> FoundSweep | None:
        """Return a sweep's own record."""
        ...

    def open_sweep(self, sweep: str, description: str) -> str:
        """Find or create a sweep's own record and return its id."""
        ...

    def set_manifest(self, sweep_id: str, text: str) -> None:
        """Make a manifest the current one of a sweep, unless it is. Earlier ones stay.

        One that was lost or damaged since is written again. A reader sees the old one or the new
        one whole, also where this is killed midway.
        """
        ...

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended, None for one that runs."""
        ...
