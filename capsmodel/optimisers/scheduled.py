"""What optimisers with a scheduled learning rate share: the rate, its warm-up and its schedule."""

from abc import ABC
from typing import Annotated

from pydantic import Field

from capsmodel.optimisers.base import Optimiser
from capsmodel.optimisers.rate_schedule import (
    LEARNING_RATE_SCHEDULES,
    ConstantRate,
    LearningRateSchedule,
    Moment,
)
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf


class ScheduledOptimiser(Optimiser, ABC):
    """An optimiser whose rate warms up, then moves as its schedule says.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller: it rises evenly from 0, and the
            step after these is the first at the whole rate. The schedule runs meanwhile, and its
            rate is what is made smaller.
        schedule: How the learning rate moves.
    """

    learning_rate: Annotated[float, Field(gt=0), Floats(1e-4, 1e-2, log=True)] = 1e-3
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    schedule: Annotated[LearningRateSchedule, OneOf(LEARNING_RATE_SCHEDULES)] = ConstantRate()

    def learning_rate_at(self, moment: Moment) -> float:
        """Return the schedule's rate, or the share of it that the warm-up has come to."""
        share = min(1.0, (moment.step + 1) / (self.warmup_steps + 1))
        return share * self.schedule.at(self.learning_rate, moment)
