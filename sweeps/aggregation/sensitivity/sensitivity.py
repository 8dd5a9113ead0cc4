"""The sensitivity of a search to its settings: importance, trends, best values and means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from capsmodel.metrics import Objective
from sweeps.aggregation.results.search_results import SearchResults, search_results
from sweeps.aggregation.sensitivity.importance import fanova, ped_anova
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from sweeps.aggregation.sensitivity.sample import (
    FEWEST_TRIALS,
    FindHistories,
    Sample,
    no_histories,
    sample_of,
)
from sweeps.aggregation.sensitivity.setting_axis import Group, SettingAxis
from sweeps.aggregation.sensitivity.shadows import Excess, ShadowedColumn
from sweeps.aggregation.statistics.families import simultaneous_confidence
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDimension, Plain
from sweeps.records.trial_record import TrialRecord

FEWEST_FOR_PAIRS = 60  # a crossing pair of 20 % is bold in 0 of 58 searches at 24, in .89 at 60
_ALMOST_ONE = 1 - 1e-12  # beyond it the interval's transform is infinite
MissingReason = Literal["", "few", "equal results", "one value"]


@dataclass(frozen=True)
class Marginal:
    """The objective of the sampled trials with one value of a setting, or one range of values.

    Attributes:
        values: One per trial, in the record's unit.
    """

    group: Group
    values: tuple[float, ...]

    @property
    def objective(self) -> Interval:
        """Their mean and t interval."""
        return mean_interval(self.values)


@dataclass(frozen=True)
class SettingSensitivity:
    """How a search's objective depends on one setting, over the sampled trials that have it.

    Attributes:
        trials: Numbers of their proposals.
        fanova: Excess over chance in percent; None where `missing_reason` says why.
        ped_anova: The same by PED-ANOVA.
        rank_correlation: Rank correlation of values and objective, from -1 to 1; None also for
            choices.
        best: The value in the best trial of full length; None if that lacks the setting.
        is_trend: Whether the correlation differs from 0, corrected for the number of settings.
        missing_reason: Why there is no importance, else "".
    """

    axis: SettingAxis
    trials: tuple[int, ...]
    marginals: tuple[Marginal, ...]
    best: Plain | None = None
    fanova: Excess | None = None
    ped_anova: Excess | None = None
    rank_correlation: Interval | None = None
    is_trend: bool = False
    missing_reason: MissingReason = ""

    @property
    def dimension(self) -> ManifestDimension:
        """The setting, from the manifest."""
        return self.axis.dimension

    def best_marginal(self, objective: Objective) -> Marginal | None:
        """Return the value or range with the best mean, of those with at least two trials."""
        means = [
            (objective.cost(marginal.objective.mean), place)
            for place, marginal in enumerate(self.marginals)
            if marginal.objective.mean is not None and marginal.objective.n > 1
        ]
        return self.marginals[min(means)[1]] if means else None


@dataclass(frozen=True)
class PairSensitivity:
    """What two settings explain together beyond each alone; all sampled trials have both."""

    first: ManifestDimension
    second: ManifestDimension
    excess: Excess


@dataclass(frozen=True)
class Sensitivity:
    """How a search's objective depends on its settings.

    Attributes:
        results: All proposals.
        sample: The proposals that everything but the best trial is computed from.
        settings: The most important by fANOVA first.
        pairs: The most important first; of fewer than sixty proposals only those in bold, as the
            small share of another pair says nothing.
    """

    results: SearchResults
    sample: Sample
    settings: tuple[SettingSensitivity, ...]
    pairs: tuple[PairSensitivity, ...] = ()

    @property
    def has_importances(self) -> bool:
        """Whether any setting has an importance."""
        return any(setting.fanova for setting in self.settings)

    def is_bold(self, excess: Excess) -> bool:
        """Whether a share is bold: never if the sampler chose the proposals behind it."""
        return excess.is_clear and not self.sample.is_chosen


def sensitivity(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    find_histories: FindHistories = no_histories,
) -> Sensitivity:
    """Return how the search's objective depends on its settings.

    A setting that only some proposals have is compared with the others over those proposals only.
    Takes seconds.

    Args:
        manifest: Manifest of a search.
        records: Records by trial key; their order changes nothing.
        find_histories: Returns curves of trials; called only if a scheduler stopped one.

    Raises:
        BadInput: If the sweep is no search.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    results = search_results(manifest, records)
    sample = sample_of(results, manifest, records, find_histories)
    about = _Analysis(results, sample)
    settings = [about.described(SettingAxis(dimension)) for dimension in results.search.dimensions]
    weighed: dict[str, SettingSensitivity] = {}
    for trials in dict.fromkeys(setting.trials for setting in settings):
        weighed |= {setting.dimension.name: setting for setting in about.weighed(settings, trials)}
    in_order = (weighed[setting.dimension.name] for setting in settings)
    ranked = tuple(sorted(in_order, key=_rank, reverse=True))
    return Sensitivity(results, sample, ranked, about.pairs(settings))


def _rank(setting: SettingSensitivity) -> float:
    mean = None if setting.fanova is None else setting.fanova.share.mean
    return -math.inf if mean is None else mean


@dataclass(frozen=True)
class _Analysis:
    """A search's sample, asked about its settings."""

    results: SearchResults
    sample: Sample

    def described(self, axis: SettingAxis) -> SettingSensitivity:
        """Return what needs no importance: which trials have the setting, its best, its means."""
        places = ((number, self._unit(axis, number)) for number in self.sample.values)
        units = {number: unit for number, unit in places if unit is not None}
        marginals: list[Marginal] = []
        for group in axis.groups:
            inside = [number for number, unit in units.items() if group.holds(unit)]
            marginals.append(Marginal(group, tuple(self.sample.values[n] for n in inside)))
        best = self.results.best
        return SettingSensitivity(
            axis=axis,
            trials=tuple(units),
            marginals=tuple(marginals),
            best=best.params.get(axis.dimension.name) if best else None,
        )

    def weighed(
        self, settings: Sequence[SettingSensitivity], trials: tuple[int, ...]
    ) -> list[SettingSensitivity]:
        """Return the settings that just these trials have, with their importance among them.

        They are held against all settings that these trials have, also those that more have.
        """
        exact = [setting for setting in settings if setting.trials == trials]
        columns = self._columns(settings, trials)
        if missing_reason := self._missing_reason(trials, columns):
            return [replace(setting, missing_reason=missing_reason) for setting in exact]
        inputs = list(columns.values()), self._costs(trials)
        importances = dict(
            zip(columns, zip(fanova(*inputs), ped_anova(*inputs), strict=True), strict=True)
        )
        objective = self._objective(trials)
        num_numbers = sum(not column.is_choice for column in columns.values())
        return [
            replace(setting, missing_reason="one value")
            if (name := setting.dimension.name) not in importances
            else replace(
                setting,
                fanova=importances[name][0],
                ped_anova=importances[name][1],
                **_trend(columns[name], objective, num_numbers),
            )
            for setting in exact
        ]

    def pairs(self, settings: Sequence[SettingSensitivity]) -> tuple[PairSensitivity, ...]:
        """Return the pairs of the settings that all trials have, the most important first."""
        trials = tuple(self.sample.values)
        columns = self._columns(settings, trials)
        is_small = len(trials) < FEWEST_FOR_PAIRS
        if self._missing_reason(trials, columns) or (is_small and self.sample.is_chosen):
            return ()
        dimensions = {setting.dimension.name: setting.dimension for setting in settings}
        named = [dimensions[name] for name in columns]
        importances = pair_importances(list(columns.values()), self._costs(trials))
        pairs = [
            PairSensitivity(named[pair.first], named[pair.second], pair.excess)
            for pair in importances
            if pair.excess.is_clear or not is_small
        ]
        return tuple(sorted(pairs, key=lambda pair: -(pair.excess.share.mean or 0.0)))

    def _missing_reason(
        self, trials: tuple[int, ...], columns: Mapping[str, ShadowedColumn]
    ) -> MissingReason:
        """Return why there are no importances among some trials, "" where there are."""
        if len(trials) < FEWEST_TRIALS:
            return "few"
        if len(set(self._objective(trials))) == 1:
            return "equal results"
        return "" if columns else "one value"

    def _columns(
        self, settings: Sequence[SettingSensitivity], trials: tuple[int, ...]
    ) -> dict[str, ShadowedColumn]:
        """Return the settings that all of the trials have and that vary among them."""
        columns = {
            setting.dimension.name: self._column(setting.axis, trials)
            for setting in settings
            if set(trials) <= set(setting.trials)
        }
        return {name: column for name, column in columns.items() if len(set(column.units)) > 1}

    def _column(self, axis: SettingAxis, trials: tuple[int, ...]) -> ShadowedColumn:
        places = [self._unit(axis, number) for number in trials]
        units = tuple(unit for unit in places if unit is not None)
        return ShadowedColumn(units, num_levels=len(axis.levels), is_choice=axis.is_choice)

    def _unit(self, axis: SettingAxis, number: int) -> float | None:
        return axis.unit(self.results.proposals[number].params.get(axis.dimension.name))

    def _objective(self, trials: tuple[int, ...]) -> list[float]:
        # not as recorded: how a forest splits depends on rounding, and reports are to stay equal
        metric = self.results.objective.metric
        return [metric.shown(self.sample.values[number]) for number in trials]

    def _costs(self, trials: tuple[int, ...]) -> list[float]:
        return [self.results.objective.cost(value) for value in self._objective(trials)]


def _trend(column: ShadowedColumn, objective: Sequence[float], num_numbers: int) -> dict[str, Any]:
    """Return the fields of a number's correlation, as one of so many."""
    if column.is_choice:
        return {}
    strict = simultaneous_confidence(num_numbers)
    bounds = rank_correlation(column.units, objective, strict)
    return {
        "rank_correlation": rank_correlation(column.units, objective),
        "is_trend": bounds is not None and bounds.excludes_zero,
    }


def rank_correlation(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Return Spearman's correlation of ranks, from -1 to 1, with its interval.

    None with fewer than four pairs, or if all values of one side are equal.

    Source: Bonett, Wright, Sample size requirements for estimating Pearson, Kendall and Spearman
        correlations, Psychometrika 65 (2000), for the interval.
    """
    import numpy as np  # here, as they take half a second to import
    from scipy import stats

    n = len(first)
    if n < 4 or min(first) == max(first) or min(second) == max(second):
        return None
    correlation = float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])
    inside = max(-_ALMOST_ONE, min(_ALMOST_ONE, correlation))
    half = float(stats.norm.ppf((1 + confidence) / 2)) * math.sqrt((1 + inside**2 / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inside) + side * half) for side in (-1, 1))
    return Interval(n, correlation, low, high, confidence)
