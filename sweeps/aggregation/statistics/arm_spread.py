"""How far seeds move each arm of a table, which they move more, and what the table can find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.power import (
    Requirement,
    VarianceParts,
    power_of_rule,
)
from sweeps.aggregation.statistics.reach import LIMITS, Case, Reach, reach_of
from sweeps.aggregation.statistics.shared_seeds import (
    APART,
    pool_degrees,
    stacked,
    variances_of,
    varies_more,
)
from sweeps.aggregation.statistics.two_way import TwoWay

TAIL = 0.01
"""How often a pilot of arms that vary alike seems to have a tail."""


@dataclass(frozen=True)
class ArmSpread:
    """One arm compared with the baseline. Errors are fractions.

    Attributes:
        arm: Its name.
        errors: Mean over the images, by seed.
        baseline: The same of the baseline.
        way: Variance of the difference over seeds and images.
        is_apart: Whether it is held to its own seeds as well, see `shared_seeds.varies_more`.
    """

    arm: str
    errors: Mapping[int, float]
    baseline: Mapping[int, float]
    way: TwoWay
    is_apart: bool = False

    @property
    def differences(self) -> dict[int, float]:
        """Of the arm and the baseline, by seed."""
        common = [seed for seed in self.errors if seed in self.baseline]
        return {seed: self.errors[seed] - self.baseline[seed] for seed in common}

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


def set_apart(arms: Sequence[ArmSpread]) -> tuple[ArmSpread, ...]:
    """Mark the arms that a table holds to their own seeds as well, by its own rule."""
    if len(arms) < 2:
        return tuple(arms)
    are_apart = varies_more(*variances_of([arm.errors for arm in arms], arms[0].baseline))
    marked = zip(arms, are_apart.tolist(), strict=True)
    return tuple(replace(arm, is_apart=is_apart) for arm, is_apart in marked)


def with_tails(arms: Sequence[ArmSpread]) -> tuple[ArmSpread, ...]:
    """Mark the arm whose seeds show a tail: they vary more than chance lets the others' vary.

    Errors are taken on the normal scale, where arms that err more do not vary more by that. A table
    of arms that vary alike has a tail in at most `TAIL` of cases, where seeds are normal.

    Source: Cochran 1941, The distribution of the largest of a set of estimated variances as a
    fraction of their total, with the bound of Bonferroni.
    """
    from scipy.special import fdtrc, ndtri

    least = 0.5 / arms[0].way.num_clusters

    def variance(errors: Mapping[int, float]) -> float:
        return float(np.var(ndtri(np.clip([*errors.values()], least, 1 - least)), ddof=1))

    of_baseline, *of_arms = (
        variance(errors) for errors in (arms[0].baseline, *(arm.errors for arm in arms))
    )
    place = int(np.argmax(of_arms))
    largest, num, degrees = of_arms[place], len(of_arms), min(arm.degrees for arm in arms)
    others = (sum(of_arms) - largest + of_baseline) / num
    ratio = largest / others if others else np.inf
    is_tail = (num + 1) * float(fdtrc(degrees, num * degrees, ratio)) < TAIL
    return tuple(
        replace(arm, is_apart=is_tail and index == place) for index, arm in enumerate(arms)
    )


def pooled(arms: Sequence[ArmSpread]) -> list[ArmSpread]:
    """Return what the variance over seeds of arms is pooled from, those marked by `set_apart`.

    One that is apart counts with at most `APART` times the variance of the others. In most tables
    of arms that vary alike one is apart by chance, and without it the others would seem to vary
    too little.
    """
    usual = [arm.of_seeds for arm in arms if not arm.is_apart]
    most = APART * float(np.mean(usual)) if usual else np.inf

    def at_most(way: TwoWay) -> TwoWay:
        over_seeds = np.minimum(way.over_seeds, most / way.num_seeds)
        return replace(way, over_seeds=np.asarray(over_seeds))

    return [replace(arm, way=at_most(arm.way)) if arm.is_apart else arm for arm in arms]


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
    parts: Mapping[str, VarianceParts],
) -> dict[str, tuple[VarianceParts, VarianceParts]]:
    """Return the parts of each arm with those of the other arms of the table together."""

    def others(arm: str) -> VarianceParts:
        of_seeds = [of_arm.of_seeds for name, of_arm in parts.items() if name != arm]
        return replace(parts[arm], of_seeds=float(np.mean(of_seeds or [parts[arm].of_seeds])))

    return {arm: (of_arm, others(arm)) for arm, of_arm in parts.items()}


def with_errors(
    parts: VarianceParts, arms: Sequence[ArmSpread], num_clusters: int
) -> VarianceParts:
    """Return parts that change with the difference, by the errors of some arms' seeds.

    Args:
        parts: As they were seen.
        arms: Of one baseline.
        num_clusters: Images or objects that they were seen on.
    """
    baseline, errors = [*arms[0].baseline.values()], [[*arm.errors.values()] for arm in arms]
    return parts.with_errors(baseline, errors, num_clusters)


def reaches(arms: Sequence[ArmSpread], asked: Requirement) -> dict[str, Reach | None]:
    """Return what a next table finds of each arm; None where it finds nothing.

    The variances are those of all its arms together, that over seeds at its limits; the seeds are
    those of the arm with the fewest. An arm that is held to its own seeds has its own, and counts
    among those of the others as far as `pooled` says.

    Args:
        arms: Those of the table that have a spread.
        asked: What a verdict requires.
    """
    num_seeds, num_clusters = (
        min(getattr(arm.way, name) for arm in arms) for name in ("num_seeds", "num_clusters")
    )
    marked = set_apart(arms)
    alike = [arm for arm in marked if not arm.is_apart]
    groups = [group for group in (alike, *([arm] for arm in marked if arm.is_apart)) if group]
    sizes = (num_seeds, num_clusters)

    def parts(group: Sequence[ArmSpread], confidence: float) -> VarianceParts:
        together = stacked([arm.way for arm in pooled(group)], *sizes)
        degrees = pool_degrees(min(asked.num_sharing, len(group)), num_seeds, np.asarray(1.0))
        usual = [arm for arm in group if not arm.is_apart] or group
        seen = with_errors(VarianceParts.of(together), usual, num_clusters)
        return seen.with_seeds_at(confidence, float(degrees), num_clusters)

    def with_all(confidence: float) -> dict[str, tuple[VarianceParts, VarianceParts]]:
        of_all = parts(marked, confidence)
        return with_others(
            {arm.arm: parts([arm], confidence) if arm.is_apart else of_all for arm in marked}
        )

    by_limit = {confidence: with_all(confidence) for confidence in LIMITS}

    def power_at(name: str, case: Case, difference: float) -> float:
        of_arm, others = by_limit[case.confidence][name]
        return power_of_rule(
            of_arm,
            *(*sizes, case.sign * difference),
            requirement=asked,
            others=others if len(groups) > 1 else None,
            nodes=case.nodes,
        )

    error = float(np.mean([*arms[0].baseline.values()]))
    reach_by_arm = dict[str, Reach | None]()
    for group in groups:
        reach = reach_of(partial(power_at, group[0].arm), error, num_seeds)
        reach_by_arm |= dict.fromkeys([arm.arm for arm in group], reach)
    return {arm.arm: reach_by_arm[arm.arm] for arm in arms}
