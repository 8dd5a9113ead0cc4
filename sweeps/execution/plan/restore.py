"""The decisions of earlier launches, restored from a sweep's journal, its manifest, or both."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from search_spaces.plans.decisions import (
    DONE,
    Decision,
    EndSearch,
    Propose,
    ProposeRandom,
    Select,
    Stop,
    WarmStart,
)
from search_spaces.plans.known import known_after
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog, decisions_of
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.plan.preregistration import with_first_rule, with_planned_seeds
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import Confirmation, ManifestWarmStart


def restored(
    definition: Definition,
    journals: Path,
    current: Manifest | None,
    *,
    beyond_its_trials: bool = False,
) -> Definition:
    """Return the definition with all decisions of its plan so far.

    Args:
        definition: The definition as declared. If it declares all cells, only the planned seeds
            are added.
        journals: The folder of the journals; the sweep may have none.
        current: The current manifest, None for a new sweep.
        beyond_its_trials: Whether to add the cells that an earlier, longer launch proposed.
    """
    definition = with_first_rule(definition, current)
    if (plan := definition.decided_by) is None:
        return with_planned_seeds(definition, current)
    from_manifest = decisions_of(current, plan) if current else []
    logged = _logged(definition, journals, plan)
    growing = GrowingDefinition(_with_warm_start(definition, (*logged, *from_manifest)))
    _replay_proposals(growing, from_manifest, logged, beyond_its_trials=beyond_its_trials)
    if enough := _enough(growing, (*logged, *from_manifest)):
        growing.enough(enough)
    if choice := _choice(growing, logged, current if from_manifest else None):
        growing.choose(choice)
    if DONE in logged or (from_manifest and current and current.plan and current.plan.is_over):
        growing.end()
    return replace(growing.snapshot(), waiting=known_after(logged).waiting)


def _logged(definition: Definition, journals: Path, plan: str) -> list[Decision]:
    """Return the decisions in the journal, none if there is no journal."""
    name = definition.manifest.sweep
    if not (journals / f"{name}.db").exists():
        return []
    journal = Journal(journals, name)
    try:
        return DecisionLog(journal, plan).entries()
    finally:
        journal.close()


def _with_warm_start(definition: Definition, decisions: Sequence[Decision]) -> Definition:
    """Return the definition with the points of its warm start, if it had one."""
    begun = next((one for one in decisions if isinstance(one, WarmStart)), None)
    search = definition.manifest.search
    if begun is None or search is None:
        return definition
    warm = ManifestWarmStart(
        sweep=begun.sweep,
        points=tuple(map(dict, begun.points)),
        num_fitting=begun.num_fitting,
    )
    grown = search.model_copy(update={"warm_start": warm})
    return replace(definition, manifest=definition.manifest.model_copy(update={"search": grown}))


def _replay_proposals(
    growing: GrowingDefinition,
    from_manifest: Sequence[Decision],
    logged: Sequence[Decision],
    *,
    beyond_its_trials: bool,
) -> None:
    """Add the proposals to the definition, and where trials were stopped."""
    stops = {
        decision.trial_key: decision
        for decision in (*from_manifest, *logged)
        if isinstance(decision, Stop)
    }
    search = growing.declared.manifest.search
    for proposal in (
        decision for decision in (*logged, *from_manifest) if isinstance(decision, Propose)
    ):
        if isinstance(proposal, ProposeRandom):
            _replay_draw(growing, proposal)
            continue
        is_more = search is None or growing.manifest.num_proposals < search.num_trials
        if proposal.cells[0].place not in growing.manifest.keys and (is_more or beyond_its_trials):
            growing.propose(proposal.cells, stops)
    for stop in stops.values():
        growing.stop(stop)


def _replay_draw(growing: GrowingDefinition, draw: ProposeRandom) -> None:
    """Add a random point that the search is compared with, if it still declares that."""
    random = growing.declared.manifest.random_reference
    is_asked = random is not None and random.seed == draw.random_seed
    if is_asked and draw.cells[0].place not in growing.manifest.keys:
        growing.propose(draw.cells, is_drawn=True)


def _enough(growing: GrowingDefinition, decisions: Sequence[Decision]) -> EndSearch | None:
    """Return the end of the search after exactly these proposals, by its present conditions."""
    search = growing.declared.manifest.search
    asked = search and (search.until, growing.manifest.num_proposals)
    ends = (one for one in decisions if isinstance(one, EndSearch))
    return next((one for one in ends if (one.until, one.num_proposals) == asked), None)


def _choice(
    growing: GrowingDefinition, logged: Sequence[Decision], current: Manifest | None
) -> Select | None:
    """Return the choice of an earlier launch, None if it has to be made once more.

    A choice of arms to confirm is valid as long as the proposals are the same.
    """
    choices = [decision for decision in logged if isinstance(decision, Select)]
    if choices and choices[-1].question == growing.declared.sweep.plan.question():
        return choices[-1]
    search = growing.declared.manifest.search
    if search is None:
        chosen = current.plan.chosen if current and current.plan else None
        return None if chosen is None else Select(chosen)
    before = current.search if current else None
    if not before or not before.confirmation or not search.confirmation:
        return None
    old, new = before.confirmation, search.confirmation
    is_same = (*_question(old), before.until) == (*_question(new), search.until)
    num_proposals = growing.manifest.num_proposals
    num_asked = num_proposals if growing.manifest.ended else search.num_trials
    numbers = {len(before.proposals), num_proposals, num_asked}
    if not is_same or len(numbers) > 1 or old.arms is None:
        return None
    return Select(old.arms, old.reference, random=old.random.best if old.random else None)


def _question(confirmation: Confirmation) -> tuple[object, ...]:
    """Return how many arms to confirm, on which seeds, and the seed of the random reference."""
    return confirmation.best, confirmation.seeds, confirmation.random and confirmation.random.seed
