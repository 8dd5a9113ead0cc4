"""Models: whole networks from images to lengths of class capsules."""

from capsmodel.models.base import Model as Model
from capsmodel.models.base import Network as Network
from capsmodel.models.base import Outputs as Outputs
from capsmodel.models.capsnet import CapsNet as CapsNet

MODELS = (CapsNet,)
