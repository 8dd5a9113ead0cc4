from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from capsmodel.functional import squash
from capsmodel.layers import Capsules, Convolution, Decoder, PrimaryCapsules
from capsmodel.layers.convolution import BatchNorm, Window
from capsmodel.routing import (
    DynamicRouting,
    EMRouting,
    GivenVotes,
    Neighbourhood,
    UniformRouting,
)
from capsmodel.squash import ExponentialSquash


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_primary_capsule_is_made_of_its_types_neighbouring_channels() -> None:
    primary = PrimaryCapsules(1, out_types=4, pose_dim=8, kernel_size=3, stride=2)
    nn.init.zeros_(primary.convolution.weight)
    assert primary.convolution.bias is not None
    with torch.no_grad():
        primary.convolution.bias.copy_(torch.arange(32.0))  # channel c is c at every pixel
    poses = primary(torch.zeros(2, 1, 7, 9))
    expected = torch.arange(32.0).view(4, 1, 8).expand(-1, 3 * 4, -1).reshape(1, 48, 8)
    assert_close(poses, squash(expected).expand(2, -1, -1))


def test_primary_capsules_are_ordered_by_type_row_and_column() -> None:
    primary = PrimaryCapsules(1, out_types=2, pose_dim=1, kernel_size=1)
    nn.init.ones_(primary.convolution.weight)
    assert primary.convolution.bias is not None
    nn.init.zeros_(primary.convolution.bias)
    image = torch.arange(6.0).view(1, 1, 2, 3)
    expected = squash(image.view(1, 6, 1)).repeat(1, 2, 1)
    assert_close(primary(image), expected)


@pytest.mark.parametrize(("coupling", "divisor"), [("none", 1), ("uniform", 4), ("leaky", 5)])
def test_primary_capsules_divide_their_convolution_but_not_its_bias(
    coupling: Any, divisor: int
) -> None:
    primary = PrimaryCapsules(
        2, 4, 3, kernel_size=3, stride=2, coupling=coupling, squash=ExponentialSquash()
    ).double()
    primary.initialise(seeded())
    nn.init.normal_(primary.convolution.bias, generator=seeded(1))
    images = torch.randn(2, 2, 7, 9, dtype=torch.float64, generator=seeded(2))
    maps = F.conv2d(images, primary.convolution.weight, stride=2) / divisor
    biased = maps + primary.convolution.bias.view(-1, 1, 1)
    expected = biased.view(2, 4, 3, -1).transpose(2, 3).flatten(1, 2)
    assert_close(primary(images), ExponentialSquash().squash(expected))


def test_votes_are_poses_times_the_pairs_own_matrices() -> None:
    capsules = Capsules(6, 3, 4, 5, routing=UniformRouting())
    capsules.initialise(seeded())
    poses = torch.randn(2, 6, 3, generator=seeded(1))
    expected = torch.einsum("bip,ipod->biod", poses, capsules.weight.view(6, 3, 4, 5))
    assert_close(capsules.votes(poses), expected)


def test_votes_lie_in_memory_as_routings_read_them() -> None:
    capsules = Capsules(6, 3, 4, 5, routing=UniformRouting())
    assert capsules.votes(torch.zeros(2, 6, 3)).transpose(1, 2).is_contiguous()


def test_capsules_have_no_bias() -> None:
    capsules = Capsules(6, 3, 4, 5, routing=DynamicRouting())
    assert [name for name, _ in capsules.named_parameters()] == ["weight"]


def test_matrices_begin_with_the_deviation_that_is_given() -> None:
    drawn = [Capsules(60, 8, 10, 16, routing=UniformRouting(), std=d) for d in (0.1, 0.3)]
    for capsules in drawn:
        capsules.initialise(seeded())
    assert drawn[0].weight.std().item() == pytest.approx(0.1, rel=0.02)
    assert_close(drawn[1].weight, 3 * drawn[0].weight)


def test_a_decoder_draws_values_between_zero_and_one() -> None:
    decoder = Decoder(8, (16,), (1, 3, 5))
    decoder.initialise(seeded())
    images = decoder(100 * torch.randn(4, 8, generator=seeded(1)))
    assert images.shape == (4, 1, 3, 5)
    assert 0 <= images.min() < 0.5 < images.max() <= 1


def test_a_window_counts_its_positions() -> None:
    assert Window(kernel_size=9, stride=1, padding=0).positions(28) == 20
    assert Window(kernel_size=9, stride=2, padding=0).positions(20) == 6
    assert Window(kernel_size=3, stride=2, padding=1).positions(8) == 4


def test_a_window_larger_than_its_axis_is_refused_with_the_largest_that_fits() -> None:
    with pytest.raises(ValueError, match="A kernel of 9 pixels does not fit 6 pixels padded by 1"):
        Window(kernel_size=9, stride=1, padding=1).positions(6)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "before", "after"),
    [(24, 9, 1, 4, 4), (24, 9, 2, 3, 4), (7, 3, 2, 1, 1), (8, 2, 1, 0, 1), (5, 1, 2, 0, 0)],
)
def test_a_window_of_same_padding_has_a_place_a_step_and_puts_the_odd_zero_behind(
    size: int, kernel: int, stride: int, before: int, after: int
) -> None:
    window = Window.of(kernel, stride, "same")
    assert window.positions(size) == -(-size // stride)
    image = torch.ones(1, 1, size, size + 1)
    padded = window.padded(image)
    assert padded.shape[2] == before + size + after
    assert torch.equal(padded[0, 0, before : before + size], padded[0, 0, before].expand(size, -1))
    assert padded[0, 0, :before].sum() == padded[0, 0, before + size :].sum() == 0
    assert window.convolution(1, 1)(padded).shape[2:] == (
        window.positions(size),
        window.positions(size + 1),
    )


def test_a_window_of_numbers_pads_by_itself() -> None:
    assert Window.of(3, 2, 1) == Window(3, 2, 1)
    image = torch.ones(1, 1, 4, 4)
    assert Window(3, 2, 1).padded(image) is image


def test_batch_normalisation_is_that_of_the_library() -> None:
    ours, theirs = BatchNorm(3).double(), nn.BatchNorm2d(3).double()
    ours.initialise(seeded())
    for step in range(3):
        maps = 2 * torch.randn(4, 3, 5, 5, dtype=torch.float64, generator=seeded(step)) + 1
        assert_close(ours(maps), theirs(maps))
    assert_close(ours.eval()(maps), theirs.eval()(maps))
    assert all(value.is_floating_point() for value in ours.state_dict().values())


def test_a_single_value_a_channel_is_normalised_by_the_running_statistics() -> None:
    norm = BatchNorm(2)
    norm.initialise(seeded())
    norm(torch.rand(3, 2, 4, 4, generator=seeded(1)))
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    single = torch.tensor([3.0, -1.0]).view(1, 2, 1, 1)
    actual = norm(single)
    mean, variance = before["running_mean"], before["running_variance"]
    expected = (single.flatten() - mean) / (variance + 1e-5).sqrt()
    assert_close(actual.flatten(), expected)
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())


def test_features_are_normalised_before_they_are_rectified() -> None:
    convolution = Convolution(1, 2, Window(3, 1, 0), batch_norm=True)
    convolution.initialise(seeded())
    features = convolution(torch.rand(50, 1, 8, 8, generator=seeded(1)))
    # half of what has mean zero is cut off
    assert (features == 0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    assert features.square().mean().item() == pytest.approx(0.5, abs=0.1)


def test_without_it_a_convolution_has_nothing_more() -> None:
    names = [name for name, _ in Convolution(1, 2, Window(3, 1, 0)).named_parameters()]
    assert names == ["convolution.weight", "convolution.bias"]


def test_a_routing_of_activations_is_told_the_same_votes() -> None:
    capsules = Capsules(6, 3, 4, 5, routing=EMRouting())
    capsules.initialise(seeded())
    poses = torch.randn(2, 6, 3, generator=seeded(1))
    votes = GivenVotes(poses.norm(dim=-1).t(), Neighbourhood(), capsules.votes(poses))
    for actual, expected in zip(
        capsules(poses, seeded())[:2], capsules.router(votes, None)[:2], strict=True
    ):
        assert_close(actual, expected)
