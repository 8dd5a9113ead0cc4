"""The arms of a sweep that a paper may print, and what each was compared with."""

from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.confirmed import confirmed_results
from sweeps.aggregation.results.identical import grouped


@dataclass(frozen=True)
class ComparedArms:
    """The arms that a paper may print.

    Attributes:
        arms: In the sweep's order; of a search those that ran again on fresh seeds.
        compared: One a group of identical arms other than the baseline's; none in a search.
    """

    arms: tuple[ArmResults, ...]
    compared: tuple[Comparison, ...]

    @property
    def groups(self) -> list[list[ArmResults]]:
        """The arms, those of identical results together."""
        return grouped(self.arms)

    @property
    def by_arm(self) -> Mapping[str, Comparison]:
        """The comparison of each arm; what is identical with the baseline has none."""
        return {arm.arm.name: one for one in self.compared for arm in one.arms}


def compared_arms(results: Results) -> ComparedArms:
    """Return the arms of a sweep that a paper may print, with their comparisons."""
    manifest = results.manifest
    if manifest.search is not None:
        return ComparedArms(tuple(confirmed_results(manifest, results.records).rows()), ())
    return ComparedArms(results.arms, tuple(results.compared))
