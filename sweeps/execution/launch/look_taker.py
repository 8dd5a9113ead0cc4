"""Takes the verdicts of a look from what the cells' folders and the tracking store hold."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from search_spaces.looks import Look, Looked
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.evaluation_comparisons import primary_table
from sweeps.aggregation.results.measured_arms import tested_arms
from sweeps.aggregation.results.planned_looks import looked_at
from sweeps.aggregation.results.prediction_files import (
    images_in,
    predictions_in,
    read_predictions,
    read_wrong_images,
)
from sweeps.aggregation.results.predictions import Predictions
from sweeps.execution.cells.evaluations import CellEvaluations
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

    def take(self, look: Look, manifest: Manifest) -> Looked | None:
        """Return the verdicts of a look, at which all cells have an outcome.

        Returns:
            None where finished trials lack the evaluation that the looks judge.

        Raises:
            CannotGoOn: If trials are in the tracking store alone, and it does not answer, or if the
                evaluation has no values by image.
        """
        seeds = {*manifest.seeds[: look.num_seeds]}
        arms = {*look.arms, manifest.baseline}
        keys = [
            cell.trial_key for cell in manifest.cells if cell.seed in seeds and cell.arm in arms
        ]
        assert manifest.plan is not None
        trained = self._in_folders(keys, manifest)
        if elsewhere := [key for key in keys if key not in trained.records]:
            try:
                trained = trained.joined(self._in_store(elsewhere, manifest))
            except SweepError as error:
                raise CannotGoOn(
                    f"the look at {look.num_seeds} seeds needs trials that the tracking store "
                    f"alone holds: {error}"
                ) from error
        results = arm_results(manifest, trained.records)
        if not manifest.plan.judged_by:
            return looked_at(manifest, look, tested_arms(results, trained.predictions))
        if _lacks_evaluations(manifest, trained):
            return None
        table = primary_table(
            manifest,
            results,
            trained.wrong,
            trained.predictions,
            evaluation_key=manifest.plan.judged_by,
        )
        if not any(arm.by_image for arm in table) and any(arm.errors for arm in table):
            raise CannotGoOn(
                f"the look at {look.num_seeds} seeds judges an evaluation that records no value of "
                f"each image, without which no verdict is possible: leave primary_of out, or name "
                f"an evaluation that does"
            )
        return looked_at(manifest, look, table, judges_divergence=False)

    def _in_folders(self, keys: list[str], manifest: Manifest) -> "_Trained":
        trained = _Trained()
        for key in keys:
            folder = CellFolder(self._cells, key)
            if final := folder.read_final():
                record = final_as_record(final)
                if predicted := predictions_in(folder.predictions, record):
                    trained.predictions[key] = predicted
                found = _evaluated(folder, manifest)
                values = {name: metrics for name, (metrics, _) in found.items()}
                trained.records[key] = record.model_copy(update={"evaluations": values})
                trained.wrong[key] = {name: images for name, (_, images) in found.items()}
        return trained

    def _in_store(self, keys: list[str], manifest: Manifest) -> "_Trained":
        records = self._store.records(keys) if self._store.exists() else {}
        every = records.values()
        wrong = read_wrong_images(self._store, every, manifest.evaluations)
        return _Trained(dict(records), read_predictions(self._store, every), dict(wrong))


@dataclass
class _Trained:
    """What trials came to, by trial key."""

    records: dict[str, TrialRecord] = field(default_factory=dict[str, TrialRecord])
    predictions: dict[str, Predictions] = field(default_factory=dict[str, Predictions])
    wrong: dict[str, Any] = field(default_factory=dict[str, Any])

    def joined(self, other: "_Trained") -> "_Trained":
        """Return it with the trials of another."""
        return _Trained(
            self.records | other.records,
            self.predictions | other.predictions,
            self.wrong | other.wrong,
        )


def _evaluated(
    folder: CellFolder, manifest: Manifest
) -> dict[str, tuple[dict[str, float], dict[str, np.ndarray]]]:
    """Return the metrics and values by image of the evaluation that the looks judge, by its key."""
    assert manifest.plan is not None
    evaluations = CellEvaluations(folder.path)
    for evaluation in manifest.evaluations:
        if evaluation.evaluation_key != manifest.plan.judged_by:
            continue
        if record := evaluations.read(evaluation.evaluation_key):
            path = evaluations.files(record).get(f"{evaluation.evaluation_key}.safetensors")
            images = images_in(path, evaluation, record.metrics) if path else None
            return {evaluation.evaluation_key: (record.metrics, images or {})}
    return {}


def _lacks_evaluations(manifest: Manifest, trained: _Trained) -> bool:
    """Return whether a finished trial lacks the evaluation that the looks judge."""
    assert manifest.plan is not None
    key = manifest.plan.judged_by
    return any(
        record.is_counted and key not in record.evaluations for record in trained.records.values()
    )
