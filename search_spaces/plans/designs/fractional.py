"""A fraction of all combinations of two levels."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import model_validator

from capsmodel.spelling import unknown
from search_spaces.plans.designs.factors import refuse_too_many
from search_spaces.plans.designs.fraction import (
    Effect,
    Fraction,
    fraction_of,
    fractions_for,
    numeral,
)
from search_spaces.plans.designs.two_level import TwoLevelDesign

_CLEAR_MAIN_EFFECTS = 4


class FractionalFactorial(TwoLevelDesign):
    """A fraction 2^(k-p) of all combinations of k factors with two levels each.

    It tells what each factor does on average over the others, as all combinations would, for a half
    of the trainings, a quarter, or less. For that it mixes effects: what it finds is the sum of an
    effect and its *aliases*, and no number of seeds parts them. The resolution says which: at III a
    main effect has interactions of two other factors as aliases; at IV main effects are clear of
    those, which are mixed with each other; from V on both are clear. Interactions of three and more
    factors are taken to be nothing. An interaction that the sweep is for is to be declared.

    Left alone, it is the smallest fraction of resolution IV that tells apart what is asked.

    Attributes:
        factors: Path -> two levels. In their order they are A, B, C ... without I.
        resolution: At least that of the fraction; the smallest one is taken, and of that size the
            clearest.
        generators: Which fraction, in the place of a resolution: `("D=AB", "E=AC")` is the 2^(5-2)
            of textbooks with I = ABD = ACE = BCDE. It holds the base; `"D=-AB"` is the other half,
            without it.
        asks: Pairs of factors whose interaction the sweep is for, beside all main effects: none of
            them may be aliased with another.
    """

    kind: Literal["fractional"] = "fractional"
    resolution: int | None = None
    generators: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _fraction_exists(self) -> Self:
        for path in (path for pair in self.asks for path in pair):
            if path not in self.factors:
                raise ValueError(unknown("factor that is asked for", path, self.factors))
        for first, second in self.asks:
            if first == second:
                raise ValueError(f"An interaction is one of two factors, got '{first}' twice.")
        refuse_too_many(self.fraction.num_arms)
        return self

    @cached_property
    def fraction(self) -> Fraction:
        """The fraction that it is.

        Raises:
            ValueError: In one sentence, if there is none, or what is asked is aliased in it.
        """
        if not self.generators:
            return self._smallest()
        if self.resolution is not None:
            raise ValueError(
                f"The generators decide the resolution: leave resolution={self.resolution} or "
                f"{', '.join(self.generators)} out."
            )
        fraction = fraction_of(len(self.factors), self.generators)
        self._refuse_mixed(fraction)
        return fraction

    def combinations(self) -> Iterator[tuple[bool, ...]]:
        """Yield the rows of the fraction."""
        return self.fraction.rows()

    def mixed(self) -> Iterator[tuple[Effect, tuple[Effect, ...]]]:
        """Yield the effects that have aliases, main effects first."""
        fraction = self.fraction
        for effect in sorted(
            (effect for alike in fraction.alike for effect in alike),
            key=lambda effect: (len(effect), effect),
        ):
            yield effect, fraction.mixed_with(effect)

    def told_fraction(self) -> Mapping[str, Any]:
        """Return generators and resolution."""
        fraction = self.fraction
        return {"generators": fraction.generators, "resolution": fraction.resolution}

    def _smallest(self) -> Fraction:
        least = _CLEAR_MAIN_EFFECTS if self.resolution is None else self.resolution
        enough = (one for one in fractions_for(len(self.factors)) if one.resolution >= least)
        smallest = next(enough, None)
        if smallest is None:
            known = ", ".join(one.title for one in fractions_for(len(self.factors)))
            raise ValueError(
                f"There is no fraction of {len(self.factors)} factors with resolution "
                f"{numeral(least)}: there are {known}, and FullFactorial with all "
                f"{2 ** len(self.factors):,}."
            )
        if self.resolution is None and self._mixed_in(smallest):
            smallest = next((one for one in enough if not self._mixed_in(one)), smallest)
        self._refuse_mixed(smallest)
        return smallest

    def _refuse_mixed(self, fraction: Fraction) -> None:
        """Refuse a fraction in which an effect that is asked has another as its alias."""
        for effect, other in self._mixed_in(fraction):
            clear = next(
                (one for one in fractions_for(fraction.num_factors) if not self._mixed_in(one)),
                None,
            )
            cure = (
                f"it takes resolution={clear.resolution} ({clear.num_arms} arms)"
                if clear
                else f"it takes FullFactorial ({2**fraction.num_factors:,} arms)"
            )
            raise ValueError(
                f"'{self._title(effect)}' and '{self._title(other)}' cannot be told apart at "
                f"{fraction.title}, and both are asked: {cure}."
            )

    def _mixed_in(self, fraction: Fraction) -> list[tuple[Effect, Effect]]:
        """Return the pairs of effects that are asked and aliased with each other."""
        places = {path: place for place, path in enumerate(self.factors)}
        asked: list[Effect] = [(place,) for place in places.values()]
        asked += [tuple(sorted((places[first], places[second]))) for first, second in self.asks]
        return [
            (effect, other)
            for effect in asked
            for other in fraction.mixed_with(effect)
            if other in asked and asked.index(other) > asked.index(effect)
        ]
