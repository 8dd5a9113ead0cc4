"""The bodies of the self-routing paper: sizes, a literal form, every routing, what is refused."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.layers import ConvCapsules
from capsmodel.models import SelfRoutingNet
from capsmodel.routing import ROUTINGS, DynamicRouting, EMRouting, Routing, SelfAttentionRouting
from capsmodel.settings.parts import kind_of
from capsmodel.testing.model_contract import ModelValuesContract
from tests.capsmodel.models.second_step_contract import (
    SecondStepContract,
    SecondStepValuesContract,
)

SMALL: dict[str, Any] = {"channels": 4, "types": 2, "pose_size": 4}
EM: dict[str, Any] = {"routing": EMRouting(), "pose_kind": "matrix"}
DYNAMIC: dict[str, Any] = {"routing": DynamicRouting()}
COLOUR, STEREO = ((3, 32, 32), 10), ((2, 32, 32), 5)
RESNET, CONV, SMALL_NORB = (
    SelfRoutingNet(),
    SelfRoutingNet.conv_net(),
    SelfRoutingNet.small_net(),
)


@pytest.mark.parametrize(
    ("model", "changes", "data", "expected"),
    [
        (RESNET, {}, COLOUR, 931_664),
        (RESNET, {"depth": 2}, COLOUR, 3_187_536),
        (RESNET, EM, COLOUR, 911_204),
        (RESNET, EM | {"depth": 2}, COLOUR, 813_988),
        (RESNET, DYNAMIC, COLOUR, 5_807_888),
        # without the code's normalisations that nothing passes through
        (RESNET, DYNAMIC | {"depth": 2}, COLOUR, 4_236_048 - 1_024),
        (RESNET, {"head": "average"}, COLOUR, 269_722),
        (RESNET, {"head": "max"}, COLOUR, 269_722),
        # without the code's bias before a normalisation
        (RESNET, {"head": "linear", "depth": 2}, COLOUR, 647_450 - 512),
        (CONV, {}, COLOUR, 858_768),
        (CONV, EM, COLOUR, 853_668),
        (CONV, DYNAMIC, COLOUR, 2_045_520),
        (CONV, {"head": "average"}, COLOUR, 145_242),
        (CONV, {"head": "linear"}, COLOUR, 816_730),
        (SMALL_NORB, {}, STEREO, 2_445_408),
        (SMALL_NORB, EM, STEREO, 1_850_442),
        (SMALL_NORB, DYNAMIC | {"primary_norm": False}, STEREO, 2_991_104),
    ],
)
def test_the_papers_networks_have_the_parameters_of_the_released_code(
    model: SelfRoutingNet,
    changes: dict[str, Any],
    data: tuple[tuple[int, int, int], int],
    expected: int,
) -> None:
    with torch.device("meta"):
        built = model.model_copy(update=changes).build(*data)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


def normalised(maps: Tensor, name: str, values: dict[str, Tensor]) -> Tensor:
    mean, variance = (
        maps.mean((0, 2, 3), keepdim=True),
        maps.var((0, 2, 3), keepdim=True, correction=0),
    )
    scale, shift = (values[f"{name}.{part}"].view(-1, 1, 1) for part in ("weight", "bias"))
    return (maps - mean) / (variance + 1e-5).sqrt() * scale + shift


def convolved(maps: Tensor, name: str, values: dict[str, Tensor], stride: int = 1) -> Tensor:
    weight = values[f"{name}.convolution.weight"]
    return normalised(F.conv2d(maps, weight, None, stride, 1), f"{name}.norm", values)


def residual_features(images: Tensor, values: dict[str, Tensor]) -> Tensor:
    """Return the features of ResNet-20 whose shortcuts are padded with zeros."""
    maps = convolved(images, "backbone.layers.0", values).relu()
    for block in range(1, 10):
        stride = 2 if block in {4, 7} else 1
        name = f"backbone.layers.{block}"
        inner = convolved(maps, f"{name}.first", values, stride).relu()
        inner = convolved(inner, f"{name}.second", values)
        if stride == 2:
            zeros = torch.zeros_like(maps[:, : maps.shape[1] // 2, ::2, ::2])
            maps = torch.cat([zeros, maps[:, :, ::2, ::2], zeros], dim=1)
        maps = (inner + maps).relu()
    return maps


def self_routed(
    poses: Tensor, beliefs: Tensor, router: tuple[Tensor, Tensor], matrices: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the parents' poses and beliefs at one place, of children [batch, children, pose]."""
    logits = torch.einsum("bip,ipj->bij", poses, router[0]) + router[1]
    routed = logits.softmax(dim=2) * beliefs.unsqueeze(2)
    mass = routed.sum(dim=1)
    if matrices is None:
        return poses, mass / beliefs.sum(dim=1, keepdim=True)
    votes = torch.einsum("bip,ipqj->bijq", poses, matrices)
    return (
        (routed.unsqueeze(3) * votes).sum(dim=1) / mass.unsqueeze(2),
        mass / beliefs.sum(dim=1, keepdim=True),
    )


def test_resnet_20_computes_what_the_released_code_does() -> None:
    images = torch.rand(3, 2, 10, 12, generator=torch.Generator().manual_seed(0)).double()
    built = SelfRoutingNet(**SMALL, depth=2).build((2, 10, 12), 3).double().train()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in built.named_parameters():
        if "router" in name or "norm" in name:  # zeros and ones hide mistakes
            parameter.data += 0.5 * torch.randn(
                parameter.shape, generator=generator, dtype=torch.float64
            )
    values = {name: value.detach() for name, value in built.named_parameters()}
    maps = convolved(residual_features(images, values), "primary", values)
    types, pose, (height, width) = 2, 4, maps.shape[2:]
    poses = maps[:, : types * pose].unflatten(1, (types, pose))
    beliefs = maps[:, types * pose :].sigmoid()
    router = values["capsules1.router.weight"], values["capsules1.router.bias"]
    parents: list[Tensor] = []
    parent_beliefs: list[Tensor] = []
    for row in range(0, height, 2):
        for column in range(0, width, 2):
            seen = [
                (row + i - 1, column + j - 1, (i * 3 + j) * types + type_)
                for i in range(3)
                for j in range(3)
                for type_ in range(types)
                if 0 <= row + i - 1 < height and 0 <= column + j - 1 < width
            ]
            edges = [edge for _, _, edge in seen]
            children = [poses[:, edge % types, :, y, x] for y, x, edge in seen]
            activations = [beliefs[:, edge % types, y, x] for y, x, edge in seen]
            routed, believed = self_routed(
                torch.stack(children, 1),
                torch.stack(activations, 1),
                (router[0][edges], router[1][edges]),
                values["capsules1.weight"][edges],
            )
            parents.append(routed)
            parent_beliefs.append(believed)
    grid = torch.stack(parents, 1)  # [batch places types pose]
    as_maps = grid.flatten(2).transpose(1, 2).unsqueeze(3)
    above = normalised(as_maps, "norm1", values).squeeze(3).transpose(1, 2)
    _, expected = self_routed(
        above.unflatten(2, (types, pose)).flatten(1, 2),
        torch.stack(parent_beliefs, 1).flatten(1),
        (values["classes.router.weight"], values["classes.router.bias"]),
        None,
    )
    outputs = built(images)
    assert_close(outputs.lengths, expected, rtol=1e-11, atol=1e-12)
    assert outputs.logits is not None
    assert_close(outputs.logits.softmax(1), expected)
    assert outputs.poses is None
    assert list(outputs.couplings) == ["capsules1", "classes"]


def routed(place: int, routing: type[Routing]) -> SelfRoutingNet:
    """Return a network with a routing; bodies and depths take turns."""
    kind = "matrix" if kind_of(routing) in {"em", "variational_bayes"} else "vector"
    return SelfRoutingNet(
        **SMALL,
        backbone=("small", "conv", "resnet20")[place % 3],  # pyright: ignore[reportArgumentType]
        depth=2 if routing.takes_grids else 1,
        pose_kind=kind,
        routing=routing.model_validate({}),
    )


ROUTED = {kind_of(routing): routed(place, routing) for place, routing in enumerate(ROUTINGS)}
HEADS = {
    "average": SelfRoutingNet(**SMALL, head="average", backbone="small"),
    "max": SelfRoutingNet(**SMALL, head="max", backbone="conv"),
    "linear": SelfRoutingNet(**SMALL, head="linear", depth=2),
}


class TestOwnRouting(SecondStepContract):
    @pytest.fixture
    def model(self) -> SelfRoutingNet:
        return ROUTED["self_routing"]


class TestEachRouting(SecondStepValuesContract):
    @pytest.fixture(params=[name for name in ROUTED if name != "self_routing"])
    def model(self, request: pytest.FixtureRequest) -> SelfRoutingNet:
        return ROUTED[request.param]


class TestEachHead(ModelValuesContract):
    @pytest.fixture(params=HEADS)
    def model(self, request: pytest.FixtureRequest) -> SelfRoutingNet:
        return HEADS[request.param]


def test_a_routing_of_one_place_takes_one_layer_of_capsules() -> None:
    with pytest.raises(ValueError, match="The routing 'self_attention' is for layers of one place"):
        SelfRoutingNet(depth=2, routing=SelfAttentionRouting()).build(*COLOUR)


def test_capsules_without_poses_need_a_routing_that_does_not_read_votes() -> None:
    with pytest.raises(ValueError, match="Capsules without poses need a routing whose"):
        ConvCapsules(2, 3, (1, 1), 1, routing="em", with_poses=False)
    layer = ConvCapsules(2, 3, (1, 1), 1, routing="self_routing", with_poses=False)
    assert set(layer.state_dict()) == {"router.weight", "router.bias"}


def test_the_children_of_the_classes_have_a_place_and_a_type() -> None:
    built = SelfRoutingNet(**SMALL, depth=2).build((2, 10, 18), 3)
    grid = built.child_grid()
    assert grid is not None
    assert (grid.types, grid.rows, grid.columns) == (2, 2, 3)
