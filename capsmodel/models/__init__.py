"""Models: whole networks from images to beliefs in classes."""

from capsmodel.models.base import ChildGrid as ChildGrid
from capsmodel.models.base import Model as Model
from capsmodel.models.base import Network as Network
from capsmodel.models.base import Outputs as Outputs
from capsmodel.models.capsnet import CapsNet as CapsNet
from capsmodel.models.cnn import ConvNet as ConvNet
from capsmodel.models.deepcaps import DeepCaps as DeepCaps
from capsmodel.models.drawing import perturbed as perturbed
from capsmodel.models.efficient_capsnet import EfficientCapsNet as EfficientCapsNet
from capsmodel.models.foreign import ForeignModel as ForeignModel
from capsmodel.models.foreign import model as model
from capsmodel.models.heinsen_net import HeinsenNet as HeinsenNet
from capsmodel.models.homogeneous_capsnet import HomogeneousCapsNet as HomogeneousCapsNet
from capsmodel.models.inverted_attention_net import InvertedAttentionNet as InvertedAttentionNet
from capsmodel.models.matrix_capsnet import MatrixCapsNet as MatrixCapsNet
from capsmodel.models.outputs_of import Returns as Returns
from capsmodel.models.outputs_of import as_outputs as as_outputs
from capsmodel.models.self_routing_net import SelfRoutingNet as SelfRoutingNet
from capsmodel.models.weights_file import PretrainedWeights as PretrainedWeights
from capsmodel.models.weights_file import WeightsFile as WeightsFile

MODELS = (
    CapsNet,
    MatrixCapsNet,
    EfficientCapsNet,
    DeepCaps,
    SelfRoutingNet,
    InvertedAttentionNet,
    HomogeneousCapsNet,
    HeinsenNet,
    ConvNet,
)
