"""What came of confirming the best of a search: the chosen arms with their fresh seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from capsmodel.metrics import Metric
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import Comparison, comparisons_together
from sweeps.aggregation.results.held_to_random import HeldToRandom, held_to_random
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults, search_results
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
        baseline: What they are compared with: the base; None where there is none.
        compared: By arm, the difference of its test errors from the baseline's.
        random: What became of the random points that they are held against as well; None where
            that is not asked for.
        against_random: By arm, the difference from the best of these.
    """

    results: SearchResults
    again: Confirmation | None
    chosen: tuple[ArmResults, ...]
    baseline: ArmResults | None
    compared: Mapping[str, Comparison]
    random: HeldToRandom | None = None
    against_random: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])

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

    def rows(self) -> list[ArmResults]:
        """Return the chosen arms, the search's best first, then the best random one, the baseline.

        Their order was settled before they were trained again: by the new trainings, the first
        would be the luckiest of them, on test images too.
        """
        return _with(self.baseline, _with(self.random and self.random.best, self.chosen))


def confirmed_results(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    predictions: Mapping[str, Predictions] | None = None,
) -> Confirmed:
    """Return what came of confirming the best of a search.

    Compared are test errors, as the validation images have chosen the arms: a chosen one is lucky
    on them whatever the seed.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.
        predictions: By trial key. Without them differences are over seeds alone.

    Raises:
        BadInput: If the sweep is no search.
    """
    results = search_results(manifest, records)
    again = results.search.confirmation
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    name = again.reference if again else None
    found = arms.get(name) if name else None
    baseline = _as_baseline(with_seeds(found, again.seeds), name) if again and found else None
    chosen = tuple(_as_baseline(arm, name) for arm in confirmed_arms(manifest, records))
    margin = None if manifest.margin_points is None else manifest.margin_points / 100
    random = held_to_random(manifest, records, arms)
    drawn = random and random.best
    tables = [_with(baseline, _with(drawn, chosen))] if baseline else []
    if baseline and drawn:
        tables.append([*chosen, replace(drawn, is_baseline=True)])
    compared = comparisons_together(tables, predictions or {}, margin)
    of_base, of_random = (_by_arm(table) for table in (*compared, [], [])[:2])
    return Confirmed(
        results=results,
        again=again,
        chosen=chosen,
        baseline=baseline,
        compared=of_base,
        random=random,
        against_random=of_random,
    )


def _by_arm(compared: Sequence[Comparison]) -> dict[str, Comparison]:
    return {arm.arm.name: one for one in compared for arm in one.arms}


def _as_baseline(arm: ArmResults, name: str | None) -> ArmResults:
    return replace(arm, is_baseline=arm.arm.name == name)


def _with(one: ArmResults | None, arms: Sequence[ArmResults]) -> list[ArmResults]:
    is_apart = one and one.arm.name not in {arm.arm.name for arm in arms}
    return [*arms, one] if one and is_apart else [*arms]
