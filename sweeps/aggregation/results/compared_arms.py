"""The arms of a sweep that a paper may print, with their comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.aggregation.results.arms import ArmResults, identical_groups
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.confirmation_results import confirmation_results
from sweeps.aggregation.results.sweep_results import Results


@dataclass(frozen=True)
class ComparedArms:
    """The arms that a paper may print.

    Attributes:
        arms: In the sweep's order; of a search those that ran again on fresh seeds.
        compared: The comparison of each other group of identical arms with the baseline.
        against_random: Of a search those with the best random point, judged together with these.
    """

    arms: tuple[ArmResults, ...]
    compared: tuple[Comparison, ...]
    against_random: tuple[Comparison, ...] = ()

    @property
    def baseline(self) -> str:
        """The name of the arm that the others are compared with, "" where there is none."""
        return next((arm.arm.name for arm in self.arms if arm.is_baseline), "")

    @property
    def groups(self) -> list[list[ArmResults]]:
        """The arms, those of identical results together."""
        return identical_groups(self.arms)

    @property
    def by_arm(self) -> Mapping[str, Comparison]:
        """The comparison of each arm; what is identical with the baseline has none."""
        return {arm.arm.name: comparison for comparison in self.compared for arm in comparison.arms}


def compared_arms(results: Results) -> ComparedArms:
    """Return the arms of a sweep that a paper may print, with their comparisons."""
    manifest = results.manifest
    if manifest.search is not None:
        confirmed = confirmation_results(manifest, results.records, results.predictions)
        compared, against = map(_once, (confirmed.compared, confirmed.against_random))
        return ComparedArms(tuple(confirmed.rows()), compared, against)
    return ComparedArms(results.arms, tuple(results.compared))


def _once(compared: Mapping[str, Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons, those of identical arms once."""
    return tuple({id(comparison): comparison for comparison in compared.values()}.values())
