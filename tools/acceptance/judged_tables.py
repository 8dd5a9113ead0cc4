"""What the product says of many tables at once: its rule of verdicts with draws as an axis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.arm_spread import ArmSpread, reaches
from sweeps.aggregation.statistics.equivalence import beyond_margin
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from sweeps.aggregation.statistics.power import FEWEST_ERRORS, Requirement
from sweeps.aggregation.statistics.reach import Reach
from sweeps.aggregation.statistics.shared_seeds import own_variances, share_seeds
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, two_way

_NO_SPREAD = 1e-24


@dataclass(frozen=True)
class JudgedTables:
    """Many tables of arms that were compared with their baseline.

    Attributes:
        way: Of each table and arm.
        p_value: As in the table, with diverged trials as guesses where there are any.
        errors: Mean error of each arm by seed, the baseline first.
        num_images: Of the test split.
    """

    way: TwoWay
    p_value: Float[np.ndarray, "draws arms"]
    errors: Float[np.ndarray, "draws arms seeds"]
    num_images: int

    @property
    def by_own_seeds(self) -> "JudgedTables":
        """The same where every comparison stands alone, as all did before they shared."""
        alone = replace(self.way, shared=None)
        return replace(self, way=alone, p_value=alone.p_value)

    @property
    def has_spread(self) -> Bool[np.ndarray, "draws arms"]:
        return self.way.over_seeds > _NO_SPREAD

    @property
    def is_bold(self) -> Bool[np.ndarray, "draws arms"]:
        """Where no seeds were added."""
        return self.is_bold_at(SIGNIFICANCE)

    def is_bold_at(self, level: float) -> Bool[np.ndarray, "draws arms"]:
        """Where seeds were added the level is half of it, and evidence is needed as well."""
        if self.way.num_seeds < FEWEST_SEEDS:
            return np.zeros(self.p_value.shape, dtype=bool)
        return (holm_rows(self.p_value) < level) & self.has_spread

    def is_within(self, margin: float) -> Bool[np.ndarray, "draws arms"]:
        """Where an arm is within the margin: equivalent unless it is bold."""
        p_value = beyond_margin(self.way, margin)
        return (p_value < SIGNIFICANCE / 2) & (holm_rows(p_value) < SIGNIFICANCE)

    def is_equivalent(self, margin: float) -> Bool[np.ndarray, "draws arms"]:
        return self.is_within(margin) & ~self.is_bold

    @property
    def was_bold(self) -> Bool[np.ndarray, "draws arms"]:
        """What the rule was before: an interval over seeds alone that leaves out 0, width 0 too."""
        return np.abs(self.way.mean) > self.half_width_of_seeds

    @property
    def half_width_of_seeds(self) -> Float[np.ndarray, "draws arms"]:
        from scipy.special import stdtrit

        return stdtrit(self.way.num_seeds - 1, 0.975) * np.sqrt(self.way.over_seeds)

    def spreads(self, draw: int) -> list[ArmSpread]:
        """Return how far seeds move each arm of one of the tables."""
        baseline, *arms = (dict(enumerate(row.tolist())) for row in self.errors[draw])
        return [
            ArmSpread(str(place), arm, baseline, part_of(self.way, (draw, place)))
            for place, arm in enumerate(arms)
        ]

    def reaches(self, draw: int, num_together: int = 0) -> list[Reach | None]:
        """Return what the product prints above one of the tables.

        Args:
            draw: Which one.
            num_together: Comparisons whose verdicts hold together; 0 for those of the table.

        Returns:
            One an arm, all the same where no arm clearly varies more than the others.
        """
        num = self.p_value.shape[1]
        if self.num_images * self.errors[draw, 0].sum() < FEWEST_ERRORS:
            return [None] * num
        asked = Requirement(SIGNIFICANCE / (num_together or num), num_sharing=num)
        return [*reaches(self.spreads(draw), asked).values()]


def part_of(way: TwoWay, place: int | tuple[int, int] | tuple[slice, slice]) -> TwoWay:
    """Return some of many tables, or of the comparisons of one, each by its own seeds."""
    return TwoWay(
        mean=np.asarray(way.mean[place]),
        over_seeds=np.asarray(way.over_seeds[place]),
        over_images=np.asarray(way.over_images[place]),
        residual=np.asarray(way.residual[place]),
        largest=np.asarray(way.largest[place]),
        num_seeds=way.num_seeds,
        num_clusters=way.num_clusters,
        square=None if way.square is None else np.asarray(way.square[place]),
    )


def judged_tables(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> JudgedTables:
    """Return tables of all arms but the first, compared with the first."""
    way = shared_way(two_way(minus_first(wrong), objects), wrong)
    return JudgedTables(way, way.p_value, wrong.mean(axis=-1), num_images=wrong.shape[-1])


def joined(parts: Sequence[JudgedTables]) -> JudgedTables:
    """Return tables of several parts together."""
    first = parts[0]

    def all_of(values: Iterable[Any]) -> Any:
        return np.concatenate([*values])

    def way_of(ways: Sequence[Any]) -> dict[str, Any]:
        names = [name for name, value in vars(ways[0]).items() if isinstance(value, np.ndarray)]
        return {name: all_of(getattr(way, name) for way in ways) for name in names}

    shared = [part.way.shared for part in parts if part.way.shared]
    way = replace(first.way, **way_of([part.way for part in parts]))
    if first.way.shared:
        way = replace(way, shared=replace(first.way.shared, **way_of(shared)))
    return JudgedTables(
        way,
        all_of(part.p_value for part in parts),
        all_of(part.errors for part in parts),
        first.num_images,
    )


def shared_way(way: TwoWay, wrong: Bool[np.ndarray, "draws arms seeds images"]) -> TwoWay:
    """Return comparisons with the first arm, their variances over seeds shared."""
    own = own_variances(wrong.mean(axis=-1))
    return share_seeds(way, own[:, 1:], own[:, 0])


def minus_first(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
) -> Float[np.ndarray, "draws others seeds images"]:
    return wrong[:, 1:].astype(float) - wrong[:, :1]


def log_e_rows(by_seed: Float[np.ndarray, "draws arms seeds"]) -> Float[np.ndarray, "draws arms"]:
    """Return the result of `log_e_value` for each row."""
    n, prior = by_seed.shape[-1], 0.25
    squares = (by_seed**2).sum(axis=-1)
    is_some = np.ptp(by_seed, axis=-1) > 0
    share = by_seed.sum(axis=-1) ** 2 / ((n + prior) * np.where(is_some, squares, 1.0))
    logs = 0.5 * np.log(prior / (n + prior)) - n / 2 * np.log1p(-np.where(is_some, share, 0.0))
    return np.where(is_some, logs, 0.0)
