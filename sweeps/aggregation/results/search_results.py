"""A search's proposals and their results: where sensitivity and its figures start."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from capsmodel.metrics import Objective
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.manifest_plan import ManifestSearch, Plain, Proposal
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import Outcome, TrialRecord

ProposalState = Literal["finished", "stopped", "diverged", "failed", "unfinished"]

# what a proposal is if one of its cells is: the first that holds
_WORST_FIRST: tuple[ProposalState, ...] = ("diverged", "failed", "stopped", "unfinished")


@dataclass(frozen=True)
class ProposalResult:
    """A proposal and its result.

    Attributes:
        state: "finished" where every seed ran to full length with a finite objective.
        value: The objective, mean over the seeds, in the record's unit; of a stopped proposal the
            mean at its stop. None in any other state.
        epoch: The epoch at which a stopped proposal was stopped, else None.
        repeats: The number of the earlier proposal with equal settings that counts instead.
        broken: Of a finished proposal, the limits on what is measured that it does not keep.
    """

    proposal: Proposal
    state: ProposalState
    value: float | None = None
    epoch: int | None = None
    repeats: int | None = None
    broken: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Its place among the proposals, from 0."""
        return self.proposal.number

    @property
    def params(self) -> Mapping[str, Plain]:
        """Its settings: name -> value."""
        return self.proposal.params

    @property
    def is_counted(self) -> bool:
        """Whether it enters sensitivity: of full length, and not a repetition."""
        return self.state == "finished" and self.repeats is None

    @property
    def broken_text(self) -> str:
        """Its arm with the limits that it does not keep: "proposal 3 (seconds_per_epoch)"."""
        return one_line(f"{self.proposal.arm} ({', '.join(self.broken)})")

    @property
    def is_candidate(self) -> bool:
        """Whether it may be the best: counted, and within the limits on what is measured."""
        return self.is_counted and not self.broken


@dataclass(frozen=True)
class SearchResults:
    """All proposals of a search, in their order, and its objective.

    Attributes:
        base_value: The objective of the base, mean over the seeds; None until all have finished.
    """

    sweep: str
    seeds: tuple[int, ...]
    search: ManifestSearch
    objective: Objective
    proposals: tuple[ProposalResult, ...]
    base_value: float | None = None

    @property
    def counted(self) -> tuple[ProposalResult, ...]:
        """The proposals that ran to full length, each once."""
        return tuple(result for result in self.proposals if result.is_counted)

    @property
    def candidates(self) -> tuple[ProposalResult, ...]:
        """The counted proposals within the limits on what is measured."""
        return tuple(result for result in self.proposals if result.is_candidate)

    @property
    def beyond_limits(self) -> tuple[ProposalResult, ...]:
        """The counted proposals beyond a limit on what is measured."""
        return tuple(result for result in self.counted if result.broken)

    def cost(self, number: int) -> float:
        """Return the objective as a cost, of a proposal that has a value."""
        return self.objective.cost(value_of(self.proposals[number]))

    def count(self, state: ProposalState) -> int:
        """Return how many proposals are in a state."""
        return sum(result.state == state for result in self.proposals)

    def value(self, number: int) -> float:
        """Return the objective of a proposal that has one, in the record's unit."""
        return value_of(self.proposals[number])

    @property
    def num_repeats(self) -> int:
        """Number of finished proposals that another with equal settings stands for."""
        return sum(
            result.state == "finished" and not result.is_counted for result in self.proposals
        )


def search_results(manifest: Manifest, records: Mapping[str, TrialRecord]) -> SearchResults:
    """Return the result of each proposal, over the search's own seeds.

    A cell that the search's scheduler stopped counts as stopped, even if another sweep resumed its
    trial: other sweeps do not change the results of this one.

    Args:
        manifest: Manifest of a search.
        records: Records by trial key; their order changes nothing.

    Raises:
        BadInput: If the sweep is no search.
    """
    search = manifest.search
    if search is None:
        raise BadInput(f"Sweep '{manifest.sweep}' is a design: only a search has sensitivities.")
    cells: dict[str, list[ManifestCell]] = {arm.name: [] for arm in manifest.arms}
    for cell in manifest.cells:
        if cell.seed in manifest.seeds:  # not those of the confirmation
            cells[cell.arm].append(cell)
    objective = manifest.objective
    results = [
        _with_broken(_result(proposal, cells[proposal.arm], records, objective), search, cells)
        for proposal in search.proposals
    ]
    proposals = tuple(_without_repeats(results))
    base = _base_value(cells.get(search.base, []), records, objective)
    return SearchResults(manifest.sweep, manifest.seeds, search, objective, proposals, base)


def value_of(result: ProposalResult) -> float:
    """Return the objective of a proposal that has one."""
    assert result.value is not None, result
    return result.value


def _result(
    proposal: Proposal,
    cells: Sequence[ManifestCell],
    records: Mapping[str, TrialRecord],
    objective: Objective,
) -> ProposalResult:
    states: list[ProposalState] = [
        _cell_state(cell, records.get(cell.trial_key), objective) for cell in cells
    ]
    state = _worst(states)
    if state == "stopped":
        stops = [cell.stopped for cell in cells if cell.stopped is not None]
        first = min(stop.epoch for stop in stops)  # of these alone, as no two lengths mix
        value = _mean(stop.value for stop in stops if stop.epoch == first)
        return ProposalResult(proposal, state, value, first)
    if state == "finished":
        values = (objective.value(records[cell.trial_key].metrics) for cell in cells)
        return ProposalResult(
            proposal, state, _mean(value for value in values if value is not None)
        )
    return ProposalResult(proposal, state)


def _with_broken(
    result: ProposalResult, search: ManifestSearch, cells: Mapping[str, Sequence[ManifestCell]]
) -> ProposalResult:
    """Return a result with the measured limits that the proposal breaks, if it has finished."""
    if result.state != "finished" or not search.measured_limits:
        return result
    keys = [cell.trial_key for cell in cells[result.proposal.arm]]
    return replace(result, broken=search.broken_limits(keys))


def _base_value(
    cells: Sequence[ManifestCell], records: Mapping[str, TrialRecord], objective: Objective
) -> float | None:
    values = [
        objective.value(record.metrics)
        for cell in cells
        if (record := records.get(cell.trial_key)) and record.outcome is Outcome.FINISHED
    ]
    finite = [value for value in values if value is not None]
    return _mean(finite) if finite and len(finite) == len(cells) else None


def _worst(states: Sequence[ProposalState]) -> ProposalState:
    for state in _WORST_FIRST:
        if state in states:
            return state
    return "finished"


def _cell_state(
    cell: ManifestCell, trial: TrialRecord | None, objective: Objective
) -> ProposalState:
    if cell.stopped is not None:
        return "stopped"
    if trial is None:
        return "unfinished"
    if trial.outcome is Outcome.FINISHED:
        value = objective.value(trial.metrics)
        return "finished" if value is not None and math.isfinite(value) else "diverged"
    if trial.outcome in {Outcome.DIVERGED, Outcome.FAILED}:
        return "diverged" if trial.outcome is Outcome.DIVERGED else "failed"
    return "unfinished"


def _mean(values: Iterable[float]) -> float | None:
    """Return the mean of the finite values, the same in any order."""
    finite = [value for value in values if math.isfinite(value)]
    return statistics.mean(finite) if finite else None


def _without_repeats(results: Sequence[ProposalResult]) -> list[ProposalResult]:
    """Mark each proposal that another with equal settings stands for: a finished one, the first."""
    first: dict[object, ProposalResult] = {}
    for result in sorted(results, key=lambda result: (result.state != "finished", result.number)):
        first.setdefault(_identity(result), result)
    marked: list[ProposalResult] = []
    for result in results:
        standing = first[_identity(result)].number
        marked.append(result if standing == result.number else replace(result, repeats=standing))
    return marked


def _identity(result: ProposalResult) -> object:
    """Return what two proposals with equal settings share; 1 and True are not equal."""
    return tuple((name, repr(value)) for name, value in sorted(result.params.items()))
