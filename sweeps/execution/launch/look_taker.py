"""Takes the verdicts of a look from what the cells' folders and the tracking store hold."""

from pathlib import Path

from search_spaces.looks import Look, Looked
from sweeps.aggregation.results.planned_looks import looked_at
from sweeps.aggregation.results.prediction_files import predictions_in, read_predictions
from sweeps.aggregation.results.predictions import Predictions
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.engine import CannotGoOn
from sweeps.records.errors import SweepError
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.record_facts import final_as_record
from sweeps.tracking.store import RecordStore


class LookTaker:
    """Takes looks. It alone lets a launch see how arms do on test images, as verdicts.

    Args:
        cells: Folder of the cells' folders.
        store: The tracking store, which is asked for trials that have no folder here.
    """

    def __init__(self, cells: Path, store: RecordStore) -> None:
        self._cells = cells
        self._store = store

    def take(self, look: Look, manifest: Manifest) -> Looked:
        """Return the verdicts of a look, at which all cells have an outcome.

        Raises:
            CannotGoOn: If trials are in the tracking store alone, and it does not answer.
        """
        seeds = {*manifest.seeds[: look.num_seeds]}
        arms = {*look.arms, manifest.baseline}
        keys = [
            cell.trial_key for cell in manifest.cells if cell.seed in seeds and cell.arm in arms
        ]
        records, predictions = self._in_folders(keys)
        if elsewhere := [key for key in keys if key not in records]:
            stored, predicted = self._in_store(elsewhere, look)
            records |= stored
            predictions |= predicted
        return looked_at(manifest, look, records, predictions)

    def _in_folders(self, keys: list[str]) -> tuple[dict[str, TrialRecord], dict[str, Predictions]]:
        records, predictions = dict[str, TrialRecord](), dict[str, Predictions]()
        for key in keys:
            folder = CellFolder(self._cells, key)
            if final := folder.read_final():
                records[key] = final_as_record(final)
                if predicted := predictions_in(folder.predictions, records[key]):
                    predictions[key] = predicted
        return records, predictions

    def _in_store(
        self, keys: list[str], look: Look
    ) -> tuple[dict[str, TrialRecord], dict[str, Predictions]]:
        try:
            records = self._store.records(keys) if self._store.exists() else {}
            return dict(records), read_predictions(self._store, records.values())
        except SweepError as error:
            raise CannotGoOn(
                f"the look at {look.num_seeds} seeds needs trials that the tracking store alone "
                f"holds: {error}"
            ) from error
