"""How many cells a sweep will have in the end, by what they are for."""

from collections.abc import Iterator
from typing import NamedTuple

from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestPlan, ManifestSearch


class CellGroup(NamedTuple):
    """Cells of one kind.

    Attributes:
        what: What one of them is.
        number: How many, at most.
    """

    what: str
    number: int

    @property
    def words(self) -> str:
        """Both in words: `8 proposals`, `1 proposal`."""
        return f"{self.number:,} {self.what}{'s' * (self.number != 1)}"


def expected_cells(manifest: Manifest) -> tuple[CellGroup, ...]:
    """Return how many cells there will be of each kind, as far as it is known; none of zero.

    A plan of the user's own says no kinds: its cells are cells.
    """
    if manifest.search:
        kinds = _of_search(manifest.search, len(manifest.seeds))
    elif manifest.plan and manifest.plan.tuned:
        kinds = _of_tuning(manifest.plan, len(manifest.seeds))
    else:
        kinds = (CellGroup("cell", manifest.num_expected),)
    return tuple(kind for kind in kinds if kind.number)


def expected_cells_text(manifest: Manifest) -> str:
    """Return the same in words: `8 proposals + 20 confirmation trainings = 28 cells`."""
    kinds = expected_cells(manifest)
    groups = " + ".join(kind.words for kind in kinds)
    total = CellGroup("cell", sum(kind.number for kind in kinds))
    return f"{groups} = {total.words}" if kinds[1:] else groups


def cell_groups_text(manifest: Manifest) -> str:
    """Return the same, "" where all cells are of one kind."""
    return expected_cells_text(manifest) if len(expected_cells(manifest)) > 1 else ""


def fewer_cells_text(manifest: Manifest) -> str:
    """Return why a search has fewer cells than were planned, "" where it has not.

    A plan says the most that there may be. What is known of the end changes that number twice:
    when no more is proposed, and when the arms to confirm are selected.
    """
    if manifest.search is None:
        return ""
    begun = manifest.search.model_copy(update={"proposals": (), "ended": None})
    if begun.confirmation:
        declared = {"arms": None, "reference": None}
        begun = begun.model_copy(
            update={"confirmation": begun.confirmation.model_copy(update=declared)}
        )
    planned = sum(kind.number for kind in _of_search(begun, len(manifest.seeds)))
    reasons = [*_why_fewer(manifest.search)]
    if manifest.num_expected >= planned or not reasons:
        return ""
    cells = CellGroup("cell", manifest.num_expected)
    return f"{cells.words} instead of {planned:,}: {'; '.join(reasons)}."


def _why_fewer(search: ManifestSearch) -> Iterator[str]:
    """Yield why a search has fewer cells than were planned, a clause each."""
    if search.num_asked < search.num_trials:
        yield f"{search.num_asked} of {search.num_trials} proposals were made"
    confirmation = search.confirmation
    if confirmation is None or confirmation.arms is None:
        return
    if len(confirmation.arms) < confirmation.best:
        front = " and lie on the front" * bool(search.cost)
        within = " within the measured limits" * bool(search.measured_limits)
        yield (
            f"{len(confirmation.arms)} of the best {confirmation.best} can be confirmed, as no "
            f"more proposals of different settings ran to full length{within}{front}"
        )
    if random := confirmation.random:
        if random.best is None:
            within = " within the measured limits" * bool(search.measured_limits)
            yield f"no random point ran to full length{within}"
        if len(random.draws) < search.num_asked + bool(search.base):
            yield f"{len(random.draws)} random points took as many epochs as the search"


def _of_search(search: ManifestSearch, num_seeds: int) -> tuple[CellGroup, ...]:
    num_confirmed, num_drawn = _confirmation_cells(search, num_seeds)
    return (
        CellGroup(
            "proposal" if num_seeds == 1 else "proposal training", search.num_asked * num_seeds
        ),
        CellGroup("base training", num_seeds * bool(search.base)),
        CellGroup("random training", num_drawn),
        CellGroup("confirmation training", num_confirmed),
    )


def _confirmation_cells(search: ManifestSearch, num_seeds: int) -> tuple[int, int]:
    """Return how many trainings confirm the best, and how many are of random points beside."""
    confirmation = search.confirmation
    if confirmation is None:
        return 0, 0
    num_draws = len(confirmation.random.draws) if confirmation.random else 0
    if confirmation.arms is not None:
        return len(confirmation.confirmed) * len(confirmation.seeds), num_draws * num_seeds
    num_points = search.num_asked + bool(search.base)
    num_drawn = max(num_points, num_draws) * num_seeds if confirmation.random else 0
    return confirmation.num_cells(num_points, num_seeds) - num_drawn, num_drawn


def _of_tuning(plan: ManifestPlan, num_seeds: int) -> tuple[CellGroup, ...]:
    num_tunings = sum(map(len, plan.tuned.values())) * len(plan.choosing_seeds)
    return (
        CellGroup("tuning training", num_tunings),
        CellGroup("comparison training", len(plan.tuned) * num_seeds),
    )
