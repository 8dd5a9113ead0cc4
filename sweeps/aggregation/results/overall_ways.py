"""What an arm's difference over several data sets rests on: its cells, put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.results.paired_errors import PairedErrors, paired_errors
from sweeps.aggregation.statistics.across_data_sets import (
    Levels,
    OverallDifference,
    as_log_ratio,
    averaged,
    overall,
    overall_beyond_margin,
    scaled,
    width_at,
    with_rare_images,
)
from sweeps.aggregation.statistics.added_seeds import log_e_value
from sweeps.aggregation.statistics.shared_images import with_shared_images
from sweeps.aggregation.statistics.shared_seeds import shared_between
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay

Scale = Literal["points", "percent"]
"""Of overall differences: errors subtracted, or each as a share of the baseline's."""

SCALES: tuple[Scale, ...] = ("points", "percent")


@dataclass(frozen=True)
class ArmOnData:
    """An arm on one data set.

    Attributes:
        arm: With its errors.
        baseline: The arm that it is compared with.
        comparison: None where it errs as the baseline does, on every seed.
        planned_seeds: Those planned before any were added; empty for all.
        images_of: Names of the data sets whose images it shows; () where they are its own.
    """

    arm: MeasuredArm
    baseline: MeasuredArm
    comparison: Comparison | None
    planned_seeds: Sequence[int] = ()
    images_of: tuple[str, ...] = ()

    @property
    def seeds(self) -> list[int]:
        """Those of both, as far as the comparison has them."""
        of_arm = self.comparison.errors if self.comparison else self.arm.errors
        return [seed for seed in of_arm if seed in self.baseline.errors]


@dataclass(frozen=True)
class _Part:
    """A difference on one data set, and what makes it a ratio.

    Attributes:
        way: The difference of errors, with those that the printed interval of its look stands for.
        levels: Errors of both arms.
        images_of: As of `ArmOnData`.
        pairs: What `way` is of; None where it is not needed.
        width: How much wider that interval is than one that is looked at once.
        errors: Of the arm and of the baseline, by seed; lost ones as guesses.
    """

    way: TwoWay
    levels: Levels
    images_of: tuple[str, ...]
    pairs: PairedErrors | None = None
    width: float = 1.0
    errors: tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]] | None = None

    def on(self, scale: Scale) -> TwoWay:
        if scale == "points":
            return self.way
        return as_log_ratio(self.way, self.levels)

    def factor(self, scale: Scale) -> float:
        if scale == "points":
            return 1.0
        return float(self.levels.per_error(self.way.mean))


@dataclass(frozen=True)
class OverallWays:
    """An arm's differences over all data sets, on both scales; logarithms of ratios are percent.

    Attributes:
        usual: By scale.
        harsh: The same with lost trials as guesses; empty where there are none.
        rare: In points, as equivalence wants them.
        slack: How far the arm and the baseline may lie above their best, by scale.
        log_ratios: Of each data set, and with lost trials as guesses.
        log_e: Evidence by scale where seeds were added on some data set, else empty.
    """

    usual: Mapping[Scale, OverallDifference]
    rare: OverallDifference
    log_ratios: tuple[tuple[float, ...], ...]
    harsh: Mapping[Scale, OverallDifference] = field(default_factory=dict)
    slack: Mapping[Scale, tuple[float, float]] = field(default_factory=dict)
    log_e: Mapping[Scale, float] = field(default_factory=dict)

    def p_value(self, scale: Scale) -> float:
        """Return the largest p: as it is, with lost trials as guesses, and less slack."""
        way = self.usual[scale]
        ways = [way]
        if self.harsh:
            harsh = self.harsh[scale]
            if np.sign(harsh.mean) != np.sign(way.mean):
                return 1.0
            ways.append(harsh)
        slack = self.slack[scale][0 if way.mean > 0 else 1]
        remaining = np.maximum(np.abs(way.mean) - slack, 0.0)
        ways.append(replace(way, mean=np.asarray(remaining)))
        return max(float(way.p_value) for way in ways)

    def equivalent_p(self, margin: float) -> float | None:
        """Return the p of a difference beyond a margin; None where slack leaves none of it."""
        left = margin - max(self.slack["points"])
        return float(overall_beyond_margin(self.rare, left)) if left > 0 else None


def overall_ways(
    arms: Sequence[Sequence[ArmOnData]], *, shares_seeds: bool
) -> list[OverallWays | None]:
    """Return the overall differences of some arms, each of which has one on every data set.

    Args:
        arms: Each on every data set.
        shares_seeds: Whether the data sets have seed numbers in common.

    Returns:
        One per arm; None where the data sets have fewer than three seeds in common.
    """
    if not shares_seeds:
        return [_apart(cells) for cells in arms]
    known = [place for place, cells in enumerate(arms) if len(_common(cells)) >= FEWEST_SEEDS]
    found: list[OverallWays | None] = [None] * len(arms)
    parts = [_parts_in_common(arms[place]) for place in known]
    ways: dict[Scale, list[TwoWay]] = {
        scale: _shared([arms[place] for place in known], parts, scale) for scale in SCALES
    }
    for number, place in enumerate(known):
        cells, num = arms[place], len(arms[place])
        point = ways["points"][number]
        rare = _averaged(parts[number], num, "points", is_rare=True)
        rare = replace(rare, shared=point.shared)
        lost = _parts_in_common(cells, lost_as_chance=True) if _has_lost(cells) else []
        found[place] = OverallWays(
            usual={scale: overall([of_arms[number]]) for scale, of_arms in ways.items()},
            rare=overall([rare]),
            log_ratios=_log_ratios(parts[number], lost, num),
            harsh={scale: overall([_averaged(lost, num, scale)]) for scale in SCALES if lost},
            slack=_slacks(cells, parts[number]),
            log_e=_evidence(cells, parts[number]),
        )
    return found


def _apart(cells: Sequence[ArmOnData]) -> OverallWays:
    """Return the differences over data sets that each have seeds of their own."""
    num, parts = len(cells), [_part(cell) for cell in cells if cell.comparison]
    lost = [_part(cell, lost_as_chance=True) for cell in cells if cell.comparison]
    lost = lost if _has_lost(cells) else []
    return OverallWays(
        usual={scale: overall(_ways(parts, scale), num) for scale in SCALES},
        rare=overall([*map(with_rare_images, _ways(parts, "points"))], num),
        log_ratios=_log_ratios(parts, lost, num),
        harsh={scale: overall(_ways(lost, scale), num) for scale in SCALES if lost},
        slack=_slacks(cells, parts),
        log_e=_evidence(cells, parts),
    )


def _ways(parts: Sequence[_Part], scale: Scale) -> list[TwoWay]:
    """Return the differences of all data sets, with errors of images that they share added up."""
    ways = [part.on(scale) for part in parts]
    return with_shared_images(ways, [part.images_of for part in parts])


def _has_lost(cells: Sequence[ArmOnData]) -> bool:
    return any(cell.comparison and cell.comparison.harsh is not None for cell in cells)


def _part(cell: ArmOnData, *, lost_as_chance: bool = False) -> _Part:
    comparison = cell.comparison
    assert comparison is not None
    assert comparison.way is not None
    if lost_as_chance and comparison.harsh is not None:
        seeds = _paired(cell, lost_as_chance=True).seeds
        return _at_its_look(cell, comparison.harsh, seeds)
    return _at_its_look(cell, comparison.way, cell.seeds)


def _at_its_look(
    cell: ArmOnData, way: TwoWay, seeds: Sequence[int], pairs: PairedErrors | None = None
) -> _Part:
    assert cell.comparison is not None
    width = float(width_at(way, cell.comparison.look.confidence(1)))
    return _Part(
        scaled(way, np.asarray(width)),
        _levels(cell, seeds),
        cell.images_of,
        pairs,
        width,
        _errors_by_seed(cell, seeds),
    )


def _paired(cell: ArmOnData, *, lost_as_chance: bool = False) -> PairedErrors:
    pairs = paired_errors(cell.arm, cell.baseline, lost_as_chance=lost_as_chance)
    assert not isinstance(pairs, str)
    return pairs


def _levels(cell: ArmOnData, seeds: Sequence[int]) -> Levels:
    """Return what makes a difference by some seeds a ratio."""
    arm, baseline = _errors_by_seed(cell, seeds)
    first = next(iter(cell.baseline.by_image.values()))
    return Levels(
        baseline=np.asarray(baseline.mean()),
        of_baseline=np.asarray(baseline.var(ddof=1) / len(seeds)),
        of_arm=np.asarray(arm.var(ddof=1) / len(seeds)),
        num_images=len(first.values),
    )


def _errors_by_seed(
    cell: ArmOnData, seeds: Sequence[int]
) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """Return the errors of the arm and of the baseline by some seeds, lost ones as guesses."""
    guess = next(iter(cell.baseline.by_image.values())).guess
    arm, baseline = (
        np.array([measured.errors.get(seed, guess) for seed in seeds])
        for measured in (cell.arm, cell.baseline)
    )
    return arm, baseline


def _common(cells: Sequence[ArmOnData]) -> list[int]:
    return [seed for seed in cells[0].seeds if all(seed in cell.seeds for cell in cells[1:])]


def _parts_in_common(cells: Sequence[ArmOnData], *, lost_as_chance: bool = False) -> list[_Part]:
    """Return the differences on each data set by the seeds that all of them have."""
    compared = [cell for cell in cells if cell.comparison]
    pairs = [_paired(cell, lost_as_chance=lost_as_chance) for cell in compared]
    seeds = _common(cells)
    if lost_as_chance:
        seeds = [seed for seed in pairs[0].seeds if all(seed in of.seeds for of in pairs)]
    parts: list[_Part] = []
    for cell, of_cell in zip(compared, pairs, strict=True):
        places = [of_cell.seeds.index(seed) for seed in seeds]
        some = replace(
            of_cell,
            seeds=tuple(seeds),
            differences=of_cell.differences[places],
            splits=tuple(of_cell.splits[place] for place in places if of_cell.splits),
        )
        parts.append(_at_its_look(cell, some.two_way(), seeds, some))
    return parts


def _averaged(parts: Sequence[_Part], num: int, scale: Scale, *, is_rare: bool = False) -> TwoWay:
    """Return differences whose seeds are averaged over data sets first.

    Those of ratios are judged by the larger of two variances over seeds: with differences divided
    by the mean of both errors, and with each error divided by its own.
    """
    over_seeds, num_seeds = _over_seeds(parts, _by_seed(parts, num, scale))
    if scale == "percent":
        larger = np.maximum(over_seeds, _over_seeds(parts, _own_by_seed(parts, num))[0])
        over_seeds = np.where(over_seeds > 0, larger, over_seeds)
    ways = _ways(parts, scale)
    if not is_rare:
        return averaged(ways, over_seeds, num_seeds, num)
    rare = averaged([*map(with_rare_images, ways)], over_seeds, num_seeds, num)
    return replace(rare, over_seeds=np.asarray(np.maximum(rare.over_seeds, rare.residual)))


def _over_seeds(
    parts: Sequence[_Part], by_seed: Float[np.ndarray, " seeds"]
) -> tuple[Float[np.ndarray, ""], int]:
    """Return the variance over seeds of a mean of differences, and of how many."""
    first = parts[0].pairs
    assert first is not None
    twice = np.repeat(by_seed[:, None], 2, axis=1)  # images do not matter to what seeds add
    seeds = replace(first, differences=twice, objects=None).two_way()
    return seeds.over_seeds, seeds.num_seeds


def _by_seed(parts: Sequence[_Part], num: int, scale: Scale) -> Float[np.ndarray, " seeds"]:
    by_data_set = [
        part.width * part.factor(scale) * part.pairs.differences.mean(axis=1)
        for part in parts
        if part.pairs
    ]
    return np.sum(by_data_set, axis=0) / num


def _own_by_seed(parts: Sequence[_Part], num: int) -> Float[np.ndarray, " seeds"]:
    """Return differences of errors of which each is divided by its own mean."""
    by_data_set = [
        part.width * (arm / (arm.mean() + half) - baseline / (baseline.mean() + half))
        for part in parts
        if part.errors is not None
        for arm, baseline in [part.errors]
        for half in [1 / (2 * part.levels.num_images)]
    ]
    return np.sum(by_data_set, axis=0) / num


def _shared(
    arms: Sequence[Sequence[ArmOnData]], parts: Sequence[Sequence[_Part]], scale: Scale
) -> list[TwoWay]:
    """Return the arms' averaged differences, their variances over seeds shared; not over splits."""
    ways = [_averaged(of_arm, len(cells), scale) for of_arm, cells in zip(parts, arms, strict=True)]
    if any(of_data.arm.arm.splits for cells in arms for of_data in cells):
        return ways
    errors = [_mean_errors([cell.arm for cell in cells], _common(cells), scale) for cells in arms]
    seeds = sorted({seed for cells in arms for seed in _common(cells)})
    of_baseline = _mean_errors([cell.baseline for cell in arms[0]], seeds, scale) if arms else {}
    return shared_between(ways, errors, of_baseline)


def _mean_errors(
    on_data: Sequence[MeasuredArm], seeds: Sequence[int], scale: Scale
) -> dict[int, float]:
    """Return an arm's errors averaged over data sets, by seed; as shares of its own in percent."""
    means = [
        fmean(arm.errors[seed] for seed in seeds) + _half_image(arm) if scale == "percent" else 1.0
        for arm in on_data
    ]
    return {
        seed: fmean(
            arm.errors[seed] / mean if mean else 0.0
            for arm, mean in zip(on_data, means, strict=True)
        )
        for seed in seeds
    }


def _half_image(arm: MeasuredArm) -> float:
    return next((1 / (2 * len(known.values)) for known in arm.by_image.values()), 0.0)


def _log_ratios(
    parts: Sequence[_Part], lost: Sequence[_Part], num: int
) -> tuple[tuple[float, ...], ...]:
    """Return logarithms of ratios by data set, 0 where nothing differs."""
    every = [parts, lost] if lost else [parts]
    return tuple(
        (*(float(part.on("percent").mean) for part in some), *[0.0] * (num - len(some)))
        for some in every
    )


def _slacks(cells: Sequence[ArmOnData], parts: Sequence[_Part]) -> dict[Scale, tuple[float, float]]:
    compared = [cell.comparison for cell in cells if cell.comparison]

    def of_side(side: int, scale: Scale) -> float:
        of_data = zip(compared, parts, strict=True)
        return sum(c.slack[side] * part.factor(scale) for c, part in of_data) / len(cells)

    return {scale: (of_side(0, scale), of_side(1, scale)) for scale in SCALES}


def _evidence(cells: Sequence[ArmOnData], parts: Sequence[_Part]) -> dict[Scale, float]:
    """Return the evidence of seeds averaged over data sets, the first with the first and so on."""
    added = [
        bool(cell.planned_seeds) and not {*cell.seeds} <= {*cell.planned_seeds} for cell in cells
    ]
    if not any(added):
        return {}
    compared = [cell for cell in cells if cell.comparison]
    rows = [
        [cell.arm.errors[seed] - cell.baseline.errors[seed] for seed in cell.seeds]
        for cell in compared
    ]
    num = min(map(len, rows))
    return {
        scale: log_e_value(
            [
                fmean(
                    part.factor(scale) * row[place] for part, row in zip(parts, rows, strict=True)
                )
                for place in range(num)
            ]
        )
        for scale in SCALES
    }
