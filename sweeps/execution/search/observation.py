"""How a search's proposals went, as a pure function of how their trials stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from search_spaces.plans.search import Search
from sweeps.records.trial_record import Outcome


@dataclass(frozen=True)
class TrialState:
    """Where a trial stands in the eyes of one search.

    Attributes:
        outcome: RUNNING while it is open, also where its process was killed or nobody trains it.
        epoch: The last one that counts in this search.
        value: The objective there, None before the first epoch.
        loss: The validation loss there, infinite where it is not known.
    """

    outcome: Outcome = Outcome.RUNNING
    epoch: int = 0
    value: float | None = None
    loss: float = math.inf

    @property
    def is_open(self) -> bool:
        """Whether this search still waits for it."""
        return self.outcome is Outcome.RUNNING


@dataclass(frozen=True)
class Observation:
    """What is known of a proposal.

    Attributes:
        state: Open until every seed has ended; diverged if any has; failed if any raised; complete
            if all ran to full length; else pruned.
        value: Mean of the objective over the seeds at full length; of a pruned one where it was
            stopped.
        epoch: Where that is.
        loss: Mean validation loss over the seeds at full length, infinite where it is not known:
            what tells proposals of one value apart.
    """

    state: Literal["open", "complete", "pruned", "diverged", "failed"]
    value: float | None = None
    epoch: int = 0
    loss: float = math.inf


def observe(standings: Sequence[TrialState]) -> Observation:
    """Return what the trials of one proposal, one for each seed, come to."""
    if any(standing.is_open for standing in standings):
        return Observation("open")
    outcomes = {standing.outcome for standing in standings}
    if Outcome.DIVERGED in outcomes:
        return Observation("diverged")
    if outcomes - {Outcome.FINISHED, Outcome.PRUNED}:
        return Observation("failed")
    values = [standing.value for standing in standings if standing.value is not None]
    if len(values) < len(standings) or not all(map(math.isfinite, values)):
        return Observation("diverged")
    if outcomes == {Outcome.FINISHED}:
        epoch = min(standing.epoch for standing in standings)
        loss = _mean([standing.loss for standing in standings])
        return Observation("complete", _mean(values), epoch, loss)
    stops = [
        (standing.epoch, standing.value)
        for standing in standings
        if standing.outcome is Outcome.PRUNED
    ]
    first = min(epoch for epoch, _ in stops)
    at_first = [value for epoch, value in stops if epoch == first and value is not None]
    return Observation("pruned", _mean(at_first), first)


def unwanted(search: Search) -> Observation:
    """Return how a sampler is told of a point that it is not to come back to: as the worst seen.

    TPE takes all of full length for better than what is stopped or waits at a rung, and where
    trials are promoted few are of full length: there it is told as stopped before any epoch, which
    TPE ranks behind all others.
    """
    is_ranked_last = search.scheduler.pauses and search.sampler == "tpe"
    return Observation("pruned") if is_ranked_last else Observation("diverged")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
