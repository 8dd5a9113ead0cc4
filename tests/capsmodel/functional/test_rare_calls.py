"""Calls that a user of the functions makes now and then, each of which once went wrong."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, jacfwd, jacrev, vmap

from capsmodel.functional import (
    dynamic_routing,
    em_routing,
    exponential_squash,
    leaky_routing,
    neighbourhood,
    plain_autograd,
    random_routing,
    squash,
    squash_with_epsilon,
)
from capsmodel.layers import CapsuleGrid, Capsules, ConvCapsules
from capsmodel.routing import ProductVotes, Routed
from tests.capsmodel.routing.routed import some_votes

SEEN = some_votes(2, 4).sigmoid()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@pytest.mark.parametrize(
    "route",
    [
        lambda votes: dynamic_routing(votes, gradient="last").activations,
        lambda votes: leaky_routing(votes, gradient="last").activations,
        lambda votes: em_routing(votes, SEEN, gradient="last").activations,
    ],
    ids=["dynamic", "leaky", "em"],
)
def test_forward_mode_too_goes_through_the_last_round_alone(
    route: Callable[[Tensor], Tensor],
) -> None:
    votes = some_votes(2, 4, 3, 2)
    with plain_autograd():
        torch.testing.assert_close(jacfwd(route)(votes), jacrev(route)(votes))


@pytest.mark.parametrize("routing", ["em", "dynamic"])
def test_a_first_call_inside_a_transform_leaves_nothing_behind(routing: str) -> None:
    neighbourhood._TABLES.clear()  # pyright: ignore[reportPrivateUsage]
    layer = ConvCapsules(2, 3, (4, 4), 2, routing=routing, pose=4)
    poses, seen = torch.rand(3, 16, 2, 4), torch.rand(3, 16, 2)

    def loss(weights: dict[str, Tensor], poses: Tensor, seen: Tensor) -> Tensor:
        grid = CapsuleGrid(poses.unsqueeze(0), seen.unsqueeze(0))
        return functional_call(layer, weights, (grid,)).activations.sum()

    weights = dict(layer.named_parameters())
    vmap(grad(loss), in_dims=(None, 0, 0))(weights, poses, seen)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        layer(CapsuleGrid(mode.from_tensor(poses), mode.from_tensor(seen)))
    routed = layer(CapsuleGrid(poses, seen))
    assert type(routed.poses) is Tensor
    routed.poses.sum().backward()


@pytest.mark.parametrize("route", [dynamic_routing, leaky_routing])
def test_autocast_ends_before_the_backward_pass(route: Callable[..., Routed]) -> None:
    votes = torch.rand(2, 5, 3, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        routed = route(votes, bias=torch.ones(3, 4), logits=torch.zeros(5, 3))
    routed.activations.sum().backward()
    assert votes.grad is not None
    assert bool(votes.grad.isfinite().all())


def test_a_bias_in_single_precision_goes_with_votes_in_half() -> None:
    routed = dynamic_routing(torch.rand(2, 5, 3, 4).bfloat16(), bias=torch.ones(3, 4))
    assert routed.poses.dtype == torch.bfloat16


def test_a_layer_is_mapped_with_its_couplings() -> None:
    routed = vmap(Capsules(4, 3, 2, 3))(torch.rand(2, 5, 4, 3))
    assert routed.poses.shape == (2, 5, 2, 3)
    assert routed.couplings.values.shape == (2, 4, 5, 2)


@pytest.mark.parametrize("routing", ["dynamic", "leaky", "uniform", "random", "em"])
def test_an_empty_batch_gives_an_empty_batch(routing: str) -> None:
    assert Capsules(5, 4, 3, 6, routing=routing)(torch.rand(0, 5, 4)).poses.shape == (0, 3, 6)


def test_shapes_are_told_on_the_meta_device() -> None:
    votes = torch.empty(2, 5, 3, 4, device="meta")
    assert em_routing(votes, votes[:, :, 0, 0]).poses.shape == (2, 3, 4)
    assert dynamic_routing(votes).poses.shape == (2, 3, 4)


def test_what_is_drawn_is_drawn_on_the_cpu_whatever_the_default_device() -> None:
    votes = torch.rand(2, 5, 3, 4)
    with torch.device("meta"):
        routed = random_routing(votes)
    assert not routed.poses.is_meta


@pytest.mark.parametrize(
    "make", [squash, lambda poses: squash_with_epsilon(poses, 1e-7), exponential_squash]
)
def test_a_long_pose_in_float16_is_believed(make: Callable[[Tensor], Tensor]) -> None:
    assert make(torch.tensor([[300.0, 0.0]]).half()).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"squash": exponential_squash}, {"logits": torch.ones(4, 3)}, {"gradient": "last"}],
    ids=["usual", "another squash", "logits", "last round"],
)
def test_all_rows_of_a_jacobian_may_be_made_at_once(
    options: dict[str, Any], create_graph: bool
) -> None:
    def poses(votes: Tensor) -> Tensor:
        return dynamic_routing(votes, **options).poses

    votes, jacobian = some_votes(2, 4, 3, 2), torch.autograd.functional.jacobian
    at_once = jacobian(poses, votes, create_graph=create_graph, vectorize=True)
    torch.testing.assert_close(at_once, jacobian(poses, votes))


def test_offsets_are_there_where_weights_were_assigned() -> None:
    offsets = torch.rand(9, 4)
    source = ConvCapsules(2, 3, (3, 3), "all", pose=4, offsets=offsets)
    with torch.device("meta"):
        layer = ConvCapsules(2, 3, (3, 3), "all", pose=4, offsets=offsets)
    layer.load_state_dict(source.state_dict(), assign=True)
    grid = CapsuleGrid(torch.rand(2, 9, 2, 4), torch.rand(2, 9, 2))
    assert torch.equal(layer(grid).poses, source(grid).poses)


def test_a_convolutional_layer_multiplies_its_votes_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[slice] = []
    multiplied = ProductVotes.multiplied

    def counted(votes: ProductVotes, sites: slice) -> Tensor:
        calls.append(sites)
        return multiplied(votes, sites)

    monkeypatch.setattr(ProductVotes, "multiplied", counted)
    layer = ConvCapsules(2, 3, (3, 3), 2, routing="dynamic", pose=4)
    layer(CapsuleGrid(torch.rand(2, 9, 2, 4), torch.rand(2, 9, 2)))
    assert len(calls) == 1
