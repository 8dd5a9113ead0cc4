"""How sure one effect of a design is: its interval, its p value, and what could have been found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.effects.crossed_errors import CrossedErrors
from sweeps.aggregation.statistics.added_seeds import level_of_evidence, log_e_value
from sweeps.aggregation.statistics.block_anova import BlockAnova
from sweeps.aggregation.statistics.contrasts import Contrast
from sweeps.aggregation.statistics.families import SIGNIFICANCE, simultaneous_confidence
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.joint_power import detectable_length
from sweeps.aggregation.statistics.joint_test import JointError, JointTest, joint_test
from sweeps.aggregation.statistics.power import middle_error
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, OVER_SEEDS, TwoWay, two_way


@dataclass(frozen=True)
class WeighedTerm:
    """One effect, tested. Errors are fractions.

    Attributes:
        effect: With its pointwise 95 % interval, over seeds and images where `way` is there, else
            over seeds as blocks; None where it is of more than two levels.
        simultaneous: The interval that holds for all effects together.
        p_value: Of no effect, None where nothing can be said.
        way: Its parts over seeds and images; None where images are not known or seeds too few.
        detectable: The smallest true effect that is found four times of five; None where unknown.
        log_e: Evidence that looking does not inflate, where seeds were added; else None.
        num_together: Effects that the table tests.
        has_spread: Whether the seeds do not all say the same.
    """

    effect: Interval | None
    simultaneous: Interval | None = None
    p_value: float | None = None
    way: TwoWay | None = None
    detectable: float | None = None
    log_e: float | None = None
    num_together: int = 1
    has_spread: bool = False

    @property
    def level(self) -> float:
        """What the adjusted p has to be below; after seeds were added, the first look had half."""
        return SIGNIFICANCE if self.log_e is None else SIGNIFICANCE / 2

    @property
    def may_be_found(self) -> bool:
        """Whether there is all that a verdict needs besides a small p."""
        is_shown = self.log_e is None or self.log_e >= evidence_needed(self.num_together)
        return self.way is not None and self.has_spread and is_shown

    def held_against(self, other: "WeighedTerm | None") -> "WeighedTerm":
        """Return it with the larger p of both, 1 where the other is none or of the other sign."""
        if self.p_value is None:
            return self
        p_value = other.p_value if other and _have_one_sign(self.effect, other.effect) else None
        return replace(self, p_value=max(self.p_value, 1.0 if p_value is None else p_value))


def evidence_needed(num_together: int) -> float:
    """Return what the logarithm of the evidence has to reach for an effect to be bold."""
    return math.log(num_together / SIGNIFICANCE)


def weighed_term(
    place: int,
    found: Sequence[Contrast],
    crossed: CrossedErrors,
    anova: BlockAnova,
    *,
    num_together: int = 1,
    is_added: bool = False,
) -> WeighedTerm | None:
    """Return how sure an effect is, None where the arms cannot tell it.

    Args:
        place: Of its contrast among `found`.
        found: Contrasts of all terms, over the arms of `crossed`.
        crossed: Errors of arms, seeds and images.
        anova: Over seeds alone, of the same contrasts.
        num_together: Effects that the table tests.
        is_added: Whether seeds were added after looking.
    """
    contrast = found[place]
    if not contrast.degrees:
        return None
    if crossed.wrong is None or len(crossed.seeds) < FEWEST_SEEDS:
        return _over_seeds(place, contrast, crossed, anova, num_together)
    rows = crossed.sums(_rows(contrast))
    joint = joint_test(rows, crossed.objects)
    by_seed = rows.mean(axis=-1)
    log_e = _log_e(by_seed) if is_added else None
    term = WeighedTerm(
        effect=None,
        p_value=float(joint.p_value),
        way=joint.way,
        log_e=log_e,
        num_together=num_together,
        has_spread=bool((joint.way.over_seeds > 0).any()),
    )
    term = replace(term, detectable=_detectable(term, contrast, joint))
    if contrast.effect is None:
        over_seeds = anova.p_value(place)
        return replace(term, p_value=max(term.p_value or 0.0, over_seeds or 0.0))
    way = two_way(rows[0], crossed.objects)
    confidence = simultaneous_confidence(num_together)
    return replace(
        term,
        effect=_interval(way, len(crossed.seeds), 0.95),
        simultaneous=_interval(way, len(crossed.seeds), confidence),
        p_value=float(way.p_value),
    )


def _rows(contrast: Contrast) -> Float[np.ndarray, "degrees arms"]:
    return contrast.basis if contrast.effect is None else contrast.effect[None]


def _over_seeds(
    place: int, contrast: Contrast, crossed: CrossedErrors, anova: BlockAnova, num_together: int
) -> WeighedTerm:
    """Return the effect with seeds as blocks: nothing that a verdict could rest on."""
    num_seeds = len(crossed.seeds)
    is_enough = num_seeds >= FEWEST_SEEDS and anova.error is not None
    p_value = anova.p_value(place) if is_enough else None
    if contrast.effect is None:
        return WeighedTerm(None, p_value=p_value, num_together=num_together)
    mean = float(contrast.effect @ crossed.errors.mean(axis=1))
    halves: list[float | None] = [None, None]
    if is_enough and anova.error is not None:
        from scipy.special import stdtrit

        error = math.sqrt(anova.error * float(contrast.effect @ contrast.effect) / num_seeds)
        levels = (0.95, simultaneous_confidence(num_together))
        halves = [float(stdtrit(anova.residual_degrees, (1 + c) / 2)) * error for c in levels]
    pointwise, together = (
        Interval(num_seeds, mean, None if h is None else mean - h, None if h is None else mean + h)
        for h in halves
    )
    return WeighedTerm(pointwise, together, p_value, num_together=num_together)


def _log_e(by_seed: Float[np.ndarray, "degrees seeds"]) -> float:
    """Return the evidence of several contrasts: the mean of e-processes is one."""
    logs = [log_e_value(row.tolist()) for row in by_seed]
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _detectable(term: WeighedTerm, contrast: Contrast, joint: JointTest) -> float | None:
    """Return the smallest effect that is found by each of the errors."""
    num, level = term.num_together, term.level
    found = max(_length(error, num, level) for error in joint.errors)
    if term.log_e is not None and term.way is not None:
        evidence = level_of_evidence(term.way.num_seeds, evidence_needed(num))
        found = max(found, _length(joint.errors[OVER_SEEDS], 1, evidence))
    return found * contrast.unit if math.isfinite(found) else None


def _length(error: JointError, num: int, level: float) -> float:
    variance, above, below = (float(part) for part in (error.variance, error.above, error.below))
    if variance <= 0:
        return math.inf
    one = middle_error(math.sqrt(variance / above), below)
    return one * float(detectable_length(error.above, error.below, num, level))


def _interval(way: TwoWay, num_seeds: int, confidence: float) -> Interval:
    mean, half = float(way.mean), float(way.half_width(confidence))
    return Interval(num_seeds, mean, mean - half, mean + half, confidence)


def _have_one_sign(one: Interval | None, other: Interval | None) -> bool:
    if one is None or other is None or one.mean is None or other.mean is None:
        return one is other is None
    return one.mean * other.mean > 0
