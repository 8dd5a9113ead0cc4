"""The confirmation of a search: its chosen arms on fresh seeds, and its random reference."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from capsmodel.metrics import Metric
from sweeps.aggregation.results.arms import ArmResults, arm_results, cell_state
from sweeps.aggregation.results.comparisons import Comparison, comparisons_together
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_of
from sweeps.aggregation.results.measured_arms import tested_arms
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults, search_results
from sweeps.aggregation.statistics.intervals import mean_interval
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.manifest_plan import Confirmation, Proposal, RandomReference
from sweeps.records.trial_record import METRIC_TEST_ERROR, TrialRecord


@dataclass(frozen=True)
class ConfirmationResults:
    """The arms that a search chose and what they are compared with, on fresh seeds.

    Attributes:
        results: Results of the search.
        confirmation: The manifest's confirmation; None where nothing is confirmed.
        chosen: The best arms; empty until they are chosen.
        baseline: What they are compared with: the base; None where there is none.
        compared: Arm -> comparison of its test errors with the baseline's.
        random: The random points that they are compared with as well; None where the sweep asks
            for none.
        against_random: Arm -> comparison with the best random point.
        predictions: By trial key.
    """

    results: SearchResults
    confirmation: Confirmation | None
    chosen: tuple[ArmResults, ...]
    baseline: ArmResults | None
    compared: Mapping[str, Comparison]
    random: "RandomReferenceResults | None" = None
    against_random: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])
    predictions: Mapping[str, Predictions] = field(default_factory=dict[str, Predictions])

    @property
    def metric(self) -> Metric:
        """The metric by which the search chooses."""
        return self.results.objective.metric

    @cached_property
    def proposals(self) -> dict[str, ProposalResult]:
        """Name of an arm -> the result of its proposal."""
        return {result.proposal.arm: result for result in self.results.proposals}

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the last-epoch values of an arm by seed, as the records hold them."""
        return arm.chosen_by(self.results.objective)

    def mean(self, arm: ArmResults) -> MeanOfArm:
        """Return the mean of an arm's last-epoch values."""
        return mean_of(arm, self.values(arm), self.metric.name, self.predictions)

    def mean_test_error(self, arm: ArmResults) -> MeanOfArm:
        """Return the mean of an arm's test errors."""
        return mean_of(arm, arm.test_errors, METRIC_TEST_ERROR, self.predictions)

    def rows(self) -> list[ArmResults]:
        """Return the chosen arms, the search's best first, then the best random one, the baseline.

        The order was fixed before the arms were trained on fresh seeds. Ranked by these trainings,
        the first arm would be the luckiest, on the test images too.
        """
        return _with(self.baseline, _with(self.random and self.random.best, self.chosen))


def confirmation_results(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    predictions: Mapping[str, Predictions] | None = None,
) -> ConfirmationResults:
    """Return the results of a search's confirmation.

    Test errors are compared, as the validation images chose the arms: a chosen arm is lucky on
    them whatever the seed.

    Args:
        manifest: Manifest of a search.
        records: Records by trial key; their order changes nothing.
        predictions: Predictions by trial key. Without them differences are over seeds alone.

    Raises:
        BadInput: If the sweep is no search.
    """
    results = search_results(manifest, records)
    confirmation = results.search.confirmation
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    name = confirmation.reference if confirmation else None
    reference = arms.get(name) if name else None
    baseline = (
        _as_baseline(with_seeds(reference, confirmation.seeds), name)
        if confirmation and reference
        else None
    )
    chosen = tuple(_as_baseline(arm, name) for arm in confirmed_arms(manifest, records))
    margin = None if manifest.margin_points is None else manifest.margin_points / 100
    random = random_reference_results(manifest, records, arms)
    drawn = random and random.best
    tables = [_with(baseline, _with(drawn, chosen))] if baseline else []
    if baseline and drawn:
        tables.append([*chosen, replace(drawn, is_baseline=True)])
    measured = [tested_arms(table, predictions or {}) for table in tables]
    compared = comparisons_together(measured, margin=margin)
    of_base, of_random = (_by_arm(table) for table in (*compared, [], [])[:2])
    return ConfirmationResults(
        results=results,
        confirmation=confirmation,
        chosen=chosen,
        baseline=baseline,
        compared=of_base,
        random=random,
        against_random=of_random,
        predictions=predictions or {},
    )


def _by_arm(compared: Sequence[Comparison]) -> dict[str, Comparison]:
    return {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}


def _as_baseline(arm: ArmResults, name: str | None) -> ArmResults:
    return replace(arm, is_baseline=arm.arm.name == name)


def _with(added: ArmResults | None, arms: Sequence[ArmResults]) -> list[ArmResults]:
    is_apart = added and added.arm.name not in {arm.arm.name for arm in arms}
    return [*arms, added] if added and is_apart else [*arms]


@dataclass(frozen=True)
class RandomReferenceResults:
    """Random points, trained on the search's seeds until they took as many epochs as the search.

    Attributes:
        reference: The manifest's random reference.
        best: The best of them by validation, with its fresh seeds only; None until it is chosen,
            or where none ran to full length.
        value: The objective that it was chosen by, mean over the search's seeds; None where there
            is no best.
        num_over: How many have ended on every seed.
        epochs: Trained for all of them.
        search_epochs: Trained for the search, with its base.
        same: The proposal with the same configuration as the best; None where there is none.
    """

    reference: RandomReference
    best: ArmResults | None
    value: float | None
    num_over: int
    epochs: int
    search_epochs: int
    same: Proposal | None

    @property
    def num_points(self) -> int:
        """How many there are."""
        return len(self.reference.draws)


def random_reference_results(
    manifest: Manifest, records: Mapping[str, TrialRecord], arms: Mapping[str, ArmResults]
) -> RandomReferenceResults | None:
    """Return the results of a search's random points; None where it has no random reference.

    Args:
        manifest: Manifest of a search.
        records: Records by trial key.
        arms: All its arms by name.
    """
    search, reference = manifest.search, manifest.random_reference
    if search is None or search.confirmation is None or reference is None:
        return None
    best = arms.get(reference.best) if reference.best else None
    values = with_seeds(best, manifest.seeds).chosen_by(manifest.objective) if best else {}
    drawn = {draw.arm for draw in reference.draws}
    seeds = {*manifest.seeds}
    cells = [cell for cell in manifest.cells if cell.arm in drawn and cell.seed in seeds]
    params = next((draw.params for draw in reference.draws if draw.arm == reference.best), None)
    return RandomReferenceResults(
        reference=reference,
        best=with_seeds(best, search.confirmation.seeds) if best else None,
        value=mean_interval(values.values()).mean,
        num_over=sum(_is_over(with_seeds(arms[name], manifest.seeds)) for name in drawn),
        epochs=_num_epochs(cells, records),
        search_epochs=_num_epochs(manifest.proposed_cells(), records),
        same=next((proposal for proposal in search.proposals if proposal.params == params), None),
    )


def _is_over(arm: ArmResults) -> bool:
    return all(cell_state(trial) not in {"missing", "unfinished"} for trial in arm.trials.values())


def _num_epochs(cells: Iterable[ManifestCell], records: Mapping[str, TrialRecord]) -> int:
    """Return how many epochs were trained in some cells, each trial once."""
    by_key = {cell.trial_key: cell for cell in cells}
    trained = {key: record.epochs for key, record in records.items() if key in by_key}
    stops = {key: cell.stopped.epoch for key, cell in by_key.items() if cell.stopped}
    return sum((trained | stops).values())
