"""Losses: what the lengths of the class capsules should be, and their schedules."""

from capsmodel.losses.base import Loss as Loss
from capsmodel.losses.cross_entropy import CrossEntropy as CrossEntropy
from capsmodel.losses.margin import MarginLoss as MarginLoss
from capsmodel.losses.margin_schedule import MARGIN_SCHEDULES as MARGIN_SCHEDULES
from capsmodel.losses.margin_schedule import ConstantMargins as ConstantMargins
from capsmodel.losses.margin_schedule import MarginSchedule as MarginSchedule

LOSSES = (MarginLoss, CrossEntropy)
