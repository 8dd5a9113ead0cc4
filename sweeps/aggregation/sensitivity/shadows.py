"""The importance of settings beyond that of their shadows, with a band and a p value.

A shadow is a copy of a setting whose values are shuffled among the trials. Every measure of
importance gives shadows some share too, and a setting without effect gets as much.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm
from sweeps.aggregation.statistics.intervals import Interval

_SEED = 20_140_621
_NORMAL_QUANTILE = 1.959963984540054  # of 97.5 %
_PERCENTILE = 97.5
Each = Float[np.ndarray, " asked"]


@dataclass(frozen=True)
class ShadowedColumn:
    """The values of one setting over the trials, as places between 0 and 1.

    Attributes:
        units: A place between 0 and 1 for each trial.
        num_levels: Number of equal parts of its levels; 0 for numbers of a range.
        is_choice: Whether the levels have no order.
    """

    units: tuple[float, ...]
    num_levels: int = 0
    is_choice: bool = False


def table_of(columns: Sequence[ShadowedColumn]) -> Float[np.ndarray, "trials columns"]:
    """Return the columns side by side."""
    return np.array([column.units for column in columns], dtype=np.float64).T


def with_shadows(
    table: Float[np.ndarray, "trials columns"], draw: int
) -> Float[np.ndarray, "trials both"]:
    """Return the columns, followed by a shuffled copy of each."""
    chance = np.random.default_rng((_SEED, len(table), draw))
    return np.hstack([table, chance.permuted(table, axis=0)])


def half_of(num_trials: int, draw: int) -> Int[np.ndarray, " half"]:
    """Return the places of a random half of the trials."""
    chance = np.random.default_rng((_SEED, draw))
    return np.sort(chance.permutation(num_trials)[: (num_trials + 1) // 2])


@dataclass(frozen=True)
class ShareDraws:
    """Shares measured in several draws, with the shadows reshuffled in each.

    Attributes:
        real: Shares of the settings, or pairs of settings.
        shadows: Shares of shadows, which have no effect.
    """

    real: Float[np.ndarray, "draws asked"]
    shadows: Float[np.ndarray, "draws shadows"]


@dataclass(frozen=True)
class Excess:
    """The share of a setting or pair beyond that of shadows.

    Attributes:
        share: In percent, with its 95 % band.
        adjusted_p: How often a shadow gets as much, adjusted by Holm over all settings or pairs.
    """

    share: Interval
    adjusted_p: float

    @property
    def is_clear(self) -> bool:
        """Whether it is above shadows, by its band and by its adjusted p."""
        return (self.share.low or 0.0) > 0 and self.adjusted_p < SIGNIFICANCE


def excesses(
    n: int,
    among_all: ShareDraws,
    halves: ShareDraws,
    *,
    is_like: Bool[np.ndarray, "asked shadows"],
    added: float,
) -> tuple[Excess, ...]:
    """Return the share of each setting or pair beyond that of the shadows like it.

    The value is its mean share among all trials less that of its shadows. Two things would move it
    among new trials: the chance that moves shadows too, and how large an effect comes out. The
    first is the spread of shadows among all trials, the second what shares among halves of the
    trials vary more than shadows do there: halves drawn without replacement vary as new samples
    of full size would. The band is a score's: the second part shrinks with the share, so that
    the lower end is above 0 exactly where the value is above 97.5 % of the shadows.

    Source: Wilson, Probable Inference, JASA 22 (1927), for bands whose spread is that at their
        ends. Kursa, Rudnicki, Feature Selection with the Boruta Package, JSS 36 (2010), for
        shadows. Politis, Romano, Large Sample Confidence Regions Based on Subsamples, Annals of
        Statistics 22 (1994), for halves.

    Args:
        n: Trials.
        among_all: Shares among all of them.
        halves: Shares among halves of them.
        is_like: The shadows each is compared with: measures favour settings of many values.
        added: To shares, in mean shadows, before logarithms are taken: the less, the longer the
            tail that chance is taken to have. Found by simulation for what is measured.
    """
    raw = [among_all.shadows[:, like].ravel() for like in is_like]
    centres = np.array([each.mean() for each in raw])
    value = among_all.real.mean(axis=0) - centres
    half_widths = np.array([np.percentile(each, _PERCENTILE) for each in raw]) - centres
    low, high = np.clip(_band(value, half_widths, _effect_variance(halves, is_like)), -1, 1)
    adjusted = holm(
        [
            _p_value(share, shadows, added)
            for share, shadows in zip(among_all.real.mean(axis=0).tolist(), raw, strict=True)
        ]
    )
    rows = np.column_stack([value, low, high])
    shares = [Interval(n, *row) for row in (100 * rows).tolist()]
    return tuple(map(Excess, shares, adjusted))


def _p_value(share: float, shadows: Float[np.ndarray, " shadows"], added: float) -> float:
    """Return the p-value of an importance, from a normal fit of the shadows' logarithms.

    Shares are skewed: as they are, a shadow that stands out is far less rare than by a normal law.

    Source: Altmann, Tolosi, Sander, Lengauer, Permutation Importance, Bioinformatics 26 (2010).
    Difference: something is added, so that none is at minus infinity, and the t distribution of a
        prediction stands for the normal one.
    """
    from scipy.special import stdtr  # here, and not scipy.stats, to keep imports quick

    scale = shadows.mean() or 1.0
    logarithms = np.log(shadows / scale + added)
    spread = logarithms.std(ddof=1) * math.sqrt(1 + 1 / len(shadows))
    beyond = math.log(share / scale + added) - logarithms.mean()
    return float(stdtr(len(shadows) - 1, -beyond / (spread or math.inf)))


def _effect_variance(halves: ShareDraws, is_like: Bool[np.ndarray, "asked shadows"]) -> Each:
    """Return by how much shares among halves vary more than those of shadows."""
    shadows = np.stack([halves.shadows[:, like].mean(axis=1) for like in is_like], axis=-1)
    of_chance = np.array([halves.shadows[:, like].var() for like in is_like])
    return np.clip((halves.real - shadows).var(axis=0, ddof=1) - of_chance, 0, None)


def _band(value: Each, half_width: Each, effect_variance: Each) -> tuple[Each, Each]:
    """Return the ends: below the value the effect's variance shrinks with the share, to 0 at 0."""
    effect = _NORMAL_QUANTILE**2 * effect_variance
    shrinking = np.where(value > 0, effect / np.where(value > 0, value, 1), 0)
    middle = value + shrinking / 2  # of the roots e of (value - e)² = half_width² + shrinking e
    low = middle - np.sqrt(middle**2 - value**2 + half_width**2)
    return low, value + np.sqrt(half_width**2 + effect)
