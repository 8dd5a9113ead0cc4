"""What each factor of a design does to the test error, and each two of them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.effects.crossed_errors import CrossedErrors, crossed_errors
from sweeps.aggregation.results.effects.factors import (
    Factor,
    factors_of,
    level_places,
    told_apart,
)
from sweeps.aggregation.results.effects.weighed import WeighedTerm, weighed_term
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.statistics.block_anova import BlockAnova, block_anova
from sweeps.aggregation.statistics.contrasts import Contrast, Term, contrasts
from sweeps.aggregation.statistics.families import holm
from sweeps.records.manifest import Manifest

EffectVerdict = Literal["effect", "undecided", "cannot be estimated"]


@dataclass(frozen=True)
class Effect:
    """What one factor does, or two do together beyond what each does. Errors are fractions.

    Attributes:
        term: Places of its factors.
        aliases: Other effects that the design cannot tell from it.
        contrast: Which arms tell it, with which weights.
        weighed: How sure it is; None where it cannot be estimated.
        share: Of the sum of squares of the arms, None where they do not differ.
        adjusted_p: For all effects of the table together.
        verdict: "effect" is what stands in bold.
    """

    term: Term
    aliases: tuple[Term, ...]
    contrast: Contrast
    weighed: WeighedTerm | None = None
    share: float | None = None
    adjusted_p: float | None = None
    verdict: EffectVerdict = "cannot be estimated"

    @property
    def is_interaction(self) -> bool:
        """Whether it is of two factors."""
        return len(self.term) > 1

    @property
    def is_found(self) -> bool:
        """Whether it stands in bold."""
        return self.verdict == "effect"


@dataclass(frozen=True)
class Effects:
    """The effects of a design.

    Attributes:
        factors: In the order in which they are declared.
        effects: Main effects, then interactions.
        crossed: What they were made from.
        anova: Over seeds alone.
        has_added_seeds: Whether seeds were added after looking, so that bold needs more.
    """

    factors: tuple[Factor, ...]
    effects: tuple[Effect, ...]
    crossed: CrossedErrors
    anova: BlockAnova
    has_added_seeds: bool

    @property
    def estimated(self) -> tuple[Effect, ...]:
        """Those that the arms can tell."""
        return tuple(one for one in self.effects if one.weighed)

    @property
    def is_whole(self) -> bool:
        """Whether every arm counts and each has every level of every factor."""
        return not self.crossed.left_out and all(
            one.contrast.degrees == one.contrast.num_wanted for one in self.effects
        )


def effects_of(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> Effects:
    """Return what each factor does, and each two together, over the seeds that all arms have.

    Verdicts hold for the whole table together. "effect" needs three seeds that differ, images and
    an adjusted p below .05, also where diverged trials count as guesses; where seeds were added
    after looking below .025, and the evidence of an e-process over seeds.

    Args:
        manifest: Of a design of factors.
        arms: All of the sweep's.
        predictions: By trial key, of those trials that hold any.

    Raises:
        BadInput: If the design has no factors.
    """
    factors = factors_of(manifest)
    crossed = crossed_errors(arms, predictions)
    fitted = told_apart(manifest.design, factors)
    found = _contrasts(crossed, factors, [*fitted])
    anova = block_anova(crossed.errors, found)
    is_added = bool(manifest.planned_seeds) and not {*crossed.seeds} <= {*manifest.planned_seeds}
    num = sum(one.degrees > 0 for one in found)
    made = [
        Effect(
            term=one.term,
            aliases=tuple(fitted[one.term]),
            contrast=one,
            weighed=weighed_term(place, found, crossed, anova, num_together=num, is_added=is_added),
            share=anova.squares[place] / anova.total if anova.total > 0 else None,
        )
        for place, one in enumerate(found)
    ]
    held = _held_where_diverged(made, arms, crossed, predictions, factors)
    return Effects(factors, tuple(_judged(held)), crossed, anova, is_added)


def _contrasts(
    crossed: CrossedErrors, factors: Sequence[Factor], terms: Sequence[Term]
) -> list[Contrast]:
    num_levels = [len(factor.levels) for factor in factors]
    return contrasts(level_places(crossed.arms, factors), num_levels, terms)


def _held_where_diverged(
    made: Sequence[Effect],
    arms: Sequence[ArmResults],
    crossed: CrossedErrors,
    predictions: Mapping[str, Predictions],
    factors: Sequence[Factor],
) -> list[Effect]:
    """Return the effects with the larger p of that without and that with diverged as guesses."""
    if crossed.wrong is None or not any(arm.count("diverged") for arm in arms):
        return list(made)
    harsh = crossed_errors(arms, predictions, diverged_as_chance=True)
    found = _contrasts(harsh, factors, [one.term for one in made])
    anova = block_anova(harsh.errors, found)
    guessed = [weighed_term(place, found, harsh, anova) for place in range(len(found))]
    return [
        replace(one, weighed=one.weighed and one.weighed.held_against(other))
        for one, other in zip(made, guessed, strict=True)
    ]


def _judged(made: Sequence[Effect]) -> list[Effect]:
    p_values = [one.weighed.p_value if one.weighed else None for one in made]
    adjusted = iter(holm([p for p in p_values if p is not None]))

    def judged(one: Effect, p: float | None) -> Effect:
        if one.weighed is None:
            return one
        is_found = p is not None and p < one.weighed.level and one.weighed.may_be_found
        return replace(one, adjusted_p=p, verdict="effect" if is_found else "undecided")

    return [
        judged(one, None if p is None else next(adjusted))
        for one, p in zip(made, p_values, strict=True)
    ]
