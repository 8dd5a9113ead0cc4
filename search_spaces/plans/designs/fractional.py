"""A fraction of all combinations of two levels."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from capsmodel.spelling import unknown
from search_spaces.plans.designs.factors import check_num_arms
from search_spaces.plans.designs.two_level import FEWEST_FACTORS, Effect, TwoLevelDesign

LETTERS = "ABCDEFGHJKLMNOP"
"""Letters of the factors in order, without I, which stands for the constant."""

NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X"}

_LOWEST_RESOLUTION = 3  # below it, two main effects are one

_CLEAR_MAIN_EFFECTS = 4

_MOST_ARMS = 1024  # of a fraction that is offered

_GENERATOR = re.compile(r"([A-Z])=(-?)([A-Z]{2,})")


@dataclass(frozen=True)
class Fraction:
    """Combinations of two levels, and the effects that they mix.

    Attributes:
        num_factors: Number of factors, from 3 to 15.
        generators: One for each halving, "D=AB": a row has the first level of D if it has the
            first level of both A and B, or of neither. "D=-AB" takes the other half.
        resolution: The smallest number of factors whose product is constant.
        alike: Sets of main effects and interactions of two factors that are mixed, whatever their
            signs.
    """

    num_factors: int
    generators: tuple[str, ...]
    resolution: int
    alike: tuple[tuple[Effect, ...], ...]

    @property
    def num_arms(self) -> int:
        """Number of combinations."""
        return 2 ** (self.num_factors - len(self.generators))

    @property
    def title(self) -> str:
        """Its name in a sentence: "resolution IV (16 arms)"."""
        return f"resolution {numeral(self.resolution)} ({self.num_arms} arms)"

    def rows(self) -> Iterator[tuple[bool, ...]]:
        """Yield the combinations: for each factor whether it has its second level.

        The row of all first levels comes first, if no generator has a minus.
        """
        from pydoe import fracfact

        for signs in reversed(fracfact(_expression(self.num_factors, self.generators))):
            yield tuple(bool(sign < 0) for sign in signs)

    def mixed_with(self, effect: Effect) -> tuple[Effect, ...]:
        """Return the other effects with which an effect is mixed."""
        aliases = next((alike for alike in self.alike if effect in alike), ())
        return tuple(other for other in aliases if other != effect)


class FractionalFactorial(TwoLevelDesign):
    """A fraction 2^(k-p) of all combinations of k factors with two levels each.

    It shows the effect of each factor averaged over the others, as all combinations would, with
    half of the trainings, a quarter, or fewer. In return it mixes effects: each estimate is the sum
    of an effect and its *aliases*, and no number of seeds separates them. The resolution says which
    are mixed. At III, main effects are mixed with interactions of two other factors. At IV, main
    effects are clear of these, but interactions of two factors are mixed with each other. From V
    on, both are clear. Interactions of three or more factors are assumed to be zero. If the sweep
    is about an interaction, declare it in `asks`.

    By default it is the smallest fraction of resolution IV in which what is asked is not mixed.

    Attributes:
        factors: Path -> two levels. In this order the factors are A, B, C ... without I.
        resolution: The least resolution. The smallest fraction that has it is taken, and among
            those of that size the clearest.
        generators: Generators of the fraction, instead of a resolution: `("D=AB", "E=AC")` is the
            2^(5-2) of textbooks with I = ABD = ACE = BCDE. It contains the base; `"D=-AB"` is the
            other half, which does not.
        asks: Pairs of factors whose interaction the sweep is about, in addition to all main
            effects: none of these may be aliased with another.
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
        check_num_arms(self.fraction.num_arms)
        return self

    @cached_property
    def fraction(self) -> Fraction:
        """The fraction.

        Raises:
            ValueError: If it does not exist, or if what is asked is aliased in it.
        """
        if not self.generators:
            return self._smallest()
        if self.resolution is not None:
            raise ValueError(
                f"The generators decide the resolution: leave resolution={self.resolution} or "
                f"{', '.join(self.generators)} out."
            )
        fraction = fraction_of(len(self.factors), self.generators)
        self._check_aliases(fraction)
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

    def fraction_fields(self) -> Mapping[str, Any]:
        """Return generators and resolution."""
        fraction = self.fraction
        return {"generators": fraction.generators, "resolution": fraction.resolution}

    def _smallest(self) -> Fraction:
        least = _CLEAR_MAIN_EFFECTS if self.resolution is None else self.resolution
        enough = (
            fraction
            for fraction in fractions_for(len(self.factors))
            if fraction.resolution >= least
        )
        smallest = next(enough, None)
        if smallest is None:
            known = ", ".join(fraction.title for fraction in fractions_for(len(self.factors)))
            raise ValueError(
                f"There is no fraction of {len(self.factors)} factors with resolution "
                f"{numeral(least)}: there are {known}, and FullFactorial with all "
                f"{2 ** len(self.factors):,}."
            )
        if self.resolution is None and self._mixed_in(smallest):
            smallest = next(
                (fraction for fraction in enough if not self._mixed_in(fraction)), smallest
            )
        self._check_aliases(smallest)
        return smallest

    def _check_aliases(self, fraction: Fraction) -> None:
        """Check that no two effects that are asked are aliased."""
        for effect, other in self._mixed_in(fraction):
            clear = next(
                (
                    candidate
                    for candidate in fractions_for(fraction.num_factors)
                    if not self._mixed_in(candidate)
                ),
                None,
            )
            cure = (
                f"it takes resolution={clear.resolution} ({clear.num_arms} arms)"
                if clear
                else f"it takes FullFactorial ({2**fraction.num_factors:,} arms)"
            )
            raise ValueError(
                f"'{self._title(effect)}' and '{self._title(other)}' cannot be distinguished at "
                f"{fraction.title}, and both are asked for: {cure}."
            )

    def _mixed_in(self, fraction: Fraction) -> list[tuple[Effect, Effect]]:
        """Return the pairs of asked effects that are aliased."""
        places = {path: place for place, path in enumerate(self.factors)}
        asked: list[Effect] = [(place,) for place in places.values()]
        asked += [tuple(sorted((places[first], places[second]))) for first, second in self.asks]
        return [
            (effect, other)
            for effect in asked
            for other in fraction.mixed_with(effect)
            if other in asked and asked.index(other) > asked.index(effect)
        ]


def fraction_of(num_factors: int, generators: Sequence[str]) -> Fraction:
    """Return the fraction that generators define.

    Raises:
        ValueError: If no fraction has this number of factors, a generator is not valid, or two main
            effects would be mixed.
    """
    check_num_factors(num_factors)
    plain = tuple(generator.upper().replace(" ", "") for generator in generators)
    _check_generators(num_factors, plain)
    return _fraction(num_factors, plain)


def fractions_for(num_factors: int) -> Iterator[Fraction]:
    """Yield the fractions of a number of factors, smallest first: the clearest of each size.

    Raises:
        ValueError: If no fraction has this number of factors.
    """
    from pydoe import fracfact_by_res

    check_num_factors(num_factors)
    most = min(_MOST_ARMS, 2 ** (num_factors - 1))
    resolutions = range(_LOWEST_RESOLUTION, num_factors + 1)
    designs = (fracfact_by_res(num_factors, resolution) for resolution in resolutions)
    for _, alike in itertools.groupby(itertools.takewhile(lambda d: len(d) <= most, designs), len):
        *_, clearest = alike
        yield _fraction(num_factors, _generators_of(clearest))


def numeral(resolution: int) -> str:
    """Return a resolution as textbooks write it."""
    return NUMERALS.get(resolution, str(resolution))


def check_num_factors(num_factors: int) -> None:
    """Check that a fraction can have this number of factors.

    Raises:
        ValueError: If there are too few or too many.
    """
    if num_factors < FEWEST_FACTORS:
        raise ValueError(
            f"A fraction needs at least {FEWEST_FACTORS} factors, got {num_factors}: train all "
            f"{2**num_factors} combinations with FullFactorial."
        )
    if num_factors > len(LETTERS):
        raise ValueError(
            f"A fraction has at most {len(LETTERS)} factors, got {num_factors}: screen them with "
            f"PlackettBurman first."
        )


@cache
def _fraction(num_factors: int, generators: tuple[str, ...]) -> Fraction:
    """Return a fraction with the effects that it mixes; signs do not change them."""
    from pydoe import fracfact, fracfact_aliasing

    unsigned = tuple(generator.replace("-", "") for generator in generators)
    lines, _ = fracfact_aliasing(fracfact(_expression(num_factors, unsigned)))
    chains = [[_places(word) for word in line.split(" = ")] for line in lines]
    resolution = min(
        (len(chain[0]) + len(chain[1]) for chain in chains if len(chain) > 1),
        default=num_factors + 1,
    )
    short = [tuple(effect for effect in chain if len(effect) <= 2) for chain in chains]
    alike = tuple(effects for effects in short if len(effects) > 1)
    return Fraction(num_factors, generators, resolution, alike)


def _places(word: str) -> Effect:
    """Return the factors in a word of pydoe, which calls columns a, b, ... without a gap."""
    return tuple(ord(letter) - ord("a") for letter in word)


def _expression(num_factors: int, generators: Sequence[str]) -> str:
    """Return pydoe's expression of a fraction: `a b c ab -ac`, by letters of the free factors."""
    made = {generator[0]: generator[2:] for generator in generators}
    free = [letter for letter in LETTERS[:num_factors] if letter not in made]
    theirs = {letter: chr(ord("a") + place) for place, letter in enumerate(free)} | {"-": "-"}
    columns = (made.get(letter, letter) for letter in LETTERS[:num_factors])
    return " ".join("".join(theirs[letter] for letter in word) for word in columns)


def _generators_of(design: np.ndarray) -> tuple[str, ...]:
    """Return the generators of a fraction whose first factors are free; pydoe does not say them."""
    from pydoe import fracfact_aliasing

    num_free = len(design).bit_length() - 1
    lines, _ = fracfact_aliasing(design)
    made: dict[int, str] = {}
    for chain in ([_places(word) for word in line.split(" = ")] for line in lines):
        free = next((word for word in chain if max(word) < num_free), None)
        for place, *others in chain:
            if not others and place >= num_free and free:
                made[place] = "".join(LETTERS[factor] for factor in free)
    return tuple(f"{LETTERS[place]}={made[place]}" for place in sorted(made))


def _check_generators(num_factors: int, generators: Sequence[str]) -> None:
    """Check that generators define a fraction in which no two main effects are mixed.

    Raises:
        ValueError: For the first generator that is not valid.
    """
    made = {generator[:1] for generator in generators}
    for generator in generators:
        _check_generator(generator, LETTERS[:num_factors], made)
    for first, second in itertools.combinations(generators, 2):
        if first[0] == second[0]:
            raise ValueError(f"The factor {first[0]} has two generators: {first}, {second}.")
        if sorted(_product(first)) == sorted(_product(second)):
            raise ValueError(
                f"The generators {first} and {second} make one of the main effects of {first[0]} "
                f"and {second[0]}: give another product to one of them."
            )


def _check_generator(generator: str, letters: str, made: Set[str]) -> None:
    match = _GENERATOR.fullmatch(generator)
    if match is None:
        raise ValueError(f"A generator is written D=AB or D=-AB, got '{generator}'.")
    for letter in match[1] + match[3]:
        if letter not in letters:
            raise ValueError(unknown(f"factor in the generator '{generator}'", letter, letters))
    if len(set(match[3])) != len(match[3]) or made & set(match[3]):
        raise ValueError(
            f"The generator '{generator}' is to be a product of different factors that have no "
            f"generator themselves: {', '.join(sorted(set(letters) - made))}."
        )


def _product(generator: str) -> str:
    return generator[2:].removeprefix("-")
