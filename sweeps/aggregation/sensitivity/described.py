"""What a search says of one setting, and of two together, as values."""

from dataclasses import dataclass
from typing import Literal

from capsmodel.metrics import Objective
from sweeps.aggregation.sensitivity.setting_axis import Group, SettingAxis
from sweeps.aggregation.sensitivity.shadows import Excess
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.records.manifest_plan import ManifestDimension, Plain

Silence = Literal["", "few", "equal results", "one value"]


@dataclass(frozen=True)
class Marginal:
    """The objective over the sampled trials that have one value of a setting, or one range.

    Attributes:
        values: One a trial, in the record's unit.
    """

    group: Group
    values: tuple[float, ...]

    @property
    def objective(self) -> Interval:
        """Their mean and t interval."""
        return mean_interval(self.values)


@dataclass(frozen=True)
class SettingSensitivity:
    """How a search's objective hangs on one setting, over the sampled trials that have it.

    Attributes:
        trials: Their proposals' numbers.
        fanova: Excess over chance in percent; None where `silence` says why.
        ped_anova: The same by another method.
        rank_correlation: Of values and objective, from -1 to 1; None of choices as well.
        best: The value in the best trial of full length; None where that has no such setting.
        is_trend: Whether that leaves out 0 also as one of all settings' correlations.
        silence: Why there is no importance.
    """

    axis: SettingAxis
    trials: tuple[int, ...]
    marginals: tuple[Marginal, ...]
    best: Plain | None = None
    fanova: Excess | None = None
    ped_anova: Excess | None = None
    rank_correlation: Interval | None = None
    is_trend: bool = False
    silence: Silence = ""

    @property
    def dimension(self) -> ManifestDimension:
        """The setting as the manifest has it."""
        return self.axis.dimension

    def best_marginal(self, objective: Objective) -> Marginal | None:
        """Return the value or range of the best mean, of those with at least two trials."""
        means = [
            (objective.cost(marginal.objective.mean), place)
            for place, marginal in enumerate(self.marginals)
            if marginal.objective.mean is not None and marginal.objective.n > 1
        ]
        return self.marginals[min(means)[1]] if means else None


@dataclass(frozen=True)
class PairSensitivity:
    """What two settings that all sampled trials have explain together, beyond each alone."""

    first: ManifestDimension
    second: ManifestDimension
    excess: Excess
