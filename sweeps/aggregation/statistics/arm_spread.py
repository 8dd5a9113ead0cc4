"""How far seeds move each arm of a table, and which arms they clearly move more."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.rule_power import VarianceParts
from sweeps.aggregation.statistics.two_way import TwoWay


@dataclass(frozen=True)
class ArmSpread:
    """One arm's difference from the baseline. Errors are fractions.

    Attributes:
        arm: Its name.
        differences: Mean over the images, by seed.
        way: Its variance over seeds and images.
        is_apart: Whether its seeds clearly vary more than those of other arms.
    """

    arm: str
    differences: Mapping[int, float]
    way: TwoWay
    is_apart: bool = False

    @property
    def of_seeds(self) -> float:
        """Variance of one seed's mean over these images."""
        return float(self.way.over_seeds) * self.way.num_seeds

    @property
    def of_rest(self) -> float:
        """The part of `of_seeds` that these images add by chance."""
        return float(self.way.residual) * self.way.num_seeds

    @property
    def degrees(self) -> float:
        """Degrees of freedom of `of_seeds`."""
        return self.way.num_seeds - 1.0


def spread_of(
    arm: str, way: TwoWay, errors: Mapping[int, float], baseline: Mapping[int, float]
) -> ArmSpread:
    """Return the spread of an arm.

    Args:
        arm: Its name.
        way: The variance of its difference.
        errors: Of the arm, by seed.
        baseline: Of the baseline, by seed.
    """
    differences = {seed: errors[seed] - baseline[seed] for seed in errors if seed in baseline}
    return ArmSpread(arm, differences, way)


def set_apart(arms: Sequence[ArmSpread]) -> tuple[ArmSpread, ...]:
    """Mark arms whose seeds vary more than those of the others, at 5 % for all arms at once.

    Source: the F test of two variances, Bonferroni's bound over arms.
    """
    from scipy.special import fdtrc

    def is_apart(arm: ArmSpread) -> bool:
        others = [other for other in arms if other is not arm and other.of_seeds]
        if not others:
            return False
        ratio = arm.of_seeds / float(np.mean([other.of_seeds for other in others]))
        p_value = float(fdtrc(arm.degrees, joined_degrees(others), ratio))
        return p_value * len(arms) < SIGNIFICANCE

    return tuple(replace(arm, is_apart=is_apart(arm)) for arm in arms)


def joined_degrees(arms: Sequence[ArmSpread]) -> float:
    """Return the degrees of freedom of the arms' mean variance; a shared baseline couples them.

    Source: Box 1954, as estimated by Geisser and Greenhouse 1958, which is at most too low.
    """
    covariance = _covariance(arms)
    joined = np.trace(covariance) ** 2 / (covariance**2).sum()
    return float(joined) * min(arm.degrees for arm in arms)


def _covariance(arms: Sequence[ArmSpread]) -> Float[np.ndarray, "arms arms"]:
    """Return the covariance of differences over seeds; unknown pairs count as fully correlated."""
    seeds = sorted({seed for arm in arms for seed in arm.differences})
    rows = np.asarray([[arm.differences.get(seed, np.nan) for seed in seeds] for arm in arms])
    has = (~np.isnan(rows)).astype(float)
    values = np.where(has > 0, rows - np.nanmean(rows, axis=1, keepdims=True), 0.0)
    num, sums = has @ has.T, values @ has.T
    with np.errstate(divide="ignore", invalid="ignore"):
        known = (values @ values.T - sums * sums.T / num) / (num - 1)
    spread = np.sqrt(np.diag(known))
    return np.where(num > 1, known, np.outer(spread, spread))


def with_others(
    parts: Mapping[str, VarianceParts], arms: Collection[str]
) -> list[tuple[VarianceParts, VarianceParts]]:
    """Return the parts of some arms, each with those of the other arms of the table together."""

    def others(arm: str) -> VarianceParts:
        of_seeds = [one.of_seeds for name, one in parts.items() if name != arm]
        return replace(parts[arm], of_seeds=float(np.mean(of_seeds or [parts[arm].of_seeds])))

    return [(parts[arm], others(arm)) for arm in arms]
