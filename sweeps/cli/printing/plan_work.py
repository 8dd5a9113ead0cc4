"""What is left of a sweep to do, in words, as `capsweep plan` says it."""

from typing import TYPE_CHECKING

from sweeps.cli.terminal import plain
from sweeps.records.expected_cells import several_kinds

if TYPE_CHECKING:
    from sweeps.execution.survey.survey import Survey


def what_is_left(survey: "Survey") -> list[str]:
    """Say what is there, and what a launch will train, carry, or make, a line each."""
    from sweeps.execution.survey.surveyed_cells import CellState

    lines = {
        CellState.RECORDED: "are there and recorded",
        CellState.TO_RECORD: "are finished and will be recorded",
        CellState.STOPPED: "were stopped early by the scheduler",
        CellState.NEW: "are new and will be trained",
        CellState.UNFINISHED: "are unfinished and go on from their last checkpoint",
        CellState.WAITING: "wait at a rung of the scheduler, to be promoted or stopped",
        CellState.FAILED: "failed before and are tried again from their last checkpoint",
    }
    counts = [
        (sum(cell.state is state for cell in survey.cells), text) for state, text in lines.items()
    ]
    why = [f"{count} {text if count > 1 else _of_one(text)}." for count, text in counts if count]
    if kinds := several_kinds(survey.definition.manifest):
        why.append(f"In all at most {kinds}.")
    if more := survey.definition.manifest.num_expected - len(survey.cells):
        why.append(f"Up to {more} more will be proposed or chosen, and trained.")
    why += _evaluations(survey)
    why += [
        f"failed before: {plain(cell.cell.arm)}, seed {cell.cell.seed}: {plain(cell.reason)}"
        for cell in survey.cells
        if cell.state is CellState.FAILED
    ]
    return why


def _of_one(text: str) -> str:
    """Return what is said of several cells as it is said of one."""
    singular = {"are": "is", "were": "was", "wait": "waits", "go": "goes", "their": "its"}
    return " ".join(singular.get(word, word) for word in text.split())


def _evaluations(survey: "Survey") -> list[str]:
    """Say which evaluations are there, and which will be made."""
    from sweeps.execution.launch.result import not_available
    from sweeps.execution.survey.surveyed_evaluations import EvaluationState, count

    lines = {
        EvaluationState.RECORDED: "evaluations are there and recorded.",
        EvaluationState.TO_RECORD: "evaluations are made and will be recorded.",
        EvaluationState.TO_MAKE: "evaluations are missing and will be made from kept weights.",
    }
    counts = {state: count(survey.evaluations, state) for state in EvaluationState}
    told = [f"{counts[state]} {text}" for state, text in lines.items() if counts[state]]
    if gone := counts[EvaluationState.NOT_AVAILABLE]:
        told.append(not_available(gone))
    kinds = dict.fromkeys(evaluation.kind for evaluation in survey.definition.manifest.evaluations)
    if kinds and survey.has_work:
        told.append(f"Each trial that finishes is then looked at: {', '.join(kinds)}.")
    return told
