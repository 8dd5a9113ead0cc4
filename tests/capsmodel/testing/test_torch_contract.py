"""Every layer, in every routing, and every model can be used as PyTorch's own modules can."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from capsmodel.functional import (
    dynamic_routing,
    em_routing,
    heinsen_routing,
    inverted_attention_routing,
    leaky_routing,
    random_routing,
    self_attention_routing,
    self_routing,
    uniform_routing,
    variational_bayes_routing,
)
from capsmodel.layers import (
    Backbone,
    CapsuleCell,
    CapsuleGrid,
    Capsules,
    Classifier,
    ConvCapsules,
    Convolution,
    ConvolutionStack,
    Decoder,
    GridPrimaryCapsules,
    HomogeneousCapsules,
    NormalisedStack,
    PreNormConvolution,
    PreNormPrimaryCapsules,
    PrimaryCapsules,
    ResidualBlock,
    RoutedGrid,
    Window,
)
from capsmodel.models import MODELS
from capsmodel.routing import (
    ROUTINGS,
    DynamicRouting,
    EMRouting,
    LeakyRouting,
    LearnedLogits,
    Routed,
    Routing,
)
from capsmodel.settings.parts import kind_of
from capsmodel.testing import TorchContract
from capsmodel.testing.torch_contract import TorchValuesContract
from tests.capsmodel.testing.test_model_contracts import SMALL

BATCH = 3

ROUTED: dict[str, Routing] = {
    **{kind_of(routing): routing() for routing in ROUTINGS},
    "leaky with everything": LeakyRouting(
        bias=True, gradient="last", initial_logits=LearnedLogits(), competition="types"
    ),
    "dynamic among children": DynamicRouting(competition="children"),
    "official em": EMRouting.of_profile("official"),
}
IN_GRIDS = [name for name, routing in ROUTED.items() if routing.takes_grids]
LEARNING = ["leaky with everything", "em", "self_routing", "heinsen"]
"""Routings with weights of their own, with which a layer keeps every law."""
NORMALISING = ["inverted_attention"]
"""Routings that normalise sums: where the numbers of a short pose hardly vary, the rounding of the
children's poses to half precision shows."""


def seen(votes: Tensor) -> Tensor:
    return votes.square().mean(dim=(2, 3)).sigmoid()


FUNCTIONS: dict[str, Callable[[Tensor], Routed]] = {
    "dynamic_routing": dynamic_routing,
    "leaky_routing": leaky_routing,
    "uniform_routing": uniform_routing,
    "random_routing": random_routing,
    "inverted_attention_routing": inverted_attention_routing,
    "self_routing": lambda votes: self_routing(votes, seen(votes), votes.sum(dim=3)),
    "heinsen_routing": lambda votes: heinsen_routing(votes, seen(votes)),
    "variational_bayes_routing": lambda votes: variational_bayes_routing(votes, seen(votes)),
    "self_attention_routing": self_attention_routing,
    "em_routing": lambda votes: em_routing(votes, seen(votes)),
}
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "primary capsules": (lambda: PrimaryCapsules(2, 2, 4, kernel_size=3, stride=2), (2, 7, 8)),
    "primary capsules of pixels": (
        lambda: PrimaryCapsules(2, 2, 4, kernel_size=3, grouping="pixels"),
        (2, 6, 6),
    ),
    "grid of primary capsules": (lambda: GridPrimaryCapsules(2, 3, 4), (2, 5, 4)),
    "convolution": (lambda: Convolution(2, 3, Window(3), batch_norm=True), (2, 5, 6)),
    "stack of convolutions": (lambda: ConvolutionStack((2, 3, 4), 3, 2), (2, 8, 8)),
    "normalised convolutions": (lambda: NormalisedStack((2, 3, 4), 3, (1, 2)), (2, 8, 8)),
    "normalised instances": (lambda: NormalisedStack((2, 3), 3, norm="instance"), (2, 8, 8)),
    "grid of normalised capsules": (
        lambda: GridPrimaryCapsules(2, 3, 4, window=Window(3, 1, 1), batch_norm=True),
        (2, 5, 4),
    ),
    "grid of capsules normalised by type": (
        lambda: GridPrimaryCapsules(2, 3, 4, type_norm=True),
        (2, 5, 4),
    ),
    "grid of normalised poses": (
        lambda: GridPrimaryCapsules(2, 3, 4, with_activations=False, pose_norm=True),
        (2, 5, 4),
    ),
    "convolution of normalised maps": (
        lambda: PreNormConvolution(2, 3, Window(3, 2)),
        (2, 7, 8),
    ),
    "grid of capsules of normalised maps": (lambda: PreNormPrimaryCapsules(2, 3, 4), (2, 5, 4)),
    "residual blocks": (
        lambda: Backbone([ResidualBlock(2, 4, 2), ResidualBlock(4, 3, shortcut="projected")]),
        (2, 6, 8),
    ),
    "cell of capsule maps": (
        lambda: CapsuleCell(2, 2, 3, RoutedGrid(2, 3, 2, 3, votes="scrambled")),
        (2, 5, 6),
    ),
    "homogeneous capsules": (lambda: HomogeneousCapsules(5, 3, 4), (5, 4)),
    "classifier": (lambda: Classifier(5, (4,), 3, 0.5), (5,)),
    "decoder": (lambda: Decoder(5, (4,), (1, 3, 3)), (5,)),
}


class OfGrid(nn.Module):
    """Convolutional capsules that take poses and activations as two tensors."""

    def __init__(self, routing: Routing, pose: int = 4) -> None:
        super().__init__()
        self.capsules = ConvCapsules(2, 3, (4, 5), 2, routing=routing, stride=1, pose_dim=pose)

    def forward(self, poses: Tensor, activations: Tensor) -> Routed:
        """Return the routed capsules."""
        return self.capsules(CapsuleGrid(poses, activations))


class OfVotes(nn.Module):
    """A module of a user's own that calls a routing function."""

    def __init__(self, route: Callable[[Tensor], Routed]) -> None:
        super().__init__()
        self.route = route
        self.matrices = nn.Parameter(torch.randn(6, 3, 4, 5))

    def forward(self, poses: Tensor) -> Routed:
        """Return the routed capsules."""
        return self.route(torch.einsum("bip,iopq->bioq", poses, self.matrices))


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def built(build: Callable[[], nn.Module]) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build()


class CapsulesFixtures:
    @pytest.fixture
    def module(self, routing: str) -> nn.Module:
        return built(lambda: Capsules(6, 4, 3, 5, routing=ROUTED[routing]))

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return (drawn(BATCH, 6, 4),)


class TestCapsules(CapsulesFixtures, TorchContract):
    @pytest.fixture(params=LEARNING)
    def routing(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestCapsulesInOtherRoutings(CapsulesFixtures, TorchValuesContract):
    @pytest.fixture(params=[name for name in ROUTED if name not in LEARNING])
    def routing(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestFunctions(TorchValuesContract):
    @pytest.fixture(params=FUNCTIONS)
    def module(self, request: pytest.FixtureRequest) -> nn.Module:
        return built(lambda: OfVotes(FUNCTIONS[request.param]))

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return (drawn(BATCH, 6, 4),)


class ConvCapsulesFixtures:
    @pytest.fixture
    def module(self, routing: str) -> nn.Module:
        return built(lambda: OfGrid(ROUTED[routing]))

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return drawn(BATCH, 20, 2, 4), drawn(BATCH, 20, 2, seed=2)


class TestConvCapsules(ConvCapsulesFixtures, TorchContract):
    @pytest.fixture(params=[name for name in IN_GRIDS if name in LEARNING])
    def routing(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestConvCapsulesInOtherRoutings(ConvCapsulesFixtures, TorchValuesContract):
    @pytest.fixture(params=[name for name in IN_GRIDS if name not in [*LEARNING, *NORMALISING]])
    def routing(self, request: pytest.FixtureRequest) -> str:
        return request.param


class TestNormalisingConvCapsules(TorchValuesContract):
    @pytest.fixture(params=NORMALISING)
    def module(self, request: pytest.FixtureRequest) -> nn.Module:
        return built(lambda: OfGrid(ROUTED[request.param], pose=16))

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return 4 * drawn(BATCH, 20, 2, 16) - 2, drawn(BATCH, 20, 2, seed=2)


class TestOtherLayers(TorchContract):
    @pytest.fixture(params=LAYERS)
    def name(self, request: pytest.FixtureRequest) -> str:
        return request.param

    @pytest.fixture
    def module(self, name: str) -> nn.Module:
        return built(LAYERS[name][0])

    @pytest.fixture
    def inputs(self, name: str) -> tuple[Tensor, ...]:
        return (drawn(BATCH, *LAYERS[name][1]),)


class TestModels(TorchContract):
    @pytest.fixture(params=MODELS, ids=kind_of)
    def module(self, request: pytest.FixtureRequest) -> nn.Module:
        settings = request.param(**SMALL[kind_of(request.param)])
        return built(lambda: settings.build((1, 14, 14), 3))

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return (drawn(BATCH, 1, 14, 14),)


COMPILED = (
    "TestCapsules and [em]",
    "TestFunctions and [dynamic_routing]",
    "TestConvCapsulesInOtherRoutings and [leaky]",
    "TestNormalisingConvCapsules",
    "TestOtherLayers and cell",
    "TestModels and [matrix_capsnet]",
)
"""One module of each class of tests here."""


@pytest.mark.slow
def test_one_of_each_family_passes_through_compilers() -> None:
    assert_compiled(" or ".join(f"({names})" for names in COMPILED), len(COMPILED))


@pytest.mark.slow
@pytest.mark.nightly
def test_every_one_passes_through_compilers() -> None:
    assert_compiled("Test", sum(map(len, (ROUTED, IN_GRIDS, FUNCTIONS, LAYERS, MODELS))))


def assert_compiled(names: str, num_modules: int) -> None:
    """Check the laws of compilers in a process where shapes are not checked."""
    laws = f"(compiled_as_one_graph or exported_for_batches) and ({names})"
    options = ["--noconftest", "-q", "-p", "no:cacheprovider", "-k", laws, __file__]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert f"{2 * num_modules} passed" in done.stdout
    assert "skipped" not in done.stdout
