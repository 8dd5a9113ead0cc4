"""The proposals that a search's sensitivity rests on, each with one value of the objective.

The proposals that a scheduler let through say little about a setting by which it sorted them: all
have good values of it. So proposals are compared at the first epoch at which one was stopped.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from capsmodel.metrics import VALIDATION_ERROR
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.trial_record import Outcome, TrialRecord

FEWEST_TRIALS = 20
"""From how many trials on the importance of a setting is given.

A straight line that explains half of the variance is found in .83 of searches of five settings.
"""
_BLIND_SAMPLERS = frozenset({"random", "qmc", "grid"})
_REACHED_IT = frozenset({"finished", "stopped", "unfinished"})

Histories = Mapping[str, Mapping[int, float]]
FindHistories = Callable[[Iterable[TrialRecord], str], Histories]


def fewest_trials(num_levels: int, *, is_choice: bool) -> int:
    """Return from how many trials on a setting's importance is given: two and more a kind."""
    return max(FEWEST_TRIALS, 2 * num_levels) if is_choice else FEWEST_TRIALS


@dataclass(frozen=True)
class Sample:
    """Proposals, compared after the same epoch.

    Attributes:
        values: Number of a proposal -> its objective, mean over the seeds, in the record's unit.
        epoch: The first at which the scheduler stopped one; None if it stopped none, so that the
            last epoch of each counts.
        diverged: Those that diverged, which get the worst value of the others.
        is_start: Whether these are only the random proposals at the sampler's start.
        is_chosen: Whether the sampler chose some by the results of others.
    """

    values: Mapping[int, float]
    epoch: int | None = None
    diverged: frozenset[int] = frozenset()
    is_start: bool = False
    is_chosen: bool = False

    def only(self, numbers: Iterable[int]) -> "Sample":
        """Return the sample of some of its proposals."""
        values = {number: self.values[number] for number in sorted(numbers)}
        return replace(self, values=values, diverged=self.diverged & values.keys())


def no_histories(trials: Iterable[TrialRecord], metric: str) -> Histories:
    """Return no curves: enough if no scheduler stopped a trial."""
    return {}


def sample_of(
    results: SearchResults,
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    find_histories: FindHistories = no_histories,
) -> Sample:
    """Return the proposals from which importances, means and trends of a search are computed.

    A diverged proposal gets the worst value of the others: if it were left out, a setting that
    makes training diverge would look harmless. A failed proposal says nothing about its settings
    and is left out, as is one that has not reached the epoch.

    Args:
        results: Results of the proposals.
        manifest: The search's manifest.
        records: Records by trial key.
        find_histories: Returns curves of trials; called only if the scheduler stopped one.

    Raises:
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    candidates = [result for result in results.proposals if result.repeats is None]
    epoch = min((result.epoch for result in candidates if result.epoch is not None), default=None)
    if epoch is None:
        values = {result.number: results.value(result.number) for result in results.counted}
    else:
        reaching = [result for result in candidates if result.state in _REACHED_IT]
        cells = _cells(manifest, reaching, records)
        trials = [records[cell.trial_key] for of_proposal in cells.values() for cell in of_proposal]
        curves = find_histories(trials, results.objective.metric.name)
        if any(arm.config.get("weights") == "best" for arm in manifest.arms):
            errors = find_histories(trials, VALIDATION_ERROR.name)
            curves = {key: best_so_far(curve, errors[key]) for key, curve in curves.items()}
        values = _values_at(epoch, cells, records, curves)
    diverged = {result.number for result in candidates if result.state == "diverged"}
    diverged |= {number for number, value in values.items() if not math.isfinite(value)}
    return _as_proposed(_with_worst(Sample(values, epoch, frozenset(diverged)), results), results)


def best_so_far(curve: Mapping[int, float], errors: Mapping[int, float]) -> dict[int, float]:
    """Return a curve of which each epoch has the value of the best one until then.

    Args:
        curve: Epoch -> value.
        errors: Epoch -> validation error, the lowest of which is the best, the earliest of equals.
    """
    best: dict[int, float] = {}
    lowest = math.inf
    value = math.nan
    for epoch in sorted(curve):
        if (error := errors.get(epoch, math.inf)) < lowest:
            lowest, value = error, curve[epoch]
        best[epoch] = value if math.isfinite(curve[epoch]) else curve[epoch]
    return best


def _values_at(
    epoch: int,
    cells: Mapping[int, Sequence[ManifestCell]],
    records: Mapping[str, TrialRecord],
    curves: Histories,
) -> dict[int, float]:
    """Return the mean over the seeds of each proposal all of whose trials reached the epoch."""
    means: dict[int, float] = {}
    for number, of_proposal in cells.items():
        values = [
            _value_at(epoch, cell, records[cell.trial_key], curves.get(cell.trial_key, {}))
            for cell in of_proposal
        ]
        reached = [value for value in values if value is not None]
        if len(reached) == len(values):
            means[number] = math.fsum(reached) / len(reached)
    return means


def _value_at(
    epoch: int, cell: ManifestCell, trial: TrialRecord, curve: Mapping[int, float]
) -> float | None:
    """Return a trial's objective after an epoch, or after its last if its own rule ended it."""
    if cell.stopped is not None and cell.stopped.epoch == epoch:
        return cell.stopped.value
    reached = [reported for reported in curve if reported <= epoch]
    has_reached = epoch in curve or (
        trial.outcome is Outcome.FINISHED and max(curve, default=0) < epoch
    )
    return curve[max(reached)] if reached and has_reached else None


def _cells(
    manifest: Manifest, proposals: Iterable[ProposalResult], records: Mapping[str, TrialRecord]
) -> dict[int, list[ManifestCell]]:
    """Return the cells of each proposal whose cells all have a record."""
    by_arm: dict[str, list[ManifestCell]] = {}
    for cell in manifest.proposed_cells():
        by_arm.setdefault(cell.arm, []).append(cell)
    of_proposal = {result.number: by_arm[result.proposal.arm] for result in proposals}
    return {
        n: cells for n, cells in of_proposal.items() if all(c.trial_key in records for c in cells)
    }


def _with_worst(sample: Sample, results: SearchResults) -> Sample:
    """Return the sample with its worst value for the diverged proposals."""
    finite = {n: value for n, value in sample.values.items() if n not in sample.diverged}
    if not finite:
        return replace(sample, values={}, diverged=frozenset())
    worst = max(finite.values(), key=results.objective.cost)
    return replace(sample, values=finite | dict.fromkeys(sample.diverged, worst))


def _as_proposed(sample: Sample, results: SearchResults) -> Sample:
    """Return only the random start if that suffices; else note whether the sampler chose."""
    search = results.search
    num_warm = len(search.warm_start.points) if search.warm_start else 0
    sample = sample.only(number for number in sample.values if number >= num_warm)
    start = [number for number in sample.values if number < search.num_startup]
    if search.sampler in _BLIND_SAMPLERS or len(start) == len(sample.values):
        return sample
    if len(start) < FEWEST_TRIALS:
        return replace(sample, is_chosen=True)
    return replace(sample.only(start), is_start=True)
