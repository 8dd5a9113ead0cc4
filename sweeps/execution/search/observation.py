"""How a search's proposals went, as a pure function of how their trials stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sweeps.records.trial_record import Outcome


@dataclass(frozen=True)
class Standing:
    """Where a trial stands in the eyes of one search.

    Attributes:
        outcome: RUNNING while it is open, also where its process was killed or nobody trains it.
        epoch: The last one that counts in this search.
        value: The objective there, None before the first epoch.
    """

    outcome: Outcome = Outcome.RUNNING
    epoch: int = 0
    value: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether this search still waits for it."""
        return self.outcome is Outcome.RUNNING


@dataclass(frozen=True)
class Observation:
    """What is known of a proposal.

    Attributes:
        state: Open until every seed has ended; complete if all ran to full length; failed if any
            diverged or raised; else pruned.
        value: Mean of the objective over the seeds at full length; of a pruned one over those seeds
            that were stopped first, so that no two lengths are mixed.
        epoch: Where that is.
    """

    state: Literal["open", "complete", "pruned", "failed"]
    value: float | None = None
    epoch: int = 0


def observe(standings: Sequence[Standing]) -> Observation:
    """Return what the trials of one proposal, one for each seed, come to."""
    if any(standing.is_open for standing in standings):
        return Observation("open")
    values = [standing.value for standing in standings if standing.value is not None]
    outcomes = {standing.outcome for standing in standings}
    is_told = len(values) == len(standings) and all(map(math.isfinite, values))
    if outcomes - {Outcome.FINISHED, Outcome.PRUNED} or not is_told:
        return Observation("failed")
    if outcomes == {Outcome.FINISHED}:
        epoch = min(standing.epoch for standing in standings)
        return Observation("complete", sum(values) / len(values), epoch)
    stops = [
        (standing.epoch, standing.value)
        for standing in standings
        if standing.outcome is Outcome.PRUNED
    ]
    first = min(epoch for epoch, _ in stops)
    stopped_first = [value for epoch, value in stops if epoch == first and value is not None]
    return Observation("pruned", sum(stopped_first) / len(stopped_first), first)
