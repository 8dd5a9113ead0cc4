"""How much room on disk a launch takes, as a pure function of what is known before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeps.records.manifest import Manifest

_PARAMETER_BYTES = 4  # float32


_CHECKPOINTED = 3  # the weights, and the two moments that Adam keeps of each


_CHECKPOINTS = 2  # one is whole while the next is written


@dataclass(frozen=True)
class DiskEstimate:
    """Room that a launch takes on the disk of the storage folder.

    Attributes:
        kept_bytes: What stays of the cells that are to be filled: weights, predictions and curves
            in their folders, and once more with their records where these lie in the storage too.
        checkpoint_bytes: Checkpoints of all that train at once, at most.
        free_bytes: What there is.
    """

    kept_bytes: int = 0
    checkpoint_bytes: int = 0
    free_bytes: int = 0

    @property
    def most_bytes(self) -> int:
        """What is taken at once, at most."""
        return self.kept_bytes + self.checkpoint_bytes

    @property
    def fits(self) -> bool:
        """Whether there is room for that."""
        return self.most_bytes <= self.free_bytes


@dataclass(frozen=True)
class DiskDemand:
    """What is known of a launch before it.

    Attributes:
        empty: The arm of each cell to be trained; None for one that is still to be proposed.
        seen: Arm -> what each of its filled cells takes in its folder.
        num_copies: How often what a cell keeps lies on the disk: with the record it is twice.
        num_concurrent: Trials at once.
    """

    empty: Sequence[str | None]
    seen: Mapping[str, Sequence[int]]
    num_copies: int
    num_concurrent: int


def estimate_disk(manifest: Manifest, demand: DiskDemand, free_bytes: int) -> DiskEstimate:
    """Estimate what a launch takes.

    An arm of which a cell is filled takes what that takes. Another takes its weights by its number
    of parameters, and besides what the filled cells of the others take besides theirs: without any
    nothing is known of that, which is little. An arm of unknown size counts as a mean one.

    Args:
        manifest: Of the sweep, for the number of parameters of its arms.
        demand: Of the launch.
        free_bytes: On the disk.
    """
    weights = {arm.name: _PARAMETER_BYTES * arm.num_parameters for arm in manifest.arms}
    mean = _mean([size for size in weights.values() if size])
    sizes = {arm: size or mean for arm, size in weights.items()}
    besides = _mean(
        [max(0.0, one - sizes.get(arm, mean)) for arm, seen in demand.seen.items() for one in seen]
    )
    stored = {arm: _mean(demand.seen.get(arm, ())) or sizes[arm] + besides for arm in sizes}
    unknown = _mean([*stored.values()])
    trained = sorted((sizes.get(arm or "", mean) for arm in demand.empty), reverse=True)
    at_once = sum(trained[: demand.num_concurrent])
    return DiskEstimate(
        kept_bytes=round(
            demand.num_copies * sum(stored.get(arm or "", unknown) for arm in demand.empty)
        ),
        checkpoint_bytes=round(_CHECKPOINTS * _CHECKPOINTED * at_once),
        free_bytes=free_bytes,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
