"""A screen of many factors with few arms."""

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from search_spaces.plans.designs.two_level import FEWEST_FACTORS, Effect, TwoLevelDesign

_MOST_FACTORS = 23
_RESOLUTION = 3


class PlackettBurman(TwoLevelDesign):
    """A screen of k factors with two levels; its arms are the next multiple of four above k.

    It shows which of many factors matter at all, if few do and their interactions are small: 11
    factors take 12 arms. Main effects are not mixed with each other. With 12, 20 and 24 arms, each
    main effect includes a part of the interactions of two other factors (with 12 arms a third of
    each), so that an interaction can look like the main effect of a third factor. With 4, 8 and 16
    arms it includes some of them completely, as in a fraction of resolution III. A screen shows no
    interactions. Confirm its result by a design of the few factors that remain.

    Source: Plackett and Burman 1946, Biometrika 33(4), pages 305 to 325.

    Attributes:
        factors: Path -> two levels, of 3 to 23 settings.
    """

    kind: Literal["plackett_burman"] = "plackett_burman"

    @model_validator(mode="after")
    def _screen_exists(self) -> Self:
        num_factors = len(self.factors)
        if not FEWEST_FACTORS <= num_factors <= _MOST_FACTORS:
            raise ValueError(
                f"A screen has {FEWEST_FACTORS} to {_MOST_FACTORS} factors, got {num_factors}: "
                + ("take FullFactorial." if num_factors < FEWEST_FACTORS else "leave some out.")
            )
        return self

    def combinations(self) -> Iterator[tuple[bool, ...]]:
        """Yield the rows of the screen."""
        return iter(_screen(len(self.factors)))

    def mixed(self) -> Iterator[tuple[Effect, tuple[Effect, ...]]]:
        """Yield the effects with the others that they include, completely or in part."""
        return iter(_mixed(len(self.factors)))

    def fraction_fields(self) -> Mapping[str, Any]:
        """Return the resolution, and whether effects include only parts of others."""
        num_arms = len(_screen(len(self.factors)))
        is_fraction = num_arms & (num_arms - 1) == 0
        return {"resolution": _RESOLUTION, "is_partly_aliased": not is_fraction}


@cache
def _screen(num_factors: int) -> tuple[tuple[bool, ...], ...]:
    from pydoe import pbdesign

    return tuple(tuple(bool(sign < 0) for sign in row) for row in reversed(pbdesign(num_factors)))


@cache
def _mixed(num_factors: int) -> tuple[tuple[Effect, tuple[Effect, ...]], ...]:
    signs = 1 - 2 * np.array(_screen(num_factors), dtype=np.int64)
    effects: list[Effect] = [(place,) for place in range(num_factors)]
    effects += itertools.combinations(range(num_factors), 2)
    contrasts = np.stack([signs[:, effect].prod(axis=1) for effect in effects])
    shared = abs(contrasts @ contrasts.T)
    num_arms = len(signs)
    mixed: list[tuple[Effect, tuple[Effect, ...]]] = []
    for place, effect in enumerate(effects):
        others = [
            other
            for against, other in enumerate(effects)
            if other != effect
            and shared[place, against]
            and (shared[place, against] == num_arms or 1 in {len(effect), len(other)})
        ]
        if others:
            mixed.append((effect, tuple(others)))
    return tuple(mixed)
