"""Layers of capsule networks."""

from capsmodel.layers.capsules import Capsules as Capsules
from capsmodel.layers.convolution import Convolution as Convolution
from capsmodel.layers.decoder import Decoder as Decoder
from capsmodel.layers.initialised import InitialisedModule as InitialisedModule
from capsmodel.layers.primary_capsules import PrimaryCapsules as PrimaryCapsules
