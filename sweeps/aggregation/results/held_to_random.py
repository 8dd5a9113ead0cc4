"""What became of the random points that a search is held against at equal compute."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeps.aggregation.results.arms import ArmResults, cell_state
from sweeps.aggregation.results.ranking import with_seeds
from sweeps.aggregation.statistics.intervals import mean_interval
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.manifest_plan import Proposal, RandomReference
from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class HeldToRandom:
    """Random points, trained in full on the search's seeds until they took as many epochs.

    Attributes:
        reference: As the manifest holds it.
        best: The best of them on validation, with its fresh seeds alone; None before it is chosen,
            or where none ran to full length.
        value: The objective that it was chosen by, mean over the search's seeds; None where there
            is no best.
        num_over: How many of them have ended with every seed.
        epochs: That all of them took.
        search_epochs: That the search took, its base with it.
        same: The proposal that is the same configuration as the best, None where there is none.
    """

    reference: RandomReference
    best: ArmResults | None
    value: float | None
    num_over: int
    epochs: int
    search_epochs: int
    same: Proposal | None

    @property
    def num_points(self) -> int:
        """How many there are."""
        return len(self.reference.draws)


def held_to_random(
    manifest: Manifest, records: Mapping[str, TrialRecord], arms: Mapping[str, ArmResults]
) -> HeldToRandom | None:
    """Return what became of a search's random points, None where it is held against none.

    Args:
        manifest: Of a search.
        records: By trial key.
        arms: Of all its arms, by name.
    """
    search, reference = manifest.search, manifest.random_reference
    if search is None or search.confirmation is None or reference is None:
        return None
    best = arms.get(reference.best) if reference.best else None
    values = with_seeds(best, manifest.seeds).chosen_by(manifest.objective) if best else {}
    drawn = {one.arm for one in reference.draws}
    seeds = {*manifest.seeds}
    cells = [cell for cell in manifest.cells if cell.arm in drawn and cell.seed in seeds]
    params = next((one.params for one in reference.draws if one.arm == reference.best), None)
    return HeldToRandom(
        reference=reference,
        best=with_seeds(best, search.confirmation.seeds) if best else None,
        value=mean_interval(values.values()).mean,
        num_over=sum(_is_over(with_seeds(arms[name], manifest.seeds)) for name in drawn),
        epochs=_num_epochs(cells, records),
        search_epochs=_num_epochs(manifest.proposed_cells(), records),
        same=next((one for one in search.proposals if one.params == params), None),
    )


def _is_over(arm: ArmResults) -> bool:
    return all(cell_state(trial) not in {"missing", "unfinished"} for trial in arm.trials.values())


def _num_epochs(cells: Iterable[ManifestCell], records: Mapping[str, TrialRecord]) -> int:
    """Return how many epochs were trained in some cells, each trial once."""
    by_key = {cell.trial_key: cell for cell in cells}
    trained = {key: record.epochs for key, record in records.items() if key in by_key}
    stops = {key: cell.stopped.epoch for key, cell in by_key.items() if cell.stopped}
    return sum((trained | stops).values())
