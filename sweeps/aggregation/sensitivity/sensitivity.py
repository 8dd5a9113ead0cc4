"""The sensitivity of a search to its settings: importance, trends, best values and means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from capsmodel.metrics import Objective
from sweeps.aggregation.results.ranking import first_choice
from sweeps.aggregation.results.search_results import (
    ProposalResult,
    SearchResults,
    search_results,
)
from sweeps.aggregation.sensitivity.importance import (
    Importance,
    SettingColumn,
    importances,
)
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from sweeps.aggregation.sensitivity.sample import (
    FEWEST_TRIALS,
    FindHistories,
    Sample,
    fewest_trials,
    no_histories,
    sample_of,
)
from sweeps.aggregation.sensitivity.setting_axis import Group, SettingAxis
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDimension, Plain
from sweeps.records.trial_record import TrialRecord

FEWEST_FOR_PAIRS = 60  # a crossing pair of 20 % is bold in 0 of 58 searches at 24, in .89 at 60
_NORMAL_QUANTILE = 1.959963984540054  # of 97.5 %
_ALMOST_ONE = 1 - 1e-12  # beyond it the interval's transform is infinite
MissingReason = Literal["", "few", "kinds", "equal results", "one value"]


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
        importance: What it explains alone; None where `missing_reason` says why.
        rank_correlation: Rank correlation of values and objective, from -1 to 1; None also for
            choices.
        best: The value in the best trial of full length; None if that lacks the setting.
        missing_reason: Why there is no importance, else "".
    """

    axis: SettingAxis
    trials: tuple[int, ...]
    marginals: tuple[Marginal, ...]
    best: Plain | None = None
    importance: Importance | None = None
    rank_correlation: Interval | None = None
    missing_reason: MissingReason = ""

    @property
    def dimension(self) -> ManifestDimension:
        """The setting, from the manifest."""
        return self.axis.dimension

    def best_marginal(self, objective: Objective) -> Marginal | None:
        """Return the value or range with the best mean, of those with at least two trials.

        None where several have it, or only one value has as many.
        """
        means = [
            (objective.cost(marginal.objective.mean), place)
            for place, marginal in enumerate(self.marginals)
            if marginal.objective.mean is not None and marginal.objective.n > 1
        ]
        best = [place for mean, place in means if mean == min(means)[0]]
        return self.marginals[best[0]] if len(best) == 1 and len(means) > 1 else None


@dataclass(frozen=True)
class PairSensitivity:
    """What two settings explain together beyond each alone; all sampled trials have both."""

    first: ManifestDimension
    second: ManifestDimension
    importance: Importance


@dataclass(frozen=True)
class Sensitivity:
    """How a search's objective depends on its settings.

    Attributes:
        results: All proposals.
        sample: The proposals that everything but the best trial is computed from.
        settings: Those that matter first, each group by what it explains.
        best: The proposal that the search chose first, or would choose now; None if there is none.
        pairs: The most important first; of fewer than sixty proposals only those in bold, as the
            small share of another pair says nothing.
    """

    results: SearchResults
    sample: Sample
    settings: tuple[SettingSensitivity, ...]
    best: ProposalResult | None = None
    pairs: tuple[PairSensitivity, ...] = ()

    @property
    def has_importances(self) -> bool:
        """Whether any setting has an importance."""
        return any(setting.importance for setting in self.settings)

    def matters(self, importance: Importance) -> bool:
        """Whether the table says so: never if the sampler chose the proposals behind it."""
        return importance.matters and not self.sample.is_chosen


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
    chosen = first_choice(manifest, records)
    best = next((each for each in results.counted if each.proposal.arm == chosen), None)
    about = _Analysis(results, sample, best)
    settings = [about.described(SettingAxis(dimension)) for dimension in results.search.dimensions]
    ranked = tuple(sorted(about.weighed(settings), key=_rank, reverse=True))
    return Sensitivity(results, sample, ranked, best, about.pairs(settings))


def _rank(setting: SettingSensitivity) -> tuple[bool, float]:
    importance = setting.importance
    return (importance.matters, importance.share) if importance else (False, -math.inf)


@dataclass(frozen=True)
class _Analysis:
    """A search's sample, asked about its settings."""

    results: SearchResults
    sample: Sample
    best: ProposalResult | None

    def described(self, axis: SettingAxis) -> SettingSensitivity:
        """Return what needs no importance: which trials have the setting, its best, its means."""
        places = ((number, self._unit(axis, number)) for number in self.sample.values)
        units = {number: unit for number, unit in places if unit is not None}
        marginals: list[Marginal] = []
        for group in axis.groups:
            inside = [number for number, unit in units.items() if group.holds(unit)]
            marginals.append(Marginal(group, tuple(self.sample.values[n] for n in inside)))
        return SettingSensitivity(
            axis=axis,
            trials=tuple(units),
            marginals=tuple(marginals),
            best=self.best.params.get(axis.dimension.name) if self.best else None,
        )

    def weighed(self, settings: Sequence[SettingSensitivity]) -> list[SettingSensitivity]:
        """Return the settings with their importances, each among the trials that have it."""
        columns = [self._column(setting.axis, tuple(self.sample.values)) for setting in settings]
        reasons = [
            self._missing_reason(column, setting.trials)
            for setting, column in zip(settings, columns, strict=True)
        ]
        weighable = [column for column, reason in zip(columns, reasons, strict=True) if not reason]
        found = iter(importances(weighable, self._costs(tuple(self.sample.values))))
        return [
            replace(setting, missing_reason=reason)
            if reason
            else replace(
                setting, importance=next(found), rank_correlation=self._correlation(setting)
            )
            for setting, reason in zip(settings, reasons, strict=True)
        ]

    def pairs(self, settings: Sequence[SettingSensitivity]) -> tuple[PairSensitivity, ...]:
        """Return the pairs of the settings that all trials have, the most important first."""
        trials = tuple(self.sample.values)
        columns = self._columns(settings, trials)
        is_small = len(trials) < FEWEST_FOR_PAIRS
        is_flat = len(set(self._objective(trials))) < 2
        if is_flat or len(trials) < FEWEST_TRIALS or (is_small and self.sample.is_chosen):
            return ()
        dimensions = {setting.dimension.name: setting.dimension for setting in settings}
        named = [dimensions[name] for name in columns]
        pairs = [
            PairSensitivity(named[pair.first], named[pair.second], pair.importance)
            for pair in pair_importances(list(columns.values()), self._costs(trials))
            if pair.importance.matters or not is_small
        ]
        return tuple(
            sorted(pairs, key=lambda pair: (-pair.importance.matters, -pair.importance.share))
        )

    def _missing_reason(self, column: SettingColumn, trials: tuple[int, ...]) -> MissingReason:
        """Return why a setting has no importance, "" where it has one."""
        if len(trials) < FEWEST_TRIALS:
            return "few"
        if len(trials) < fewest_trials(column.num_levels, is_choice=column.is_choice):
            return "kinds"
        if len(set(self._objective(trials))) == 1:
            return "equal results"
        return "" if len({*column.units} - {math.nan}) > 1 else "one value"

    def _columns(
        self, settings: Sequence[SettingSensitivity], trials: tuple[int, ...]
    ) -> dict[str, SettingColumn]:
        """Return the settings that all of the trials have and that vary among them."""
        columns = {
            setting.dimension.name: self._column(setting.axis, trials)
            for setting in settings
            if set(trials) <= set(setting.trials)
        }
        return {name: column for name, column in columns.items() if len(set(column.units)) > 1}

    def _column(self, axis: SettingAxis, trials: tuple[int, ...]) -> SettingColumn:
        places = (self._unit(axis, number) for number in trials)
        units = tuple(math.nan if unit is None else unit for unit in places)
        return SettingColumn(units, num_levels=len(axis.levels), is_choice=axis.is_choice)

    def _unit(self, axis: SettingAxis, number: int) -> float | None:
        return axis.unit(self.results.proposals[number].params.get(axis.dimension.name))

    def _objective(self, trials: tuple[int, ...]) -> list[float]:
        # not as recorded: how a forest splits depends on rounding, and reports are to stay equal
        metric = self.results.objective.metric
        return [metric.shown(self.sample.values[number]) for number in trials]

    def _correlation(self, setting: SettingSensitivity) -> Interval | None:
        if setting.axis.is_choice:
            return None
        column = self._column(setting.axis, setting.trials)
        return rank_correlation(column.units, self._objective(setting.trials))

    def _costs(self, trials: tuple[int, ...]) -> list[float]:
        return [self.results.objective.cost(value) for value in self._objective(trials)]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Interval | None:
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
    half = _NORMAL_QUANTILE * math.sqrt((1 + inside**2 / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inside) + side * half) for side in (-1, 1))
    return Interval(n, correlation, low, high)
