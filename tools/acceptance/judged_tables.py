"""What the product says of many tables at once: its rule of verdicts with draws as an axis."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, equivalence_p
from sweeps.aggregation.statistics.power import detectable_difference, middle_error
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, two_way

_NO_SPREAD = 1e-24
_DEGREES = tuple(np.geomspace(2, 6000, 160).tolist())


@dataclass(frozen=True)
class JudgedTables:
    """Many tables of arms that were compared with their baseline.

    Attributes:
        way: Of each table and arm.
        p_value: As in the table, with diverged trials as guesses where there are any.
    """

    way: TwoWay
    p_value: Float[np.ndarray, "draws arms"]

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
        errors = self.way.with_rare_images.errors
        p = [equivalence_p(self.way.mean, *error, margin) for error in errors]
        return (np.max(p, axis=0) < SIGNIFICANCE / 2) & self.has_spread & ~self.is_bold

    @property
    def was_bold(self) -> Bool[np.ndarray, "draws arms"]:
        """What the rule was before: an interval over seeds alone that leaves out 0, width 0 too."""
        return np.abs(self.way.mean) > self.half_width_of_seeds

    @property
    def half_width_of_seeds(self) -> Float[np.ndarray, "draws arms"]:
        from scipy.special import stdtrit

        return stdtrit(self.way.num_seeds - 1, 0.975) * np.sqrt(self.way.over_seeds)

    def detectable(self, num_comparisons: int) -> Float[np.ndarray, "draws arms"]:
        """What `detectable_difference` gives, read off a fine grid of degrees of freedom."""
        return np.max([_detectable(*error, num_comparisons) for error in self.way.errors], axis=0)


def judged_tables(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> JudgedTables:
    """Return tables of all arms but the first, compared with the first."""
    way = two_way(minus_first(wrong), objects)
    return JudgedTables(way, way.p_value)


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


def _detectable(
    error: Float[np.ndarray, "draws arms"],
    degrees: Float[np.ndarray, "draws arms"],
    num_comparisons: int,
) -> Float[np.ndarray, "draws arms"]:
    if degrees.min() == degrees.max():
        ratio = _ratio(float(degrees.min()), num_comparisons)
        return np.where(error > 0, error * ratio, np.inf)
    ratios = [_ratio(one, num_comparisons) for one in _DEGREES]
    between = np.interp(np.log(degrees), np.log(_DEGREES), np.log(ratios))
    return np.where(error > 0, error * np.exp(between), np.inf)


@cache
def _ratio(degrees: float, num_comparisons: int) -> float:
    return detectable_difference(middle_error(1.0, degrees), degrees, num_comparisons)
