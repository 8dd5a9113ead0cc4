"""Convolutional capsules, against loops over places, edges and types."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from capsmodel.layers.capsule_grid import (
    CapsuleGrid,
    GridPrimaryCapsules,
    PrimaryStart,
    drop_capsules,
)
from capsmodel.layers.conv_capsules import ConvCapsules, MatrixStart, PoseKind, coordinate_offsets
from capsmodel.layers.convolution import Window

WINDOWS_OF_THE_PAPER = (Window(5, 2, 0), Window(3, 2, 0), Window(3, 1, 0))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def children(batch: int, places: int, types: int, pose: int) -> CapsuleGrid:
    poses = torch.randn(batch, places, types, pose, generator=seeded(), dtype=torch.float64)
    activations = torch.rand(batch, places, types, generator=seeded(1), dtype=torch.float64)
    return CapsuleGrid(poses, activations)


def layer(
    in_types: int, out_types: int, size: tuple[int, int], kernel: Any, **options: Any
) -> ConvCapsules:
    built = ConvCapsules(in_types, out_types, size, kernel, routing="uniform", **options).double()
    built.initialise(seeded(2))
    return built


def test_a_vote_is_the_childs_matrix_times_the_layers() -> None:
    capsules = layer(2, 3, (4, 5), 3)
    below = children(2, 20, 2, 16)
    votes = capsules.votes(below).values  # [sites edges out_caps pose]
    for image in range(2):
        for row in range(2):
            for column in range(3):
                site = image * 6 + row * 3 + column
                for edge in range(18):
                    window, kind = divmod(edge, 2)
                    place = (row + window // 3) * 5 + column + window % 3
                    pose = below.poses[image, place, kind].view(4, 4)
                    for out in range(3):
                        expected = pose @ capsules.weight[edge, :, :, out]
                        assert_close(votes[site, edge, out], expected.flatten())


def test_a_vector_is_one_row_and_its_matrix_is_full() -> None:
    capsules = layer(3, 4, (2, 2), 2, pose_kind="vector", pose_dim=6)
    assert capsules.weight.shape == (12, 6, 6, 4)
    below = children(2, 4, 3, 6)
    expected = torch.einsum("bpte,pteho->bptoh", below.poses, capsules.weight.view(4, 3, 6, 6, 4))
    assert_close(capsules.votes(below).values, expected.flatten(1, 2))


def test_matrices_of_the_classes_are_shared_and_places_told_apart_by_offsets() -> None:
    offsets = torch.arange(4.0).view(4, 1).expand(4, 16).double()
    capsules = layer(3, 5, (2, 2), "all", offsets=offsets)
    assert capsules.weight.shape == (3, 4, 4, 5)
    same = CapsuleGrid(
        children(2, 1, 3, 16).poses.expand(2, 4, 3, 16), torch.ones(2, 4, 3).double()
    )
    votes = capsules.votes(same).values.view(2, 4, 3, 5, 16)
    for place in range(4):
        assert_close(votes[:, place], votes[:, 0] + place)


def test_offsets_come_back_where_storage_is_made_anew_and_are_in_no_file() -> None:
    capsules = layer(3, 5, (2, 2), "all", pose_dim=4, offsets=torch.rand(4, 4))
    assert capsules.offsets is not None
    expected = capsules.offsets.clone()
    state = capsules.state_dict()
    assert "offsets" not in state
    with torch.no_grad():
        capsules.offsets.fill_(torch.nan)
    capsules.to_empty(device="cpu").load_state_dict(state)
    assert torch.equal(capsules.offsets, expected)
    with torch.no_grad():
        capsules.offsets.fill_(torch.nan)
    capsules.reset_parameters()
    assert torch.equal(capsules.offsets, expected)


def test_offsets_are_one_for_each_place() -> None:
    with pytest.raises(ValueError, match="one for each place that is seen, 4, got 3"):
        layer(3, 5, (2, 2), "all", pose_dim=4, offsets=torch.rand(3, 4))


def test_activations_go_the_way_of_their_poses() -> None:
    capsules = layer(2, 3, (3, 3), 2, pose_dim=4)
    below = children(2, 9, 2, 4)
    posed = CapsuleGrid(below.activations.unsqueeze(-1).repeat(1, 1, 1, 4), below.activations)
    votes = capsules.votes(posed)
    assert torch.equal(votes.poses[:, :, 0, 0], votes.activations)


def test_votes_multiplied_out_for_some_sites_are_those_of_all() -> None:
    capsules = layer(2, 3, (4, 4), 2, stride=2)
    votes = capsules.votes(children(3, 16, 2, 16))
    whole = votes.multiplied(slice(None))
    assert_close(votes.multiplied(slice(3, 7)), whole[:, 3:7])


def test_routed_capsules_are_children_of_the_next_layer() -> None:
    capsules = layer(2, 3, (5, 4), 3)
    routed = capsules(children(2, 20, 2, 16), seeded())
    grid = capsules.grid(routed)
    assert grid.poses.shape == (2, 6, 3, 16)
    assert torch.equal(grid.poses[1, 2], routed.poses[8])
    assert torch.equal(grid.activations[1, 2], routed.activations[8])


@pytest.mark.parametrize("at_identity", [True, False])
def test_matrices_begin_about_the_identity_or_zero(at_identity: bool) -> None:
    capsules = ConvCapsules(
        20, 20, (3, 3), 3, routing="dynamic", start=MatrixStart(0.1, at_identity)
    )
    capsules.initialise(seeded())
    mean = capsules.weight.mean(dim=(0, 3))
    assert_close(mean, torch.eye(4) if at_identity else torch.zeros(4, 4), atol=0.01, rtol=0)
    expected = 0.1 if at_identity else 0.088  # a truncated normal is narrower
    assert capsules.weight.std(dim=(0, 3)).sub(expected).abs().max() < 0.01


@pytest.mark.parametrize(("size", "kind"), [(12, "matrix"), (15, "matrix")])
def test_a_matrix_that_is_not_square_is_refused(size: int, kind: PoseKind) -> None:
    with pytest.raises(ValueError, match=f"A matrix pose is square, got {size} numbers"):
        layer(2, 2, (1, 1), 1, pose_kind=kind, pose_dim=size)


def test_constant_channels_become_the_poses_and_logits_of_their_types() -> None:
    primary = GridPrimaryCapsules(1, out_types=3, pose_dim=4, start=PrimaryStart(shift=1.0))
    torch.nn.init.zeros_(primary.convolution.weight)
    assert primary.convolution.bias is not None
    with torch.no_grad():
        primary.convolution.bias.copy_(torch.arange(15.0))  # channel c is c at every pixel
    grid = primary(torch.zeros(2, 1, 2, 3))
    assert_close(grid.poses, torch.arange(12.0).view(3, 4).expand(2, 6, 3, 4))
    logits = torch.tensor([11.0, 12.0, 13.0])
    assert_close(grid.activations, logits.sigmoid().expand(2, 6, 3))


def test_without_activations_a_poses_length_is_one() -> None:
    primary = GridPrimaryCapsules(2, 3, 4, PrimaryStart(), with_activations=False)
    primary.initialise(seeded())
    grid = primary(torch.randn(2, 2, 3, 3, generator=seeded()))
    assert primary.convolution.out_channels == 12
    assert_close(grid.activations, grid.poses.norm(dim=-1))
    assert grid.activations.max() < 1


def test_places_are_ordered_by_row_and_column() -> None:
    primary = GridPrimaryCapsules(1, 1, 1, PrimaryStart(has_bias=False))
    torch.nn.init.ones_(primary.convolution.weight)
    image = torch.arange(6.0).view(1, 1, 2, 3)
    assert torch.equal(primary(image).poses.flatten(), torch.arange(6.0))


def test_dropped_capsules_have_neither_pose_nor_activation() -> None:
    grid = drop_capsules(children(50, 4, 5, 3), 0.3, seeded())
    gone = grid.activations == 0
    assert 0.25 < gone.double().mean() < 0.35
    assert torch.equal(gone, (grid.poses == 0).all(dim=-1))
    undropped = children(50, 4, 5, 3)
    assert torch.equal(grid.poses[~gone], undropped.poses[~gone])


def test_coordinates_of_the_paper_go_to_the_right_hand_column() -> None:
    offsets = coordinate_offsets("paper", WINDOWS_OF_THE_PAPER, (32, 32), (4, 4))
    assert offsets is not None
    grid = offsets.view(4, 4, 16)
    assert_close(grid[:, 0, 3], torch.tensor([0.125, 0.375, 0.625, 0.875]))
    assert_close(grid[0, :, 7], torch.tensor([0.125, 0.375, 0.625, 0.875]))
    assert int((grid != 0).sum()) == 2 * 16


def test_coordinates_of_the_released_code_are_centres_in_pixels() -> None:
    offsets = coordinate_offsets("official", WINDOWS_OF_THE_PAPER, (32, 32), (4, 4))
    assert offsets is not None
    grid = offsets.view(4, 4, 16)
    assert_close(grid[:, 2, 0], torch.tensor([-0.08, -0.04, 0.0, 0.04]))
    assert_close(grid[2, :, 1], torch.tensor([-0.08, -0.04, 0.0, 0.04]))


def test_a_vector_takes_coordinates_in_its_first_two_numbers() -> None:
    offsets = coordinate_offsets("paper", (Window(1, 1, 0),), (2, 2), (1, 8))
    assert offsets is not None
    assert_close(
        offsets[:, :2], torch.tensor([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75] * 2])
    )
    assert not offsets[:, 2:].any()


def test_a_pose_too_small_for_coordinates_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a pose of at least 2 numbers, got 1"):
        coordinate_offsets("paper", (Window(1, 1, 0),), (2, 2), (1, 1))


def test_no_coordinates_add_nothing() -> None:
    assert coordinate_offsets("none", (), (2, 2), (4, 4)) is None
