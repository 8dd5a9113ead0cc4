"""A sweep as earlier launches left it: from its journal, from its manifest, or from both."""

from collections.abc import Sequence
from pathlib import Path

from search_spaces.plans.decisions import DONE, Choose, Decision, Propose, Stop
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.before_looking import with_planned_seeds
from sweeps.execution.plan.decision_log import DecisionLog, decisions_of
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.records.manifest import Manifest


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
    growing = GrowingDefinition(definition)
    stops = {
        decision.trial_key: decision
        for decision in (*from_manifest, *noted)
        if isinstance(decision, Stop)
    }
    search = definition.manifest.search
    for proposal in (
        decision for decision in (*noted, *from_manifest) if isinstance(decision, Propose)
    ):
        is_more = search is None or growing.manifest.num_proposals < search.num_trials
        if proposal.cells[0].place not in growing.manifest.keys and (is_more or beyond_its_trials):
            growing.propose(proposal.cells, stops)
    for stop in stops.values():
        growing.stop(stop)
    if choice := _choice(growing, noted, current if from_manifest else None):
        growing.choose(choice)
    if DONE in noted or (from_manifest and current and current.plan and current.plan.is_over):
        growing.end()
    return growing.snapshot()


def _noted(definition: Definition, journals: Path, plan: str) -> list[Decision]:
    """Return what the journal has noted, nothing where there is none."""
    name, seeds = definition.manifest.sweep, definition.manifest.seeds
    if not (journals / f"{name}.db").exists():
        return []
    journal = Journal(journals, name)
    try:
        return DecisionLog(journal, plan, seeds).entries()
    finally:
        journal.close()


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
        return None
    before = current.search if current else None
    if not before or not before.confirmation or not search.confirmation:
        return None
    was, again = before.confirmation, search.confirmation
    is_same = (was.best, was.seeds) == (again.best, again.seeds)
    numbers = {len(before.proposals), growing.manifest.num_proposals, search.num_trials}
    if not is_same or len(numbers) > 1 or was.arms is None:
        return None
    return Choose(was.arms, was.reference)
