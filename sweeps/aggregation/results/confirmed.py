"""What came of confirming the best of a search: the chosen arms with their fresh seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from capsmodel.metrics import Metric
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults, search_results
from sweeps.aggregation.statistics.intervals import mean_interval
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import Confirmation
from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class Confirmed:
    """The arms that a search has chosen and what they are compared with, on fresh seeds.

    Attributes:
        results: Of the search.
        again: What is to be confirmed, None where nothing is.
        chosen: The best; none until they are chosen.
        reference: What a middling choice at random gives, None where there is none.
    """

    results: SearchResults
    again: Confirmation | None
    chosen: tuple[ArmResults, ...]
    reference: ArmResults | None

    @property
    def metric(self) -> Metric:
        """What the search chooses by."""
        return self.results.objective.metric

    @cached_property
    def proposals(self) -> dict[str, ProposalResult]:
        """Name of an arm -> what came of its proposal."""
        return {result.proposal.arm: result for result in self.results.proposals}

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the last-epoch values of an arm by seed, as the records hold them."""
        return arm.chosen_by(self.results.objective)

    def ranked(self) -> list[ArmResults]:
        """Return the chosen arms, the best mean first, those without a result last."""
        means = {arm.arm.name: mean_interval(self.values(arm).values()) for arm in self.chosen}

        def place(arm: ArmResults) -> tuple[bool, float]:
            mean = means[arm.arm.name].mean
            return mean is None, round(self.results.objective.cost(mean or 0.0), 12)

        return sorted(self.chosen, key=place)

    def rows(self) -> list[ArmResults]:
        """Return the ranked arms and, if it is none of them, the reference."""
        ranked = self.ranked()
        names = {arm.arm.name for arm in ranked}
        reference = self.reference
        is_apart = reference is not None and reference.arm.name not in names
        return [*ranked, reference] if reference and is_apart else ranked


def confirmed_results(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Confirmed:
    """Return what came of confirming the best of a search.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.

    Raises:
        BadInput: If the sweep is no search.
    """
    results = search_results(manifest, records)
    again = results.search.confirmation
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    reference = arms.get(again.reference) if again and again.reference else None
    return Confirmed(
        results=results,
        again=again,
        chosen=confirmed_arms(manifest, records),
        reference=with_seeds(reference, again.seeds) if again and reference else None,
    )
