"""How far the seeds and images of a sweep's trained arms make their differences vary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.rule_power import VarianceParts
from sweeps.aggregation.statistics.two_way import TwoWay
from sweeps.aggregation.tables.ablation_lead import NO_SPREAD


@dataclass(frozen=True)
class ArmSpread:
    """One arm's difference from the baseline, as the pilot has it. Errors are fractions.

    Attributes:
        arm: Its name.
        differences: Mean over the images, by seed.
        way: Its parts over seeds and images.
        is_apart: Whether its seeds clearly vary more than those of the other arms.
    """

    arm: str
    differences: Mapping[int, float]
    way: TwoWay
    is_apart: bool = False

    @property
    def of_seeds(self) -> float:
        """Variance of a seed's mean over these images."""
        return float(self.way.over_seeds) * self.way.num_seeds

    @property
    def of_rest(self) -> float:
        """What of it these images add by chance."""
        return float(self.way.residual) * self.way.num_seeds

    @property
    def degrees(self) -> float:
        """Of freedom of what its own seeds say."""
        return self.way.num_seeds - 1.0


@dataclass(frozen=True)
class Pilot:
    """What was trained before planning: only its spread is used, never which arm was better.

    The spread over seeds is taken together over arms, as three seeds of one say little; an arm
    that clearly varies more is taken by itself. The spread over images is each arm's own.

    Attributes:
        arms: Those compared with the baseline that have three seeds, and predictions.
        num_compared: Comparisons that the sweep's table makes.
        num_images: Test images.
        without: Names of arms that have no spread yet: they are taken to be as the others.
    """

    arms: tuple[ArmSpread, ...]
    num_compared: int
    num_images: int
    without: tuple[str, ...] = ()

    @property
    def num_clusters(self) -> int:
        """Images, or objects where images are views of one."""
        return self.arms[0].way.num_clusters

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of any arm."""
        return tuple(sorted({seed for arm in self.arms for seed in arm.differences}))

    @property
    def degrees(self) -> float:
        """Of freedom of the spread over seeds, all arms together: they share the baseline."""
        return _joined_degrees(self._together)

    def parts(self, confidence: float) -> dict[str, VarianceParts]:
        """Return variance parts that are as large as the true ones with some confidence, by arm.

        Of 0.5 they are as often too large as too small.

        Source: upper limits of variances for sample sizes: Browne 1995, On the use of a pilot
        sample for sample size determination.
        """
        together = self._together
        pooled = float(np.mean([arm.of_seeds for arm in together]))
        rest = float(np.mean([arm.of_rest for arm in together]))
        of_seeds = _limit(pooled, _joined_degrees(together), confidence) - rest

        def own(arm: ArmSpread) -> VarianceParts:
            seeds, clusters = arm.way.num_seeds, arm.way.num_clusters
            alone = _limit(arm.of_seeds, arm.degrees, confidence) - arm.of_rest
            images = _limit(float(arm.way.over_images), clusters - 1.0, confidence)
            residual = float(arm.way.residual)
            return VarianceParts(
                max(alone if arm.is_apart else of_seeds, 0.0),
                max(images - residual, 0.0) * clusters,
                residual * seeds * clusters,
            )

        return {arm.arm: own(arm) for arm in self.arms}

    @property
    def _together(self) -> list[ArmSpread]:
        return [arm for arm in self.arms if not arm.is_apart] or list(self.arms)


def pilot_of(compared: Sequence[Comparison], baseline: Mapping[int, float]) -> Pilot | str:
    """Return the spread of arms, or why there is none.

    Args:
        compared: All comparisons of the sweep's table, as far as they are trained.
        baseline: Its test errors, by seed.
    """
    spread = [_spread_of(one, one.way, baseline) for one in compared if one.way is not None]
    if not spread:
        reasons = dict.fromkeys(one.why_seeds_alone for one in compared)
        return "; ".join(reasons)
    if not any(arm.of_seeds for arm in spread):
        return NO_SPREAD
    images = max(one.num_images for one in compared if one.way is not None)
    without = tuple(one.arm.arm.name for one in compared if one.way is None)
    return Pilot(set_apart(spread), len(compared), images, without)


def _spread_of(one: Comparison, way: TwoWay, baseline: Mapping[int, float]) -> ArmSpread:
    own = one.arm.test_errors
    differences = {seed: own[seed] - baseline[seed] for seed in own if seed in baseline}
    return ArmSpread(one.arm.arm.name, differences, way)


def set_apart(arms: Sequence[ArmSpread]) -> tuple[ArmSpread, ...]:
    """Mark arms whose seeds vary more than those of the others, of all arms at 5 %.

    Source: the F test of two variances, Bonferroni's bound over arms.
    """
    from scipy.stats import f

    def is_apart(arm: ArmSpread) -> bool:
        others = [other for other in arms if other is not arm and other.of_seeds]
        if not others:
            return False
        ratio = arm.of_seeds / float(np.mean([other.of_seeds for other in others]))
        p_value = float(f.sf(ratio, arm.degrees, _joined_degrees(others)))
        return p_value * len(arms) < SIGNIFICANCE

    return tuple(replace(arm, is_apart=is_apart(arm)) for arm in arms)


def _joined_degrees(arms: Sequence[ArmSpread]) -> float:
    """Return the degrees of freedom of arms' mean variance; arms of one baseline vary alike.

    Source: Box 1954, as estimated by Geisser and Greenhouse 1958, which is at most too low.
    """
    covariance = _covariance(arms)
    joined = np.trace(covariance) ** 2 / (covariance**2).sum()
    return float(joined) * min(arm.degrees for arm in arms)


def _covariance(arms: Sequence[ArmSpread]) -> Float[np.ndarray, "arms arms"]:
    """Return how differences vary together over seeds, as if alike where it is not known."""
    import pandas as pd

    found = pd.DataFrame({arm.arm: pd.Series(arm.differences) for arm in arms}).cov()
    known = found.to_numpy(dtype=float)
    spread = np.sqrt(np.diag(known))
    return np.where(np.isnan(known), np.outer(spread, spread), known)


def _limit(variance: float, degrees: float, confidence: float) -> float:
    """Return what the true variance is no larger than, with some confidence."""
    from scipy.special import chdtri

    return variance * degrees / float(chdtri(degrees, confidence))
