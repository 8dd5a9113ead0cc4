"""What the product says of many tables at once: its rule of verdicts with draws as an axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.equivalence import beyond_margin
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.rule_power import (
    FEWEST_ERRORS,
    Requirement,
    VarianceParts,
    detectable_by_rule,
)
from sweeps.aggregation.statistics.shared_seeds import own_variances, pool_degrees, share_seeds
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, two_way

_NO_SPREAD = 1e-24


@dataclass(frozen=True)
class JudgedTables:
    """Many tables of arms that were compared with their baseline.

    Attributes:
        way: Of each table and arm.
        p_value: As in the table, with diverged trials as guesses where there are any.
        error: Of each table's baseline.
        of_arms: Variance over seeds of the error of each arm, the baseline first.
        num_images: Of the test split.
    """

    way: TwoWay
    p_value: Float[np.ndarray, "draws arms"]
    error: Float[np.ndarray, " draws"]
    of_arms: Float[np.ndarray, "draws arms"]
    num_images: int

    @property
    def by_own_seeds(self) -> "JudgedTables":
        """The same where every comparison stands alone, as all did before they shared."""
        alone = replace(self.way, shared=None)
        return replace(self, way=alone, p_value=alone.p_value)

    @property
    def has_spread(self) -> Bool[np.ndarray, "draws arms"]:
        return self.way.over_seeds > _NO_SPREAD

    @property
    def is_bold(self) -> Bool[np.ndarray, "draws arms"]:
        """Where no seeds were added."""
        return self.is_bold_at(SIGNIFICANCE)

    def is_bold_at(self, level: float) -> Bool[np.ndarray, "draws arms"]:
        """Where seeds were added the level is half of it, and evidence is needed as well."""
        if self.way.num_seeds < FEWEST_SEEDS:
            return np.zeros(self.p_value.shape, dtype=bool)
        return (holm_rows(self.p_value) < level) & self.has_spread

    def is_equivalent(self, margin: float) -> Bool[np.ndarray, "draws arms"]:
        p_value = beyond_margin(self.way, margin)
        is_within = (p_value < SIGNIFICANCE / 2) & (holm_rows(p_value) < SIGNIFICANCE)
        return is_within & ~self.is_bold

    @property
    def was_bold(self) -> Bool[np.ndarray, "draws arms"]:
        """What the rule was before: an interval over seeds alone that leaves out 0, width 0 too."""
        return np.abs(self.way.mean) > self.half_width_of_seeds

    @property
    def half_width_of_seeds(self) -> Float[np.ndarray, "draws arms"]:
        from scipy.special import stdtrit

        return stdtrit(self.way.num_seeds - 1, 0.975) * np.sqrt(self.way.over_seeds)

    def reach(self, draw: int, num_together: int = 0) -> float:
        """Return what the product prints above one of the tables, a fraction, not rounded.

        All arms vary alike: one that clearly varies more has another figure in the product.

        Args:
            draw: Which one.
            num_together: Comparisons whose verdicts hold together; 0 for those of the table.
        """
        num_seeds, num_clusters = self.way.num_seeds, self.way.num_clusters
        if self.num_images * num_seeds * float(self.error[draw]) < FEWEST_ERRORS:
            return np.inf
        num = self.p_value.shape[1]
        degrees = float(pool_degrees(num, num_seeds, np.asarray(1.0)))
        of_baseline, *of_arms = self.of_arms[draw]
        parts = VarianceParts.of(part_of(self.way, draw)).with_errors(
            float(self.error[draw]), float(np.mean(of_arms)), float(of_baseline), num_clusters
        )
        return detectable_by_rule(
            parts.with_middle_seeds(degrees, num_clusters),
            num_seeds,
            num_clusters,
            requirement=Requirement(SIGNIFICANCE / (num_together or num), num_sharing=num),
        )


def part_of(way: TwoWay, place: int | tuple[slice, slice]) -> TwoWay:
    """Return some of many tables, or of the comparisons of one, each by its own seeds."""
    return TwoWay(
        mean=np.asarray(way.mean[place]),
        over_seeds=np.asarray(way.over_seeds[place]),
        over_images=np.asarray(way.over_images[place]),
        residual=np.asarray(way.residual[place]),
        largest=np.asarray(way.largest[place]),
        num_seeds=way.num_seeds,
        num_clusters=way.num_clusters,
        square=None if way.square is None else np.asarray(way.square[place]),
    )


def judged_tables(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> JudgedTables:
    """Return tables of all arms but the first, compared with the first."""
    way = shared_way(two_way(minus_first(wrong), objects), wrong)
    return JudgedTables(way, way.p_value, *usual_errors(wrong), num_images=wrong.shape[-1])


def joined(parts: Sequence[JudgedTables]) -> JudgedTables:
    """Return tables of several parts together."""
    first = parts[0]

    def all_of(values: Iterable[Any]) -> Any:
        return np.concatenate([*values])

    def way_of(ways: Sequence[Any]) -> dict[str, Any]:
        names = [name for name, value in vars(ways[0]).items() if isinstance(value, np.ndarray)]
        return {name: all_of(getattr(way, name) for way in ways) for name in names}

    shared = [one.way.shared for one in parts if one.way.shared]
    way = replace(first.way, **way_of([one.way for one in parts]))
    if first.way.shared:
        way = replace(way, shared=replace(first.way.shared, **way_of(shared)))
    return JudgedTables(
        way,
        all_of(one.p_value for one in parts),
        all_of(one.error for one in parts),
        all_of(one.of_arms for one in parts),
        first.num_images,
    )


def usual_errors(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
) -> tuple[Float[np.ndarray, " draws"], Float[np.ndarray, "draws arms"]]:
    """Return the error of the baseline, and the variance over seeds of that of each arm."""
    errors = wrong.mean(axis=-1)
    return errors[:, 0].mean(axis=-1), errors.var(axis=-1, ddof=1)


def shared_way(way: TwoWay, wrong: Bool[np.ndarray, "draws arms seeds images"]) -> TwoWay:
    """Return comparisons with the first arm, their variances over seeds shared."""
    own = own_variances(wrong.mean(axis=-1))
    return share_seeds(way, own[:, 1:], own[:, 0])


def minus_first(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
) -> Float[np.ndarray, "draws others seeds images"]:
    return wrong[:, 1:].astype(float) - wrong[:, :1]


def holm_rows(p_values: Float[np.ndarray, "draws arms"]) -> Float[np.ndarray, "draws arms"]:
    """Return what `holm` gives for each row."""
    order = np.argsort(p_values, axis=-1, kind="stable")
    steps = np.arange(p_values.shape[-1], 0, -1)
    stepped = np.take_along_axis(p_values, order, axis=-1) * steps
    adjusted = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    unsorted = np.empty_like(adjusted)
    np.put_along_axis(unsorted, order, adjusted, axis=-1)
    return unsorted


def log_e_rows(by_seed: Float[np.ndarray, "draws arms seeds"]) -> Float[np.ndarray, "draws arms"]:
    """Return what `log_e_value` gives for each row."""
    n, prior = by_seed.shape[-1], 0.25
    squares = (by_seed**2).sum(axis=-1)
    is_some = np.ptp(by_seed, axis=-1) > 0
    share = by_seed.sum(axis=-1) ** 2 / ((n + prior) * np.where(is_some, squares, 1.0))
    logs = 0.5 * np.log(prior / (n + prior)) - n / 2 * np.log1p(-np.where(is_some, share, 0.0))
    return np.where(is_some, logs, 0.0)
