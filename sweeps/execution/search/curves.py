"""What the arms of a search come to, epoch by epoch, ranked as they are told."""

import math
import sys
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from typing import Any, overload

from capsmodel.metrics import Objective
from search_spaces.plans.scheduler import Scheduler


class ArmCurves:
    """The objective of arms after their epochs: the mean over the seeds, once all have told of it.

    A seed that reached its target or diverged stands at all later epochs with its last value, as
    the best would else be no rivals to those that go on; one that failed is left out. Telling costs
    the same however many arms there are.

    Args:
        objective: What is chosen by.
        scheduler: What it is that rivals are ranked by.
    """

    def __init__(self, objective: Objective, scheduler: Scheduler) -> None:
        self._objective = objective
        self._scheduler = scheduler
        self._seeds: dict[str, tuple[str, ...]] = {}  # trial key -> trial keys of its arm
        self._curves: dict[str, dict[int, float]] = {}
        self._standing: dict[str, float] = {}  # value of those that go no farther
        self._reached: set[str] = set()  # those of them that have reached their target
        self._failed: set[str] = set()
        self._ranked: dict[int, _Ranked] = {}

    def add(self, trial_keys: Sequence[str]) -> None:
        """Hear of an arm, by the trial keys of its seeds; a trial belongs to its first arm."""
        for key in trial_keys:
            self._seeds.setdefault(key, tuple(trial_keys))

    def tell(self, trial_key: str, epoch: int, metrics: Mapping[str, Any]) -> None:
        """Hear of an epoch of a known trial, also once more."""
        curve = self._curves.setdefault(trial_key, {})
        curve[epoch] = self.objective(metrics)
        if metrics.get("reaches_target"):
            self._reached.add(trial_key)
        if trial_key in self._reached:
            self._standing[trial_key] = curve[max(curve)]
        self._at(epoch)
        self._rank(trial_key, epoch)

    def diverge(self, trial_key: str) -> None:
        """Hear that a trial has diverged, which makes its arm as bad as can be from there on."""
        self._standing[trial_key] = math.nan
        self._rank(trial_key, 0)

    def fail(self, trial_key: str) -> None:
        """Hear that a trial has failed, which tells nothing of its arm."""
        self._failed.add(trial_key)
        self._rank(trial_key, 0)

    def seeds(self, trial_key: str) -> tuple[str, ...]:
        """Return the trial keys of all seeds of a trial's arm."""
        return self._seeds[trial_key]

    def of(self, trial_key: str) -> Mapping[int, float]:
        """Return one trial's epochs."""
        return self._curves.get(trial_key, {})

    def has_reached_target(self, trial_key: str) -> bool:
        """Return whether a trial's last epoch reached its target: that is its full length."""
        return trial_key in self._reached

    def passed(self, trial_key: str) -> float:
        """Return the last epoch that all seeds of a trial's arm have passed."""
        ends = (
            math.inf if key in self._standing else max(self.of(key), default=0)
            for key in self._counted(trial_key)
        )
        return min(ends, default=0)

    def value(self, trial_key: str, epoch: int) -> float | None:
        """Return what a trial's arm comes to at an epoch; None where not all seeds have told."""
        keys = self._counted(trial_key)
        values = [self._value(key, epoch) for key in keys]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known and len(known) == len(values) else None

    def costs(self, trial_key: str, epoch: int) -> list[float]:
        """Return what is small of a good arm, of each epoch up to one, as far as all have told."""
        values = (self.value(trial_key, each) for each in range(1, epoch + 1))
        return [as_rival(self._objective.cost(value)) for value in values if value is not None]

    def rivals(self, trial_key: str, epoch: int) -> Sequence[float]:
        """Return what the arms but a trial's own are ranked by at an epoch, ascending."""
        return self._at(epoch).all_but(self._seeds[trial_key][0])

    def objective(self, metrics: Mapping[str, Any]) -> float:
        """Return the objective of an epoch, NaN where its losses have diverged."""
        losses = (metrics.get("train_loss", 0.0), metrics.get("validation_loss", 0.0))
        value = self._objective.value({**metrics, **metrics.get("metrics", {})})
        return value if all(map(math.isfinite, losses)) and value is not None else math.nan

    def _counted(self, trial_key: str) -> list[str]:
        return [key for key in self._seeds[trial_key] if key not in self._failed]

    def _value(self, trial_key: str, epoch: int) -> float | None:
        curve = self.of(trial_key)
        if trial_key in self._standing and epoch > max(curve, default=0):
            return self._standing[trial_key]
        return curve.get(epoch)

    def _at(self, epoch: int) -> "_Ranked":
        """Return what stands at an epoch; where that is new, those that ended before it."""
        if epoch not in self._ranked:
            self._ranked[epoch] = _Ranked()
            for key in self._standing:
                self._rank_at(key, epoch)
        return self._ranked[epoch]

    def _rank(self, trial_key: str, first: int) -> None:
        for epoch in self._ranked:
            if epoch >= first:
                self._rank_at(trial_key, epoch)

    def _rank_at(self, trial_key: str, epoch: int) -> None:
        is_known = self.value(trial_key, epoch) is not None
        rival = self._scheduler.rival(self.costs(trial_key, epoch)) if is_known else None
        self._ranked[epoch].put(self._seeds[trial_key][0], rival)


class _Ranked:
    """What arms come to at one epoch, ascending: small is good, what is not finite stands last."""

    def __init__(self) -> None:
        self._ascending: list[float] = []
        self._by_arm: dict[str, float] = {}

    def put(self, arm: str, value: float | None) -> None:
        """Let an arm stand there with a value, or not at all."""
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
        """One less."""
        return len(self._values) - 1

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        """Return values by their place among those that are left."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._values[place + (place >= self._left_out)]


def as_rival(value: float) -> float:
    """Return a value as it is ranked: what is not finite is worse than all that is."""
    return value if math.isfinite(value) else sys.float_info.max
