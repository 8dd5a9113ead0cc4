"""Votes that are multiplied out a few sites at a time, beside votes that are held in full."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from capsmodel.functional import agreement, agreement_rounds, plain_autograd
from capsmodel.layers import Capsules
from capsmodel.routing import DynamicRouting, LeakyRouting, Routing
from capsmodel.routing.agreement import LearnedLogits
from capsmodel.testing import TorchContract
from tests.capsmodel.routing.routed import some_votes

BATCH, IN_CAPS = 7, 5  # tiles of 2, 2 and 3 sites
ROUTINGS: dict[str, Routing] = {
    "dynamic": DynamicRouting(),
    "with a bias": DynamicRouting(bias=True),
    "two rounds": DynamicRouting(iterations=2),
    "five rounds": DynamicRouting(iterations=5, bias=True),
    "of children": DynamicRouting(competition="children"),
    "of types": DynamicRouting(competition="types", bias=True),
    "leaky": LeakyRouting(bias=True),
}
OTHERS: dict[str, Routing] = {
    "one round": DynamicRouting(iterations=1),
    "the last round": DynamicRouting(gradient="last"),
    "learned logits": DynamicRouting(initial_logits=LearnedLogits()),
}


@pytest.fixture(autouse=True)
def tiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make tiles of two or three sites or edges, and return the sites of each routing in tiles."""
    made: list[int] = []
    in_tiles = agreement.rounds_in_tiles

    def counted(votes: Any, *others: Any) -> Any:
        made.append(len(votes.poses))
        return in_tiles(votes, *others)

    monkeypatch.setattr(agreement_rounds, "_TILE_BYTES", 1)
    monkeypatch.setattr(agreement, "rounds_in_tiles", counted)
    return made


def layer(routing: Routing, dtype: torch.dtype = torch.float64) -> Capsules:
    capsules = Capsules(IN_CAPS, 3, 4, 6, routing=routing, std=1.0, dtype=dtype)
    capsules.initialise(torch.Generator().manual_seed(0))
    return capsules


def some_poses(dtype: torch.dtype = torch.float64) -> Tensor:
    return some_votes(BATCH, IN_CAPS, 3).to(dtype).requires_grad_()


def results(capsules: Capsules, poses: Tensor) -> list[Tensor]:
    """Return values and gradients."""
    routed = capsules(poses)
    assert routed.couplings is not None
    slope = some_votes(*routed.poses.shape).to(routed.poses)
    total = (routed.poses * slope).sum() + routed.activations.square().sum()
    gradients = torch.autograd.grad(total, (poses, *capsules.parameters()))
    return [routed.poses, routed.activations, routed.couplings.values, *gradients]


def held_in_full(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> Any:
    """Return the result of a function whose votes are not tiled."""
    with monkeypatch.context() as patch:
        patch.setattr(agreement_rounds, "_TILE_BYTES", 2**30)
        return make()


@pytest.mark.parametrize("name", ROUTINGS)
def test_values_and_gradients_are_those_of_automatic_differentiation(
    name: str, tiles: list[int]
) -> None:
    capsules, poses = layer(ROUTINGS[name]), some_poses()
    with plain_autograd():
        expected = results(capsules, poses)
    assert tiles == []
    for tiled, plain in zip(results(capsules, poses), expected, strict=True):
        assert (tiled - plain).norm() <= 1e-12 * plain.norm()
    assert tiles == [BATCH]


def test_values_and_gradients_are_those_of_the_formulas_as_written() -> None:
    capsules, poses = layer(DynamicRouting()), some_poses()
    votes = torch.einsum("bik,ikod->biod", poses, capsules.weight.unflatten(2, (4, 6)))
    logits, squashed = votes.new_zeros(votes.shape[:3]), votes
    for _ in range(3):
        sums = (logits.softmax(dim=2).unsqueeze(-1) * votes).sum(dim=1)
        squared = sums.square().sum(dim=-1, keepdim=True)
        squashed = squared / (1 + squared) * sums / squared.sqrt()
        logits = logits + (votes * squashed.unsqueeze(1)).sum(dim=-1)
    of = (poses, capsules.weight)
    expected = (squashed, *torch.autograd.grad(squashed.sin().sum(), of))
    actual = capsules(poses).poses
    actual = (actual, *torch.autograd.grad(actual.sin().sum(), of))
    for tiled, literal in zip(actual, expected, strict=True):
        assert (tiled - literal).norm() <= 1e-12 * literal.norm()


@pytest.mark.parametrize("name", ROUTINGS)
def test_in_single_precision_they_are_close_to_votes_held_in_full(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    capsules, poses = layer(ROUTINGS[name], torch.float32), some_poses(torch.float32)
    expected = held_in_full(monkeypatch, lambda: results(capsules, poses))
    assert_close(results(capsules, poses), expected)


@pytest.mark.parametrize("name", ["with a bias", "leaky"])
def test_second_derivatives_are_right(name: str) -> None:
    capsules = layer(ROUTINGS[name])

    def routed(poses: Tensor, weight: Tensor) -> Tensor:
        parameters = {"weight": weight}
        return torch.func.functional_call(capsules, parameters, (poses,)).poses

    inputs = (some_poses(), capsules.weight.detach().clone().requires_grad_())
    assert torch.autograd.gradcheck(routed, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(routed, inputs, fast_mode=True)


@pytest.mark.parametrize("wanted", ["poses", "weight", "router.bias"])
def test_each_gradient_may_be_asked_for_alone(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    capsules, poses = layer(DynamicRouting(bias=True)), some_poses()
    leaves = {"poses": poses, **dict(capsules.named_parameters())}
    for name, leaf in leaves.items():
        leaf.requires_grad_(name == wanted)

    def gradient() -> Tensor:
        return torch.autograd.grad(capsules(poses).poses.square().sum(), leaves[wanted])[0]

    assert_close(gradient(), held_in_full(monkeypatch, gradient))


def test_all_rows_of_a_jacobian_may_be_made_at_once() -> None:
    capsules, jacobian = layer(DynamicRouting()), torch.autograd.functional.jacobian

    def poses(children: Tensor) -> Tensor:
        return capsules(children).poses

    children = some_poses().detach()
    assert_close(jacobian(poses, children, vectorize=True), jacobian(poses, children))


def test_without_gradients_the_values_are_the_same() -> None:
    capsules, poses = layer(DynamicRouting()), some_poses()
    expected = capsules(poses).poses
    with torch.no_grad():
        assert torch.equal(capsules(poses).poses, expected)
    with torch.inference_mode():
        assert torch.equal(capsules(poses).poses, expected)


def test_checkpointing_changes_nothing() -> None:
    capsules, poses = layer(DynamicRouting(bias=True)), some_poses()
    expected = torch.autograd.grad(capsules(poses).poses.square().sum(), poses)[0]

    def of_poses(children: Tensor) -> Tensor:
        return capsules(children).poses

    again: Any = checkpoint(of_poses, poses, use_reentrant=False)
    assert torch.equal(torch.autograd.grad(again.square().sum(), poses)[0], expected)


@pytest.mark.parametrize("name", OTHERS)
def test_other_rounds_hold_their_votes_in_full(name: str, tiles: list[int]) -> None:
    layer(OTHERS[name])(some_poses())
    assert tiles == []


@pytest.mark.parametrize(
    "route",
    [
        lambda: Capsules(IN_CAPS, 3, 4, 6, shared=True)(torch.rand(BATCH, IN_CAPS, 3)),
        lambda: Capsules(IN_CAPS, 3, 4, 6).bfloat16()(torch.rand(BATCH, IN_CAPS, 3).bfloat16()),
        lambda: Capsules(IN_CAPS, 3, 4, 6)(torch.rand(0, IN_CAPS, 3)),
    ],
)
def test_other_votes_are_held_in_full(route: Callable[[], Any], tiles: list[int]) -> None:
    route()
    assert tiles == []


def test_under_autocast_votes_are_held_in_full(tiles: list[int]) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        Capsules(IN_CAPS, 3, 4, 6)(torch.rand(BATCH, IN_CAPS, 3))
    assert tiles == []


@pytest.mark.parametrize(
    ("length", "least", "lengths"), [(7, 2, [2, 2, 3]), (3, 2, [3]), (8, 4, [4, 4]), (1, 2, [1])]
)
def test_slices_are_as_alike_as_can_be(length: int, least: int, lengths: list[int]) -> None:
    slices = agreement_rounds.alike_slices(length, least)
    assert [each.stop - each.start for each in slices] == lengths
    assert [place for each in slices for place in range(length)[each]] == list(range(length))


class TestInTiles(TorchContract):
    @pytest.fixture
    def module(self) -> nn.Module:
        return layer(DynamicRouting(bias=True), torch.float32)

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        return (some_poses(torch.float32).detach(),)
