"""How a launch ended."""

from dataclasses import dataclass
from pathlib import Path

from sweeps.aggregation.rendering.contents import Report
from sweeps.execution.driver.kept_weights import WeightsDeleted


@dataclass(frozen=True)
class FailedTrial:
    """A trial that raised, so that its cell stayed empty. The traceback is in its log."""

    arm: str
    seed: int
    reason: str
    log: Path


@dataclass(frozen=True)
class SweepResult:
    """How a launch ended.

    Attributes:
        num_trained: Cells that this launch filled.
        num_filled: Cells with a final record now, of `num_cells`.
        failures: Trials that raised.
        is_recorded: Whether the tracking store has everything.
        complaint: Why it has not.
        weights: Which were not kept; None where the sweep has not ended.
        report: Tables and files; None where the launch was interrupted or the store is away.
        exit_code: 0 every cell is filled and recorded; 3 not; 130 interrupted.
    """

    sweep: str
    num_cells: int
    num_filled: int
    num_trained: int
    exit_code: int
    is_recorded: bool = True
    complaint: str = ""
    failures: tuple[FailedTrial, ...] = ()
    report: Report | None = None
    weights: WeightsDeleted | None = None
