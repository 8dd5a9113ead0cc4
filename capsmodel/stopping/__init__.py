"""Stoppings: when a training is done."""

from capsmodel.stopping.base import Stopping as Stopping
from capsmodel.stopping.fixed_epochs import FixedEpochs as FixedEpochs

STOPPINGS = (FixedEpochs,)
