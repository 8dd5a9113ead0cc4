"""Losses: what the beliefs in the classes should be, and their schedules."""

from capsmodel.losses.base import ClassWeightedLoss as ClassWeightedLoss
from capsmodel.losses.base import Loss as Loss
from capsmodel.losses.base import LossModule as LossModule
from capsmodel.losses.cross_entropy import CrossEntropy as CrossEntropy
from capsmodel.losses.function_loss import FunctionLoss as FunctionLoss
from capsmodel.losses.function_loss import loss as loss
from capsmodel.losses.margin import MARGIN_SCHEDULES as MARGIN_SCHEDULES
from capsmodel.losses.margin import ConstantMargins as ConstantMargins
from capsmodel.losses.margin import LinearMargins as LinearMargins
from capsmodel.losses.margin import MarginLoss as MarginLoss
from capsmodel.losses.margin import Margins as Margins
from capsmodel.losses.margin import MarginSchedule as MarginSchedule
from capsmodel.losses.margin import SigmoidMargins as SigmoidMargins
from capsmodel.losses.sigmoid import Sigmoid as Sigmoid
from capsmodel.losses.spread import SPREAD_SCHEDULES as SPREAD_SCHEDULES
from capsmodel.losses.spread import ConstantSpread as ConstantSpread
from capsmodel.losses.spread import LinearSpread as LinearSpread
from capsmodel.losses.spread import SigmoidSpread as SigmoidSpread
from capsmodel.losses.spread import SpreadLoss as SpreadLoss
from capsmodel.losses.spread import SpreadSchedule as SpreadSchedule

LOSSES = (MarginLoss, SpreadLoss, CrossEntropy, Sigmoid)
