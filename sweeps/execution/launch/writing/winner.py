"""The arm of a search that a path leads to, and the base that it starts from."""

from collections.abc import Mapping
from typing import NamedTuple

from capsmodel.spelling import unknown
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.trial_record import TrialRecord


class Winner(NamedTuple):
    """An arm of a search.

    Attributes:
        role: What it is there, as the end of a sentence.
    """

    arm: ManifestArm
    role: str


def winner(manifest: Manifest, records: Mapping[str, TrialRecord], name: str | None) -> Winner:
    """Return the arm that a search has come to, or another of its finished ones.

    That is the first of those that it confirms, in the order in which it chose them: this was
    settled before their fresh seeds were looked at, so these may be compared on again. Where it
    confirms none, or not yet, the best finished proposal by its own rule.

    Args:
        manifest: Of a search.
        records: Of its trials, by trial key.
        name: Of another arm; None for the winner.

    Raises:
        BadInput: If there is none, or no finished arm of that name.
    """
    search = manifest.search
    assert search is not None
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = (search.confirmation and search.confirmation.arms) or ()
    finished = [one.proposal.arm for one in search_results(manifest, records).counted]
    if not finished and not chosen:
        raise BadInput(
            f"The search '{manifest.sweep}' has no winner yet: of {len(search.proposals)} proposals"
            f" none has finished in full length with each seed. See how it stands: capsweep status "
            f"{manifest.sweep}."
        )
    of_all = f"of {len(search.proposals)} proposals{' so far' * manifest.is_growing}"
    if name is not None:
        known = dict.fromkeys((*chosen, *finished))
        if name not in known:
            raise BadInput(unknown(f"finished arm of '{manifest.sweep}'", name, known))
        return Winner(arms[name], f"asked for by name, one {of_all}")
    if chosen:
        return Winner(arms[chosen[0]], f"the first choice of the search, {of_all}")
    best = ranking(manifest, records)[0].arm.arm
    return Winner(best, f"the best {of_all}, not confirmed")
