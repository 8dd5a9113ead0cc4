"""All pairs of a sweep's arms compared, a family apart from that of the ablation table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import (
    Compared,
    Comparison,
    Family,
    comparisons_together,
    largest_p,
    tuning_slacks,
    ways_that_share,
    with_ways,
)
from sweeps.aggregation.results.measured_arms import MeasuredArm, identical_measured, tested_arms
from sweeps.aggregation.results.planned_looks import margin_of
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.all_pairs import (
    compact_letters,
    half_width_of_pair,
    p_of_pair,
    shared_between_pairs,
)
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.manifest import Manifest

Pair = tuple[int, int]
"""Places of two arms in the order of their mean errors, that with the smaller one first."""


@dataclass(frozen=True)
class PairComparison(Comparison):
    """Two arms, the one with the larger mean error less the other. Errors are fractions.

    Attributes:
        against: The arms with the smaller mean error, those with identical results.
    """

    against: tuple[ArmResults, ...] = ()

    @property
    def shown_name(self) -> str:
        """Both arms as readers see them."""
        others = " = ".join(arm.shown_name for arm in self.against)
        return f"{super().shown_name} minus {others}"


@dataclass(frozen=True)
class ArmPairs:
    """Arms in the order of their mean errors, and how each two of them compare.

    Attributes:
        groups: Arms with identical results, usually one each; those without a result come last.
        pairs: The comparison of each two groups.
    """

    groups: Sequence[Sequence[ArmResults]]
    pairs: Mapping[Pair, PairComparison]

    @cached_property
    def letters(self) -> Sequence[str]:
        """Letters of each group: two share one where they are not shown to differ."""
        shown = [place for place, group in enumerate(self.groups) if self._is_judged(place, group)]
        at = {place: number for number, place in enumerate(shown)}
        different = [
            (at[first], at[second])
            for (first, second), pair in self.pairs.items()
            if pair.is_different
        ]
        letters = compact_letters(len(shown), different)
        return [letters[at[place]] if place in at else "" for place in range(len(self.groups))]

    def _is_judged(self, place: int, group: Sequence[ArmResults]) -> bool:
        """Whether an arm has a mean error, or differs by how often it diverges."""
        differs = any(place in pair and self.pairs[pair].is_different for pair in self.pairs)
        return bool(group[0].test_errors) or differs


class AllPairs(Family):
    """The pairs of one table's arms, in a table for each arm that stands first in a pair."""

    def shared(self, tables: Compared, baselines: Sequence[MeasuredArm]) -> Compared:
        """Return the pairs with their variances over seeds shared among all of them."""
        errors = [*(arm.errors for arm in baselines), tables[-1][-1].errors]
        ways = ways_that_share(tables)
        pairs = {_pair(place): way for place, way in ways.items()}
        shared = shared_between_pairs(pairs, errors)
        return with_ways(tables, {place: shared[_pair(place)] for place in ways})

    def together(self, tables: Compared) -> Compared:
        """Return pairs with the p and the interval that hold for all of them."""
        tested = [
            _pair((number, place))
            for number, table in enumerate(tables)
            for place, comparison in enumerate(table)
            if comparison.p_value is not None
        ]
        num_arms = len({arm for pair in tested for arm in pair})
        return [
            [_together(comparison, num_arms, len(tested)) for comparison in table]
            for table in tables
        ]


def pair_comparisons(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> ArmPairs:
    """Return how each two arms compare, by the sweep's own margin and seeds.

    A verdict needs what it needs in the ablation table, of all pairs together: see
    `comparisons.comparisons`, but for Holm's p, in place of which `all_pairs.p_of_pair` stands.

    Args:
        manifest: The sweep's margin, planned seeds and tuning.
        arms: Arms of the sweep, with their trials.
        predictions: Predictions by trial key, of those trials that have any.
    """
    groups = sorted(identical_measured(tested_arms(arms, predictions)), key=_mean_error)
    tables = [
        [_marked(groups[number][0], is_first=True)]
        + [_marked(arm, is_first=False) for group in groups[number + 1 :] for arm in group]
        for number in range(len(groups) - 1)
    ]
    compared = (
        comparisons_together(
            tables,
            margin=margin_of(manifest),
            planned_seeds=[manifest.planned_seeds] * len(tables),
            slacks=[tuning_slacks(manifest, predictions)] * len(tables),
            finds_reach=False,
            family=AllPairs(),
        )
        if tables
        else []
    )
    shown = [tuple(measured.arm for measured in group) for group in groups]
    pairs = {
        (first, second): _as_pair(comparison, shown[first], shown[second])
        for first, table in enumerate(compared)
        for second, comparison in enumerate(table, start=first + 1)
    }
    return ArmPairs(shown, pairs)


def _pair(place: tuple[int, int]) -> Pair:
    """Return the pair at a place of a table: the first table has the pairs of the first arm."""
    number, behind = place
    return number, number + 1 + behind


def _mean_error(group: Sequence[MeasuredArm]) -> float:
    errors = [*group[0].errors.values()]
    return fmean(errors) if errors else math.inf


def _marked(measured: MeasuredArm, *, is_first: bool) -> MeasuredArm:
    return replace(measured, arm=replace(measured.arm, is_baseline=is_first))


def _together(comparison: Comparison, num_arms: int, num_pairs: int) -> Comparison:
    if comparison.p_value is None:
        return comparison
    if (way := comparison.way) is None:
        p_value = min(1.0, num_pairs * comparison.p_value)
        return replace(comparison, num_together=num_pairs, adjusted_p=p_value)
    mean, half = float(way.mean), half_width_of_pair(way, num_arms, num_pairs)
    return replace(
        comparison,
        num_together=num_pairs,
        adjusted_p=largest_p(comparison, lambda of_pair: p_of_pair(of_pair, num_arms, num_pairs)),
        simultaneous=Interval(comparison.difference.n, mean, mean - half, mean + half),
    )


def _as_pair(
    comparison: Comparison, against: tuple[ArmResults, ...], arms: tuple[ArmResults, ...]
) -> PairComparison:
    """Return a comparison as that of a pair; over seeds alone it has no interval."""
    difference = comparison.difference
    if comparison.way is None:
        difference = replace(difference, low=None, high=None)
    fields: dict[str, Any] = {**vars(comparison), "arms": arms, "difference": difference}
    return PairComparison(**fields, against=against)
