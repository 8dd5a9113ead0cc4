"""Optimisers: how gradients move the weights, and the schedules of their rate."""

from capsmodel.optimisers.adam import Adam as Adam
from capsmodel.optimisers.base import Optimiser as Optimiser
from capsmodel.optimisers.rate_schedule import LEARNING_RATE_SCHEDULES as LEARNING_RATE_SCHEDULES
from capsmodel.optimisers.rate_schedule import ConstantRate as ConstantRate
from capsmodel.optimisers.rate_schedule import LearningRateSchedule as LearningRateSchedule

OPTIMISERS = (Adam,)
