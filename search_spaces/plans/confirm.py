"""What is done with the best arms of a search, and the seeds that trainings are given."""

from typing import Annotated

from pydantic import Field, field_validator

from capsmodel.settings.parts import Settings

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Confirm(Settings):
    """The best arms of a search are trained again on seeds that had no part in choosing them.

    Attributes:
        best: How many are, beside the median of the first random ones as a reference.
        seeds: Fresh ones.
    """

    best: Annotated[int, Field(ge=1)] = 3
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (101, 102, 103, 104, 105)

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)


def each_seed_once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return seeds as they are.

    Raises:
        ValueError: If one is listed twice.
    """
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"A seed is listed twice: {', '.join(map(str, seeds))}.")
    return seeds
