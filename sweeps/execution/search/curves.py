"""What the trials of a search have come to, epoch by epoch, as far as it is known."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from capsmodel.metrics import Objective


class TrialCurves:
    """The objective of trials after their epochs.

    Args:
        objective: What is chosen by.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._curves: dict[str, dict[int, float]] = {}
        self._reached: set[str] = set()

    def tell(self, trial_key: str, epoch: int, metrics: Mapping[str, Any]) -> None:
        """Hear of an epoch."""
        self._curves.setdefault(trial_key, {})[epoch] = self.objective(metrics)
        if metrics.get("reaches_target"):
            self._reached.add(trial_key)

    def of(self, trial_key: str) -> Mapping[int, float]:
        """Return one trial's epochs."""
        return self._curves.get(trial_key, {})

    def has_reached_target(self, trial_key: str) -> bool:
        """Return whether a trial's last epoch reached its target: that is its full length."""
        return trial_key in self._reached

    def at(self, epoch: int, trial_keys: Collection[str]) -> list[float]:
        """Return the objective of those trials that have an epoch.

        One that had reached its target before stands there with its last value: else the best
        would be no rivals to those that go on.
        """
        found: list[float] = []
        for key in self._curves:
            curve = self._curves[key]
            if key not in trial_keys:
                continue
            if epoch in curve:
                found.append(curve[epoch])
            elif key in self._reached and max(curve) < epoch:
                found.append(curve[max(curve)])
        return found

    def objective(self, metrics: Mapping[str, Any]) -> float:
        """Return the objective of an epoch, NaN where its losses have diverged."""
        is_finite = math.isfinite(metrics["train_loss"]) and math.isfinite(
            metrics["validation_loss"]
        )
        value = self._objective.value({**metrics, **metrics.get("metrics", {})})
        return value if is_finite and value is not None else math.nan
