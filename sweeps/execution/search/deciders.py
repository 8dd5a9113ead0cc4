"""Who decides for a plan: itself, or the adapter of one that needs more than plain Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.plans.base import Definition, Plan
from search_spaces.plans.decisions import Decision, Event, Stop
from search_spaces.plans.known import Known
from search_spaces.plans.search import Search
from search_spaces.sweep import Sweep
from sweeps.execution.plan.decision_log import Decider
from sweeps.execution.search.decider import SearchDecider

_ADAPTERS: Mapping[type[Plan], Any] = {Search: SearchDecider}


class OwnDecider:
    """A plan that decides for itself."""

    def __init__(self, plan: Plan, definition: Definition) -> None:
        del definition  # it is told with each event
        self._plan = plan

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Return what the plan says."""
        return self._plan.decide(definition, journal, event)

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> Known:
        """Return the fold of an empty journal."""
        return Known(keys, num_epochs)

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, in one line of its record."""
        return f"stopped by {self._plan.kind} after epoch {stop.epoch}, at {stop.value:.6g}"


def decider_of(sweep: Sweep) -> Decider:
    """Return who decides for a sweep's plan."""
    return _ADAPTERS.get(type(sweep.plan), OwnDecider)(sweep.plan, sweep)
