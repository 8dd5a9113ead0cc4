"""Settings reproduce the squashes, the losses and the first weights of other implementations.

What they compute is written out in plain torch; docs/implementations.md says who computes it.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from capsmodel.functional import margin_loss, spread_loss, squash
from capsmodel.losses import MarginLoss
from capsmodel.models import CapsNet
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.squash import ExponentialSquash, SabourSquash, Squash
from tests.capsmodel.literal_forms import assert_same, with_gradient
from tests.capsmodel.routing.routed import seeded

SHORT = torch.tensor([[1e-4, 2e-4, -1e-4], [1e-3, 0.0, 0.0], [0.3, -0.4, 0.2]]).double()


@pytest.mark.parametrize("epsilon", [1e-7, 1e-9])
def test_the_epsilon_of_the_squash_stands_under_the_root(epsilon: float) -> None:
    def literal(sums: Tensor) -> Tensor:
        squares = sums.square().sum(-1, keepdim=True)
        return squares / (1 + squares) / (squares + epsilon).sqrt() * sums

    assert_same(SabourSquash(epsilon=epsilon).squash, literal, SHORT)
    relative = SabourSquash(epsilon=epsilon).squash(SHORT)[0] / squash(SHORT)[0]
    assert (1 - relative).min() > 1e-3


def test_an_epsilon_added_to_the_length_is_none_but_for_a_hundred_millionth() -> None:
    def literal(sums: Tensor) -> Tensor:
        length = sums.square().sum(-1, keepdim=True).sqrt()
        return length.square() / (1 + length.square()) / (length + 1e-8) * sums

    poses = SHORT * torch.logspace(-6, 3, 10).double().view(-1, 1, 1)
    squashed, own_gradient = with_gradient(SabourSquash().squash, poses)
    value, gradient = with_gradient(literal, poses)
    assert (squashed - value).norm(dim=-1).max() < 1e-8
    assert (own_gradient - gradient).abs().max() < 3e-8


def test_the_exponential_squash_is_that_of_efficient_capsules() -> None:
    def literal(sums: Tensor) -> Tensor:
        length = sums.square().sum(-1, keepdim=True).sqrt()
        return (1 - 1 / (length.exp() + 1e-20)) * sums / (length + 1e-20)

    exponential: Squash = ExponentialSquash()
    assert_same(exponential.squash, literal, 10 * SHORT[1:])
    assert (exponential.squash(SHORT) - squash(SHORT)).abs().max() > 0.01


@pytest.mark.parametrize(
    ("weight", "on_the_mean"), [(0.0005, 0.392), (0.392 / 784, 0.392), (0.0005 / 784, 0.0005)]
)
def test_a_weight_on_the_mean_of_the_pixels_is_one_on_their_sum(
    weight: float, on_the_mean: float
) -> None:
    images = torch.rand(3, 1, 28, 28, generator=seeded(1), dtype=torch.float64)
    drawn = torch.rand(3, 1, 28, 28, generator=seeded(2), dtype=torch.float64)
    decoder = FullyConnectedDecoder(weight=weight)
    assert_same(
        lambda drawn: decoder.penalty(drawn, images),
        lambda drawn: on_the_mean * (drawn - images).square().mean(),
        drawn,
    )
    assert FullyConnectedDecoder().weight == 0.0005


@pytest.mark.parametrize(
    ("init_scale", "deviation"), [(1.0, 0.1), (0.1, 0.01), (0.5, 0.05), (10, 1)]
)
def test_the_scale_of_the_matrices_is_ten_times_their_deviation(
    init_scale: float, deviation: float
) -> None:
    model = CapsNet(init_scale=init_scale, conv_channels=4).build((1, 28, 28), 10)
    model.initialise(0)
    weight = model.state_dict()["capsules.weight"]
    assert weight.std().item() == pytest.approx(deviation, rel=0.01)
    assert weight.abs().max() > 3 * deviation  # not cut


def test_losses_differ_from_others_by_a_factor_or_a_constant_alone() -> None:
    beliefs = torch.rand(4, 5, generator=seeded(1), dtype=torch.float64)
    labels = torch.tensor([0, 3, 4, 3])
    is_true = F.one_hot(labels, 5).double()

    def mean(beliefs: Tensor) -> Tensor:
        short, long = (0.9 - beliefs).relu().square(), (beliefs - 0.1).relu().square()
        return (is_true * short + 0.5 * (1 - is_true) * long).mean()

    def with_true_class(beliefs: Tensor) -> Tensor:
        lead = (is_true * beliefs).sum(1, keepdim=True) - beliefs
        return (0.4 - lead).relu().square().sum(1).mean()

    half = MarginLoss.of_profile("official")
    assert_same(lambda beliefs: 2 * half.loss(beliefs, labels, 0.0), mean, beliefs)
    images, drawn = torch.zeros(1, 1, 28, 28).double(), torch.full((1, 1, 28, 28), 0.3).double()
    penalty = FullyConnectedDecoder(weight=0.0005 / 784 / 2).penalty(drawn, images).item()
    assert 2 * penalty == pytest.approx(0.0005 * (drawn - images).square().mean().item())
    assert_same(lambda beliefs: margin_loss(beliefs, labels) / 5, mean, beliefs)
    assert_same(
        lambda beliefs: spread_loss(beliefs, labels, 0.4) + 0.4**2, with_true_class, beliefs
    )
