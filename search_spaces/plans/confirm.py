"""The confirmation of a search: its best arms are trained again on fresh seeds."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from capsmodel.settings.parts import Settings, later
from search_spaces.plans.base import Seed, each_seed_once


class Confirm(Settings):
    """Training the best arms of a search again, on seeds that had no part in selecting them.

    Attributes:
        best: Number of arms, besides the base, which they are compared with.
        seeds: Fresh seeds.
        against_random: Whether the arms are also compared with the best of random points. These
            are trained in full on the search's seeds until they have taken as many epochs as the
            search, which doubles its cost.
        random_seed: Seed by which these points are drawn, independent of the search's points.
    """

    best: Annotated[int, Field(ge=1)] = 3
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (101, 102, 103, 104, 105)
    against_random: bool = later(False)
    random_seed: Seed = later(0)

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @property
    def description(self) -> str:
        """The seeds, and the random points if there are any, as text."""
        drawn = f", against random points of seed {self.random_seed}" * self.against_random
        return f"seeds {self.seeds}{drawn}"

    def manifest_fields(self) -> dict[str, Any]:
        """Return its fields of the manifest, before arms are selected."""
        random = {"random": {"seed": self.random_seed}} if self.against_random else {}
        return {"best": self.best, "seeds": self.seeds, **random}
