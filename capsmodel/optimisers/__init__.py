"""Optimisers: how gradients move the weights, and the schedules of their rate."""

from capsmodel.optimisers.adam import Adam as Adam
from capsmodel.optimisers.adam import AdamW as AdamW
from capsmodel.optimisers.adam import RunningMoments as RunningMoments
from capsmodel.optimisers.base import Optimiser as Optimiser
from capsmodel.optimisers.base import ScheduledOptimiser as ScheduledOptimiser
from capsmodel.optimisers.rate_schedule import LEARNING_RATE_SCHEDULES as LEARNING_RATE_SCHEDULES
from capsmodel.optimisers.rate_schedule import ConstantRate as ConstantRate
from capsmodel.optimisers.rate_schedule import CosineRate as CosineRate
from capsmodel.optimisers.rate_schedule import ExponentialRate as ExponentialRate
from capsmodel.optimisers.rate_schedule import LearningRateSchedule as LearningRateSchedule
from capsmodel.optimisers.rate_schedule import Moment as Moment
from capsmodel.optimisers.rate_schedule import PerEpochRate as PerEpochRate
from capsmodel.optimisers.sgd import SGD as SGD

OPTIMISERS = (Adam, AdamW, SGD)
