"""How much each setting matters, beyond what chance gives: fANOVA and PED-ANOVA with bands.

The one module of this package that needs Optuna, and scikit-learn with it.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.statistics.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    from optuna.distributions import BaseDistribution
    from optuna.importance import BaseImportanceEvaluator
    from optuna.study import Study

    Numbers = np.ndarray[Any, np.dtype[np.float64]]
    Places = np.ndarray[Any, np.dtype[np.int64]]

NUM_HALVES = 40
_NUM_WHOLES = 4
_NUM_TREES = 16
_MAX_DEPTH = 6  # bounds seconds and memory where trials are many
_SEED = 20_140_621
_FEWEST_AT_THE_TOP = 5


@dataclass(frozen=True)
class Column:
    """One setting over the trials, or rather where its values lie.

    Attributes:
        units: A place between 0 and 1 for each trial.
        num_levels: Into how many equal parts the values fall, 0 where they are numbers of a range.
        is_choice: Whether the levels have no order.
    """

    units: tuple[float, ...]
    num_levels: int = 0
    is_choice: bool = False


@dataclass(frozen=True)
class Importances:
    """For each column, in their order, its excess over its shuffled copy in percent of the whole.

    Attributes:
        fanova: Of the variance of the forest's predictions.
        ped_anova: Of the sum over all columns and copies.
    """

    fanova: tuple[Interval, ...]
    ped_anova: tuple[Interval, ...]


def importances(columns: Sequence[Column], objective: Sequence[float]) -> Importances:
    """Return how much each column says about the objective by itself, as main effects.

    Plain importances are positive also of a setting without effect. So each column gets a shadow,
    its own values shuffled among the trials, and what is returned is the excess over shadows of
    columns like it, mean over several shuffles. The band around it is the middle 95 % of what
    halves of the trials give, drawn without replacement: the spread among halves is about that
    among new samples of full size, while a bootstrap's copies would pass for confirmation. Two
    settings that act only together have no main effect, so neither method sees them.

    Source: Hutter, Hoos, Leyton-Brown, An Efficient Approach for Assessing Hyperparameter
        Importance, ICML 2014 (fANOVA). Watanabe, Bansal, Hutter, PED-ANOVA, IJCAI 2023,
        arXiv:2304.10255. Both as in Optuna.
    Difference: excess over shuffled copies and bands, as above. fANOVA gets logarithms of
        log-scaled settings and one column a choice, of equal parts, where Optuna's way weighs a
        log scale by its last decade. PED-ANOVA's best tenth is at least five trials.

    Measured on random trials (benchmarks/), 30 draws each: a setting with 8 % of the variance has
    a fANOVA band above 0 in 30 draws of 200 trials, 24 of 100, 8 of 60, 1 of 40; one without effect
    in 1 of 480. PED-ANOVA: 13, 5, 4, 4, and 10 of 480. One with 67 % is seen by fANOVA always.

    Cost: about 2 s for 40 trials of 6 settings and 5 s for 200, on one core. Optuna keeps some
    megabytes of each call in caches of its own until the process ends.

    Args:
        columns: Settings that are there in all trials and vary.
        objective: One finite value a trial, a small one good, not all equal.
    """
    import numpy as np  # here, as Optuna brings scikit-learn, and both take a second

    units = np.array([column.units for column in columns], dtype=np.float64).T
    values = np.asarray(objective, dtype=np.float64)
    with _quiet_optuna():
        wholes = [_excesses(columns, units, values, draw) for draw in range(_NUM_WHOLES)]
        halves: list[tuple[Numbers, Numbers]] = []
        for draw in range(NUM_HALVES):
            half = _half(len(values), draw)
            halves.append(_excesses(columns, units[half], values[half], draw))
    fanova, ped_anova = (
        _bands(np.array(whole), np.array(half))
        for whole, half in zip(zip(*wholes, strict=True), zip(*halves, strict=True), strict=True)
    )
    return Importances(
        tuple(Interval(len(values), *band) for band in fanova),
        tuple(Interval(len(values), *band) for band in ped_anova),
    )


def _half(n: int, draw: int) -> "Places":
    """Return the places of half of the trials, each at most once."""
    import numpy as np

    return np.sort(np.random.default_rng((_SEED, draw)).permutation(n)[: (n + 1) // 2])


def _excesses(
    columns: Sequence[Column], units: "Numbers", objective: "Numbers", draw: int
) -> tuple["Numbers", "Numbers"]:
    """Return the columns' excesses by fANOVA and by PED-ANOVA over copies shuffled anew."""
    import numpy as np
    from optuna.importance import FanovaImportanceEvaluator, PedAnovaImportanceEvaluator

    if objective.min() == objective.max():
        return np.zeros(len(columns)), np.zeros(len(columns))
    chance = np.random.default_rng((_SEED, len(objective), draw))
    table = np.hstack([units, chance.permuted(units, axis=0)])
    forest = FanovaImportanceEvaluator(n_trees=_NUM_TREES, max_depth=_MAX_DEPTH, seed=draw)
    top = min(0.5, max(0.1, _FEWEST_AT_THE_TOP / len(objective)))
    best_tenth = PedAnovaImportanceEvaluator(target_quantile=top)
    as_numbers = [Column(())] * len(columns)  # the forest splits levels as places on the axis
    shares = _shares(forest, _study(table, as_numbers, objective))
    divergences = _shares(best_tenth, _study(table, columns, objective))
    of_all = 100 * divergences / (divergences.sum() or 1.0)
    return _excess(shares, columns), _excess(of_all, columns)


def _study(table: "Numbers", columns: Sequence[Column], objective: "Numbers") -> "Study":
    """Return what Optuna takes: the columns and their copies as settings of finished trials."""
    import optuna
    from optuna.trial import create_trial

    both = (*columns, *columns)
    distributions = {_name(place): _distribution(column) for place, column in enumerate(both)}
    trials = [
        create_trial(
            params={_name(p): _level(column, row[p]) for p, column in enumerate(both)},
            distributions=distributions,
            value=float(value),
        )
        for row, value in zip(table, objective, strict=True)
    ]
    study = optuna.create_study()
    study.add_trials(trials)
    return study


def _distribution(column: Column) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if column.is_choice:
        return CategoricalDistribution(tuple(range(column.num_levels)))
    if column.num_levels:
        return IntDistribution(0, column.num_levels - 1)
    return FloatDistribution(0.0, 1.0)


def _level(column: Column, unit: float) -> float:
    return int(unit * column.num_levels) if column.num_levels else float(unit)


def _name(place: int) -> str:
    return f"{place:04d}"


def _shares(evaluator: "BaseImportanceEvaluator", study: "Study") -> "Numbers":
    import numpy as np

    shares = evaluator.evaluate(study)
    return np.array([100 * shares[name] for name in sorted(shares)])


def _excess(shares: "Numbers", columns: Sequence[Column]) -> "Numbers":
    """Return each column's share beyond the mean share of the copies of columns like it.

    Forests favour settings of many values, so alike are those of equally many.
    """
    import numpy as np

    own, copies = np.split(shares, 2)
    kinds = np.array([column.num_levels for column in columns])
    return own - np.array([copies[kinds == kind].mean() for kind in kinds])


def _bands(wholes: "Numbers", halves: "Numbers") -> list[list[float]]:
    """Return value, low and high of each column: the halves' spread around all trials' value."""
    import numpy as np

    value = wholes.mean(axis=0)
    low, high = np.percentile(halves - halves.mean(axis=0), [2.5, 97.5], axis=0)
    ends = np.clip([value + low, value + high], -100, 100)  # no share is larger
    return np.column_stack([value, *ends]).tolist()


@contextmanager
def _quiet_optuna() -> Generator[None]:
    """Keep Optuna from telling of each study that it makes."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
