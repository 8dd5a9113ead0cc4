import pytest
import torch
from torch import nn
from torch.testing import assert_close

from capsmodel.functional import squash
from capsmodel.layers import Capsules, Decoder, PrimaryCapsules
from capsmodel.layers.convolution import Window
from capsmodel.layers.primary_capsules import PrimaryShape
from capsmodel.routing import DynamicRouting, UniformRouting


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_primary_capsule_is_made_of_its_types_neighbouring_channels() -> None:
    primary = PrimaryCapsules(1, PrimaryShape(types=4, pose=8), Window(3, 2, 0))
    nn.init.zeros_(primary.convolution.weight)
    assert primary.convolution.bias is not None
    with torch.no_grad():
        primary.convolution.bias.copy_(torch.arange(32.0))  # channel c is c at every pixel
    poses = primary(torch.zeros(2, 1, 7, 9))
    expected = torch.arange(32.0).view(4, 1, 8).expand(-1, 3 * 4, -1).reshape(1, 48, 8)
    assert_close(poses, squash(expected).expand(2, -1, -1))


def test_primary_capsules_are_ordered_by_type_row_and_column() -> None:
    primary = PrimaryCapsules(1, PrimaryShape(types=2, pose=1), Window(1, 1, 0))
    nn.init.ones_(primary.convolution.weight)
    assert primary.convolution.bias is not None
    nn.init.zeros_(primary.convolution.bias)
    image = torch.arange(6.0).view(1, 1, 2, 3)
    expected = squash(image.view(1, 6, 1)).repeat(1, 2, 1)
    assert_close(primary(image), expected)


def test_votes_are_poses_times_the_pairs_own_matrices() -> None:
    capsules = Capsules((6, 3), (4, 5), UniformRouting())
    capsules.initialise(seeded())
    poses = torch.randn(2, 6, 3, generator=seeded(1))
    expected = torch.einsum("bip,ipod->biod", poses, capsules.weight.view(6, 3, 4, 5))
    assert_close(capsules.votes(poses), expected)


def test_votes_lie_in_memory_as_routings_read_them() -> None:
    capsules = Capsules((6, 3), (4, 5), UniformRouting())
    assert capsules.votes(torch.zeros(2, 6, 3)).transpose(1, 2).is_contiguous()


def test_capsules_have_no_bias() -> None:
    capsules = Capsules((6, 3), (4, 5), DynamicRouting())
    assert [name for name, _ in capsules.named_parameters()] == ["weight"]


def test_a_decoder_draws_values_between_zero_and_one() -> None:
    decoder = Decoder(8, (16,), (1, 3, 5))
    decoder.initialise(seeded())
    images = decoder(100 * torch.randn(4, 8, generator=seeded(1)))
    assert images.shape == (4, 1, 3, 5)
    assert 0 <= images.min() < 0.5 < images.max() <= 1


def test_a_window_counts_its_positions() -> None:
    assert Window(kernel=9, stride=1, padding=0).positions(28) == 20
    assert Window(kernel=9, stride=2, padding=0).positions(20) == 6
    assert Window(kernel=3, stride=2, padding=1).positions(8) == 4


def test_a_window_larger_than_its_axis_is_refused_with_the_largest_that_fits() -> None:
    with pytest.raises(ValueError, match="A kernel of 9 pixels does not fit 6 pixels padded by 1"):
        Window(kernel=9, stride=1, padding=1).positions(6)
