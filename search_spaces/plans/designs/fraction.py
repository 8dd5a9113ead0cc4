"""Fractions of all combinations of two levels, by generators as textbooks write them: D=AB."""

import itertools
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache

import numpy as np

from capsmodel.spelling import unknown

LETTERS = "ABCDEFGHJKLMNOP"
"""Of factors in their order; I is left out, which stands for what is constant."""

FEWEST_FACTORS = 3
NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X"}

_LOWEST_RESOLUTION = 3  # below it, two main effects are one
_MOST_ARMS = 1024  # of a fraction that is offered
_GENERATOR = re.compile(r"([A-Z])=(-?)([A-Z]{2,})")

Effect = tuple[int, ...]
"""Places of factors from 0: one of a main effect, two of an interaction."""


@dataclass(frozen=True)
class Fraction:
    """Which combinations of two levels are trained, and what they cannot tell apart.

    Attributes:
        num_factors: From 3 to 15.
        generators: One for each halving, "D=AB": a row has the first level of D where it has the
            first level of both A and B, or of neither. "D=-AB" takes the other half.
        resolution: The fewest factors of a product that is constant.
        alike: Sets of main effects and interactions of two that cannot be told apart, whatever
            their signs.
    """

    num_factors: int
    generators: tuple[str, ...]
    resolution: int
    alike: tuple[tuple[Effect, ...], ...]

    @property
    def num_arms(self) -> int:
        """How many combinations are trained."""
        return 2 ** (self.num_factors - len(self.generators))

    @property
    def title(self) -> str:
        """What a sentence calls it: "resolution IV (16 arms)"."""
        return f"resolution {numeral(self.resolution)} ({self.num_arms} arms)"

    def rows(self) -> Iterator[tuple[bool, ...]]:
        """Yield the combinations: of each factor whether it has its second level.

        The row of all first levels is the first, if no generator has a minus.
        """
        from pydoe import fracfact

        for signs in reversed(fracfact(_expression(self.num_factors, self.generators))):
            yield tuple(bool(sign < 0) for sign in signs)

    def mixed_with(self, effect: Effect) -> tuple[Effect, ...]:
        """Return the other effects that one cannot be told from."""
        own = next((alike for alike in self.alike if effect in alike), ())
        return tuple(other for other in own if other != effect)


def fraction_of(num_factors: int, generators: Sequence[str]) -> Fraction:
    """Return the fraction that generators make.

    Raises:
        ValueError: In one sentence, if there can be none of so many factors, a generator is none,
            or two main effects would be one.
    """
    refuse_factors(num_factors)
    plain = tuple(generator.upper().replace(" ", "") for generator in generators)
    _refuse_generators(num_factors, plain)
    return _fraction(num_factors, plain)


def fractions_for(num_factors: int) -> Iterator[Fraction]:
    """Yield fractions of so many factors, the fewest arms first: of each size the clearest.

    Raises:
        ValueError: If there can be none.
    """
    from pydoe import fracfact_by_res

    refuse_factors(num_factors)
    most = min(_MOST_ARMS, 2 ** (num_factors - 1))
    resolutions = range(_LOWEST_RESOLUTION, num_factors + 1)
    designs = (fracfact_by_res(num_factors, resolution) for resolution in resolutions)
    for _, alike in itertools.groupby(itertools.takewhile(lambda d: len(d) <= most, designs), len):
        *_, clearest = alike
        yield _fraction(num_factors, _generators_of(clearest))


def numeral(resolution: int) -> str:
    """Return a resolution as textbooks write it."""
    return NUMERALS.get(resolution, str(resolution))


def refuse_factors(num_factors: int) -> None:
    """Refuse so few or many factors that there is no fraction of them.

    Raises:
        ValueError: In one sentence.
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
    """Return a fraction with what it cannot tell apart; signs do not change that."""
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
    """Return the factors of pydoe's word, which letters columns a, b, ... without a gap."""
    return tuple(ord(letter) - ord("a") for letter in word)


def _expression(num_factors: int, generators: Sequence[str]) -> str:
    """Return what pydoe calls a fraction: `a b c ab -ac`, by the letters of the free factors."""
    made = {generator[0]: generator[2:] for generator in generators}
    free = [letter for letter in LETTERS[:num_factors] if letter not in made]
    theirs = {letter: chr(ord("a") + place) for place, letter in enumerate(free)} | {"-": "-"}
    words = (made.get(letter, letter) for letter in LETTERS[:num_factors])
    return " ".join("".join(theirs[letter] for letter in word) for word in words)


def _generators_of(design: np.ndarray) -> tuple[str, ...]:
    """Return the generators of a fraction whose first factors are free: pydoe does not tell."""
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


def _refuse_generators(num_factors: int, generators: Sequence[str]) -> None:
    """Refuse generators that make no fraction, or one that makes one of two main effects.

    Raises:
        ValueError: Naming the first.
    """
    made = {generator[:1] for generator in generators}
    for generator in generators:
        _refuse_generator(generator, LETTERS[:num_factors], made)
    for first, second in itertools.combinations(generators, 2):
        if first[0] == second[0]:
            raise ValueError(f"The factor {first[0]} has two generators: {first}, {second}.")
        if sorted(_product(first)) == sorted(_product(second)):
            raise ValueError(
                f"The generators {first} and {second} make one of the main effects of {first[0]} "
                f"and {second[0]}: give another product to one of them."
            )


def _refuse_generator(generator: str, letters: str, made: Set[str]) -> None:
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
