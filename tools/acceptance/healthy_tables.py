"""How often a table of healthy trainings has an alarm: `python -m tools.acceptance.healthy_tables`.

Small networks are trained on digits. Of each epoch the beliefs in the classes of held-out images
are kept. A table draws such trainings, arms and seeds, a length, and validation images of its own,
with replacement: few or many, of balanced classes or not. What a training records is computed anew
from the beliefs in these images, and the product's own `warnings_of` judges it. A training is
healthy at a length if it then errs on all held-out images at most half as often as guessing.
"""

import argparse
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from capsmodel import EpochMetrics, Training, TrainingConfig
from capsmodel.data import DataSplits, Digits
from capsmodel.health import belief_metrics, loss_metrics, warnings_of
from capsmodel.losses import CrossEntropy, SpreadLoss
from capsmodel.models import CapsNet, ConvNet
from capsmodel.optimisers import Adam
from capsmodel.routing import EMRouting, UniformRouting
from capsmodel.stopping import FixedEpochs
from sweeps.aggregation.statistics.exact_tests import share

EPOCHS = 15
LENGTHS = (3, 5, 10, EPOCHS)
TRAIN_IMAGES = (100, 300, 1000)
VALIDATION_IMAGES = (20, 50, 180, 400)
CLASS_SHARES = (0.0, 0.3)  # each class is by so much rarer than the one before
SEEDS = 8
_SMALL: dict[str, Any] = {
    "conv_channels": 16,
    "conv_kernel": 3,
    "primary_types": 4,
    "primary_dim": 4,
    "primary_kernel": 3,
    "class_dim": 8,
    "reconstruction": "none",
}
ARMS: dict[str, dict[str, Any]] = {
    "dynamic": {"model": CapsNet(**_SMALL)},
    "uniform": {"model": CapsNet(**_SMALL, routing=UniformRouting())},
    "EM": {"model": CapsNet(**_SMALL, routing=EMRouting()), "loss": SpreadLoss()},
    "spread": {"model": CapsNet(**_SMALL), "loss": SpreadLoss()},
    "cnn": {
        "model": ConvNet(conv_channels=(8, 16), conv_kernel=3, hidden=(32,)),
        "loss": CrossEntropy(),
    },
}


@dataclass(frozen=True)
class Trained:
    """A training, and what it believes of the held-out images after each epoch."""

    config: TrainingConfig
    history: tuple[EpochMetrics, ...]
    beliefs: tuple[Tensor, ...]
    errors: tuple[float, ...]

    def is_healthy(self, epochs: int, chance: float) -> bool:
        return self.errors[epochs - 1] <= chance / 2


def trained(arm: str, num_images: int, seed: int) -> Trained:
    config = TrainingConfig(
        data=Digits(validation_fraction=0.3),
        optimiser=Adam(learning_rate=1e-2),
        stopping=FixedEpochs(epochs=EPOCHS),
        batch_size=16,
        **ARMS[arm],
    )
    splits = config.data.load("cpu")
    data = DataSplits(splits.train.take(slice(num_images)), splits.validation, splits.test)
    training = Training(config, seed, data=data)
    beliefs = tuple(
        training.trained().outputs(splits.validation.images).lengths.detach() for _ in training
    )
    errors = tuple(epoch.validation_error for epoch in training.history)
    return Trained(config, training.history, beliefs, errors)


def redrawn(
    network: Trained, labels: Tensor, drawn: Tensor, epochs: int, noise: float, seed: int
) -> tuple[EpochMetrics, ...]:
    """Return a training's epochs as if the drawn images were its validation split."""
    chance = np.random.default_rng(seed)
    history: list[EpochMetrics] = []
    for epoch, beliefs in zip(network.history[:epochs], network.beliefs, strict=False):
        seen = beliefs[drawn]
        progress = min(1.0, epoch.epoch / network.config.stopping.num_epochs)
        loss = float(network.config.loss.loss(seen, labels[drawn], progress))
        train_loss = epoch.train_loss * float(np.exp(noise * chance.standard_normal()))
        numbers = {name: float(value) for name, value in belief_metrics(seen).items()}
        losses = [before.train_loss for before in history]
        history.append(
            replace(
                epoch,
                train_loss=train_loss,
                validation_loss=loss,
                validation_error=float((seen.argmax(1) != labels[drawn]).float().mean()),
                health=epoch.health
                | {"class_loss": loss}
                | numbers
                | loss_metrics([*losses, train_loss]),
            )
        )
    return tuple(history)


def drawn_table(
    pool: dict[tuple[str, int], list[Trained]], labels: Tensor, place: int
) -> tuple[int, list[tuple[str, str]]]:
    """Return how many trainings a table has, and the alarms, each with the arm and the table."""
    chance = np.random.default_rng([56, place])
    length, num_train = int(chance.choice(LENGTHS)), int(chance.choice(TRAIN_IMAGES))
    num_validation, rarer = (
        int(chance.choice(VALIDATION_IMAGES)),
        float(chance.choice(CLASS_SHARES)),
    )
    weights = (1 - rarer) ** labels.double().numpy()
    images = chance.choice(len(labels), num_validation, p=weights / weights.sum())
    drawn = torch.from_numpy(images)
    num_seeds = int(chance.choice((1, 3, 5)))
    by_guessing = 1 - 1 / 10
    alarms: list[tuple[str, str]] = []
    num_trainings = 0
    for name in chance.choice(list(ARMS), int(chance.integers(2, 7))):
        healthy = [net for net in pool[name, num_train] if net.is_healthy(length, by_guessing)]
        for seed in range(num_seeds if healthy else 0):
            network = healthy[int(chance.integers(len(healthy)))]
            noise = 0.5 / num_train**0.5
            history = redrawn(network, labels, drawn, length, noise, 1000 * place + seed)
            num_trainings += 1
            case = (
                f"{name}, {num_train} to train, {length} epochs, {num_validation} images, {rarer}"
            )
            alarms += [
                (case, warning) for warning in warnings_of(network.config, labels[drawn], history)
            ]
    return num_trainings, alarms


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="tables")
    options = parser.parse_args()
    torch.set_num_threads(1)
    labels = Digits(validation_fraction=0.3).load("cpu").validation.labels
    pool = {
        (arm, size): [trained(arm, size, seed) for seed in range(SEEDS)]
        for arm, size in product(ARMS, TRAIN_IMAGES)
    }
    tables = [drawn_table(pool, labels, place) for place in range(options.draws)]
    with_alarm = [alarms for _, alarms in tables if alarms]
    rate = share(len(with_alarm), len(tables))
    print(f"{sum(number for number, _ in tables)} healthy trainings in {len(tables)} tables")
    print(f"tables with any alarm: {len(with_alarm)}, {rate.low:.4f} to {rate.high:.4f}")
    for alarms in with_alarm:
        print(*alarms[0], sep=": ")


if __name__ == "__main__":
    main()
