"""The state of a search: the result of all decisions and results, ready for verdicts and proposals.

It is updated entry by entry, so that an entry costs the same however long the search is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from capsmodel.metrics import Objective
from search_spaces.plans.decisions import (
    CellEnded,
    Continue,
    Done,
    EndSearch,
    Entry,
    EpochTold,
    Measured,
    Propose,
    ProposeRandom,
    Stop,
    WarmStart,
)
from search_spaces.plans.known import Known, KnownTrial
from search_spaces.plans.search import BASE, Search
from search_spaces.space.limits import Limit
from sweeps.execution.search.curves import ArmCurves
from sweeps.execution.search.observation import (
    Observation,
    TrialState,
    is_candidate,
    observe,
    unwanted,
)
from sweeps.execution.search.random_reference import DrawnPoints
from sweeps.records.trial_record import Outcome

NOT_MEASURED = 1.0
"""By which part of a limit a finished trial exceeds it that has not measured it."""


class SearchKnown(Known):
    """The state that results from all entries of a search's journal.

    Attributes:
        params: The parameters of each proposal, in order.
        names: The arm of each proposal.
        observations: The result of each proposal so far.
        weighed: The same, with a cost (small is good) as value.
        base: The result of the base, which is trained too, with a cost as value.
        warm_points: Points of another sweep, which are proposed first.
        drawn: Random points that the search is compared with.
        curves: The curves of the proposals, each the mean over its seeds.
    """

    def __init__(
        self,
        search: Search,
        objective: Objective,
        keys: Mapping[tuple[str, int], str],
        num_epochs: Mapping[str, int],
    ) -> None:
        super().__init__(keys, num_epochs)
        self.params: list[Mapping[str, Any]] = []
        self.names: list[str] = []
        self.observations: list[Observation] = []
        self.weighed: list[Observation] = []
        self.base = Observation("open")
        self.warm_points: Sequence[Mapping[str, Any]] = ()
        self.cost = objective.cost
        self.curves = ArmCurves(objective, search.scheduler)
        self._pauses = search.scheduler.pauses
        self._bracket = cache(search.scheduler.bracket)
        self._rungs = cache(search.scheduler.rungs)
        self._is_ranked_by_rungs = search.sampler == "tpe"
        self._unwanted = unwanted(search)
        self._base_keys: list[str] = []
        self._trial_keys: list[list[str]] = []
        self._keys_by_arm: dict[str, list[str]] = {}
        self._numbers: dict[str, list[int]] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._num_unobserved = 0
        self.drawn = DrawnPoints(search.confirm)
        self._limits = search.measured_limits
        self._measured: dict[str, dict[int, Mapping[str, float]]] = {}  # trial key -> epoch -> them
        self._until = search.until
        self._enough: set[tuple[str, int]] = set()

    def take(self, entry: Entry) -> None:
        """Add an entry of the journal."""
        self._fold(entry)
        match entry:
            case Propose() if not isinstance(entry, ProposeRandom):
                self._take_proposal(entry)
            case EpochTold() if entry.trial_key in self._numbers and not self._is_beyond(entry):
                self.curves.add_epoch(entry.trial_key, entry.epoch, entry.metrics)
                if self._pauses:
                    self._observe_all(entry.trial_key)
            case CellEnded() | Stop():
                self._take_ending(entry)
            case Measured():
                self._measured.setdefault(entry.trial_key, {})[entry.epoch] = entry.values
                self._observe_all(entry.trial_key)
            case WarmStart():
                self.warm_points = entry.points
            case EndSearch():
                self._enough.add((entry.until, entry.num_proposals))
            case _:
                pass

    @property
    def is_enough(self) -> bool:
        """Whether the search ended after exactly these proposals, by its present end conditions."""
        return (self._until, len(self.params)) in self._enough

    @property
    def ended_values(self) -> list[float | None]:
        """The objective of each proposal that ended and did not fail.

        None if it was stopped early or measured more than a limit allows. A proposal that waits at
        a rung counts as stopped once another has run to full length.
        """
        is_any_whole = any(observation.state == "complete" for observation in self.observations)
        return [
            observation.value if is_candidate(observation) else None
            for number, observation in enumerate(self.observations)
            if observation.state not in {"open", "failed"} or (is_any_whole and self._waits(number))
        ]

    def num_epochs_trained(self) -> int:
        """Return how many epochs of proposals and base were trained; each trial counts once."""
        return sum(map(self._num_epochs_trained, {*self._base_keys, *self._numbers}))

    @property
    def is_open(self) -> bool:
        """Whether any proposal or the base has not ended."""
        return self._num_unobserved > 0 or (self.base.state == "open" and bool(self._base_keys))

    @property
    def base_for_sampler(self) -> Observation:
        """The result of the base in the form for a sampler.

        TPE considers longer trainings better, and the base was not promoted by anybody: under
        promotion its result is its value at the first rung.
        """
        rungs = self._rungs(self.num_epochs.get(BASE, 1)) if self._pauses else ()
        is_unwanted = replace(self.base, excesses={}) == self._unwanted
        if not rungs or not self._is_ranked_by_rungs or is_unwanted:
            return self.base
        epochs = [self.by_key(key).at(rungs[0]) for key in self._base_keys]
        values = [self.curves.objective(metrics) for metrics in epochs if metrics]
        if not values or len(values) < len(epochs) or not all(map(math.isfinite, values)):
            return Observation("open")
        at_rung = Observation("pruned", sum(values) / len(values), rungs[0])
        return self._as_cost(replace(at_rung, excesses=self.base.excesses))

    @property
    def is_running(self) -> bool:
        """Whether any proposal or the base is still training."""
        return (self.base.state == "open" and bool(self._base_keys)) or any(
            observation.state == "open" and not self._waits(number)
            for number, observation in enumerate(self.observations)
        )

    def drawn_observations(self) -> list[Observation]:
        """Return the result of each random point so far, with a cost as value."""
        return [
            self._as_cost(
                replace(
                    observe([self._drawn_standing(self.by_key(key)) for key in keys]),
                    excesses=self._excesses(keys, {}),
                )
            )
            for keys in self.drawn.trial_keys
        ]

    @property
    def is_drawn_open(self) -> bool:
        """Whether any random point has not ended."""
        return any(self.by_key(key).is_open for keys in self.drawn.trial_keys for key in keys)

    def num_epochs_drawn(self) -> int:
        """Return how many epochs the random points take; open ones count in full."""
        return sum(
            self.num_epochs[name] if trial.ended in {None, "failed"} else max(1, trial.length)
            for name, keys in zip(self.drawn.names, self.drawn.trial_keys, strict=True)
            for trial in map(self.by_key, keys)
        )

    def violation(self, arm: str) -> float:
        """Return by how much a proposal exceeds the limits on what is measured, as far as is known.

        It is the sum over the limits, each exceeded by a part of it; 0.0 for none. A trial that was
        paused or stopped counts with what it had measured until then.
        """
        excesses = self._excesses(self._keys_by_arm[arm], self.stops)
        return sum(excess for excess in excesses.values() if excess > 0)

    def arm_of(self, trial_key: str) -> str | None:
        """Return the first arm of a trial, None if that was drawn at random."""
        return self._places.get(trial_key, (None, 0))[0]

    def number_of(self, trial_key: str) -> int:
        """Return the number of the first proposal of a trial."""
        return self._numbers[trial_key][0]

    def bracket(self, number: int) -> int:
        """Return the bracket of a proposal."""
        return self._bracket(number, self.num_epochs[self.names[number]])

    def rungs(self, number: int) -> tuple[int, ...]:
        """Return the rungs of a proposal."""
        return self._rungs(self.num_epochs[self.names[number]], self.bracket(number))

    def siblings(self, trial_key: str) -> dict[str, KnownTrial]:
        """Return the trials of all seeds of a trial's first arm, by their keys."""
        arm = self.arm_of(trial_key)
        keys = (key for key in self.curves.seeds(trial_key) if self.arm_of(key) == arm)
        return {key: self.by_key(key) for key in keys}

    def first_key(self, number: int) -> str:
        """Return a trial key that is the same for all proposals of a point."""
        return self._trial_keys[number][-1]

    def _fold(self, entry: Entry) -> None:
        """Apply an entry as any plan does, except for a search's special cases."""
        match entry:
            case Done():  # a longer search goes on from the same log
                pass
            case ProposeRandom():
                self._draw(entry)
            case Stop() if self.drawn.has(entry.trial_key):  # it counts for the proposals alone
                self.stops[entry.trial_key] = entry
                self.by_key(entry.trial_key).take(Continue(entry.trial_key, entry.epoch))
            case _:
                super().take(entry)

    def _draw(self, draw: ProposeRandom) -> None:
        """Add a random point; its trials are resumed if the search had stopped them."""
        keys = [self.key_of(cell.place) for cell in draw.cells]
        if self.drawn.take(draw, keys):
            super().take(draw)
            for key in keys:
                self.by_key(key).go_on()

    def _is_beyond(self, epoch_result: EpochTold) -> bool:
        """Return whether an epoch lies beyond the one at which the search stopped the trial."""
        stop = self.stops.get(epoch_result.trial_key)
        return stop is not None and epoch_result.epoch > stop.epoch

    def _num_epochs_trained(self, key: str) -> int:
        if stop := self.stops.get(key):
            return stop.epoch
        trial = self.by_key(key)
        return max(trial.epochs, default=0) if trial.is_open else trial.length

    def _take_proposal(self, proposal: Propose) -> None:
        keys = [self.key_of(cell.place) for cell in proposal.cells]
        for key, cell in zip(keys, proposal.cells, strict=True):
            self._places.setdefault(key, cell.place)
        self._keys_by_arm[proposal.cells[0].arm] = keys
        if proposal.cells[0].arm == BASE:
            self._base_keys = keys
            self._observe_base()
            return
        number = len(self.params)
        self.curves.add(keys)
        self.params.append(proposal.cells[0].settings)
        self.names.append(proposal.cells[0].arm)
        self._trial_keys.append(keys)
        for key in keys:
            self._numbers.setdefault(key, []).append(number)
        self.observations.append(Observation("open"))
        self.weighed.append(Observation("open"))
        self._num_unobserved += 1
        self._observe(number)

    def _take_ending(self, ending: CellEnded | Stop) -> None:
        key = ending.trial_key
        if isinstance(ending, CellEnded) and key in self._numbers and key not in self.stops:
            if ending.outcome == "diverged":
                self.curves.diverge(key)
            elif ending.outcome == "failed":
                self.curves.fail(key)
        self._observe_all(key)
        if key in self._base_keys:
            self._observe_base()

    def _observe_all(self, trial_key: str) -> None:
        for number in self._numbers.get(trial_key, ()):
            self._observe(number)

    def _observe(self, number: int) -> None:
        """Update the result of a proposal, unless it is final."""
        if self.observations[number].state != "open":
            return
        observation = self._observed(self._trial_keys[number])
        self.observations[number] = observation
        self.weighed[number] = self._as_cost(self._at_rung(number) or observation)
        self._num_unobserved -= observation.state != "open"

    def _observe_base(self) -> None:
        if self.base.state == "open":
            self.base = self._as_cost(self._observed(self._base_keys))

    def _observed(self, keys: Sequence[str]) -> Observation:
        observation = observe([self._standing(key) for key in keys])
        return replace(observation, excesses=self._excesses(keys, self.stops))

    def _excesses(self, keys: Sequence[str], stops: Mapping[str, Stop]) -> dict[str, float]:
        """Return by how much the worst of some trials exceeds each limit on what is measured."""
        return {
            limit.description: max(self._excess(limit, key, stops.get(key)) for key in keys)
            for limit in self._limits
        }

    def _excess(self, limit: Limit, trial_key: str, stop: Stop | None) -> float:
        """Return by how much a trial exceeds a limit, 0.0 where that is not known yet.

        Nothing shows that a finished trial that has not measured it keeps the limit.
        """
        by_epoch = self._measured.get(trial_key, {})
        epoch = stop.epoch if stop else max(by_epoch, default=0)
        value = by_epoch.get(epoch, {}).get(limit.measure)
        if value is not None:
            return limit.excess(value)
        is_finished = stop is None and self.by_key(trial_key).ended == "finished"
        return NOT_MEASURED if is_finished else 0.0

    def _at_rung(self, number: int) -> Observation | None:
        """Return the result of an open proposal at the last rung that all its seeds reached."""
        key = self.first_key(number)
        if self.observations[number].state != "open" or not self._pauses:
            return None
        passed = self.curves.passed(key)
        rung = max((rung for rung in self.rungs(number) if rung <= passed), default=0)
        value = self.curves.value(key, rung) if rung else None
        if value is None:
            return None
        excesses = self.observations[number].excesses
        if not math.isfinite(value):
            return Observation("diverged", excesses=excesses)
        return Observation("pruned", value, rung, excesses=excesses)

    def _waits(self, number: int) -> bool:
        """Return whether a proposal only waits for its promotion."""
        trials = self.siblings(self.first_key(number)).values()
        is_waiting = all(trial.waits_at or not trial.is_open for trial in trials)
        return is_waiting and any(trial.waits_at for trial in trials)

    def _as_cost(self, observation: Observation) -> Observation:
        if observation.state == "diverged":
            return replace(self._unwanted, excesses=observation.excesses)
        value = observation.value
        return observation if value is None else replace(observation, value=self.cost(value))

    def _standing(self, key: str) -> TrialState:
        if stop := self.stops.get(key):
            return TrialState(Outcome.PRUNED, stop.epoch, stop.value)
        return self._drawn_standing(self.by_key(key))

    def _drawn_standing(self, trial: KnownTrial) -> TrialState:
        if trial.ended is None:
            return TrialState()
        value = self.curves.objective(trial.last) if trial.last else None
        loss = trial.last.get("validation_loss", math.inf)
        return TrialState(Outcome(trial.ended), trial.length, value, loss)
