"""How many cells a sweep will have in the end, by what they are for."""

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
