"""How well do small networks learn pairs of overlapping digits on one core?

    python -m benchmarks.multi_mnist capsnet --seed 0 --epochs 18 --picture pairs.png

MNIST halved to 14 by 14 pixels, 2 pixels of black around it, both digits moved by up to 2 pixels.
The error is the share of the 10,000 fixed test pairs of which not both digits are right. The
picture has, from above: pairs, the first digit and what is drawn of it, the second digit and that.
"""

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from matplotlib import image as matplotlib_image

from capsmodel import TrainingConfig
from capsmodel.config import num_parameters
from capsmodel.data import MultiMnist
from capsmodel.losses import MarginLoss, Sigmoid
from capsmodel.models import CapsNet, ConvNet
from capsmodel.optimisers import Adam, CosineRate
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training

_DATA = MultiMnist(halved=True, shift=2)
_CAPSNET = CapsNet(
    conv_channels=64,
    conv_kernel=5,
    primary_types=8,
    primary_dim=8,
    primary_kernel=5,
    class_dim=16,
)
NETWORKS = {
    "capsnet": (_CAPSNET, MarginLoss()),
    "cnn": (ConvNet(conv_channels=(32, 64), pooling=2, hidden=(1000, 217)), Sigmoid()),
}
_NUM_PICTURED = 8


def config_of(network: str, epochs: int) -> TrainingConfig:
    """Return the settings of a training."""
    model, loss = NETWORKS[network]
    return TrainingConfig(
        data=_DATA,
        model=model,
        loss=loss,
        optimiser=Adam(learning_rate=2e-3, schedule=CosineRate()),
        stopping=FixedEpochs(epochs=epochs),
        batch_size=128,
    )


def draw(training: Training, path: Path) -> None:
    """Write a picture of test pairs and of what the network draws of each digit."""
    pairs = training.data.test.take(torch.arange(_NUM_PICTURED))
    said = training.trained().predict(pairs.images)
    if said.reconstructions is None or pairs.parts is None:
        return
    order = said.classes.argsort(dim=1)
    drawn = said.reconstructions[torch.arange(_NUM_PICTURED).unsqueeze(1), order]
    rows = [pairs.images, pairs.parts[:, 0], drawn[:, 0], pairs.parts[:, 1], drawn[:, 1]]
    picture = torch.cat([torch.cat([*F.pad(row[:, 0], [1] * 4)], dim=1) for row in rows])
    matplotlib_image.imsave(path, picture.numpy(), cmap="gray", vmin=0, vmax=1)


def main() -> None:
    """Train one network and print each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=18)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = config_of(options.network, options.epochs)
    print(f"{options.network}: {num_parameters(config):,} parameters", flush=True)
    training = Training(config, options.seed)
    for metrics in training:
        print(
            f"epoch {metrics.epoch}: validation error {metrics.validation_error:.4f}, "
            f"{time.process_time():.0f} s of processor time",
            flush=True,
        )
    print(f"test error {training.test().error:.4f}, {time.process_time():.0f} s", flush=True)
    if options.picture:
        draw(training, options.picture)


if __name__ == "__main__":
    main()
