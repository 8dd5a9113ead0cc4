"""Definitions of searches that have grown, made step by step."""

from collections.abc import Mapping, Sequence

from search_spaces.plans.decisions import Cell, Decision, Propose, Select, Stop, Unselect
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.search.decider import name_of_proposal
from sweeps.records.manifest import ManifestCell, Stopped
from sweeps.records.manifest_plan import Plain


def with_proposal(
    definition: SweepDefinition,
    params: Mapping[str, Plain],
    stopped: Mapping[str, Stopped] | None = None,
) -> SweepDefinition:
    """Return the definition with one proposal more, the next by number."""
    stops = [Stop(key, stop.epoch, stop.value) for key, stop in (stopped or {}).items()]
    cells = cells_of(num_proposed(definition), params, definition)
    return with_decisions(definition, *stops, Propose(tuple(cells)))


def with_decisions(definition: SweepDefinition, *decisions: Decision) -> SweepDefinition:
    """Return the definition with more decisions."""
    growing = GrowingDefinition(definition)
    for decision in decisions:
        growing.take(growing.resolved(decision))
    return growing.snapshot()


def num_proposed(definition: SweepDefinition) -> int:
    """Return how many proposals there are."""
    assert definition.manifest.search
    return len(definition.manifest.search.proposals)


def cells_of(number: int, params: Mapping[str, Plain], definition: SweepDefinition) -> list[Cell]:
    """Return the cells of a proposal."""
    seeds = definition.manifest.seeds
    return [Cell(name_of_proposal(number), params, seed) for seed in seeds]


def with_stopped(definition: SweepDefinition, trial_key: str, stopped: Stopped) -> SweepDefinition:
    """Return the definition with a trial stopped by the scheduler."""
    return with_decisions(definition, Stop(trial_key, stopped.epoch, stopped.value))


def with_confirmation(
    definition: SweepDefinition, arms: Sequence[str], reference: str | None
) -> SweepDefinition:
    """Return the definition with the arms that are run again on fresh seeds."""
    question = definition.declared.question
    return with_decisions(definition, Select(tuple(arms), reference, question))


def without_confirmation(definition: SweepDefinition) -> SweepDefinition:
    """Return the definition with nothing chosen to be run again."""
    return with_decisions(definition, Unselect())


def search_cells(definition: SweepDefinition) -> tuple[ManifestCell, ...]:
    """Return the cells of the proposals, without those of the confirmation."""
    return definition.manifest.proposed_cells()


def is_growing(definition: SweepDefinition) -> bool:
    """Return whether more cells may follow."""
    return definition.manifest.is_growing


def num_expected(definition: SweepDefinition) -> int:
    """Return how many cells there will be in the end, at most."""
    return definition.manifest.num_expected
