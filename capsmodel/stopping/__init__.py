"""Stoppings: when a training is done."""

from capsmodel.stopping.base import Stopping as Stopping
from capsmodel.stopping.base import ValidationFigures as ValidationFigures
from capsmodel.stopping.fixed_epochs import FixedEpochs as FixedEpochs
from capsmodel.stopping.target_metric import TargetMetric as TargetMetric

STOPPINGS = (FixedEpochs, TargetMetric)
