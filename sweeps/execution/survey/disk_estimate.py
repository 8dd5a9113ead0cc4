"""Disk space that a launch takes: a pure function of what is known before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeps.records.manifest import Manifest

_PARAMETER_BYTES = 4  # float32
_CHECKPOINTED = 3  # the weights, and the two moments that Adam keeps of each
_CHECKPOINTS = 2  # one is whole while the next is written


@dataclass(frozen=True)
class DiskEstimate:
    """Space that a launch takes on the disk of the storage folder.

    Attributes:
        kept_bytes: What stays of the cells that are to be filled: weights, predictions and curves
            in their folders, and once more with their records where these lie in the storage too.
        state_bytes: What stays so that longer trainings can go on from these.
        checkpoint_bytes: Checkpoints of all that train at once, at most.
        free_bytes: Free space on the disk.
    """

    kept_bytes: int = 0
    state_bytes: int = 0
    checkpoint_bytes: int = 0
    free_bytes: int = 0

    @property
    def most_bytes(self) -> int:
        """The most bytes that are taken at once."""
        return self.kept_bytes + self.state_bytes + self.checkpoint_bytes

    @property
    def fits(self) -> bool:
        """Whether that fits on the disk."""
        return self.most_bytes <= self.free_bytes


@dataclass(frozen=True)
class DiskDemand:
    """What is known before a launch.

    Attributes:
        empty: The arm of each cell to be trained; None for one that is still to be proposed.
        seen: Arm -> bytes of the folder of each of its filled cells.
        num_copies: How often the files of a cell lie on the disk: twice if the records do too.
        num_concurrent: Trials at once.
        most_state_bytes: The largest state of a trial that is kept; None for any size.
    """

    empty: Sequence[str | None]
    seen: Mapping[str, Sequence[int]]
    num_copies: int
    num_concurrent: int
    most_state_bytes: int | None = 0


def estimate_disk(manifest: Manifest, demand: DiskDemand, free_bytes: int) -> DiskEstimate:
    """Estimate the space that a launch takes.

    A cell of an arm with filled cells takes their mean. A cell of another arm takes its weights, by
    the number of parameters, plus the mean of what filled cells of other arms take beside theirs.
    An arm of unknown size counts as an average one.

    Args:
        manifest: Manifest of the sweep, for the number of parameters of its arms.
        demand: The launch's demand.
        free_bytes: On the disk.
    """
    weights = {arm.name: _PARAMETER_BYTES * arm.num_parameters for arm in manifest.arms}
    mean = _mean([size for size in weights.values() if size])
    sizes = {arm: size or mean for arm, size in weights.items()}
    besides = _mean(
        [
            max(0.0, size - sizes.get(arm, mean))
            for arm, seen in demand.seen.items()
            for size in seen
        ]
    )
    stored = {arm: _mean(demand.seen.get(arm, ())) or sizes[arm] + besides for arm in sizes}
    unknown = _mean([*stored.values()])
    trained = sorted((sizes.get(arm or "", mean) for arm in demand.empty), reverse=True)
    at_once = sum(trained[: demand.num_concurrent])
    states = [_CHECKPOINTED * size for size in trained]
    most = demand.most_state_bytes
    return DiskEstimate(
        kept_bytes=round(
            demand.num_copies * sum(stored.get(arm or "", unknown) for arm in demand.empty)
        ),
        state_bytes=round(sum(size for size in states if most is None or size <= most)),
        checkpoint_bytes=round(_CHECKPOINTS * _CHECKPOINTED * at_once),
        free_bytes=free_bytes,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
