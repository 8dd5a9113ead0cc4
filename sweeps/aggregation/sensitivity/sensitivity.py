"""What a search says of its settings: importance, best values, trends and means by value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sweeps.aggregation.results.search_results import SearchResults, search_results
from sweeps.aggregation.sensitivity.column import Column
from sweeps.aggregation.sensitivity.described import (
    Marginal,
    PairSensitivity,
    SettingSensitivity,
    Silence,
)
from sweeps.aggregation.sensitivity.importance import fanova, ped_anova
from sweeps.aggregation.sensitivity.pairs import pair_importances
from sweeps.aggregation.sensitivity.rank_correlation import rank_correlation
from sweeps.aggregation.sensitivity.sample import (
    FEWEST_TRIALS,
    FindHistories,
    Sample,
    no_histories,
    sample_of,
)
from sweeps.aggregation.sensitivity.setting_axis import SettingAxis
from sweeps.aggregation.sensitivity.shadows import Excess
from sweeps.aggregation.statistics.families import simultaneous_confidence
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class Sensitivity:
    """How a search's objective hangs on its settings.

    Attributes:
        results: All proposals.
        sample: Those that everything but the best trial is made from.
        settings: The most important by fANOVA first.
        pairs: The most important first.
    """

    results: SearchResults
    sample: Sample
    settings: tuple[SettingSensitivity, ...]
    pairs: tuple[PairSensitivity, ...] = ()

    def is_bold(self, excess: Excess) -> bool:
        """Whether a share stands out: never where the sampler chose what it is made from."""
        return excess.is_clear and not self.sample.is_chosen


def sensitivity(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    find_histories: FindHistories = no_histories,
) -> Sensitivity:
    """Return how the search's objective hangs on its settings.

    A setting that only some proposals have is held against the others over those alone. Takes
    seconds; tables and figures are made from it.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.
        find_histories: Gives curves of trials; asked only where a scheduler stopped one.

    Raises:
        BadInput: If the sweep is no search.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    results = search_results(manifest, records)
    sample = sample_of(results, manifest, records, find_histories)
    about = _About(results, sample)
    settings = [about.described(SettingAxis(one)) for one in results.search.dimensions]
    weighed: dict[str, SettingSensitivity] = {}
    for trials in dict.fromkeys(setting.trials for setting in settings):
        weighed |= {one.dimension.name: one for one in about.weighed(settings, trials)}
    in_order = (weighed[setting.dimension.name] for setting in settings)
    ranked = tuple(sorted(in_order, key=_rank, reverse=True))
    return Sensitivity(results, sample, ranked, about.pairs(settings))


def _rank(setting: SettingSensitivity) -> float:
    mean = None if setting.fanova is None else setting.fanova.share.mean
    return -math.inf if mean is None else mean


@dataclass(frozen=True)
class _About:
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
        own = [setting for setting in settings if setting.trials == trials]
        columns = self._columns(settings, trials)
        if silence := self._silence(trials, columns):
            return [replace(setting, silence=silence) for setting in own]
        given = list(columns.values()), self._costs(trials)
        found = dict(zip(columns, zip(fanova(*given), ped_anova(*given), strict=True), strict=True))
        objective = self._objective(trials)
        num_numbers = sum(not column.is_choice for column in columns.values())
        return [
            replace(setting, silence="one value")
            if (name := setting.dimension.name) not in found
            else replace(
                setting,
                fanova=found[name][0],
                ped_anova=found[name][1],
                **_trend(columns[name], objective, num_numbers),
            )
            for setting in own
        ]

    def pairs(self, settings: Sequence[SettingSensitivity]) -> tuple[PairSensitivity, ...]:
        """Return the pairs of the settings that all trials have, the most important first."""
        trials = tuple(self.sample.values)
        columns = self._columns(settings, trials)
        if self._silence(trials, columns):
            return ()
        dimensions = {setting.dimension.name: setting.dimension for setting in settings}
        named = [dimensions[name] for name in columns]
        found = pair_importances(list(columns.values()), self._costs(trials))
        pairs = [PairSensitivity(named[one.first], named[one.second], one.excess) for one in found]
        return tuple(sorted(pairs, key=lambda one: -(one.excess.share.mean or 0.0)))

    def _silence(self, trials: tuple[int, ...], columns: Mapping[str, Column]) -> Silence:
        """Return why there are no importances among some trials, "" where there are."""
        if len(trials) < FEWEST_TRIALS:
            return "few"
        if len(set(self._objective(trials))) == 1:
            return "equal results"
        return "" if columns else "one value"

    def _columns(
        self, settings: Sequence[SettingSensitivity], trials: tuple[int, ...]
    ) -> dict[str, Column]:
        """Return the settings that all of the trials have and that vary among them."""
        columns = {
            setting.dimension.name: self._column(setting.axis, trials)
            for setting in settings
            if set(trials) <= set(setting.trials)
        }
        return {name: column for name, column in columns.items() if len(set(column.units)) > 1}

    def _column(self, axis: SettingAxis, trials: tuple[int, ...]) -> Column:
        places = [self._unit(axis, number) for number in trials]
        units = tuple(unit for unit in places if unit is not None)
        return Column(units, num_levels=len(axis.levels), is_choice=axis.is_choice)

    def _unit(self, axis: SettingAxis, number: int) -> float | None:
        return axis.unit(self.results.proposals[number].params.get(axis.dimension.name))

    def _objective(self, trials: tuple[int, ...]) -> list[float]:
        # not as recorded: how a forest splits hangs on rounding, and reports are to stay equal
        metric = self.results.objective.metric
        return [metric.shown(self.sample.values[number]) for number in trials]

    def _costs(self, trials: tuple[int, ...]) -> list[float]:
        return [self.results.objective.cost(value) for value in self._objective(trials)]


def _trend(column: Column, objective: Sequence[float], num_numbers: int) -> dict[str, Any]:
    """Return the fields of a number's correlation, as one of so many."""
    if column.is_choice:
        return {}
    strict = simultaneous_confidence(num_numbers)
    bounds = rank_correlation(column.units, objective, strict)
    return {
        "rank_correlation": rank_correlation(column.units, objective),
        "is_trend": bounds is not None and bounds.excludes_zero,
    }
