"""The numbers of a sweep's own record while it runs: what its row in MLflow's table shows."""

from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import METRIC_VALIDATION_ERROR, TrialRecord
from sweeps.tracking.record_facts import final_as_record
from sweeps.tracking.sweep_summary import NUM_TRIALS

_SHOWN = (NUM_TRIALS, METRIC_VALIDATION_ERROR)


class LiveNumbers:
    """How many trials have finished, and the validation error of the best arm so far.

    Both are defined as in the summary that the launch writes at its end. They are of the cells in
    this storage folder, each of which is read once: the store would be asked for all its records.

    Args:
        cells: The folder of the cells.
    """

    def __init__(self, cells: Path) -> None:
        self._cells = cells
        self._records: dict[str, TrialRecord] = {}

    def of(self, manifest: Manifest) -> dict[str, float]:
        """Return the numbers as they are now, by name; no error before a trial has finished.

        Raises:
            BadInput: If a final record is damaged.
        """
        for cell in manifest.cells:
            folder = CellFolder(self._cells, cell.trial_key)
            if cell.stopped or cell.trial_key in self._records or not folder.is_filled():
                continue
            if final := folder.read_final():
                self._records[cell.trial_key] = final_as_record(final)
        if not self._records:
            return {NUM_TRIALS: 0}
        # here, as its libraries take a sixth of a second, which first epochs need
        from sweeps.aggregation.report.summary import best_so_far

        _, numbers = best_so_far(manifest, self._records)
        return {name: numbers[name] for name in _SHOWN if name in numbers}
