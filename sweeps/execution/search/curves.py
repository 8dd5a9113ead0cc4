"""What the trials of a search have come to, epoch by epoch, ranked as they are told."""

import math
import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from capsmodel.metrics import Objective


class TrialCurves:
    """The objective of trials after their epochs. Telling costs the same however many there are.

    Args:
        objective: What is chosen by.
        group_of: Which trials are compared: those of the same group.
    """

    def __init__(self, objective: Objective, group_of: Callable[[str], int]) -> None:
        self._objective = objective
        self._group_of = group_of
        self._curves: dict[str, dict[int, float]] = {}
        self._reached: dict[str, int] = {}  # trial key -> epoch
        self._reached_in: dict[int, list[str]] = {}
        self._ranked: dict[int, dict[int, list[float]]] = {}  # group -> epoch -> ascending

    def tell(self, trial_key: str, epoch: int, metrics: Mapping[str, Any]) -> None:
        """Hear of an epoch, also once more."""
        curve = self._curves.setdefault(trial_key, {})
        value, group = self.objective(metrics), self._group_of(trial_key)
        if trial_key in self._reached:
            self._stand_later(trial_key, group, self._remove)
        if epoch in curve:
            self._remove(self._at(group, epoch), curve[epoch])
        ranked = self._at(group, epoch)
        curve[epoch] = value
        insort(ranked, self._rival(value))
        if metrics.get("reaches_target") and trial_key not in self._reached:
            self._reached_in.setdefault(group, []).append(trial_key)
            self._reached[trial_key] = epoch
        if trial_key in self._reached:
            self._reached[trial_key] = max(curve)
            self._stand_later(trial_key, group, self._insert)

    def of(self, trial_key: str) -> Mapping[int, float]:
        """Return one trial's epochs."""
        return self._curves.get(trial_key, {})

    def has_reached_target(self, trial_key: str) -> bool:
        """Return whether a trial's last epoch reached its target: that is its full length."""
        return trial_key in self._reached

    def rivals(self, trial_key: str, epoch: int) -> Sequence[float]:
        """Return what the others of a trial's group come to at an epoch, ascending: small is good.

        One that had reached its target before stands there with its last value: else the best
        would be no rivals to those that go on. What is not finite stands last.
        """
        ranked = self._at(self._group_of(trial_key), epoch)
        curve = self.of(trial_key)
        if epoch in curve:
            return AllBut(ranked, self._rival(curve[epoch]))
        last = self._reached.get(trial_key, epoch)
        return AllBut(ranked, self._rival(curve[last])) if last < epoch else ranked

    def objective(self, metrics: Mapping[str, Any]) -> float:
        """Return the objective of an epoch, NaN where its losses have diverged."""
        losses = (metrics.get("train_loss", 0.0), metrics.get("validation_loss", 0.0))
        value = self._objective.value({**metrics, **metrics.get("metrics", {})})
        return value if all(map(math.isfinite, losses)) and value is not None else math.nan

    def cost(self, value: float) -> float:
        """Return a value of the objective as what is to be small."""
        return self._objective.cost(value)

    def _rival(self, value: float) -> float:
        return as_rival(self._objective.cost(value))

    def _at(self, group: int, epoch: int) -> list[float]:
        """Return what stands at an epoch; where that is new, those that ended before it."""
        by_epoch = self._ranked.setdefault(group, {})
        if epoch not in by_epoch:
            ended = [key for key in self._reached_in.get(group, ()) if self._reached[key] < epoch]
            values = [self._rival(self._curves[key][self._reached[key]]) for key in ended]
            by_epoch[epoch] = sorted(values)
        return by_epoch[epoch]

    def _stand_later(
        self, trial_key: str, group: int, step: Callable[[list[float], float], None]
    ) -> None:
        """Let a trial that reached its target stand at all later epochs, or stand there no more."""
        last = self._reached[trial_key]
        for epoch, ranked in self._ranked.get(group, {}).items():
            if epoch > last:
                step(ranked, self._curves[trial_key][last])

    def _insert(self, ranked: list[float], value: float) -> None:
        insort(ranked, self._rival(value))

    def _remove(self, ranked: list[float], value: float) -> None:
        del ranked[bisect_left(ranked, self._rival(value))]


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
