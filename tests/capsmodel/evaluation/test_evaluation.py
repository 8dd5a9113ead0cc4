"""Poses moved, couplings laid out, images chosen: of arrays, and of networks."""

import pytest
import torch

from capsmodel import Trained, Training
from capsmodel.evaluation import first_of_each_class, shares_of_children
from capsmodel.models import ChildGrid, ConvNet, MatrixCapsNet, perturbed
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import Couplings, Neighbourhood
from tests.capsmodel.small_config import small_config, small_model

IMAGES = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
CLASSES = torch.tensor([7, 0, 7])


def trained(**changes: object) -> Trained:
    return Training(small_config(**changes), seed=0).trained()


MATRIX = MatrixCapsNet(
    conv_channels=8,
    conv_stride=1,
    conv_kernel=3,
    primary_types=2,
    first_types=2,
    first_stride=1,
    second_types=3,
    pose_size=4,
    reconstruction=FullyConnectedDecoder(hidden=(8,)),
)


def test_one_number_of_a_pose_is_moved_at_a_time() -> None:
    poses = torch.arange(12.0).view(2, 2, 3)
    moved, repeated = perturbed(poses, torch.tensor([-0.5, 0.0]))
    assert repeated == 6
    assert moved.shape == (12, 2, 3)
    by_image = moved.view(2, 3, 2, 2, 3)
    for number in range(3):
        assert torch.equal(by_image[:, number, 1], poses)
        off = by_image[:, number, 0] - poses
        assert torch.equal(off[..., number], torch.full((2, 2), -0.5))
        assert off.count_nonzero() == 4


@pytest.mark.parametrize("is_by_type", [True, False])
def test_shares_lie_as_their_children_do(is_by_type: bool) -> None:
    grid = ChildGrid("capsules", types=2, rows=3, columns=4, is_by_type=is_by_type)
    values = torch.rand(24, 2, 5)
    shares = shares_of_children(
        Couplings(values, Neighbourhood()), grid, classes=torch.tensor([4, 1])
    )
    assert shares.shape == (2, 2, 3, 4)
    edge = (1 * 3 + 2) * 4 + 3 if is_by_type else (2 * 4 + 3) * 2 + 1
    assert shares[0, 1, 2, 3] == values[edge, 0, 4]
    assert shares[1, 1, 2, 3] == values[edge, 1, 1]


def test_the_first_images_of_each_class_are_chosen_then_the_next_that_is_wrong() -> None:
    labels = torch.tensor([0, 1, 0, 1, 0, 1, 0])
    predicted = torch.tensor([1, 1, 0, 1, 0, 1, 1])
    assert first_of_each_class(labels, predicted, 2, 3) == [
        [0, 2, 6],
        [1, 3, None],
        [None, None, None],
    ]


@pytest.mark.parametrize("model", [small_model(), MATRIX])
def test_a_pose_that_is_not_moved_draws_what_the_network_draws(model: object) -> None:
    network = trained(model=model)
    seen = network.inspect(IMAGES)
    winners = seen.outputs.lengths.argmax(dim=1)
    drawn = network.perturb(IMAGES, winners, (-0.25, 0.0, 0.25))
    assert drawn is not None
    assert seen.outputs.poses is not None
    assert drawn.shape == (3, seen.outputs.poses.shape[-1], 3, 1, 8, 8)
    expected = network.predict(IMAGES).reconstructions
    assert expected is not None
    for number in range(drawn.shape[1]):
        torch.testing.assert_close(drawn[:, number, 1], expected)
    assert not torch.equal(drawn[:, :, 0], drawn[:, :, 1])


def test_the_pose_of_the_class_that_is_asked_for_is_drawn() -> None:
    network = trained()
    images, next_images = (network.perturb(IMAGES, CLASSES - place, (0.0,)) for place in (0, -1))
    assert images is not None
    assert next_images is not None
    assert not torch.equal(images, next_images)


@pytest.mark.parametrize(
    "model",
    [
        small_model(reconstruction=NoReconstruction()),
        ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,)),
    ],
)
def test_a_network_without_a_decoder_draws_nothing(model: object) -> None:
    assert trained(model=model).perturb(IMAGES, CLASSES, (0.0,)) is None


@pytest.mark.parametrize("model", [small_model(), MATRIX])
def test_the_children_of_the_class_capsules_are_as_many_as_their_couplings(model: object) -> None:
    seen = trained(model=model).inspect(IMAGES)
    grid = seen.children
    assert grid is not None
    couplings = seen.outputs.couplings[grid.layer]
    assert couplings.values.shape == (grid.types * grid.rows * grid.columns, 3, 10)
    shares = shares_of_children(couplings, grid, CLASSES)
    assert shares.shape == (3, grid.types, grid.rows, grid.columns)


def test_primary_capsules_are_laid_out_by_type_as_their_convolution_is() -> None:
    """Dark the left half of an image: only children that see it change."""
    network = trained(model=small_model(routing={"kind": "dynamic", "iterations": 3}))
    dark = IMAGES.clone()
    dark[..., :2] = 0
    shares: list[torch.Tensor] = []
    for images in (IMAGES, dark):
        seen = network.inspect(images)
        assert seen.children is not None
        poses = network.inspect(images).outputs.couplings[seen.children.layer]
        shares.append(shares_of_children(poses, seen.children, CLASSES))
    change = (shares[0] - shares[1]).abs().mean(dim=(0, 1))
    assert change[:, 0].mean() > change[:, -1].mean()


def test_a_network_of_other_kind_has_no_children_and_no_couplings() -> None:
    seen = trained(model=ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,))).inspect(IMAGES)
    assert seen.children is None
    assert seen.outputs.couplings == {}


def test_images_are_inspected_as_the_network_is_given_them() -> None:
    augmentation = {"kind": "patches", "size": 6, "standardise": False}
    seen = trained(augmentation=augmentation).inspect(IMAGES)
    assert torch.equal(seen.images, IMAGES[..., 1:7, 1:7])


def test_more_images_than_a_batch_are_not_inspected() -> None:
    with pytest.raises(ValueError, match="At most 256 images are inspected at once, got 257"):
        trained().inspect(torch.zeros(257, 1, 8, 8))
