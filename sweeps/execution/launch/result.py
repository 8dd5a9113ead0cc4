"""How a launch ended."""

from dataclasses import dataclass
from pathlib import Path

from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.notebook_pieces import Grid, Shown, block, line, summary
from sweeps.execution.launch.weights import WeightsDeleted

INTERRUPTED = 130


@dataclass(frozen=True)
class FailedEvaluation:
    """An evaluation that raised. The traceback is in its trial's log."""

    arm: str
    seed: int
    kind: str
    reason: str
    log: Path


@dataclass(frozen=True)
class EvaluationsMade:
    """The evaluations of a sweep after a launch.

    Attributes:
        num_made: Made in this launch.
        num_existing: All that the finished trials have.
        num_wanted: All that the finished trials should have.
        num_not_available: Those that cannot be made, as the weights were deleted.
        failures: Those that raised.
    """

    num_made: int
    num_existing: int
    num_wanted: int
    num_not_available: int = 0
    failures: tuple[FailedEvaluation, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every finished trial has every evaluation."""
        return self.num_existing == self.num_wanted

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for the user."""
        existing = f"{self.num_existing} of {self.num_wanted} there"
        sentences = [f"Evaluations: {self.num_made} made now, {existing}."]
        sentences += [
            f"failed: {failed.kind} of {failed.arm}, seed {failed.seed}: {failed.reason} (log: "
            f"{failed.log})"
            for failed in self.failures
        ]
        if self.num_not_available:
            sentences.append(not_available(self.num_not_available))
        return tuple(sentences)


def not_available(number: int) -> str:
    """Return a sentence on how many evaluations cannot be made, and what to do."""
    are, their, trials = ("is", "its", "trial") if number == 1 else ("are", "their", "trials")
    return (
        f"{number} evaluation{'s' * (number != 1)} {are} not available, as the weights of {their} "
        f"{trials} were not kept: train the sweep from the start (--retrain), or leave the "
        f"evaluation out of it."
    )


@dataclass(frozen=True)
class FailedTrial:
    """A trial that raised, so that its cell stayed empty. The traceback is in its log."""

    arm: str
    seed: int
    reason: str
    log: Path


@dataclass(frozen=True, repr=False)
class SweepResult:
    """How a launch ended.

    Attributes:
        num_trained: Cells that this launch filled.
        num_filled: Cells with a final record now, of `num_cells`.
        failures: Trials that raised.
        is_recorded: Whether the tracking store has everything.
        complaint: Why it has not, "" if it has; so called in the JSON answers too.
        stop_reason: Why training ended early, "" if it did not.
        fewer_cells: Why a search came to fewer cells than were planned, "" if it did not.
        weights: The deleted weights, None if the sweep has not ended.
        evaluations: Those that the sweep declares, None if it declares none.
        report: Tables and files, None if the launch was interrupted or the store is unreachable.
        exit_code: 0 if every cell is filled, evaluated and recorded, 3 if not, 130 if it was
            interrupted.
    """

    sweep: str
    num_cells: int
    num_filled: int
    num_trained: int
    exit_code: int
    is_recorded: bool = True
    complaint: str = ""
    stop_reason: str = ""
    fewer_cells: str = ""
    failures: tuple[FailedTrial, ...] = ()
    report: Report | None = None
    weights: WeightsDeleted | None = None
    evaluations: EvaluationsMade | None = None

    def __repr__(self) -> str:
        ended = f"exit code {self.exit_code}" if self.exit_code else ""
        return summary("SweepResult", self.sweep, *self._counts, ended)

    def _repr_html_(self) -> str:
        """Return it for a notebook: what was done, what failed, and its tables."""
        lines = [", ".join(self._counts), *self.sentences]
        if self.exit_code == INTERRUPTED:
            lines.append("Interrupted: the same call resumes it.")
        if not self.is_recorded:
            lines.append(f"Some records are not yet in the tracking store: {self.complaint}")
        failed = Grid(
            ("failed arm", "seed", "reason", "log"),
            [
                [
                    Shown(text)
                    for text in (failure.arm, str(failure.seed), failure.reason, str(failure.log))
                ]
                for failure in self.failures
            ],
        )
        tables = self.report.html if self.report else ""
        shown = (*map(line, lines), failed.html * bool(self.failures), tables)
        return block(f"run of {self.sweep}", *shown)

    @property
    def _counts(self) -> tuple[str, ...]:
        failed = f"{len(self.failures)} failed" if self.failures else ""
        filled = f"{self.num_filled} of {self.num_cells} cells filled"
        counts = (f"{self.num_trained} trained now", filled, failed)
        return tuple(count for count in counts if count)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for the user about training, evaluations, weights and health."""
        sentences = tuple(filter(None, (self.fewer_cells, self.stop_reason)))
        sentences += self.evaluations.sentences if self.evaluations else ()
        sentences += self.weights.sentences if self.weights else ()
        return sentences + (self.report.health if self.report else ())
