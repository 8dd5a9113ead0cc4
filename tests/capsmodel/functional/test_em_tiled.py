from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import em_statistics as em_tiled
from capsmodel.functional.em_statistics import (
    Question,
    Statistics,
    plain_statistics,
    tiled_statistics,
)
from capsmodel.routing import (
    EMRouting,
    Neighbourhood,
    ProductVotes,
    RisingInverseTemperature,
)
from tests.capsmodel.routing.em_examples import (
    ONE_PLACE,
    STRIDE_1,
    STRIDE_2,
    Layer,
    gradients,
    results,
)
from tests.covering import covering

SHARP = RisingInverseTemperature(final=0.3)
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-4}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two or three sites of the examples, so that there are several tiles, the last one smaller.
    monkeypatch.setitem(em_tiled._TILE_BYTES, "cpu", 2**14)


def assert_same(routing: EMRouting, layer: Layer, tolerance: float) -> None:
    """Compare the votes as products with votes held in full, in values and gradients."""
    computed: list[list[Tensor]] = []
    for held_in_full in (False, True):
        differentiable = layer.with_gradient()
        routed = differentiable.route(routing, held_in_full=held_in_full)
        computed.append([*results(routed), *gradients(routed, differentiable)])
    for tiled, plain in zip(*computed, strict=True):
        assert (tiled - plain).norm() <= tolerance * plain.norm()


@pytest.mark.parametrize(
    ("competition", "of", "dtype", "momentum"),
    covering(["parents", "places", "types"], [STRIDE_1, STRIDE_2], TOLERANCES, [0.9, 1.0]),
)
def test_tiles_change_nothing_in_convolutions(
    competition: str, of: Neighbourhood, dtype: torch.dtype, momentum: float
) -> None:
    routing = EMRouting.model_validate(
        {
            "competition": competition,
            "centre_momentum": momentum,
            "inverse_temperature": SHARP,
        }
    )
    assert_same(routing, Layer.drawn(of, side=3).to(dtype), TOLERANCES[dtype])


@pytest.mark.parametrize(
    ("profile", "gradient", "dtype"),
    covering(["paper", "official", "normalised"], ["all", "last"], TOLERANCES),
)
def test_tiles_change_nothing_in_class_layers(
    profile: str, gradient: str, dtype: torch.dtype
) -> None:
    layer = Layer.drawn(ONE_PLACE, types=32, side=3, batch=5, offset=True)
    # As a layer of the classes makes them: the places of the children share their matrices.
    shared = layer._replace(
        matrices=layer.matrices[:4].repeat(8, 1, 1, 1), activation_bias=layer.activation_bias / 5000
    )
    routing = EMRouting.model_validate({"profile": profile, "gradient": gradient})
    assert_same(routing, shared.to(dtype), TOLERANCES[dtype])


def test_tiles_change_nothing_where_votes_for_each_parent_have_a_bias() -> None:
    layer = Layer.drawn(ONE_PLACE, types=32, side=3, batch=5, offset=True)
    edges, out_caps = len(layer.matrices), layer.matrices.shape[3]
    bias = torch.randn(edges, 9, out_caps, generator=torch.Generator().manual_seed(3)).double()
    assert_same(EMRouting(), layer._replace(offsets=bias), 1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_tiles_change_nothing_in_any_iteration(iterations: int) -> None:
    routing = EMRouting(iterations=iterations, inverse_temperature=SHARP)
    assert_same(routing, Layer.drawn(STRIDE_1), 1e-12)


@pytest.mark.parametrize("tile", [1, 2**13, 2**30])
def test_the_size_of_the_tiles_does_not_matter(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(em_tiled._TILE_BYTES, "cpu", tile)
    assert_same(EMRouting(), Layer.drawn(STRIDE_2), 1e-12)


def test_children_that_are_not_there_change_nothing_of_that() -> None:
    layer = Layer.drawn(STRIDE_1)
    layer.activations[0] = 0
    layer.activations[1, 3] = 0
    assert_same(EMRouting(centre_momentum=0.9), layer, 1e-12)


class Asked:
    """A question to the smallest votes of which each part matters."""

    def __init__(self, *, narrow: bool, momentum: float, with_distances: bool) -> None:
        layer = Layer.drawn(Neighbourhood(2, 3, 2, 1), types=1, out_caps=2, batch=1, offset=True)
        votes = layer.products()
        edges, sites = votes.activations.shape
        chance = torch.Generator().manual_seed(1)
        double = torch.float64
        shares = torch.rand(edges, sites, 1 if narrow else 2, generator=chance, dtype=double)
        previous = torch.randn(sites, 4, 2, generator=chance, dtype=double)
        self.votes, self.question = votes, (momentum, 0.1, with_distances)
        self.inputs: list[Tensor] = [
            tensor.detach().requires_grad_()
            for tensor in (votes.poses, votes.matrices, votes.offsets, votes.activations, shares)
            if tensor is not None
        ]
        if momentum < 1:
            self.inputs.append(previous.requires_grad_())

    def answer(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            gradient
            for gradient in self.statistics(tiled_statistics, *inputs)
            if gradient is not None
        )

    def statistics(self, of: Any, *inputs: Tensor) -> Statistics:
        poses, matrices, offsets, activations, shares, *previous = inputs
        votes = ProductVotes(activations, self.votes.neighbourhood, poses, matrices, offsets)
        return of(votes, Question(shares, previous[0] if previous else None, *self.question))


ASKED = pytest.mark.parametrize(
    "asked",
    [
        Asked(narrow=narrow, momentum=momentum, with_distances=with_distances)
        for narrow, momentum in ((True, 1.0), (False, 1.0), (False, 0.7))
        for with_distances in (True, False)
    ],
)


@ASKED
def test_the_gradient_written_by_hand_is_that_of_the_values(asked: Asked) -> None:
    assert torch.autograd.gradcheck(asked.answer, asked.inputs, fast_mode=True)


@ASKED
def test_the_statistics_are_those_of_votes_held_in_full(asked: Asked) -> None:
    tiled, plain = (
        asked.statistics(of, *asked.inputs) for of in (tiled_statistics, plain_statistics)
    )
    for actual, expected in zip(tiled, plain, strict=True):
        assert_close(actual, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("needed", ["poses", "activations", "matrices", "activation_bias"])
def test_one_gradient_alone_is_the_same_as_among_all(needed: str) -> None:
    layer = Layer.drawn(STRIDE_1)
    differentiable = layer._replace(**{needed: getattr(layer, needed).clone().requires_grad_()})
    (alone,) = torch.autograd.grad(
        differentiable.route(EMRouting()).activations.sum(), getattr(differentiable, needed)
    )
    every = layer.with_gradient()
    (among,) = torch.autograd.grad(
        every.route(EMRouting()).activations.sum(), getattr(every, needed)
    )
    assert_close(alone, among)


@pytest.mark.parametrize("held_in_full", [False, True])
def test_nothing_as_large_as_the_votes_is_kept_of_products(held_in_full: bool) -> None:
    layer = Layer.drawn(STRIDE_1, side=4).with_gradient()
    num_votes = layer.products().values.numel()
    saved_sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        saved_sizes[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        routed = layer.route(EMRouting(), held_in_full=held_in_full)
    assert routed.poses.requires_grad
    assert (sum(saved_sizes.values()) > num_votes) == held_in_full


def test_without_gradients_the_values_are_the_same() -> None:
    layer = Layer.drawn(STRIDE_2)
    with torch.no_grad():
        without = layer.route(EMRouting())
    assert torch.equal(without.poses, layer.with_gradient().route(EMRouting()).poses)
