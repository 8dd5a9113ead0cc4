"""A layer that is built has its weights, as PyTorch's own layers do."""

import inspect
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule
from capsmodel.layers import (
    Backbone,
    CapsuleCell,
    Capsules,
    Classifier,
    Convolution,
    ConvolutionStack,
    Decoder,
    HomogeneousCapsules,
    NormalisedStack,
    PreNormConvolution,
    PreNormPrimaryCapsules,
    PrimaryCapsules,
    ResidualBlock,
    RoutedGrid,
)
from capsmodel.layers.capsule_grid import CapsuleGrid, GridPrimaryCapsules, PrimaryStart
from capsmodel.layers.conv_capsules import ConvCapsules, MatrixStart
from capsmodel.layers.convolution import BatchNorm, Window
from capsmodel.routing import ROUTINGS, Routed, Routing
from capsmodel.settings.parts import kind_of

WINDOW = Window(3, 2, 0)


def conv_capsules(routing: type[Routing]) -> ConvCapsules:
    return ConvCapsules(2, 3, (4, 4), 2, routing=routing(), stride=2, pose_dim=4)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "primary capsules": lambda: PrimaryCapsules(2, out_types=2, pose_dim=3, kernel_size=3),
    "grid of primary capsules": lambda: GridPrimaryCapsules(2, 3, 4, PrimaryStart()),
    "grid of truncated ones": lambda: GridPrimaryCapsules(2, 3, 4, PrimaryStart(is_truncated=True)),
    "convolution": lambda: Convolution(2, 3, WINDOW, batch_norm=True),
    "stack of convolutions": lambda: ConvolutionStack((2, 3, 4), 3, 1),
    "classifier": lambda: Classifier(5, (4,), 3, 0.5),
    "homogeneous capsules": lambda: HomogeneousCapsules(6, 3, 4),
    "decoder": lambda: Decoder(5, (4,), (1, 3, 3)),
    "batch normalisation": lambda: BatchNorm(3),
    "normalised convolutions": lambda: NormalisedStack((2, 3, 4), 3),
    "normalised instances": lambda: NormalisedStack((2, 3, 4), 3, norm="instance"),
    "residual blocks": lambda: Backbone(
        [ResidualBlock(2, 3), ResidualBlock(3, 4, 2, shortcut="projected")]
    ),
    "grid of normalised capsules": lambda: GridPrimaryCapsules(2, 3, 4, batch_norm=True),
    "grid of normalised poses": lambda: GridPrimaryCapsules(
        2, 3, 4, with_activations=False, pose_norm=True
    ),
    "grid of capsules normalised by type": lambda: GridPrimaryCapsules(
        2, 3, 4, PrimaryStart(is_even=True), type_norm=True
    ),
    "matrices of each place": lambda: ConvCapsules(
        2, 3, (3, 4), "all", pose_dim=4, start=MatrixStart(is_even=True), shared=False
    ),
    "convolution of normalised maps": lambda: PreNormConvolution(2, 3, WINDOW),
    "grid of capsules of normalised maps": lambda: PreNormPrimaryCapsules(2, 3, 4),
    "capsules with shared matrices and biases": lambda: ConvCapsules(
        2, 3, (2, 2), "all", pose_dim=4, bias=True, one_matrix=True
    ),
    "cell of capsule maps": lambda: CapsuleCell(3, 2, 4, RoutedGrid(2, 4, 2, 4)),
    **{
        f"capsules, {kind_of(routing)}": lambda routing=routing: Capsules(
            6, 4, 3, 5, routing=routing()
        )
        for routing in ROUTINGS
    },
    **{
        f"convolutional capsules, {kind_of(one_routing)}": partial(conv_capsules, one_routing)
        for one_routing in ROUTINGS
        if one_routing.takes_grids
    },
}


def built(layer: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return layer()


def values(module: nn.Module) -> list[Tensor]:
    return list(module.state_dict().values())


@pytest.mark.parametrize("name", LAYERS)
def test_the_default_generator_decides_the_weights(name: str) -> None:
    first, repeated, other = (values(built(LAYERS[name], seed)) for seed in (0, 0, 1))
    assert all(bool(value.isfinite().all()) for value in first)
    assert all(map(torch.equal, first, repeated))
    assert name == "batch normalisation" or not all(map(torch.equal, first, other))


@pytest.mark.parametrize("name", LAYERS)
def test_they_are_set_again_by_reset_parameters(name: str) -> None:
    layer = built(LAYERS[name])
    assert isinstance(layer, InitialisedModule)
    with torch.no_grad():
        for value in values(layer):
            value.fill_(torch.nan)
    layer.reset_parameters()
    assert all(bool(value.isfinite().all()) for value in values(layer))


@pytest.mark.parametrize("name", LAYERS)
def test_on_the_meta_device_nothing_is_drawn(name: str) -> None:
    before = torch.get_rng_state()
    with torch.device("meta"):
        LAYERS[name]()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("routing", ROUTINGS, ids=kind_of)
def test_capsules_route_without_being_handed_a_generator(routing: type[Routing]) -> None:
    capsules = Capsules(6, 4, 3, 5, routing=routing())
    assert finite(capsules(torch.rand(2, 6, 4)))
    if not routing.takes_grids:
        return
    grid = CapsuleGrid(torch.rand(2, 16, 2, 4), torch.rand(2, 16, 2))
    assert finite(conv_capsules(routing)(grid))


def finite(routed: Routed) -> bool:
    return bool(routed.poses.isfinite().all() and routed.activations.isfinite().all())


def test_a_module_of_ones_own_is_set_when_its_constructor_has_ended() -> None:
    class Scale(InitialisedModule):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.empty(3))

        def initialise(self, generator: torch.Generator | None) -> None:
            nn.init.constant_(self.scale, 2.0)

    assert Scale().scale.tolist() == [2, 2, 2]


def test_the_signature_of_a_layer_is_that_of_its_constructor() -> None:
    signature = inspect.signature(Capsules)
    assert list(signature.parameters) == [
        "in_caps",
        "in_dim",
        "out_caps",
        "out_dim",
        "routing",
        "std",
        "shared",
        "device",
        "dtype",
    ]
    assert signature.parameters["routing"].default == "dynamic"
    assert inspect.signature(ConvCapsules).parameters["pose_dim"].default == 16
