"""A sweep as earlier launches left it: from its journal, from its manifest, or from both."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from search_spaces.plans.decisions import (
    DONE,
    Choose,
    Decision,
    Draw,
    Enough,
    Propose,
    Stop,
    WarmStart,
)
from search_spaces.plans.known import known_from
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog, decisions_of
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.plan.preregistration import with_planned_seeds
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import Confirmation, ManifestWarmStart


def restored(
    definition: Definition,
    journals: Path,
    current: Manifest | None,
    *,
    beyond_its_trials: bool = False,
) -> Definition:
    """Return a definition with all that its plan has decided so far.

    Args:
        definition: As declared. To one that is declared in full only the seeds that were planned
            are added.
        journals: Folder of the journals; the sweep's need not be there.
        current: The manifest that is there, None for a new sweep.
        beyond_its_trials: Whether with those cells that an earlier, longer launch proposed.
    """
    if (plan := definition.decided_by) is None:
        return with_planned_seeds(definition, current)
    from_manifest = decisions_of(current, plan) if current else []
    noted = _noted(definition, journals, plan)
    growing = GrowingDefinition(_begun(definition, (*noted, *from_manifest)))
    _replay_proposals(growing, from_manifest, noted, beyond_its_trials=beyond_its_trials)
    if enough := _enough(growing, (*noted, *from_manifest)):
        growing.enough(enough)
    if choice := _choice(growing, noted, current if from_manifest else None):
        growing.choose(choice)
    if DONE in noted or (from_manifest and current and current.plan and current.plan.is_over):
        growing.end()
    return replace(growing.snapshot(), waiting=known_from(noted).waiting)


def _noted(definition: Definition, journals: Path, plan: str) -> list[Decision]:
    """Return what the journal has noted, nothing where there is none."""
    name = definition.manifest.sweep
    if not (journals / f"{name}.db").exists():
        return []
    journal = Journal(journals, name)
    try:
        return DecisionLog(journal, plan).entries()
    finally:
        journal.close()


def _begun(definition: Definition, decisions: Sequence[Decision]) -> Definition:
    """Return a definition with the points of another sweep that it has begun with."""
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
    noted: Sequence[Decision],
    *,
    beyond_its_trials: bool,
) -> None:
    """Let a definition grow by what was proposed, and by where trials were stopped."""
    stops = {
        decision.trial_key: decision
        for decision in (*from_manifest, *noted)
        if isinstance(decision, Stop)
    }
    search = growing.declared.manifest.search
    for proposal in (
        decision for decision in (*noted, *from_manifest) if isinstance(decision, Propose)
    ):
        if isinstance(proposal, Draw):
            _replay_draw(growing, proposal)
            continue
        is_more = search is None or growing.manifest.num_proposals < search.num_trials
        if proposal.cells[0].place not in growing.manifest.keys and (is_more or beyond_its_trials):
            growing.propose(proposal.cells, stops)
    for stop in stops.values():
        growing.stop(stop)


def _replay_draw(growing: GrowingDefinition, draw: Draw) -> None:
    """Let a search have a random point that it is held against, if it is still to be so."""
    random = growing.declared.manifest.random_reference
    is_asked = random is not None and random.seed == draw.random_seed
    if is_asked and draw.cells[0].place not in growing.manifest.keys:
        growing.propose(draw.cells, is_drawn=True)


def _enough(growing: GrowingDefinition, decisions: Sequence[Decision]) -> Enough | None:
    """Return why the search has ended after these very proposals, by the ends that it has now."""
    search = growing.declared.manifest.search
    asked = search and (search.until, growing.manifest.num_proposals)
    ends = (one for one in decisions if isinstance(one, Enough))
    return next((one for one in ends if (one.until, one.num_proposals) == asked), None)


def _choice(
    growing: GrowingDefinition, noted: Sequence[Decision], current: Manifest | None
) -> Choose | None:
    """Return what an earlier launch has chosen, None where it is to be chosen anew.

    What a search confirms stands while it is chosen from these very proposals, in the same number.
    """
    choices = [decision for decision in noted if isinstance(decision, Choose)]
    if choices and choices[-1].question == growing.declared.sweep.plan.question():
        return choices[-1]
    search = growing.declared.manifest.search
    if search is None:
        chosen = current.plan.chosen if current and current.plan else None
        return None if chosen is None else Choose(chosen)
    before = current.search if current else None
    if not before or not before.confirmation or not search.confirmation:
        return None
    was, again = before.confirmation, search.confirmation
    is_same = (*_asked(was), before.until) == (*_asked(again), search.until)
    num_proposals = growing.manifest.num_proposals
    num_asked = num_proposals if growing.manifest.ended else search.num_trials
    numbers = {len(before.proposals), num_proposals, num_asked}
    if not is_same or len(numbers) > 1 or was.arms is None:
        return None
    return Choose(was.arms, was.reference, random=was.random.best if was.random else None)


def _asked(again: Confirmation) -> tuple[object, ...]:
    """Return what is to be confirmed, and against what."""
    return again.best, again.seeds, again.random and again.random.seed
