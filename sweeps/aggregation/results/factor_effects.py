"""The effect of each factor and pair of factors on the test error, with its uncertainty."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import evidence_needed
from sweeps.aggregation.results.crossed_errors import CrossedErrors, crossed_errors
from sweeps.aggregation.results.factors import Factor, estimable_terms, factors_of, level_places
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.added_seeds import log_e_value
from sweeps.aggregation.statistics.block_anova import BlockAnova, block_anova
from sweeps.aggregation.statistics.contrasts import Contrast, Term, contrasts
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm, simultaneous_confidence
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.joint_test import joint_test
from sweeps.aggregation.statistics.power import (
    GridParts,
    Requirement,
    power_of_rule,
)
from sweeps.aggregation.statistics.reach import LIMITS, Case, Reach, reach_of
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, two_way
from sweeps.records.manifest import Manifest

EffectVerdict = Literal["effect", "undecided", "cannot be estimated"]


@dataclass(frozen=True)
class Effect:
    """The effect of one factor, or of two together beyond that of each. Errors are fractions.

    Attributes:
        term: Places of its factors.
        aliases: Other effects that the design cannot separate from it.
        contrast: The weights of the arms that estimate it.
        test: Its estimate and uncertainty; None where it cannot be estimated.
        share: Share of the arms' sum of squares; None where the arms do not differ.
        adjusted_p: Adjusted for all effects of the table.
        verdict: "effect" is what stands in bold.
    """

    term: Term
    aliases: tuple[Term, ...]
    contrast: Contrast
    test: "EffectTest | None" = None
    share: float | None = None
    adjusted_p: float | None = None
    verdict: EffectVerdict = "cannot be estimated"

    @property
    def is_interaction(self) -> bool:
        """Whether it is an interaction of two factors."""
        return len(self.term) > 1

    @property
    def is_significant(self) -> bool:
        """Whether it stands in bold."""
        return self.verdict == "effect"


@dataclass(frozen=True)
class Effects:
    """The effects of a design.

    Attributes:
        factors: In the order of their declaration.
        effects: Main effects, then interactions.
        crossed: The errors from which they are estimated.
        anova: Over seeds only.
        has_added_seeds: Whether seeds were added after looking, so that bold needs more.
    """

    factors: tuple[Factor, ...]
    effects: tuple[Effect, ...]
    crossed: CrossedErrors
    anova: BlockAnova
    has_added_seeds: bool

    @property
    def estimated(self) -> tuple[Effect, ...]:
        """The effects that the arms can estimate."""
        return tuple(effect for effect in self.effects if effect.test)

    @property
    def is_whole(self) -> bool:
        """Whether every arm counts and every combination of levels occurs."""
        return not self.crossed.left_out and all(
            effect.contrast.degrees == effect.contrast.num_wanted for effect in self.effects
        )


def effects_of(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> Effects:
    """Return the effects of factors and their pairs, over the seeds that all arms have.

    Verdicts hold for the whole table together. "effect" needs three seeds that differ, images and
    an adjusted p below .05, also where diverged trials count as guesses; where seeds were added
    after looking below .025, and the evidence of an e-process over seeds.

    Args:
        manifest: Manifest of a design of factors.
        arms: All arms of the sweep.
        predictions: Predictions by trial key, of those trials that hold any.

    Raises:
        BadInput: If the design has no factors.
    """
    factors = factors_of(manifest)
    crossed = crossed_errors(arms, predictions)
    fitted = estimable_terms(manifest.design, factors)
    terms = _contrasts(crossed, factors, [*fitted])
    anova = block_anova(crossed.errors, terms)
    is_added = bool(manifest.planned_seeds) and not {*crossed.seeds} <= {*manifest.planned_seeds}
    num = sum(contrast.degrees > 0 for contrast in terms)
    made = [
        Effect(
            term=contrast.term,
            aliases=tuple(fitted[contrast.term]),
            contrast=contrast,
            test=effect_test(place, terms, crossed, anova, num_together=num, is_added=is_added),
            share=anova.squares[place] / anova.total if anova.total > 0 else None,
        )
        for place, contrast in enumerate(terms)
    ]
    adjusted = _with_diverged_guesses(made, arms, crossed, predictions, factors=factors)
    effects = Effects(factors, tuple(_judged(adjusted)), crossed, anova, is_added)
    is_enough = crossed.wrong is not None and len(crossed.seeds) >= FEWEST_SEEDS and num > 0
    if not is_enough or crossed.wrong is None or crossed.has_few_errors:
        return effects
    parts = {limit: GridParts.of(crossed.wrong, crossed.objects, limit) for limit in LIMITS}
    return replace(effects, effects=tuple(_with_reach(o, parts, effects) for o in effects.effects))


def _contrasts(
    crossed: CrossedErrors, factors: Sequence[Factor], terms: Sequence[Term]
) -> list[Contrast]:
    num_levels = [len(factor.levels) for factor in factors]
    return contrasts(level_places(crossed.arms, factors), num_levels, terms)


def _with_diverged_guesses(
    made: Sequence[Effect],
    arms: Sequence[ArmResults],
    crossed: CrossedErrors,
    predictions: Mapping[str, Predictions],
    *,
    factors: Sequence[Factor],
) -> list[Effect]:
    """Return the effects with the larger p: diverged trials left out, or counted as guesses."""
    if crossed.wrong is None or not any(arm.count("diverged") for arm in arms):
        return list(made)
    harsh = crossed_errors(arms, predictions, diverged_as_chance=True)
    terms = _contrasts(harsh, factors, [effect.term for effect in made])
    anova = block_anova(harsh.errors, terms)
    guessed = [effect_test(place, terms, harsh, anova) for place in range(len(terms))]
    return [
        replace(effect, test=effect.test and effect.test.with_larger_p(other))
        for effect, other in zip(made, guessed, strict=True)
    ]


def _judged(made: Sequence[Effect]) -> list[Effect]:
    p_values = [effect.test.p_value if effect.test else None for effect in made]
    adjusted = iter(holm([p for p in p_values if p is not None]))

    def judged(effect: Effect, p: float | None) -> Effect:
        if effect.test is None:
            return effect
        is_significant = p is not None and p < effect.test.level and effect.test.may_be_significant
        return replace(effect, adjusted_p=p, verdict="effect" if is_significant else "undecided")

    return [
        judged(effect, None if p is None else next(adjusted))
        for effect, p in zip(made, p_values, strict=True)
    ]


@dataclass(frozen=True)
class EffectTest:
    """The estimate of one effect with its uncertainty. Errors are fractions.

    Attributes:
        effect: With its pointwise 95 % interval, over seeds and images where `way` is known,
            else over seeds as blocks; None for factors of more than two levels.
        simultaneous: The interval that holds for all effects at once.
        p_value: p of no effect; None where it cannot be computed.
        way: Its parts over seeds and images; None where images are not known or seeds too few.
        reach: The true effects that a next table finds, more of them being a second level that errs
            more than the first; None where unknown.
        log_e: Logarithm of evidence that looking does not inflate, where seeds were added.
        num_together: Number of effects that the table tests.
        has_spread: Whether the seeds differ.
    """

    effect: Interval | None
    simultaneous: Interval | None = None
    p_value: float | None = None
    way: TwoWay | None = None
    reach: Reach | None = None
    log_e: float | None = None
    num_together: int = 1
    has_spread: bool = False

    @property
    def level(self) -> float:
        """The bound of the adjusted p; where seeds were added, half was spent on the first look."""
        return SIGNIFICANCE if self.log_e is None else SIGNIFICANCE / 2

    @property
    def may_be_significant(self) -> bool:
        """Whether it has all that a verdict needs besides a small p."""
        is_shown = self.log_e is None or self.log_e >= evidence_needed(self.num_together)
        return self.way is not None and self.has_spread and is_shown

    def with_larger_p(self, other: "EffectTest | None") -> "EffectTest":
        """Return it with the larger p of both; 1 if the other is None or has another sign."""
        if self.p_value is None:
            return self
        p_value = other.p_value if other and _have_one_sign(self.effect, other.effect) else None
        return replace(self, p_value=max(self.p_value, 1.0 if p_value is None else p_value))


def effect_test(
    place: int,
    contrasts: Sequence[Contrast],
    crossed: CrossedErrors,
    anova: BlockAnova,
    *,
    num_together: int = 1,
    is_added: bool = False,
) -> EffectTest | None:
    """Return the estimate of an effect; None where the arms cannot estimate it.

    Args:
        place: Place of its contrast among `contrasts`.
        contrasts: Contrasts of all terms, over the arms of `crossed`.
        crossed: Errors of arms, seeds and images.
        anova: Over seeds alone, of the same contrasts.
        num_together: Effects that the table tests.
        is_added: Whether seeds were added after looking.
    """
    contrast = contrasts[place]
    if not contrast.degrees:
        return None
    if crossed.wrong is None or len(crossed.seeds) < FEWEST_SEEDS:
        return _over_seeds(place, contrast, crossed, anova, num_together=num_together)
    rows = crossed.sums(_rows(contrast))
    joint = joint_test(rows, crossed.objects)
    by_seed = rows.mean(axis=-1)
    log_e = _log_e(by_seed) if is_added else None
    term = EffectTest(
        effect=None,
        p_value=float(joint.p_value),
        way=joint.way,
        log_e=log_e,
        num_together=num_together,
        has_spread=bool((joint.way.over_seeds > 0).any()),
    )
    if contrast.effect is None:
        over_seeds = anova.p_value(place)
        return replace(term, p_value=max(term.p_value or 0.0, over_seeds or 0.0))
    way = two_way(rows[0], crossed.objects)
    confidence = simultaneous_confidence(num_together)
    return replace(
        term,
        effect=way.interval(len(crossed.seeds), 0.95),
        simultaneous=way.interval(len(crossed.seeds), confidence),
        p_value=float(way.p_value),
    )


def _rows(contrast: Contrast) -> Float[np.ndarray, "degrees arms"]:
    return contrast.basis if contrast.effect is None else contrast.effect[None]


def _over_seeds(
    place: int, contrast: Contrast, crossed: CrossedErrors, anova: BlockAnova, *, num_together: int
) -> EffectTest:
    """Return the effect with seeds as blocks, which is not enough for a verdict."""
    num_seeds = len(crossed.seeds)
    is_enough = num_seeds >= FEWEST_SEEDS and anova.error is not None
    p_value = anova.p_value(place) if is_enough else None
    if contrast.effect is None:
        return EffectTest(None, p_value=p_value, num_together=num_together)
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
    return EffectTest(pointwise, together, p_value, num_together=num_together)


def _log_e(by_seed: Float[np.ndarray, "degrees seeds"]) -> float:
    """Return the evidence of several contrasts: the mean of e-processes is one."""
    logs = [log_e_value(row.tolist()) for row in by_seed]
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


def _with_reach(effect: Effect, parts: Mapping[float, GridParts], effects: Effects) -> Effect:
    """Return an effect with the smallest one that the table would find in its place."""
    test, num_seeds = effect.test, len(effects.crossed.seeds)
    if test is None or test.way is None or not test.has_spread:
        return effect
    weights, num = effect.contrast.effect, test.num_together
    length = effect.contrast.unit if weights is None else float(np.linalg.norm(weights))
    asked = Requirement(
        level=test.level / num,
        log_e=None if test.log_e is None else evidence_needed(num),
        num_contrasts=1 if weights is not None else effect.contrast.degrees,
        block_degrees=float(effects.anova.residual_degrees or math.inf),
    )
    sizes = (num_seeds, test.way.num_clusters)

    def power_at(case: Case, difference: float) -> float:
        of_grid = parts[case.confidence].at(difference if case.sign > 0 else 0.0)
        size = difference / length
        return power_of_rule(of_grid, *sizes, size, requirement=asked, nodes=case.nodes)

    reach = reach_of(power_at, parts[LIMITS[0]].error, num_seeds)
    return replace(effect, test=replace(test, reach=reach))


def _have_one_sign(first: Interval | None, second: Interval | None) -> bool:
    if first is None or second is None or first.mean is None or second.mean is None:
        return first is second is None
    return first.mean * second.mean > 0
