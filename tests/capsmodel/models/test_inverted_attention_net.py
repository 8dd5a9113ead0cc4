"""The networks of inverted attention: sizes, concurrent updates, every routing, what is refused."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.testing import assert_close

from capsmodel.functional.votes import Routed
from capsmodel.layers import ConvCapsules
from capsmodel.models import InvertedAttentionNet
from capsmodel.models.inverted_attention_net import InvertedAttentionNetwork
from capsmodel.routing import ROUTINGS, DynamicRouting, InvertedAttentionRouting, Routing
from capsmodel.routing.inverted_attention import InvertedAttentionRouter
from capsmodel.settings.parts import kind_of
from capsmodel.torch_internals import replica_of
from tests.capsmodel.models.second_step_contract import (
    SecondStepContract,
    SecondStepValuesContract,
)

SMALL: dict[str, Any] = {"backbone": "simple", "channels": 4, "types": 3, "pose_size": 4}
CIFAR10, CIFAR100 = ((3, 32, 32), 10), ((3, 32, 32), 100)
LARGE = InvertedAttentionNet.cifar100()


@pytest.mark.parametrize(
    ("model", "data", "expected"),
    [
        (InvertedAttentionNet(), CIFAR10, 1_828_817),
        (LARGE, CIFAR100, 2_799_629),
        (InvertedAttentionNet(backbone="simple"), CIFAR10, 492_177),
        (LARGE.model_copy(update={"backbone": "simple"}), CIFAR100, 1_462_989),
    ],
    ids=["CIFAR-10", "CIFAR-100", "CIFAR-10, simple", "CIFAR-100, simple"],
)
def test_the_papers_networks_have_the_parameters_of_the_released_code(
    model: InvertedAttentionNet, data: tuple[tuple[int, int, int], int], expected: int
) -> None:
    with torch.device("meta"):
        built = model.build(*data)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


def images() -> Tensor:
    return torch.rand(2, 1, 15, 16, generator=torch.Generator().manual_seed(0)).double()


def built(**changes: Any) -> InvertedAttentionNetwork:
    network = InvertedAttentionNet(**(SMALL | changes)).build((1, 15, 16), 5).double()
    network.initialise(0)
    generator = torch.Generator().manual_seed(1)
    for name, parameter in network.named_parameters():
        if name.endswith(("scale", "shift")) or "pose_norm" in name:  # ones and zeros hide mistakes
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.data += 0.3 * drawn
    return network


def updated(layer: ConvCapsules, children: Tensor, before: Tensor | None) -> Tensor:
    """Return a layer's poses [images places types pose] by the paper's procedures 1 and 2.

    Args:
        layer: The layer.
        children: Poses [images rows columns types pose]; of one place for layers that see all.
        before: Its poses of the round before.
    """
    rows, columns = layer.out_size()
    kernel, step, side = layer.kernel_size, layer.stride, layer.rows
    assert isinstance(kernel, int)
    router = layer.router
    assert isinstance(router, InvertedAttentionRouter)
    places: list[Tensor] = []
    for place in range(rows * columns):
        top, left = step * (place // columns), step * (place % columns)
        window = children[:, top : top + kernel, left : left + kernel].flatten(1, 3)
        matrices = window.unflatten(2, (side, side))
        votes = torch.einsum("biac,icdj->bijad", matrices, layer.weight).flatten(3)
        shares = torch.full_like(votes[..., 0], 1 / layer.out_types)
        if before is not None:
            alike = (votes * before[:, place].unsqueeze(1)).sum(dim=3) / votes.shape[3] ** 0.5
            shares = alike.softmax(dim=2)
        sums = (shares.unsqueeze(3) * votes).sum(dim=1)
        places.append(F.layer_norm(sums, sums.shape[2:], router.scale, router.shift))
    return torch.stack(places, dim=1)


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("hidden", [0, 3], ids=["no hidden layer", "a hidden layer"])
def test_concurrent_updates_are_those_of_the_paper(iterations: int, hidden: int) -> None:
    network = built(hidden_capsules=hidden, routing=InvertedAttentionRouting(iterations=iterations))
    layers = list(network.layers.values())
    poses = network.primary(network.backbone(images())).poses

    def seen(place: int, below: Tensor) -> Tensor:
        layer = layers[place]
        if layer.kernel_size == 1:
            return below.flatten(1, 2)[:, None, None]
        return below.unflatten(1, layer.size)

    now: list[Tensor] = []
    for place, layer in enumerate(layers):
        now.append(updated(layer, seen(place, now[-1] if now else poses), None))
    for _ in range(iterations - 1):
        below = [poses, *now[:-1]]
        now = [
            updated(layer, seen(place, below[place]), now[place])
            for place, layer in enumerate(layers)
        ]
    router = layers[-1].get_submodule("router")
    assert isinstance(router, InvertedAttentionRouter)
    assert router.head is not None
    assert router.head_bias is not None
    logits = now[-1][:, 0] @ router.head + router.head_bias
    outputs = network(images())
    assert outputs.logits is not None
    assert_close(outputs.logits, logits, rtol=1e-12, atol=1e-12)
    assert_close(outputs.lengths, logits.softmax(dim=1), rtol=1e-12, atol=1e-12)


def test_one_round_is_the_same_however_layers_are_updated() -> None:
    once = InvertedAttentionRouting(iterations=1)
    together, in_turn = (
        built(routing=once, update=update)(images()) for update in ("concurrent", "sequential")
    )
    assert torch.equal(together.lengths, in_turn.lengths)


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_with_one_routed_layer_concurrent_updates_are_sequential_ones_to_the_bit(
    iterations: int,
) -> None:
    layer = ConvCapsules(
        3, 4, (5, 4), 3, routing=InvertedAttentionRouting(iterations=iterations), pose_dim=4
    )
    network = built()
    children = network.primary(network.backbone(images()))
    grid = type(children)(*(values[:, :20].float() for values in children))
    router, votes = layer.router, layer.votes(grid)
    assert isinstance(router, InvertedAttentionRouter)
    routed: Routed | None = None
    for _ in range(iterations):
        routed = router.after(routed.poses if routed else None, votes, 1)
    assert routed
    assert torch.equal(routed.poses, layer(grid).poses)


@pytest.mark.parametrize("update", ["concurrent", "sequential"])
def test_a_replica_reports_no_couplings_as_they_cannot_be_gathered(update: str) -> None:
    network = built(update=update)
    outputs = replica_of(network, network.state_dict())(images())
    assert not outputs.couplings
    assert_close(outputs.lengths, network(images()).lengths)


@pytest.mark.parametrize("update", ["concurrent", "sequential"])
def test_checkpointing_saves_memory_and_changes_no_gradient(update: str) -> None:
    network = built(update=update)
    saved: list[int] = []

    def pack(value: Tensor) -> Tensor:
        saved[-1] += value.numel()
        return value

    gradients: list[list[Tensor | None]] = []
    for network.checkpointing in (False, True):
        saved.append(0)
        network.zero_grad()
        with saved_tensors_hooks(pack, lambda value: value):
            outputs = network(images())
        outputs.lengths.square().sum().backward()
        gradients.append([parameter.grad for parameter in network.parameters()])
    assert saved[1] < 0.5 * saved[0]
    for plain, recomputed in zip(*gradients, strict=True):
        assert plain is not None
        assert recomputed is not None
        assert torch.equal(plain, recomputed)


def network_of(routing: type[Routing]) -> InvertedAttentionNet:
    is_concurrent = routing is InvertedAttentionRouting
    return InvertedAttentionNet(
        **SMALL,
        update="concurrent" if is_concurrent else "sequential",
        routing=routing.model_validate({}),
    )


ROUTED = {kind_of(one): network_of(one) for one in ROUTINGS if one.takes_grids}
ROUTED["inverted attention, sequential"] = InvertedAttentionNet(**SMALL, update="sequential")


class TestOwnRouting(SecondStepContract):
    @pytest.fixture
    def model(self) -> InvertedAttentionNet:
        return ROUTED["inverted_attention"]


class TestEachRouting(SecondStepValuesContract):
    @pytest.fixture(params=[name for name in ROUTED if name != "inverted_attention"])
    def model(self, request: pytest.FixtureRequest) -> InvertedAttentionNet:
        return ROUTED[request.param]


def test_the_official_profile_scrambles_patches_of_its_convolutional_layers_alone() -> None:
    true, official = built(), built(profile="official")
    official.load_state_dict(true.state_dict())
    assert official.settings.patches == "scrambled"
    assert not torch.equal(true(images()).lengths, official(images()).lengths)
    assert InvertedAttentionNet.of_profile("paper") == InvertedAttentionNet()


def test_only_inverted_attention_updates_all_layers_together() -> None:
    with pytest.raises(ValueError, match=r"got 'dynamic': set update='sequential'\."):
        InvertedAttentionNet(routing=DynamicRouting())


def test_a_routing_of_one_place_is_refused() -> None:
    model = InvertedAttentionNet.model_validate({"update": "sequential", "routing": "heinsen"})
    with pytest.raises(ValueError, match="The routing 'heinsen' is for layers of one place"):
        model.build(*CIFAR10)
