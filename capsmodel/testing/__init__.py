"""Contract tests: subclass one, give it a fixture with your part, and it inherits the laws.

They need pytest, which is not installed with the package.
"""

from capsmodel.testing.augmentation_contract import AugmentationContract as AugmentationContract
from capsmodel.testing.data_contract import DataSetContract as DataSetContract
from capsmodel.testing.evaluation_contract import EvaluationContract as EvaluationContract
from capsmodel.testing.loss_contract import LossContract as LossContract
from capsmodel.testing.model_contract import ModelContract as ModelContract
from capsmodel.testing.optimiser_contract import OptimiserContract as OptimiserContract
from capsmodel.testing.routing_contract import RoutingContract as RoutingContract
from capsmodel.testing.torch_contract import TorchContract as TorchContract
from capsmodel.testing.vector_routing_contract import (
    VectorRoutingContract as VectorRoutingContract,
)
