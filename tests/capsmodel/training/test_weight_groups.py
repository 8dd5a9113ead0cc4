"""Frozen weights, rates of their own, clipped gradients, and batches in parts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from capsmodel import Training, TrainingConfig
from capsmodel.augmentation import NoAugmentation
from capsmodel.models import ConvNet
from capsmodel.optimisers import SGD, Adam
from tests.capsmodel.small_config import small_config

Weights = dict[str, Tensor]


def config(**changes: Any) -> TrainingConfig:
    model = ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,), dropout=0.0)
    settings: dict[str, Any] = {"model": model, "loss": "cross_entropy"}
    return small_config(**(settings | changes))


def weights_at(epochs: int, settings: TrainingConfig) -> Weights:
    training = Training(settings, 0)
    for _ in range(epochs):
        next(iter(training))
    return {n: w.detach().clone() for n, w in training.trained().network.named_parameters()}


def moved(before: Weights, after: Weights) -> set[str]:
    return {name.partition(".")[0] for name in before if not torch.equal(before[name], after[name])}


def test_frozen_layers_stay_as_they_start() -> None:
    start, end = weights_at(0, config()), weights_at(1, config(frozen=["convolutions"]))
    assert moved(start, end) == {"classifier"}


def test_a_factor_of_the_rate_is_that_of_its_layers_alone() -> None:
    """With plain gradient descent, one step of a tenth of the rate moves a tenth as far."""
    settings = config(optimiser=SGD(learning_rate=0.1, momentum=0.0), batch_size=2000)
    slow = settings.model_copy(update={"rate_factors": (("convolutions", 0.1),)})
    start, plain, slowed = weights_at(0, settings), weights_at(1, settings), weights_at(1, slow)
    for name, at_start in start.items():
        factor = 0.1 if name.startswith("convolutions") else 1.0
        steps = [weights[name] - at_start for weights in (plain, slowed)]
        torch.testing.assert_close(steps[1], factor * steps[0], rtol=1e-4, atol=1e-7)


def test_groups_go_on_from_a_checkpoint_bit_for_bit(tmp_path: Path) -> None:
    settings = config(
        optimiser=Adam(learning_rate=1e-2),
        rate_factors=[("classifier", 3.0), ("convolutions", 0.1)],
        clip_norm=0.5,
        accumulation=3,
    )
    begun = Training(settings, 0)
    next(iter(begun))
    begun.save(tmp_path / "checkpoint")
    resumed = Training.restore(tmp_path / "checkpoint", settings, 0)
    whole = [metrics.validation_loss for metrics in Training(settings, 0)]
    assert [metrics.validation_loss for metrics in resumed] == whole[1:]


def test_a_long_gradient_is_scaled_down_before_the_step() -> None:
    settings = config(optimiser=SGD(learning_rate=1.0, momentum=0.0), batch_size=2000)
    start = weights_at(0, settings)
    clipped = weights_at(1, settings.model_copy(update={"clip_norm": 1e-3}))
    step = torch.cat([(clipped[name] - value).flatten() for name, value in start.items()])
    assert float(step.norm()) == pytest.approx(1e-3, rel=1e-3)


def test_a_batch_in_parts_has_the_gradient_of_the_whole() -> None:
    settings = config(optimiser=SGD(learning_rate=0.1, momentum=0.0), augmentation=NoAugmentation())
    parted = settings.model_copy(update={"accumulation": 3})
    whole, parts = weights_at(1, settings), weights_at(1, parted)
    for name, value in whole.items():
        torch.testing.assert_close(parts[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"frozen": ["convolution"]}, r"frozen names 'convolution', .* Did you mean 'convolutions"),
        ({"frozen": ["convolutions", "classifier"]}, r"No weight of the network is trained"),
        ({"rate_factors": [("head", 2.0)]}, r"rate_factors names 'head', which is no layer"),
        (
            {"rate_factors": [("classifier", 2.0)], "frozen": ["classifier"]},
            r"rate_factors names 'classifier', whose weights are all frozen",
        ),
        ({"clip_norm": 0.0}, r"clip_norm must be a number above 0, got 0\.0"),
        ({"accumulation": 0}, r"accumulation must be an integer at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Training(config(**changes), 0)


def test_a_network_may_freeze_layers_itself() -> None:
    from capsmodel import model

    @model
    class Partly(nn.Module):
        def __init__(self, num_classes: int) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(64, 16), nn.Linear(16, num_classes)
            self.body.requires_grad_(requires_grad=False)

        def forward(self, images: Tensor) -> Tensor:
            return self.head(self.body(images.flatten(1)).tanh())

    training = Training(small_config(model=Partly(), loss="cross_entropy"), 0)
    next(iter(training))
    assert training.without_gradient() == training.without_optimiser() == []
    assert training.warnings() == ()
