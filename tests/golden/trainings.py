"""Short trainings of every model and routing, and what they gave at the commit they are pinned at.

Written as the other golden files are, with a checkout of that commit in the folder PINNED:

    cp tests/golden/trainings.py PINNED/tests/golden
    (cd PINNED && PYTHONPATH=$PWD python -m tests.golden.trainings)
    cp PINNED/tests/golden/trainings.json tests/golden
"""

import json
from pathlib import Path
from typing import Any

import torch

from capsmodel import Training, TrainingConfig
from capsmodel.data import Digits
from capsmodel.models import CapsNet, ConvNet, MatrixCapsNet, Model
from capsmodel.routing import (
    DynamicRouting,
    EMRouting,
    LeakyRouting,
    LearnedLogits,
    RandomRouting,
    UniformRouting,
)
from capsmodel.stopping import FixedEpochs

COMMIT = "f77df90"
FILE = Path(__file__).with_name("trainings.json")

VECTORS: dict[str, Any] = {
    "conv_channels": 4,
    "conv_kernel": 3,
    "primary_kernel": 3,
    "primary_types": 2,
    "class_dim": 4,
}
MATRICES: dict[str, Any] = {
    "conv_channels": 4,
    "conv_kernel": 3,
    "conv_stride": 1,
    "primary_types": 2,
    "first_types": 2,
    "first_stride": 1,
    "second_types": 2,
    "pose_size": 4,
}
MODELS: dict[str, Model] = {
    "dynamic": CapsNet(**VECTORS),
    "through the last round": CapsNet(**VECTORS, routing=DynamicRouting(gradient="last")),
    "leaky": CapsNet(**VECTORS, routing=LeakyRouting(bias=True, initial_logits=LearnedLogits())),
    "uniform": CapsNet(**VECTORS, routing=UniformRouting()),
    "random": CapsNet(**VECTORS, routing=RandomRouting()),
    "em in vectors": CapsNet(**VECTORS, routing=EMRouting()),
    "matrices": MatrixCapsNet(**MATRICES),
    "official matrices": MatrixCapsNet.of_profile("official", **MATRICES),
    "dynamic matrices": MatrixCapsNet(**MATRICES, routing=DynamicRouting()),
    "cnn": ConvNet(conv_channels=(4,), hidden=(8,)),
}


def training(name: str) -> dict[str, list[str]]:
    """Return losses and sums of all weights of two epochs, to the last bit."""
    config = TrainingConfig(
        data=Digits(fraction=0.2), model=MODELS[name], stopping=FixedEpochs(epochs=2), batch_size=32
    )
    whole = Training(config, seed=3)
    losses = [metrics.train_loss for metrics in whole]
    weights = whole.trained()._network.state_dict().values()  # pyright: ignore[reportPrivateUsage]
    return {
        "losses": [loss.hex() for loss in losses],
        "weights": [float(weight.detach().double().sum()).hex() for weight in weights],
    }


def write() -> None:
    """Write the golden file."""
    torch.set_num_threads(1)
    result = {name: training(name) for name in MODELS}
    FILE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
