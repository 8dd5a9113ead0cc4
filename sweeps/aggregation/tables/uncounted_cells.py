"""What tables say of cells that do not count, with the reasons, and of warnings."""

from collections.abc import Iterator, Sequence
from itertools import islice

from sweeps.aggregation.rendering.table import Cell, Column
from sweeps.aggregation.results.arms import ArmResults, CellState, cell_reason, cell_state
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import TrialRecord

_GAPS: tuple[CellState, ...] = ("failed", "diverged", "missing", "unfinished")
_OTHER_GAPS: tuple[CellState, ...] = ("failed", "missing", "unfinished")
_MOST_REASONS = 50
GAP_COLUMN = Column(
    "Not counted", tuple(f"num_{state}" for state in _GAPS), align="left", hide_if_empty=True
)
OTHER_GAPS_COLUMN = Column(
    "Not counted", tuple(f"num_{state}" for state in _OTHER_GAPS), align="left", hide_if_empty=True
)
"""Beside a column of diverged trials."""

_MOST_NOTES = 5
_LONGEST_NOTE = 200


def gap_cell(arm: ArmResults) -> Cell:
    """Return how many of an arm's cells do not count. Values: as the fields of `GAP_COLUMN`."""
    return Cell(gap_text(arm), tuple(arm.count(state) for state in _GAPS))


def gap_text(arm: ArmResults, states: Sequence[CellState] = _GAPS) -> str:
    """Return how many of an arm's cells do not count, "" where all do: `1 failed, 2 missing`."""
    counts = [(arm.count(state), state) for state in states]
    return ", ".join(f"{count} {state}" for count, state in counts if count)


def other_gaps_cell(arm: ArmResults) -> Cell:
    """Return the same without diverged cells. Values: as the fields of `OTHER_GAPS_COLUMN`."""
    return Cell(gap_text(arm, _OTHER_GAPS), tuple(arm.count(state) for state in _OTHER_GAPS))


def gap_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield that cells without a result are left out of the means, where there are any."""
    if any(len(arm.counted) < len(arm.trials) for arm in arms):
        yield "Trials that failed, diverged, are missing or unfinished are left out of the means."


def reason_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the outcome of each cell that does not count, seeds of one outcome together."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for arm in arms:
        for seed, trial in arm.trials.items():
            if cell_state(trial) != "counted":
                seeds.setdefault((arm.arm.name, _outcome(trial)), []).append(seed)
    for (name, outcome), own_seeds in list(seeds.items())[:_MOST_REASONS]:
        numbers = ", ".join(str(seed) for seed in own_seeds)
        yield f"Arm {name}, seed{'s' if len(own_seeds) > 1 else ''} {numbers}: {outcome}"
    if len(seeds) > _MOST_REASONS:
        yield f"And {len(seeds) - _MOST_REASONS} more such lines: see trials.csv."


def _outcome(trial: TrialRecord | None) -> str:
    reason = shortened(cell_reason(trial), 300)
    return f"{cell_state(trial)}: {reason}" if reason else cell_state(trial)


def health_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the first few warnings of trials, and how many more there are."""
    notes = list(_warnings(arms))
    yield from islice(notes, _MOST_NOTES)
    if len(notes) > _MOST_NOTES:
        more = len(notes) - _MOST_NOTES
        yield f"Health: {more} more such line{'s' * (more > 1)}: see the warnings in trials.csv."


def _warnings(arms: Sequence[ArmResults]) -> Iterator[str]:
    for arm in arms:
        for seed, trial in arm.trials.items():
            for warning in trial.warnings if trial else ():
                text = shortened(warning, _LONGEST_NOTE)
                yield f"Health: {one_line(arm.arm.name)} seed {seed}: {text}"
