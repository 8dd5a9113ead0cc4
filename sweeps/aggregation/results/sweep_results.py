"""What tables and figures are made from: manifest, records, curves and predictions of a sweep."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    evaluation_comparisons,
)
from sweeps.aggregation.results.prediction_files import (
    read_arrays,
    read_predictions,
    read_wrong_images,
)
from sweeps.aggregation.results.predictions import (
    FindPredictions,
    FindWrongImages,
    Predictions,
    WrongImages,
    no_predictions,
    no_wrong_images,
)
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import METRIC_TEST_ERROR, Outcome, TrialRecord
from sweeps.tracking.store import RecordStore

Histories = Mapping[str, Mapping[int, float]]
FindFirstTests = Callable[[Iterable[str]], Mapping[str, float]]


FoundArrays = Mapping[str, Mapping[str, np.ndarray]]


def no_arrays(records: Iterable[TrialRecord], evaluation_key: str) -> FoundArrays:
    """Return no arrays, as of a sweep whose store is not asked."""
    return {}


def no_first_tests(fingerprints: Iterable[str]) -> Mapping[str, float]:
    """Return no sweeps, as of a sweep whose store is not asked."""
    return {}


@dataclass(frozen=True)
class Results:
    """What a sweep's tables and figures are made from.

    Attributes:
        manifest: The sweep's arms and cells.
        records: Trial key -> record, of those cells that have one.
        histories: Gives one epoch metric of some trials: trial key -> epoch -> value. It may ask
            the tracking store, once a trial, so that only what draws curves calls it.
        find_predictions: Gives what some trials predicted. It may ask the store as well.
        num_deleted: Cells whose record was deleted in the tracking store.
        find_wrong_images: Gives which images count in the evaluations' shares. It may ask the
            store as well.
        find_first_tests: Gives when each sweep of the store first tested on some data: their
            fingerprints -> name of a sweep -> seconds since 1970.
        find_arrays: Gives the arrays that an evaluation, by its key, found of some trials: trial
            key -> name -> array. It may ask the store as well.
    """

    manifest: Manifest
    records: Mapping[str, TrialRecord]
    histories: Callable[[Iterable[TrialRecord], str], Histories]
    find_predictions: FindPredictions = no_predictions
    num_deleted: int = 0
    find_wrong_images: FindWrongImages = no_wrong_images
    find_first_tests: FindFirstTests = no_first_tests
    find_arrays: Callable[[Iterable[TrialRecord], str], FoundArrays] = no_arrays

    @cached_property
    def arms(self) -> tuple[ArmResults, ...]:
        """The arms that the sweep compares, each with its trials."""
        return arm_results(self.manifest, self.records)

    @cached_property
    def compared(self) -> Sequence[Comparison]:
        """The comparison of each arm of a design with the baseline. Slow in a large design."""
        return ablation_comparisons(self.manifest, self.arms, self.predictions)

    @cached_property
    def predictions(self) -> Mapping[str, Predictions]:
        """The predictions of the sweep's finished trials, by trial key. Read once."""
        return self.find_predictions(self._finished)

    @cached_property
    def wrong_images(self) -> WrongImages:
        """The values by image that evaluations gave of the finished trials. Read once."""
        return self.find_wrong_images(self._finished)

    @cached_property
    def evaluated(self) -> Sequence[ComparedEvaluation]:
        """The arms compared by the primary figure of each evaluation that names one."""
        is_any = any(evaluation.primary for evaluation in self.manifest.evaluations)
        return evaluation_comparisons(
            self.manifest,
            self.arms,
            self.wrong_images if is_any else {},
            self.predictions if is_any else {},
        )

    @property
    def _finished(self) -> list[TrialRecord]:
        return [record for record in self.records.values() if record.outcome is Outcome.FINISHED]

    @cached_property
    def num_earlier_sweeps(self) -> int | None:
        """How many sweeps of the store tested on the same data before this one.

        Those count whose first trial with a test error started before this sweep's, and those
        that trained trials of this one. Later sweeps do not, so that a report stays as it is. None
        where no trial has been tested, or their data are not recorded.
        """
        tested = [
            record
            for record in self.records.values()
            if record.data_fingerprint and METRIC_TEST_ERROR in record.metrics
        ]
        if not tested:
            return None
        own = self.manifest.sweep
        starts = self.find_first_tests({record.data_fingerprint for record in tested})
        earlier = {sweep for sweep, start in starts.items() if start < starts.get(own, 0.0)}
        return len((earlier | {record.sweep for record in tested if record.sweep}) - {own})


def read_results(store: RecordStore, sweep: str) -> Results:
    """Return a sweep's manifest and records, with functions that read curves and predictions.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest = store.manifest(sweep)
    keys = manifest.cell_keys().values()
    records = store.records(keys)
    num_deleted = len(store.deleted(key for key in keys if key not in records))
    return Results(
        manifest=manifest,
        records=records,
        histories=store.histories,
        find_predictions=partial(read_predictions, store),
        num_deleted=num_deleted,
        find_wrong_images=partial(read_wrong_images, store, evaluations=manifest.evaluations),
        find_first_tests=store.first_tests,
        find_arrays=partial(read_arrays, store),
    )
