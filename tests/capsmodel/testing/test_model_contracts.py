"""Every model keeps the contract, and with other options what an option can break."""

from typing import Any

import pytest

from capsmodel.models import (
    MODELS,
    CapsNet,
    ConvNet,
    HomogeneousCapsNet,
    MatrixCapsNet,
    Model,
)
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import DynamicRouting, LeakyRouting, LearnedLogits, RandomRouting
from capsmodel.settings.parts import kind_of
from capsmodel.squash import ExponentialSquash
from capsmodel.testing import ModelContract
from capsmodel.testing.model_contract import ModelValuesContract

SMALL: dict[str, dict[str, Any]] = {
    "capsnet": {
        "conv_channels": 4,
        "conv_kernel": 3,
        "primary_types": 2,
        "primary_dim": 4,
        "primary_kernel": 3,
        "class_dim": 4,
        "reconstruction": FullyConnectedDecoder(hidden=(6,)),
    },
    "matrix_capsnet": {
        "conv_channels": 4,
        "conv_kernel": 3,
        "conv_stride": 1,
        "primary_types": 2,
        "first_types": 2,
        "second_types": 3,
        "pose_size": 4,
    },
    "efficient_capsnet": {
        "conv_channels": (3, 8),
        "conv_kernel": 3,
        "conv_stride": (1, 2),
        "primary_dim": 4,
        "primary_kernel": 3,
        "class_dim": 4,
        "reconstruction": FullyConnectedDecoder(hidden=(6,)),
    },
    "deepcaps": {
        "conv_channels": 4,
        "types": 2,
        "poses": (2, 3, 3),
        "class_dim": 4,
        "reconstruction": FullyConnectedDecoder(hidden=(6,)),
    },
    "self_routing_net": {
        "backbone": "conv",
        "channels": 4,
        "types": 2,
        "pose_size": 4,
        "depth": 2,
        "routing": DynamicRouting(),
    },
    "inverted_attention_net": {
        "backbone": "simple",
        "channels": 4,
        "types": 2,
        "pose_size": 4,
        "hidden_capsules": 3,
        "update": "sequential",
        "routing": DynamicRouting(),
    },
    "homogeneous_capsnet": {"conv_channels": (3, 4, 5), "branches": (1, 3)},
    "heinsen_net": {
        "channels": 4,
        "strides": (1, 2),
        "types": 2,
        "parts": 3,
        "pose_size": 4,
        "routing": DynamicRouting(),
    },
    "cnn": {"conv_channels": (4, 3), "conv_kernel": 3, "hidden": (8, 6), "pooling": 2},
}
VARIANTS: dict[str, Model] = {
    "official": CapsNet.of_profile("official", **SMALL["capsnet"]),
    "all options": CapsNet(
        **SMALL["capsnet"]
        | {
            "batch_norm": True,
            "dropout": 0.2,
            "conv_padding": "same",
            "primary_padding": "same",
            "primary_coupling": "leaky",
            "primary_squash": ExponentialSquash(),
            "routing": LeakyRouting(bias=True, initial_logits=LearnedLogits()),
        }
    ),
    "hidden capsules": CapsNet(
        **SMALL["capsnet"]
        | {"hidden_capsules": (5, 5), "hidden_batch_norm": True, "hidden_skip": True}
    ),
    "random, no decoder": CapsNet(
        **SMALL["capsnet"] | {"routing": RandomRouting(), "reconstruction": NoReconstruction()}
    ),
    "normalised matrix capsules": MatrixCapsNet.variational_bayes(**SMALL["matrix_capsnet"]),
    "matrices of each place": MatrixCapsNet.small_variational_bayes(
        conv_channels=4, primary_types=2, pose_size=4
    ),
    "capsules of places, lengths, learned weights": HomogeneousCapsNet(
        **SMALL["homogeneous_capsnet"],
        capsules="places",
        class_score="norm",
        branch_weights="random",
    ),
    "kernels of their own": ConvNet(**SMALL["cnn"] | {"conv_kernel": (5, 3)}),
}


class TestModels(ModelContract):
    @pytest.fixture(params=MODELS, ids=kind_of)
    def model(self, request: pytest.FixtureRequest) -> Model:
        return request.param(**SMALL[kind_of(request.param)])


WITH_STATE_OR_CHANCE = ("all options", "hidden capsules", "random, no decoder")


class TestVariants(ModelValuesContract):
    @pytest.fixture(params=[name for name in VARIANTS if name not in WITH_STATE_OR_CHANCE])
    def model(self, request: pytest.FixtureRequest) -> Model:
        return VARIANTS[request.param]


class TestVariantsWithStateOrChance(ModelContract):
    @pytest.fixture(params=WITH_STATE_OR_CHANCE)
    def model(self, request: pytest.FixtureRequest) -> Model:
        return VARIANTS[request.param]
