"""How often an arm's trials diverged: a result of its own, which no mean of the rest may hide."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import Cell, Column
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.statistics.pairs import Share, more_often_p, share
from sweeps.records.plain_text import one_line

DIVERGED_COLUMN = Column(
    "Diverged",
    ("num_diverged", "diverged_share_low", "diverged_share_high"),
    align="left",
    hide_if_empty=True,
)


def diverged_share(arm: ArmResults) -> Share:
    """Return how many of the trials that ended by themselves diverged, with its interval."""
    ended = arm.count("counted") + arm.count("diverged")
    return share(arm.count("diverged"), ended)


def diverged_cell(arm: ArmResults) -> Cell:
    """Return `2 of 5 (5 % to 85 %)`, nothing where none diverged. Values: count, low, high."""
    found = diverged_share(arm)
    values = (int(found.count), found.low, found.high)
    if not found.count:
        return Cell("", values)
    ends = f"({found.low:.0%} to {found.high:.0%})".replace("%", " %")
    return Cell(f"{found.count:.0f} of {found.total} {ends}", values)


def diverged_p(arm: ArmResults, baseline: ArmResults) -> float:
    """Return the p value of both arms diverging equally often."""
    own, theirs = diverged_share(arm), diverged_share(baseline)
    return more_often_p(int(own.count), own.total, int(theirs.count), theirs.total)


def diverged_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what the count means where any trial diverged."""
    wild = [one_line(arm.arm.name) for arm in arms if arm.count("diverged")]
    if wild:
        yield (
            f"Diverged: trials of {', '.join(wild)} whose loss became infinite, with the exact 95 "
            f"% interval of that share. They enter no mean; bold also holds with them as guesses."
        )
