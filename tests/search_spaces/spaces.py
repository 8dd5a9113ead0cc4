"""Spaces for the tests of spaces, and parts of a user's own."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from capsmodel import TrainingConfig
from capsmodel.losses.margin import Margins, MarginSchedule
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.routing import VectorRouting
from capsmodel.search_range import Floats, Ints
from search_spaces import Dimension, Space


class Mine(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["mine"] = "mine"
    is_symmetric: ClassVar[bool] = True
    strength: Annotated[float, Field(gt=0), Floats(0.5, 2.0)] = 1.0

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


class Bounded(Mine):
    """A user's own routing whose two settings bound each other."""

    kind: Literal["bounded"] = "bounded"  # pyright: ignore[reportIncompatibleVariableOverride]
    first: Annotated[float, Floats(0.0, 0.6)] = 0.0
    second: Annotated[float, Floats(0.0, 0.6)] = 0.0

    @model_validator(mode="after")
    def _check_sum(self) -> "Bounded":
        if self.first + self.second > 1:
            raise ValueError("first and second add up to at most 1.")
        return self


class Stepped(MarginSchedule):
    """A user's own margin schedule, never run here."""

    kind: Literal["stepped"] = "stepped"
    steps: Annotated[int, Field(ge=1), Ints(1, 4)] = 2

    def at(self, setting: Margins, when: float) -> Margins:
        raise NotImplementedError


BASE = TrainingConfig()


# standardised patches do not go with every model
WHOLE = Space.of(TrainingConfig).varied(
    {"augmentation": ("none", "shift"), "data": ("digits", "mnist", "viewpoints")}
)


THREE = Space.of(CapsNet, at="model").varied({"model.routing": ("dynamic", "uniform", "random")})


ROUTING = THREE.only("model.routing.iterations")


SMALL = ROUTING + Space.of(Adam, at="optimiser").only("optimiser.learning_rate")


COUNTED = THREE.only("model.routing.iterations", "model.primary_dim")


def names(space: Space) -> list[str]:
    return [dimension.name for dimension in space.dimensions]


def dimension_named(space: Space, name: str) -> Dimension:
    return next(dimension for dimension in space.dimensions if dimension.name == name)
