"""What a search says of its settings: importance, best values, trends and means by value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from capsmodel.metrics import Objective
from sweeps.aggregation.results.search_results import (
    ProposalResult,
    SearchResults,
    search_results,
)
from sweeps.aggregation.sensitivity.importance import Column, importances
from sweeps.aggregation.sensitivity.rank_correlation import rank_correlation
from sweeps.aggregation.sensitivity.setting_axis import Group, SettingAxis
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDimension, Plain
from sweeps.records.trial_record import TrialRecord

FEWEST_TRIALS = 20
Silence = Literal["", "few", "equal results", "one value"]


@dataclass(frozen=True)
class Marginal:
    """The objective over the counted trials that have one value of a setting, or one range.

    Attributes:
        values: One a trial, in the record's unit.
    """

    group: Group
    values: tuple[float, ...]

    @property
    def objective(self) -> Interval:
        """Their mean and t interval."""
        return mean_interval(self.values)


@dataclass(frozen=True)
class SettingSensitivity:
    """How a search's objective hangs on one setting, over the counted trials that have it.

    Attributes:
        trials: Their proposals' numbers.
        fanova: Excess over chance in percent; None where `silence` says why.
        ped_anova: The same by another method.
        rank_correlation: Of values and objective, from -1 to 1; None of choices as well.
        best: The value in the best trial; None where that has no such setting.
        silence: Why there is no importance.
    """

    axis: SettingAxis
    trials: tuple[int, ...]
    marginals: tuple[Marginal, ...]
    best: Plain | None = None
    fanova: Interval | None = None
    ped_anova: Interval | None = None
    rank_correlation: Interval | None = None
    silence: Silence = ""

    @property
    def dimension(self) -> ManifestDimension:
        """The setting as the manifest has it."""
        return self.axis.dimension

    def best_marginal(self, objective: Objective) -> Marginal | None:
        """Return the value or range of the best mean, of those with at least two trials."""
        means = [
            (objective.cost(marginal.objective.mean), place)
            for place, marginal in enumerate(self.marginals)
            if marginal.objective.mean is not None and marginal.objective.n > 1
        ]
        return self.marginals[min(means)[1]] if means else None


@dataclass(frozen=True)
class Sensitivity:
    """A search's results and each of its settings, the most important by fANOVA first."""

    results: SearchResults
    settings: tuple[SettingSensitivity, ...]


def sensitivity(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Sensitivity:
    """Return how the search's objective hangs on its settings.

    Only proposals that ran to full length count. A setting that only some of them have is held
    against the others over those alone. Takes seconds; tables and figures are made from it.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.

    Raises:
        BadInput: If the sweep is no search.
    """
    results = search_results(manifest, records)
    settings = [
        _described(SettingAxis(dimension), results) for dimension in results.search.dimensions
    ]
    weighed: dict[str, SettingSensitivity] = {}
    for trials in dict.fromkeys(setting.trials for setting in settings):
        weighed |= {
            setting.dimension.name: setting for setting in _weighed(settings, trials, results)
        }
    in_order = (weighed[setting.dimension.name] for setting in settings)
    return Sensitivity(results, tuple(sorted(in_order, key=_rank, reverse=True)))


def _rank(setting: SettingSensitivity) -> float:
    mean = None if setting.fanova is None else setting.fanova.mean
    return -math.inf if mean is None else mean


def _described(axis: SettingAxis, results: SearchResults) -> SettingSensitivity:
    """Return what needs no importance: which trials have the setting, its best, its means."""
    places = ((result.number, _unit(axis, result)) for result in results.counted)
    units = {number: unit for number, unit in places if unit is not None}
    marginals: list[Marginal] = []
    for group in axis.groups:
        inside = [number for number, unit in units.items() if group.holds(unit)]
        marginals.append(Marginal(group, tuple(results.value(number) for number in inside)))
    return SettingSensitivity(
        axis=axis,
        trials=tuple(units),
        marginals=tuple(marginals),
        best=results.best.params.get(axis.dimension.name) if results.best else None,
    )


def _weighed(
    settings: Sequence[SettingSensitivity], trials: tuple[int, ...], results: SearchResults
) -> list[SettingSensitivity]:
    """Return the settings that just these trials have, with their importance among them.

    They are held against all settings that these trials have, also those that more have.
    """
    own = [setting for setting in settings if setting.trials == trials]
    # not as recorded: how a forest splits hangs on rounding, and reports are to stay as they were
    objective = [results.objective.metric.shown(results.value(number)) for number in trials]
    if len(trials) < FEWEST_TRIALS:
        return [replace(setting, silence="few") for setting in own]
    if min(objective) == max(objective):
        return [replace(setting, silence="equal results") for setting in own]
    columns = {
        setting.dimension.name: _column(setting.axis, trials, results)
        for setting in settings
        if set(trials) <= set(setting.trials)
    }
    columns = {name: column for name, column in columns.items() if len(set(column.units)) > 1}
    if not columns:
        return [replace(setting, silence="one value") for setting in own]
    costs = [results.objective.cost(value) for value in objective]
    weights = importances(list(columns.values()), costs)
    bands = dict(zip(columns, zip(weights.fanova, weights.ped_anova, strict=True), strict=True))
    return [
        replace(
            setting,
            fanova=bands[setting.dimension.name][0],
            ped_anova=bands[setting.dimension.name][1],
            rank_correlation=_rank_correlation(columns[setting.dimension.name], objective),
        )
        if setting.dimension.name in bands
        else replace(setting, silence="one value")
        for setting in own
    ]


def _column(axis: SettingAxis, trials: tuple[int, ...], results: SearchResults) -> Column:
    places = [_unit(axis, results.proposals[number]) for number in trials]
    units = tuple(unit for unit in places if unit is not None)
    return Column(units, num_levels=len(axis.levels), is_choice=axis.is_choice)


def _unit(axis: SettingAxis, result: ProposalResult) -> float | None:
    return axis.unit(result.params.get(axis.dimension.name))


def _rank_correlation(column: Column, objective: Sequence[float]) -> Interval | None:
    if column.is_choice:
        return None
    return rank_correlation(column.units, objective)
