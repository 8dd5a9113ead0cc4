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
from capsmodel.routing import ROUTINGS, RandomRouting, Routed
from capsmodel.settings.parts import kind_of

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


GEOMETRIES = [
    pytest.param((4, 5), 3, 1, 0, id="plain"),
    pytest.param((4, 5), 3, 1, 1, id="padded"),
    pytest.param((5, 3), 2, 2, (0, 1), id="padded-columns"),
    pytest.param((2, 5), 3, 1, (1, 0), id="padded-rows-narrower-than-the-window"),
    pytest.param((5, 6), 3, 2, "same", id="same"),
    pytest.param((3, 4), 2, 1, "same", id="same-uneven"),
]


def margins(size: int, kernel: int, stride: int, padding: Any) -> tuple[int, int]:
    """Return the places before an axis and the number of windows along it."""
    if padding != "same":
        return padding, (size + 2 * padding - kernel) // stride + 1
    positions = -(-size // stride)
    return max((positions - 1) * stride + kernel - size, 0) // 2, positions


@pytest.mark.parametrize(("size", "kernel", "stride", "padding"), GEOMETRIES)
def test_a_vote_is_the_childs_matrix_times_the_layers(
    size: tuple[int, int], kernel: int, stride: int, padding: Any
) -> None:
    capsules = layer(2, 3, size, kernel, stride=stride, padding=padding)
    below = children(2, size[0] * size[1], 2, 16)
    votes = capsules.votes(below)
    values = votes.values  # [sites edges out_caps pose]
    pads = padding if isinstance(padding, tuple) else (padding, padding)
    (top, rows), (left, columns) = (
        margins(sides, kernel, stride, pad) for sides, pad in zip(size, pads, strict=True)
    )
    assert capsules.out_size() == (rows, columns)
    assert capsules.num_capsules() == 3 * rows * columns
    assert values.shape[:2] == (2 * rows * columns, 2 * kernel * kernel)
    for image in range(2):
        for row in range(rows):
            for column in range(columns):
                site = (image * rows + row) * columns + column
                for edge in range(2 * kernel * kernel):
                    window, kind = divmod(edge, 2)
                    y = row * stride + window // kernel - top
                    x = column * stride + window % kernel - left
                    if not (0 <= y < size[0] and 0 <= x < size[1]):
                        assert votes.activations[edge, site] == 0
                        assert not values[site, edge].any()
                        continue
                    child = image, y * size[1] + x, kind
                    assert votes.activations[edge, site] == below.activations[child]
                    for out in range(3):
                        expected = below.poses[child].view(4, 4) @ capsules.weight[edge, :, :, out]
                        assert_close(values[site, edge, out], expected.flatten())


@pytest.mark.parametrize("padding", [0, 1, (2, 0), "same"])
@pytest.mark.parametrize("size", [(5, 5), (3, 8)])
def test_it_has_the_places_of_pytorchs_convolution(size: tuple[int, int], padding: Any) -> None:
    plain = torch.nn.Conv2d(1, 1, 3, padding=padding, device="meta")
    expected = plain(torch.empty(1, 1, *size, device="meta")).shape[2:]
    assert layer(2, 3, size, 3, padding=padding).out_size() == tuple(expected)


@pytest.mark.parametrize(
    "routing",
    [
        kind_of(routing)
        for routing in ROUTINGS
        if routing.takes_grids and routing is not RandomRouting
    ],
)
def test_padding_is_absent_to_every_routing(routing: str) -> None:
    padded = ConvCapsules(2, 3, (1, 1), 3, routing=routing, padding=1, pose_dim=4).double()
    alone = ConvCapsules(2, 3, (1, 1), 1, routing=routing, pose_dim=4).double()
    learned = dict(padded.named_parameters())
    with torch.no_grad():
        for name, values in alone.named_parameters():
            middle = slice(8, 10) if len(learned[name]) == 18 else slice(None)
            values.copy_(learned[name][middle])
    below = children(3, 1, 2, 4)
    ours, theirs = padded(below), alone(below)
    assert_close(ours.poses, theirs.poses)
    assert_close(ours.activations, theirs.activations)


@pytest.mark.parametrize("options", [{}, {"padding": 1}, {"padding": "same", "stride": 2}])
@pytest.mark.parametrize("kernel", [3, "all"])
def test_a_call_may_be_of_other_sizes_than_the_layer_was_built_with(
    kernel: Any, options: dict[str, Any]
) -> None:
    if kernel == "all" and options:
        pytest.skip("all places are not padded")
    free = ConvCapsules(2, 3, (4, 5), kernel, routing="em", **options).double()
    built = ConvCapsules(2, 3, (6, 3), kernel, routing="em", **options).double()
    built.load_state_dict(free.state_dict())
    below = children(2, 18, 2, 16)
    ours, theirs = free(below, size=(6, 3)), built(below)
    assert torch.equal(ours.poses, theirs.poses)
    assert torch.equal(ours.activations, theirs.activations)
    assert free.out_size((6, 3)) == built.out_size()
    assert free.num_capsules((6, 3)) == built.num_capsules()
    assert torch.equal(free.grid(ours, size=(6, 3)).poses, built.grid(theirs).poses)
    routed = Routed(below.poses.flatten(0, 1), below.activations.flatten(0, 1))
    assert torch.equal(free(routed, size=(6, 3)).poses, theirs.poses)
    with pytest.raises(ValueError, match=r"poses must be of shape \[batch, places 20, types 2"):
        free(below)


@pytest.mark.parametrize(
    ("kernel", "padding", "sentence"),
    [
        (3, -1, "padding must be an integer at least 0, two of them, or 'same', got -1"),
        (3, (1, -1), r"padding must be an integer at least 0, two of them, or 'same', got \(1, -1"),
        ("all", 1, "kernel_size 'all' sees all places at once and pads none, got padding=1"),
    ],
)
def test_padding_that_cannot_be_is_refused(kernel: Any, padding: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        layer(2, 3, (4, 4), kernel, padding=padding)


def test_padding_stands_in_its_repr_where_there_is_some() -> None:
    assert "stride=1, padding=(1, 0), pose_dim" in repr(layer(2, 3, (4, 4), 3, padding=(1, 0)))
    assert "padding" not in repr(layer(2, 3, (4, 4), 3))


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


@pytest.mark.parametrize("kernel", [2, "all"])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_a_bias_is_added_to_the_votes_of_each_matrix(kernel: Any, *, shared: bool) -> None:
    capsules = layer(3, 5, (2, 4), kernel, pose_dim=4, bias=True, one_matrix=shared)
    num_matrices = 1 if shared else 3 if kernel == "all" else 12
    assert capsules.weight.shape == (num_matrices, 2, 2, 5)
    assert capsules.bias is not None
    assert capsules.bias.shape == (num_matrices, 4, 5)
    assert not capsules.bias.any()
    below = children(2, 8, 3, 4)
    without = capsules.votes(below).values
    edges = without.shape[1]
    matrices = capsules.weight.repeat(edges // num_matrices, 1, 1, 1)
    plain = layer(3 * 8 if kernel == "all" else 3, 5, (1, 1) if kernel == "all" else (2, 4),
                  1 if kernel == "all" else 2, pose_dim=4)  # fmt: skip
    plain.weight.data = matrices
    seen = CapsuleGrid(*(tensor.flatten(1, 2).unsqueeze(1) for tensor in below))
    assert_close(without, plain.votes(seen if kernel == "all" else below).values)
    capsules.bias.data = torch.randn(num_matrices, 4, 5, generator=seeded(3)).double()
    added = (capsules.votes(below).values - without).permute(0, 1, 3, 2)
    expected = capsules.bias.repeat(edges // num_matrices, 1, 1)
    assert_close(added, expected.expand(len(without), -1, -1, -1))
    assert "bias=True" in repr(capsules)
    assert ("one_matrix=True" in repr(capsules)) == shared


def test_scrambled_patches_are_those_of_the_released_code() -> None:
    true, scrambled = (
        ConvCapsules(2, 3, (5, 4), 3, pose_dim=4, patches=patches)
        for patches in ("true", "scrambled")
    )
    grid = children(2, 20, 2, 4)
    maps = grid.poses.unflatten(1, (5, 4))  # [batch, rows, columns, types, pose]
    windows = [maps[:, i : i + 3, j : j + 3] for i in range(3) for j in range(2)]
    stacked = torch.stack(windows, dim=-1)  # [batch, 3, 3, types, pose, places]
    seen = stacked.reshape(2, 3, 3, 2, 6, 4)  # as if it were [..., places, pose]
    expected = seen.permute(1, 2, 3, 0, 4, 5).reshape(18, 12, 2, 2)
    assert torch.equal(scrambled.votes(grid).poses, expected)
    assert not torch.equal(true.votes(grid).poses, expected)
    assert torch.equal(true.votes(grid).activations, scrambled.votes(grid).activations)


@pytest.mark.usefixtures("unchecked")
def test_patches_of_another_name_are_refused() -> None:
    with pytest.raises(ValueError, match="patches must be one of 'true', 'scrambled', got 'x'"):
        ConvCapsules(2, 3, (5, 4), 3, patches="x")  # pyright: ignore[reportArgumentType]


def test_a_bias_and_offsets_add_up() -> None:
    offsets = torch.rand(4, 4).double()
    capsules = layer(3, 5, (2, 2), "all", pose_dim=4, offsets=offsets, bias=True)
    assert capsules.bias is not None
    capsules.bias.data += 1
    without = layer(3, 5, (2, 2), "all", pose_dim=4, offsets=offsets)
    below = children(2, 4, 3, 4)
    assert_close(capsules.votes(below).values, without.votes(below).values + 1)


def test_children_that_share_their_matrices_may_be_of_any_number() -> None:
    capsules = ConvCapsules(
        3, 5, (2, 2), "all", routing="heinsen", pose_dim=4, bias=True, one_matrix=True
    ).double()
    assert {tuple(parameter.shape) for parameter in capsules.router.parameters()} == {(1, 5)}
    below = children(2, 6, 3, 4)
    assert capsules(below, size=(2, 3)).poses.shape == (2, 5, 4)


def test_matrices_about_zero_are_truncated_unless_it_says_not() -> None:
    starts = (MatrixStart(0.5, False), MatrixStart(0.5, False, is_truncated=False))
    largest, larger = (layer(20, 30, (1, 1), 1, start=start).weight.abs().max() for start in starts)
    assert largest <= 1 < larger


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
    votes_of_all = votes.multiplied(slice(None))
    assert_close(votes.multiplied(slice(3, 7)), votes_of_all[:, 3:7])


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
