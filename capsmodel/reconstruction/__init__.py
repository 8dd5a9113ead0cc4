"""Reconstructions: what the class capsules must tell of the image beyond its class."""

from capsmodel.reconstruction.base import Reconstruction as Reconstruction
from capsmodel.reconstruction.fully_connected import (
    FullyConnectedDecoder as FullyConnectedDecoder,
)
from capsmodel.reconstruction.none import NoReconstruction as NoReconstruction

RECONSTRUCTIONS = (FullyConnectedDecoder, NoReconstruction)
