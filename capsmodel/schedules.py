"""Schedules: how a value moves during a training.

Each family of schedules says what moves, and how the progress of a training is measured.
"""

import math
from abc import ABC, abstractmethod
from typing import Annotated, Generic, TypeVar

from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.search_range import Floats

Number = float | Float[Tensor, ""]
"""A number that moves: in a step that a CUDA graph keeps it is a tensor, which moves in place."""
V = TypeVar("V")
When = TypeVar("When")

Steepness = Annotated[float, Field(ge=0.1, le=500), Floats(4, 40, log=True)]
Midpoint = Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.9)]


class Schedule(ABC, Generic[V, When]):
    """How a value moves during a training.

    The moment alone decides, so a restored training continues where it was.
    """

    @abstractmethod
    def at(self, setting: V, when: When) -> V:
        """Return the value in force.

        Args:
            setting: The value of the part that has the schedule: where a margin ends, where a
                learning rate begins.
            when: Progress of the training.
        """


class ConstantSchedule(Schedule[V, When]):
    """The value stays as it is set."""

    def at(self, setting: V, when: When) -> V:
        """Return the value that is set."""
        del when
        return setting


class LinearSchedule(Schedule[V, Number]):
    """The value moves evenly, from a start of the schedule's to the value that is set."""

    def at(self, setting: V, when: Number) -> V:
        """Return the value at the training's progress; the ends are exact."""
        return self.between(setting, when)

    @abstractmethod
    def between(self, end: V, share: Number) -> V:
        """Return the value a share of the way from the start to the end."""


def blend(start: Number, end: Number, share: Number) -> Number:
    """Return the number a share of the way from one to another; the ends are exact."""
    return (1 - share) * start + share * end


def sigmoid(argument: Number) -> Number:
    """Return 1 / (1 + exp(-argument))."""
    return 1 / (1 + exponential(-argument))


def exponential(argument: Number) -> Number:
    """Return e to a power."""
    return argument.exp() if isinstance(argument, Tensor) else math.exp(argument)


def at_most(value: Number, most: float) -> Number:
    """Return the smaller of two numbers."""
    return value.clamp(max=most) if isinstance(value, Tensor) else min(most, value)
