"""A training of well under a second."""

from typing import Any

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.stopping import FixedEpochs


def small_model(**changes: Any) -> CapsNet:
    settings: dict[str, Any] = {
        "conv_channels": 8,
        "conv_kernel": 3,
        "primary_types": 2,
        "primary_dim": 4,
        "primary_kernel": 3,
        "class_dim": 4,
        "reconstruction": FullyConnectedDecoder(hidden=(16,)),
    }
    return CapsNet(**(settings | changes))


def small_config(**changes: Any) -> TrainingConfig:
    settings: dict[str, Any] = {
        "model": small_model(),
        "optimiser": Adam(learning_rate=1e-2),
        "stopping": FixedEpochs(epochs=3),
        "batch_size": 200,
    }
    return TrainingConfig(**(settings | changes))
