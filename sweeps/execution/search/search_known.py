"""What is known of a search: the fold of its journal, with what its verdicts and proposals need.

Everything is kept as it comes, so that an entry costs the same however long the search is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capsmodel.metrics import Objective
from search_spaces.plans.decisions import CellEnded, Done, Entry, EpochTold, Propose, Stop
from search_spaces.plans.known import Known, KnownTrial
from sweeps.execution.search.curves import TrialCurves
from sweeps.execution.search.observation import Observation, Standing, observe
from sweeps.records.trial_record import Outcome


class SearchKnown(Known):
    """The fold of a search's journal.

    Attributes:
        params: Of each proposal, in order.
        names: Of each proposal's arm.
        observations: How each proposal went so far.
        weighed: The same with what is to be small as their values.
        curves: Of the trials; rivals are those with the same seed, so that the seeds of one arm do
            not stop each other.
    """

    def __init__(
        self,
        objective: Objective,
        keys: Mapping[tuple[str, int], str],
        num_epochs: Mapping[str, int],
    ) -> None:
        super().__init__(keys, num_epochs)
        self.params: list[Mapping[str, Any]] = []
        self.names: list[str] = []
        self.observations: list[Observation] = []
        self.weighed: list[Observation] = []
        self._cost = objective.cost
        self.curves = TrialCurves(objective, self._seed_of)
        self._trial_keys: list[list[str]] = []
        self._numbers: dict[str, list[int]] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._num_unobserved = 0

    def take(self, entry: Entry) -> None:
        """Take one more entry of the journal."""
        if isinstance(entry, Done):  # a longer search goes on from the same journal
            return
        super().take(entry)
        match entry:
            case Propose():
                self._take_proposal(entry)
            case EpochTold():
                self.curves.tell(entry.trial_key, entry.epoch, entry.metrics)
            case CellEnded() | Stop():
                for number in self._numbers.get(entry.trial_key, ()):
                    self._observe(number)
            case _:
                pass

    @property
    def is_open(self) -> bool:
        """Whether any proposal has not ended."""
        return self._num_unobserved > 0

    def arm_of(self, trial_key: str) -> str:
        """Return the first arm that a trial belongs to."""
        return self._places[trial_key][0]

    def first_key(self, number: int) -> str:
        """Return a trial key of a proposal, the same for the same point."""
        return self._trial_keys[number][-1]

    def _take_proposal(self, proposal: Propose) -> None:
        number = len(self.params)
        self.params.append(proposal.cells[0].settings)
        self.names.append(proposal.cells[0].arm)
        keys = [self.key_of(cell.place) for cell in proposal.cells]
        self._trial_keys.append(keys)
        for key, cell in zip(keys, proposal.cells, strict=True):
            self._numbers.setdefault(key, []).append(number)
            self._places.setdefault(key, cell.place)
        self.observations.append(Observation("open"))
        self.weighed.append(Observation("open"))
        self._num_unobserved += 1
        self._observe(number)

    def _observe(self, number: int) -> None:
        """See how a proposal went, unless that is known."""
        if self.observations[number].state != "open":
            return
        trials = [self.by_key(key) for key in self._trial_keys[number]]
        observation = observe([self._standing(trial) for trial in trials])
        self.observations[number] = observation
        value = observation.value
        self.weighed[number] = (
            observation if value is None else replace(observation, value=self._cost(value))
        )
        self._num_unobserved -= observation.state != "open"

    def _standing(self, trial: KnownTrial) -> Standing:
        if trial.ended is None:
            return Standing()
        if trial.stopped:
            return Standing(Outcome.PRUNED, trial.stopped.epoch, trial.stopped.value)
        value = self.curves.objective(trial.last) if trial.last else None
        return Standing(Outcome(trial.ended), trial.length, value)

    def _seed_of(self, trial_key: str) -> int:
        return self._places[trial_key][1]
