"""The results of a search's proposals: a pure function of the states of their trials."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from search_spaces.plans.search import Search
from sweeps.records.trial_record import Outcome


@dataclass(frozen=True)
class TrialState:
    """The state of a trial in one search.

    Attributes:
        outcome: RUNNING while it is open, even if no process trains it.
        epoch: The last epoch that counts in this search.
        value: The objective there, None before the first epoch.
        loss: The validation loss there, infinite if unknown.
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
    """The result of a proposal.

    Attributes:
        state: Open until every seed has ended; diverged if any has; failed if any raised; complete
            if all ran to full length; else pruned.
        value: Mean of the objective over the seeds at full length; if pruned, at the stop.
        epoch: The epoch of that value.
        loss: Mean validation loss over the seeds at full length, infinite if unknown; it decides
            between proposals of equal value.
        excesses: By how much its trials exceed each limit on what is measured, as a part of the
            limit: above 0 beyond it. Empty where the search has no such limits.
    """

    state: Literal["open", "complete", "pruned", "diverged", "failed"]
    value: float | None = None
    epoch: int = 0
    loss: float = math.inf
    excesses: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)

    @property
    def violation(self) -> float:
        """The sum of what exceeds the limits, 0.0 if it keeps them all."""
        return sum(excess for excess in self.excesses.values() if excess > 0)


def observe(states: Sequence[TrialState]) -> Observation:
    """Return the result of a proposal from its trials, one for each seed."""
    if any(state.is_open for state in states):
        return Observation("open")
    outcomes = {state.outcome for state in states}
    if Outcome.DIVERGED in outcomes:
        return Observation("diverged")
    if outcomes - {Outcome.FINISHED, Outcome.PRUNED}:
        return Observation("failed")
    values = [state.value for state in states if state.value is not None]
    if len(values) < len(states) or not all(map(math.isfinite, values)):
        return Observation("diverged")
    if outcomes == {Outcome.FINISHED}:
        epoch = min(state.epoch for state in states)
        loss = _mean([state.loss for state in states])
        return Observation("complete", _mean(values), epoch, loss)
    stops = [(state.epoch, state.value) for state in states if state.outcome is Outcome.PRUNED]
    first = min(epoch for epoch, _ in stops)
    at_first = [value for epoch, value in stops if epoch == first and value is not None]
    return Observation("pruned", _mean(at_first), first)


def is_candidate(observation: Observation) -> bool:
    """Return whether a proposal may be the best: of full length, within all measured limits."""
    return observation.state == "complete" and observation.violation == 0


def unwanted(search: Search) -> Observation:
    """Return the result that keeps a sampler away from a point: the worst so far.

    TPE considers trials of full length better than stopped or waiting ones, and under promotion few
    have full length. There the point is reported as pruned before its first epoch, which TPE ranks
    behind all others. With two objectives TPE goes by the values alone.
    """
    is_ranked_last = search.scheduler.pauses and search.sampler == "tpe" and not search.cost
    return Observation("pruned") if is_ranked_last else Observation("diverged")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
