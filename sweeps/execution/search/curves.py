"""The learning curves of a search's arms, ranked at each epoch as results come in."""

import math
import sys
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from typing import Any, overload

from capsmodel.metrics import Objective
from search_spaces.plans.scheduler import Scheduler


class ArmCurves:
    """The objective of each arm at each epoch: the mean over its seeds, once all have reached it.

    A seed that reached its target or diverged keeps its last value at all later epochs; otherwise
    the best arms would be no rivals to those that train on. A failed seed is left out. Where a
    trial keeps the weights of its best epoch, an epoch has the objective of the best one until
    then. Adding an epoch costs the same however many arms there are.

    Args:
        objective: The objective of the search.
        scheduler: Says by which value rivals are ranked.
    """

    def __init__(self, objective: Objective, scheduler: Scheduler) -> None:
        self._objective = objective
        self._scheduler = scheduler
        self._seeds: dict[str, tuple[str, ...]] = {}  # trial key -> trial keys of its arm
        self._measured: dict[str, dict[int, float]] = {}
        self._curves: dict[str, dict[int, float]] = {}
        self._last_values: dict[str, float] = {}  # last value of trials that train no further
        self._reached: set[str] = set()  # trials that have reached their target
        self._failed: set[str] = set()
        self._ranked: dict[int, _Ranked] = {}

    def add(self, trial_keys: Sequence[str]) -> None:
        """Add an arm by the trial keys of its seeds; a trial belongs to its first arm."""
        for key in trial_keys:
            self._seeds.setdefault(key, tuple(trial_keys))

    def add_epoch(self, trial_key: str, epoch: int, metrics: Mapping[str, Any]) -> None:
        """Add an epoch of a known trial; it may come twice."""
        curve = self._curves.setdefault(trial_key, {})
        measured = self._measured.setdefault(trial_key, {})
        measured[epoch] = self.objective(metrics)
        best = measured.get(metrics.get("best_epoch") or epoch, math.nan)
        curve[epoch] = best if math.isfinite(measured[epoch]) else math.nan
        if metrics.get("reaches_target"):
            self._reached.add(trial_key)
        if trial_key in self._reached:
            self._last_values[trial_key] = curve[max(curve)]
        self._at(epoch)
        self._rank(trial_key, epoch)

    def diverge(self, trial_key: str) -> None:
        """Mark a trial as diverged: from there on its arm ranks last."""
        self._last_values[trial_key] = math.nan
        self._rank(trial_key, 0)

    def fail(self, trial_key: str) -> None:
        """Mark a trial as failed, which says nothing about its arm."""
        self._failed.add(trial_key)
        self._rank(trial_key, 0)

    def seeds(self, trial_key: str) -> tuple[str, ...]:
        """Return the trial keys of all seeds of a trial's arm."""
        return self._seeds[trial_key]

    def of(self, trial_key: str) -> Mapping[int, float]:
        """Return the curve of a trial: epoch -> objective."""
        return self._curves.get(trial_key, {})

    def has_reached_target(self, trial_key: str) -> bool:
        """Return whether a trial has reached its target, which ends it at full length."""
        return trial_key in self._reached

    def passed(self, trial_key: str) -> float:
        """Return the last epoch that all seeds of a trial's arm have passed."""
        ends = (
            math.inf if key in self._last_values else max(self.of(key), default=0)
            for key in self._counted(trial_key)
        )
        return min(ends, default=0)

    def value(self, trial_key: str, epoch: int) -> float | None:
        """Return the objective of a trial's arm at an epoch, None until all seeds have it."""
        keys = self._counted(trial_key)
        values = [self._value(key, epoch) for key in keys]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known and len(known) == len(values) else None

    def costs(self, trial_key: str, epoch: int) -> list[float]:
        """Return an arm's costs up to an epoch, as far as all seeds have come; small is good."""
        values = (self.value(trial_key, each) for each in range(1, epoch + 1))
        return [as_rival(self._objective.cost(value)) for value in values if value is not None]

    def rivals(self, trial_key: str, epoch: int) -> Sequence[float]:
        """Return the ranking values of all other arms at an epoch, ascending."""
        return self._at(epoch).all_but(self._seeds[trial_key][0])

    def objective(self, metrics: Mapping[str, Any]) -> float:
        """Return the objective of an epoch, NaN if its losses have diverged."""
        losses = (metrics.get("train_loss", 0.0), metrics.get("validation_loss", 0.0))
        value = self._objective.value(metrics)
        return value if all(map(math.isfinite, losses)) and value is not None else math.nan

    def _counted(self, trial_key: str) -> list[str]:
        return [key for key in self._seeds[trial_key] if key not in self._failed]

    def _value(self, trial_key: str, epoch: int) -> float | None:
        curve = self.of(trial_key)
        if trial_key in self._last_values and epoch > max(curve, default=0):
            return self._last_values[trial_key]
        return curve.get(epoch)

    def _at(self, epoch: int) -> "_Ranked":
        """Return the ranking at an epoch; a new one starts with the trials that ended before."""
        if epoch not in self._ranked:
            self._ranked[epoch] = _Ranked()
            for key in self._last_values:
                self._rank_at(key, epoch)
        return self._ranked[epoch]

    def _rank(self, trial_key: str, first: int) -> None:
        for epoch in self._ranked:
            if epoch >= first:
                self._rank_at(trial_key, epoch)

    def _rank_at(self, trial_key: str, epoch: int) -> None:
        is_known = self.value(trial_key, epoch) is not None
        rival = self._scheduler.rival_score(self.costs(trial_key, epoch)) if is_known else None
        self._ranked[epoch].put(self._seeds[trial_key][0], rival)


class _Ranked:
    """The ranking of arms at one epoch, ascending: small is good, values not finite come last."""

    def __init__(self) -> None:
        self._ascending: list[float] = []
        self._by_arm: dict[str, float] = {}

    def put(self, arm: str, value: float | None) -> None:
        """Set the value of an arm, or remove the arm."""
        if arm in self._by_arm:
            old = self._by_arm.pop(arm)
            del self._ascending[bisect_left(self._ascending, old)]
        if value is not None:
            self._by_arm[arm] = as_rival(value)
            insort(self._ascending, self._by_arm[arm])

    def all_but(self, arm: str) -> Sequence[float]:
        """Return the values of the others."""
        value = self._by_arm.get(arm)
        return self._ascending if value is None else AllBut(self._ascending, value)


class AllBut(Sequence[float]):
    """Ascending values without one of them; nothing is copied."""

    def __init__(self, ascending: Sequence[float], value: float) -> None:
        self._values = ascending
        self._left_out = bisect_left(ascending, value)

    def __len__(self) -> int:
        """Return their number."""
        return len(self._values) - 1

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        """Return values by their position."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._values[place + (place >= self._left_out)]


def as_rival(value: float) -> float:
    """Return the value to rank by: values that are not finite are worse than all others."""
    return value if math.isfinite(value) else sys.float_info.max
