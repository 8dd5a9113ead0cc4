"""What trials measure of what a search limits: seconds, memory, metrics of evaluations."""

import math
from collections.abc import Callable, Mapping, Sequence

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.record_facts import final_as_record

Values = dict[str, float]
"""Name of a measure -> value; what was not measured is missing."""


class TrialMeasures:
    """Reads the limited measures of trials from their folders and records.

    Args:
        manifest: Manifest of the sweep.
        folder: Returns a cell's folder by its trial key.
        recorded: Returns a trial's record in the tracking store, None if there is none.

    Attributes:
        names: The limited measures; empty where nothing that is measured has a limit.
    """

    def __init__(
        self,
        manifest: Manifest,
        folder: Callable[[str], CellFolder],
        recorded: Callable[[str], TrialRecord | None],
    ) -> None:
        self._folder = folder
        self._recorded = recorded
        self.names = tuple(manifest.search.measured_limits) if manifest.search else ()
        keys = {
            evaluation.kind: evaluation.evaluation_key
            for evaluation in manifest.evaluations
            if evaluation.looks_at == "validation"  # selection never sees the test split
        }
        named = {name: name.partition(".") for name in self.names}
        self._evaluations = {  # measure -> key of its evaluation and name of the metric there
            name: (keys[kind], metric) for name, (kind, _, metric) in named.items() if kind in keys
        }

    def at_end(self, trial_key: str) -> Values | None:
        """Return the measures of a trial that has ended, None while it lacks an evaluation.

        Diverged trials are not evaluated.
        """
        folder = self._folder(trial_key)
        final = folder.read_final()
        record = final_as_record(final) if final else self._recorded(trial_key)
        assert record
        values = {
            "seconds_per_epoch": record.seconds_per_epoch,
            "peak_memory_bytes": record.peak_memory_bytes,
        }
        if record.outcome is Outcome.FINISHED:
            for name, (key, metric) in self._evaluations.items():
                metrics = _evaluated(folder, record, key)
                if metrics is None:
                    return None
                values[name] = metrics.get(metric)
        return self._measured(values)

    def until(self, trial_key: str, epoch: int) -> Values:
        """Return the measures of a trial over its first epochs, without evaluations.

        Seconds are those of the epochs alone, without the training's start.
        """
        folder = self._folder(trial_key)
        lines, _ = folder.read_outbox()
        final = folder.read_final()
        epochs = [line.epoch for line in lines if line.epoch]
        peaks = [
            line.peak_memory_bytes
            for line in lines
            if line.epoch and line.epoch.epoch <= epoch and line.peak_memory_bytes is not None
        ]
        values = {
            "seconds_per_epoch": _mean_seconds(final.curve if final else epochs, epoch),
            "peak_memory_bytes": max(peaks, default=final.peak_memory_bytes if final else None),
        }
        return self._measured(values)

    def _measured(self, values: Mapping[str, float | None]) -> Values:
        limited = {name: values.get(name) for name in self.names}
        return {
            name: float(value)
            for name, value in limited.items()
            if value is not None and math.isfinite(value)
        }


def _mean_seconds(epochs: Sequence[EpochMetrics], last: int) -> float | None:
    seconds = [each.duration_seconds for each in epochs if each.epoch <= last]
    mean = math.fsum(seconds) / len(seconds) if seconds else 0.0
    return mean or None  # an earlier release wrote no durations


def _evaluated(folder: CellFolder, record: TrialRecord, key: str) -> Mapping[str, float] | None:
    """Return the metrics of a trial's evaluation, None if it was not made."""
    made = CellEvaluations(folder.path).read(key)
    return made.metrics if made else record.evaluations.get(key)
