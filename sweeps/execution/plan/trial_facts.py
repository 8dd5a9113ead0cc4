"""What has become of trials, from their folders and from the tracking store."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from capsmodel.metrics import find_metric, why_unseen
from search_spaces.plans.decisions import CellEnded, CellOutcome, EpochTold
from sweeps.execution.cells.folder import CellFolder
from sweeps.records.cell_contents import EpochLine
from sweeps.records.errors import SweepError
from sweeps.records.trial_record import TrialRecord


class TrialFacts:
    """What has become of the trials of one storage, as a plan may know it: no test metrics.

    Args:
        cells: Folder of the cells' folders.
        record_of: What the tracking store knows of a trial, by its key.
    """

    def __init__(self, cells: Path, record_of: Callable[[str], TrialRecord | None]) -> None:
        self._cells = cells
        self._record_of = record_of
        self._records: dict[str, TrialRecord | None] = {}
        self._is_store_there = True

    def folder(self, trial_key: str) -> CellFolder:
        """Return a cell's folder."""
        return CellFolder(self._cells, trial_key)

    def epochs(self, trial_key: str) -> Iterator[EpochTold]:
        """Yield the epochs that a trial's folder tells of."""
        folder = self.folder(trial_key)
        lines, _ = folder.read_outbox()
        final = folder.read_final()
        for line in final.curve if final else [told.epoch for told in lines if told.epoch]:
            yield EpochTold(trial_key, line.epoch, _numbers(line))

    def ended(self, trial_key: str) -> CellEnded | None:
        """Return how a trial has ended, None where it has not as far as is known."""
        folder = self.folder(trial_key)
        if final := folder.read_final():
            last: dict[str, Any] = _numbers(final.curve[-1]) if final.curve else {}
            return CellEnded(
                trial_key, cast(CellOutcome, final.outcome.value), len(final.curve), last
            )
        if folder.outbox_size():
            return None
        record = self._recorded(trial_key)
        if record and record.outcome.is_final:
            last = {name: value for name, value in record.metrics.items() if _may_be_seen(name)}
            return CellEnded(
                trial_key, cast(CellOutcome, record.outcome.value), record.epochs, last
            )
        return None

    def _recorded(self, trial_key: str) -> TrialRecord | None:
        """Return what the tracking store knows of a trial, asked once.

        Training does not wait for a store that has gone away: what it knew is then trained anew.
        """
        if trial_key not in self._records:
            self._records[trial_key] = None
            if self._is_store_there:
                try:
                    self._records[trial_key] = self._record_of(trial_key)
                except SweepError:
                    self._is_store_there = False
        return self._records[trial_key]


def _numbers(line: EpochLine) -> dict[str, Any]:
    return {**line.numbers(), "reaches_target": line.reaches_target}


def _may_be_seen(name: str) -> bool:
    """Return whether selection may see a metric: it never sees the test split."""
    metric = find_metric(name)
    return metric is None or not why_unseen(metric)
