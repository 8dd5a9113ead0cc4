"""How much of the objective's variance a setting explains alone, and whether by chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.families import SIGNIFICANCE

NUM_SHUFFLES = 9_999
_SEED = 20_140_621
_DEGREE = 3  # a cubic follows all but steps and narrow optima
_DEGREES_TESTED = (1, 2)  # a cubic too would find fewer straight lines and hardly more steps
_EQUAL = 1 + 1e-9  # two sums of the same numbers may differ in rounding
_ALL_EQUAL = 1e-9
Values = Float[np.ndarray, " trials"]


@dataclass(frozen=True)
class SettingColumn:
    """The values of one setting over the trials, as places between 0 and 1.

    Attributes:
        units: A place between 0 and 1 for each trial, NaN where it does not have the setting.
        num_levels: Number of equal parts of its levels; 0 for numbers of a range.
        is_choice: Whether the levels have no order.
    """

    units: tuple[float, ...]
    num_levels: int = 0
    is_choice: bool = False

    @property
    def having(self) -> Bool[np.ndarray, " trials"]:
        """Which trials have the setting."""
        return ~np.isnan(self.units)


@dataclass(frozen=True)
class Importance:
    """What a setting, or a pair of settings, explains.

    Attributes:
        share: Of the objective's variance, a fraction; by chance it may be below 0.
        p_value: How often as much would be explained by chance.
        adjusted_p: The same, adjusted by Holm over all settings, or all pairs, of a table.
    """

    share: float
    p_value: float
    adjusted_p: float = 1.0

    @property
    def matters(self) -> bool:
        """Whether the setting matters: more is explained than chance would."""
        return self.adjusted_p < SIGNIFICANCE


def importances(
    columns: Sequence[SettingColumn], objective: Sequence[float]
) -> tuple[Importance, ...]:
    """Return how much of the objective's variance each setting explains alone.

    It is the main effect of a functional ANOVA: the variance of the mean that the objective has at
    each value of the setting, over all values of the others. That mean is taken to be a cubic of a
    number's place on its axis, and free for each kind of a choice; the share is adjusted for the
    degrees of freedom (Ezekiel). Two settings that act only together have no main effect: see
    `pair_importances`.

    The p value is that of a permutation test: how often shuffled ranks of the objective follow the
    setting as closely. A straight line and a parabola are fitted to a number, and the better one
    counts, in each shuffle too. The setting with the smallest p is tested first, by Holm over all;
    if it matters, what it explains is taken away, so that it hides no weaker one, and the others
    are tested and sized on the rest.

    Source: Hutter, Hoos, Leyton-Brown, An Efficient Approach for Assessing Hyperparameter
        Importance, ICML 2014, for main effects of a functional ANOVA as importances. Ezekiel,
        Methods of Correlation Analysis, 1930, for the adjustment. Freedman and Lane, A
        Nonstochastic Interpretation of Reported Significance Levels, JBES 1 (1983), for shuffles
        of what is left. Holm 1979.
    Difference: least squares in place of a random forest, whose shares are far too small: of a
        choice that explains 15 % it shows 5 (24 trials) and 7 (60).

    Args:
        columns: Settings, each with different values, in `fewest_trials` trials or more.
        objective: One finite value a trial, not all equal where a setting is.
    """
    values = np.asarray(objective, dtype=np.float64)
    rest, rest_of_ranks, num_used = values, _ranks(values), 0
    left, largest = list(range(len(columns))), 0.0
    p_values = _p_values(columns, left, rest_of_ranks)
    shares = {place: _share(columns[place], values, rest, num_used) for place in left}
    judged: dict[int, Importance] = {}
    while left:
        first = min(left, key=lambda place: (p_values[place], -shares[place]))
        largest = max(largest, min(1.0, p_values[first] * len(left)))
        judged[first] = Importance(shares[first], p_values[first], largest)
        left.remove(first)
        if judged[first].matters:
            rest, rest_of_ranks = (_without(columns[first], each) for each in (rest, rest_of_ranks))
            num_used += _basis(columns[first], _DEGREE).shape[1]
            p_values |= _p_values(columns, left, rest_of_ranks)
            shares |= {place: _share(columns[place], values, rest, num_used) for place in left}
    return tuple(judged[place] for place in range(len(columns)))


def _share(column: SettingColumn, objective: Values, rest: Values, num_used: int) -> float:
    """Return which share of the objective's variance a setting explains of the rest.

    Args:
        column: The setting.
        objective: All of it.
        rest: What other settings have left of it.
        num_used: Degrees of freedom that these have taken.
    """
    basis = _basis(column, _DEGREE)
    left = rest[column.having] - rest[column.having].mean()
    explained = float(((left @ basis) ** 2).sum())
    num = basis.shape[1]
    degrees = max(1, len(left) - 1 - num - num_used)
    by_chance = num * (float(left @ left) - explained) / degrees
    return (explained - by_chance) / (float(objective[column.having].var()) * len(left))


def _ranks(objective: Values) -> Values:
    from scipy.stats import rankdata

    return rankdata(objective)


def _without(column: SettingColumn, rest: Values) -> Values:
    """Return what is left without what a setting explains."""
    having, basis = column.having, _basis(column, _DEGREE)
    left = rest.copy()
    left[having] -= basis @ (basis.T @ (rest[having] - rest[having].mean()))
    return left


def _p_values(
    columns: Sequence[SettingColumn], places: Sequence[int], rest: Values
) -> dict[int, float]:
    """Return how often shuffled ranks follow some settings as closely as they do unshuffled."""
    shuffled: dict[bytes, Float[np.ndarray, "shuffles trials"]] = {}
    for place in places:
        having = columns[place].having
        if having.tobytes() not in shuffled:  # settings that the same trials have share shuffles
            shuffled[having.tobytes()] = _shuffled(rest[having])
    return {
        place: _p_value(columns[place], shuffled[columns[place].having.tobytes()])
        for place in places
    }


def _p_value(column: SettingColumn, shuffled: Float[np.ndarray, "shuffles trials"]) -> float:
    from scipy.special import betainc

    num_trials = shuffled.shape[1]
    rarest = np.ones(len(shuffled))
    for degree in _DEGREES_TESTED:
        basis = _basis(column, degree)
        num = basis.shape[1]
        left = np.clip(1 - ((shuffled @ basis) ** 2).sum(axis=1), 0.0, 1.0)
        rarest = np.minimum(rarest, betainc((num_trials - 1 - num) / 2, num / 2, left))
    return float((rarest <= rarest[0] * _EQUAL).mean())


def _shuffled(values: Values) -> Float[np.ndarray, "shuffles trials"]:
    """Return values, centred and of length 1, and then shuffles of them."""
    centred = values - values.mean()
    length = float(np.linalg.norm(centred))
    if length > _ALL_EQUAL:  # else nothing is left that a setting could explain
        centred /= length
    chance = np.random.default_rng((_SEED, len(values)))
    shuffles = chance.permuted(np.tile(centred, (NUM_SHUFFLES, 1)), axis=1)
    return np.concatenate([centred[None], shuffles])


def _basis(column: SettingColumn, degree: int) -> Float[np.ndarray, "having columns"]:
    """Return orthonormal columns, each of mean 0: of kinds, or of powers up to a degree."""
    units = np.asarray(column.units)[column.having]
    if column.is_choice:
        table = units[:, None] == np.unique(units)[1:]
    else:
        table = (2 * units[:, None] - 1) ** np.arange(1, min(degree, len(np.unique(units)) - 1) + 1)
    left, sizes, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return left[:, sizes > sizes[0] * 1e-9]
