"""A search as earlier launches left it: from its journal, from its manifest, or from both."""

from pathlib import Path

from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.definition import Definition
from sweeps.execution.search.account import SearchAccount
from sweeps.execution.search.definition_growth import with_confirmation, with_proposal
from sweeps.records.manifest import Manifest


def restored(
    definition: Definition,
    journals: Path,
    current: Manifest | None,
    *,
    beyond_its_trials: bool = False,
) -> Definition:
    """Return a search's definition with all that was proposed and decided so far; a design's as is.

    Args:
        definition: As declared, without proposals.
        journals: Folder of the journals; the sweep's need not be there.
        current: The manifest that is there, None for a new sweep.
        beyond_its_trials: Whether with those that an earlier, longer launch proposed.
    """
    search = definition.manifest.search
    if search is None:
        return definition
    known = current.search if current else None
    is_same = known is not None and known.definition == search.definition
    proposals = [one.params for one in known.proposals] if known and is_same else []
    stopped = (
        {cell.trial_key: cell.stopped for cell in current.cells if cell.stopped}
        if (current and is_same)
        else {}
    )
    path = journals / f"{definition.manifest.sweep}.db"
    if path.exists():
        journal = Journal(journals, definition.manifest.sweep)
        account = SearchAccount(journal, search.definition)
        proposals = max(account.proposals(), proposals, key=len)
        stopped |= account.stopped()
        journal.close()
    for params in proposals if beyond_its_trials else proposals[: search.num_trials]:
        definition = with_proposal(definition, params, stopped)
    if current and is_same and _is_confirmed_alike(definition.manifest, current):
        again = current.search.confirmation if current.search else None
        assert again is not None
        assert again.arms is not None
        return with_confirmation(definition, again.arms, again.reference)
    return definition


def _is_confirmed_alike(new: Manifest, current: Manifest) -> bool:
    """Return whether an earlier launch has chosen what to confirm from these very proposals."""
    before, after = current.search, new.search
    if not before or not after or not before.confirmation or not after.confirmation:
        return False
    is_same = (before.confirmation.best, before.confirmation.seeds) == (
        after.confirmation.best,
        after.confirmation.seeds,
    )
    is_whole = len(before.proposals) == len(after.proposals) == after.num_trials
    return is_same and is_whole and before.confirmation.arms is not None
