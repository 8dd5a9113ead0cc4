"""The confirmation of a search: its best arms are trained again on fresh seeds."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from capsmodel.settings.later_field import later
from capsmodel.settings.parts import Settings
from search_spaces.plans.base import Seed, each_seed_once


class Confirm(Settings):
    """The best arms of a search are trained again on seeds that had no part in choosing them.

    Attributes:
        best: How many are, beside the base, which they are held against.
        seeds: Fresh ones.
        against_random: Whether they are held against the best of random points as well, which are
            trained in full on the search's seeds until they have taken as many epochs as the search
            took. It doubles what the search costs.
        random_seed: What these points are drawn by; the search's own points have no part in it.
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
    def words(self) -> str:
        """On which seeds, and against what besides the base."""
        drawn = f", against random points of seed {self.random_seed}" * self.against_random
        return f"seeds {self.seeds}{drawn}"

    def manifest_fields(self) -> dict[str, Any]:
        """Return it as plain values, with nothing chosen."""
        random = {"random": {"seed": self.random_seed}} if self.against_random else {}
        return {"best": self.best, "seeds": self.seeds, **random}
