"""The proposals that a search's sensitivity rests on, each with one value of the objective.

What a scheduler kept shows little of a setting that it sorted by: the kept all have good values of
it. So proposals are compared at the last epoch that all of them reached, before any was stopped.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeps.aggregation.results.search_results import ProposalResult, SearchResults
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.trial_record import Outcome, TrialRecord

FEWEST_TRIALS = 20
_BLIND_SAMPLERS = frozenset({"random", "qmc", "grid"})
_GOT_THERE = frozenset({"finished", "stopped", "unfinished"})

Histories = Mapping[str, Mapping[int, float]]
FindHistories = Callable[[Iterable[TrialRecord], str], Histories]


@dataclass(frozen=True)
class Sample:
    """Proposals that are compared, all after the same epoch.

    Attributes:
        values: Number of a proposal -> its objective, mean over the seeds, in the record's unit.
        epoch: After which: the first at which the scheduler stopped one. None where it stopped
            none, so that the last epoch of each counts.
        diverged: Those that diverged: they have the worst value of the others.
        is_start: Whether these are the random proposals at the sampler's start alone.
        is_chosen: Whether the sampler chose some of them by the results of others.
    """

    values: Mapping[int, float]
    epoch: int | None = None
    diverged: frozenset[int] = frozenset()
    is_start: bool = False
    is_chosen: bool = False

    def only(self, numbers: Iterable[int]) -> "Sample":
        """Return the sample of some of its proposals."""
        kept = {number: self.values[number] for number in sorted(numbers)}
        return replace(self, values=kept, diverged=self.diverged & kept.keys())


def no_histories(trials: Iterable[TrialRecord], metric: str) -> Histories:
    """Return no curve of any trial: enough where no scheduler stopped one."""
    return {}


def sample_of(
    results: SearchResults,
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    find_histories: FindHistories = no_histories,
) -> Sample:
    """Return what importances, means by value and trends of a search are made from.

    A proposal that diverged counts as the worst value of the others: left out, a setting that
    makes training diverge would look harmless. One that failed says nothing of its settings and
    is left out, as is one that has not got so far.

    Args:
        results: What came of each proposal.
        manifest: Of the search.
        records: By trial key.
        find_histories: Gives curves of trials; asked only where the scheduler stopped one.

    Raises:
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    candidates = [result for result in results.proposals if result.repeats is None]
    epoch = min((one.epoch for one in candidates if one.epoch is not None), default=None)
    if epoch is None:
        values = {one.number: results.value(one.number) for one in results.counted}
    else:
        there = [result for result in candidates if result.state in _GOT_THERE]
        cells = _cells(manifest, there, records)
        trials = [records[cell.trial_key] for own in cells.values() for cell in own]
        curves = find_histories(trials, results.objective.metric.name)
        values = _values_at(epoch, cells, records, curves)
    diverged = {one.number for one in candidates if one.state == "diverged"}
    diverged |= {number for number, value in values.items() if not math.isfinite(value)}
    return _as_proposed(_with_worst(Sample(values, epoch, frozenset(diverged)), results), results)


def _values_at(
    epoch: int,
    cells: Mapping[int, Sequence[ManifestCell]],
    records: Mapping[str, TrialRecord],
    curves: Histories,
) -> dict[int, float]:
    """Return the mean over the seeds of each proposal all of whose trials got so far."""
    found: dict[int, float] = {}
    for number, own in cells.items():
        values = [
            _value_at(epoch, cell, records[cell.trial_key], curves.get(cell.trial_key, {}))
            for cell in own
        ]
        there = [value for value in values if value is not None]
        if len(there) == len(values):
            found[number] = math.fsum(there) / len(there)
    return found


def _value_at(
    epoch: int, cell: ManifestCell, trial: TrialRecord, curve: Mapping[int, float]
) -> float | None:
    """Return a trial's objective after an epoch, or after its last where its own rule ended it."""
    if cell.stopped is not None and cell.stopped.epoch == epoch:
        return cell.stopped.value
    reached = [told for told in curve if told <= epoch]
    is_there = epoch in curve or (
        trial.outcome is Outcome.FINISHED and max(curve, default=0) < epoch
    )
    return curve[max(reached)] if reached and is_there else None


def _cells(
    manifest: Manifest, proposals: Iterable[ProposalResult], records: Mapping[str, TrialRecord]
) -> dict[int, list[ManifestCell]]:
    """Return the cells of each proposal, of those all of whose cells have a record."""
    by_arm: dict[str, list[ManifestCell]] = {}
    for cell in manifest.proposed_cells():
        by_arm.setdefault(cell.arm, []).append(cell)
    own = {result.number: by_arm[result.proposal.arm] for result in proposals}
    return {n: cells for n, cells in own.items() if all(c.trial_key in records for c in cells)}


def _with_worst(sample: Sample, results: SearchResults) -> Sample:
    """Return the sample with the worst of its values for those that diverged."""
    finite = {n: value for n, value in sample.values.items() if n not in sample.diverged}
    if not finite:
        return replace(sample, values={}, diverged=frozenset())
    worst = max(finite.values(), key=results.objective.cost)
    return replace(sample, values=finite | dict.fromkeys(sample.diverged, worst))


def _as_proposed(sample: Sample, results: SearchResults) -> Sample:
    """Return the random start alone where it suffices; else say whether the sampler chose."""
    search = results.search
    start = [number for number in sample.values if number < search.num_startup]
    if search.sampler in _BLIND_SAMPLERS or len(start) == len(sample.values):
        return sample.only(sample.values)
    if len(start) < FEWEST_TRIALS:
        return replace(sample.only(sample.values), is_chosen=True)
    return replace(sample.only(start), is_start=True)
