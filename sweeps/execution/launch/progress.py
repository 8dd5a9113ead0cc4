"""The progress of a launch: each stage adds to it, and the result is made from it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from sweeps.aggregation.report import Report
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch.growing_launch import GrowingLaunch
from sweeps.execution.launch.opened_records import OpenedRecords
from sweeps.execution.launch.result import EvaluationsMade, FailedTrial, SweepResult
from sweeps.execution.launch.weights import WeightsDeleted
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.survey.survey import Survey
from sweeps.execution.sweep_log import SweepLog
from sweeps.records.expected_cells import fewer_cells_text
from sweeps.records.manifest import ManifestCell
from sweeps.tracking.store import RecordStore

UNENDED = 1


@dataclass
class Progress:
    """The progress of a launch.

    Attributes:
        survey: What there was to do at the start.
        exit_code: `UNENDED` until the launch has ended, and for good if an error ends it.
        is_recorded: Whether the tracking store has everything.
        error: Why it has not, "" if it has.
        stop_reason: Why training ended early, "" if it did not.
        started_keys: Trial keys of the trials that this launch has dispatched.
        failures: Trials that raised.
        log: The sweep's log, None until it is opened.
        records: None until they are opened.
        growth: What a plan has added; None if no cell is to be filled.
        report: None until it is written.
        weights: The deleted weights, None until the end.
        evaluations: The evaluations that the sweep declares.
        store_of_weights: The store that has sent weights to evaluate, which go with it.
        started_at: On the clock of `time.monotonic`.
    """

    survey: Survey
    exit_code: int = UNENDED
    is_recorded: bool = True
    error: str = ""
    stop_reason: str = ""
    started_keys: frozenset[str] = frozenset()
    failures: tuple[FailedTrial, ...] = ()
    log: SweepLog | None = None
    records: OpenedRecords | None = None
    growth: GrowingLaunch | None = None
    report: Report | None = None
    weights: WeightsDeleted | None = None
    evaluations: EvaluationsMade | None = None
    store_of_weights: RecordStore | None = None
    started_at: float = field(default_factory=time.monotonic)

    @property
    def definition(self) -> SweepDefinition:
        """The sweep's definition as it is now."""
        return self.growth.definition if self.growth else self.survey.definition

    @property
    def num_cells(self) -> int:
        """Number of cells of the sweep, with those that a search has not proposed yet."""
        return self.definition.manifest.num_expected

    @property
    def num_left(self) -> int:
        """Number of cells without a result, with those that a search has not proposed yet."""
        return self.num_cells - self._num_filled()

    @property
    def num_trained(self) -> int:
        """Number of cells that this launch filled, those too that ended as it was interrupted."""
        cells = [c for c in self.definition.manifest.cells if c.trial_key in self.started_keys]
        return len({cell.trial_key for cell in cells if self._is_filled(cell)})

    @property
    def is_evaluated(self) -> bool:
        """Whether every filled cell is evaluated and recorded."""
        return self.is_recorded and (self.evaluations is None or self.evaluations.is_complete)

    @property
    def is_complete(self) -> bool:
        """Whether every cell is filled, evaluated and recorded."""
        return self.is_evaluated and not self.num_left

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_at

    def note_failures(self, failures: Iterable[tuple[str, int, str]]) -> None:
        """Set the failed trials: arm, seed and reason of each."""
        keys, cells = self.definition.manifest.cell_keys(), self.survey.storage.cells
        self.failures = tuple(
            FailedTrial(arm, seed, reason, CellFolder(cells, keys[arm, seed]).log)
            for arm, seed, reason in failures
        )

    def result(self) -> SweepResult:
        """Return how the launch ended."""
        return SweepResult(
            sweep=self.survey.name,
            num_cells=self.num_cells,
            num_filled=self._num_filled(),
            num_trained=self.num_trained,
            exit_code=self.exit_code,
            is_recorded=self.is_recorded,
            complaint=self.error,
            stop_reason=self.stop_reason,
            fewer_cells=fewer_cells_text(self.definition.manifest),
            failures=self.failures,
            report=self.report,
            weights=self.weights,
            evaluations=self.evaluations,
        )

    def _num_filled(self) -> int:
        return sum(map(self._is_filled, self.definition.manifest.cells))

    def _is_filled(self, cell: ManifestCell) -> bool:
        recorded = self._recorded | self.growth.recorded if self.growth else self._recorded
        is_recorded = cell.stopped is not None or cell.trial_key in recorded
        return is_recorded or CellFolder(self.survey.storage.cells, cell.trial_key).is_filled()

    @cached_property
    def _recorded(self) -> frozenset[str]:
        """Trial keys that were recorded at the start."""
        return frozenset(cell.cell.trial_key for cell in self.survey.cells if cell.is_recorded)
