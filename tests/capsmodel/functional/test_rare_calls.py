"""Calls that a user of the functions makes now and then, each of which once went wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, vmap
from torch.nn.parallel import scatter_gather

from capsmodel.functional import (
    Neighbourhood,
    constants,
    dynamic_routing,
    em_routing,
    exponential_squash,
    heinsen_routing,
    leaky_routing,
    lengths,
    margin_loss,
    plain_autograd,
    random_routing,
    squash,
    squash_with_epsilon,
    variational_bayes_routing,
)
from capsmodel.functional.sharing import Shares
from capsmodel.layers import CapsuleGrid, Capsules, ConvCapsules, PrimaryCapsules
from capsmodel.models import CapsNet, ConvNet, MatrixCapsNet, Model
from capsmodel.routing import EMRouting, ProductVotes, Routed
from capsmodel.squash import ExponentialSquash
from capsmodel.torch_internals import replica_of
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
    constants._KEPT.clear()  # pyright: ignore[reportPrivateUsage]
    layer = ConvCapsules(2, 3, (4, 4), 2, routing=routing, pose_dim=4)
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


@pytest.mark.parametrize("routing", [heinsen_routing, variational_bayes_routing, em_routing])
def test_an_empty_batch_has_a_gradient_of_its_shape(routing: Callable[..., Routed]) -> None:
    votes = torch.rand(0, 5, 3, 4, requires_grad=True)
    routing(votes, torch.rand(0, 5)).poses.sum().backward()
    assert votes.grad is not None
    assert votes.grad.shape == votes.shape


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
    source = ConvCapsules(2, 3, (3, 3), "all", pose_dim=4, offsets=offsets)
    with torch.device("meta"):
        layer = ConvCapsules(2, 3, (3, 3), "all", pose_dim=4, offsets=offsets)
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
    layer = ConvCapsules(2, 3, (3, 3), 2, routing="dynamic", pose_dim=4)
    layer(CapsuleGrid(torch.rand(2, 9, 2, 4), torch.rand(2, 9, 2)))
    assert len(calls) == 1


@pytest.mark.parametrize("route", [dynamic_routing, leaky_routing])
def test_a_learnable_inverse_temperature_of_one_has_a_gradient(
    route: Callable[..., Routed],
) -> None:
    temperature = torch.ones((), dtype=torch.float64, requires_grad=True)
    poses = route(some_votes(2, 4, 3, 2), inverse_temperature=lambda _: temperature).poses
    (gradient,) = torch.autograd.grad(poses.sum(), temperature)
    assert bool(gradient != 0)


@pytest.mark.parametrize(
    "make",
    [squash, lambda poses: squash_with_epsilon(poses, 1e-7), exponential_squash, lengths],
    ids=["squash", "with epsilon", "exponential", "lengths"],
)
def test_a_second_derivative_at_a_zero_pose_is_a_number(make: Callable[[Tensor], Tensor]) -> None:
    poses = torch.cat([torch.zeros(1, 4, dtype=torch.float64), some_votes(2, 4)]).requires_grad_()
    (gradient,) = torch.autograd.grad(make(poses).exp().sum(), poses, create_graph=True)
    (curvature,) = torch.autograd.grad(gradient.square().sum(), poses)
    assert bool(curvature.isfinite().all())
    assert torch.autograd.gradgradcheck(make, some_votes(2, 4).requires_grad_())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_lengths_and_their_gradients_are_those_of_pytorch_to_the_bit(dtype: torch.dtype) -> None:
    poses = torch.cat([torch.zeros(1, 8), torch.randn(50, 8)]).to(dtype).requires_grad_()
    ours, theirs = lengths(poses), torch.linalg.vector_norm(poses, dim=-1)
    slope = torch.randn(51).to(dtype)
    assert torch.equal(ours, theirs)
    of_ours, of_theirs = (torch.autograd.grad(routed, poses, slope)[0] for routed in (ours, theirs))
    assert torch.equal(of_ours, of_theirs)


def test_lengths_work_under_every_transform() -> None:
    poses = some_votes(3, 4)
    theirs = partial(torch.linalg.vector_norm, dim=-1)
    for transform in (jacfwd, jacrev, vmap, hessian, lambda made: vmap(jacrev(made))):
        torch.testing.assert_close(transform(lengths)(poses), transform(theirs)(poses))


@pytest.mark.parametrize("routing", ["dynamic", "leaky", "em"])
def test_second_derivatives_are_the_same_inside_hooks_on_saved_tensors(routing: str) -> None:
    layer = ConvCapsules(2, 3, (3, 3), 2, routing=routing, pose_dim=4)
    grid = CapsuleGrid(torch.rand(2, 9, 2, 4), torch.rand(2, 9, 2))

    def curvature() -> Tensor:
        (gradient,) = torch.autograd.grad(
            layer(grid).activations.sum(), layer.weight, create_graph=True
        )
        return torch.autograd.grad(gradient.square().sum(), layer.weight)[0]

    with torch.autograd.graph.save_on_cpu():
        hooked = curvature()
    torch.testing.assert_close(hooked, curvature())


@pytest.mark.parametrize("routing", ["dynamic", "leaky", "uniform", "em"])
def test_all_rows_of_a_convolutional_layer_may_be_made_at_once(routing: str) -> None:
    layer, seen = ConvCapsules(2, 3, (3, 3), 2, routing=routing, pose_dim=4), torch.rand(1, 9, 2)

    def poses(children: Tensor) -> Tensor:
        return layer(CapsuleGrid(children, seen)).poses

    children, jacobian = torch.rand(1, 9, 2, 4), torch.autograd.functional.jacobian
    at_once = jacobian(poses, children, vectorize=True)
    torch.testing.assert_close(at_once, jacobian(poses, children), atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("size", [1.0, 10.0])
@pytest.mark.parametrize("route", [dynamic_routing, leaky_routing])
def test_shares_in_half_precision_are_those_in_single(
    route: Callable[..., Routed], size: float
) -> None:
    shares = Shares(Neighbourhood(4, 4, 3, 1), with_leak=route is leaky_routing)
    logits = size * some_votes(4, 5, 9).bfloat16()
    exact = shares.of(logits.float())
    torch.testing.assert_close(shares.of(logits).float(), exact, atol=0, rtol=2**-8)


@pytest.mark.parametrize(
    ("votes", "seen"), [(torch.float64, torch.float32), (torch.float32, torch.bfloat16)]
)
def test_the_capsules_of_em_have_the_type_of_the_votes(
    votes: torch.dtype, seen: torch.dtype
) -> None:
    routed = em_routing(torch.rand(2, 4, 3, 4, dtype=votes), torch.rand(2, 4, dtype=seen))
    assert routed.poses.dtype == routed.activations.dtype == votes


@pytest.mark.parametrize(
    "model",
    [CapsNet(), CapsNet(primary_grouping="pixels"), CapsNet(routing=EMRouting()), MatrixCapsNet()],
    ids=["capsnet", "pixels", "em", "matrix"],
)
def test_a_network_takes_a_batch_of_no_images(model: Model) -> None:
    network = model.build((1, 28, 28), 10)
    assert network(torch.rand(0, 1, 28, 28)).lengths.shape == (0, 10)


@pytest.mark.parametrize(
    "model", [CapsNet(), MatrixCapsNet(), ConvNet()], ids=["capsnet", "matrix", "cnn"]
)
def test_the_outputs_of_replicas_are_gathered(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = model.build((1, 28, 28), 10).eval()
    images = torch.rand(4, 1, 28, 28)
    replicas = [replica_of(network, network.state_dict()) for _ in range(2)]
    # in the place of the copy to one GPU, all else of PyTorch's gathering being as it is
    monkeypatch.setattr(
        scatter_gather, "Gather", SimpleNamespace(apply=lambda _device, _axis, *o: torch.cat(o))
    )
    halves = [replica(half) for replica, half in zip(replicas, images.split(2), strict=True)]
    gathered = scatter_gather.gather(halves, 0)
    torch.testing.assert_close(gathered.lengths, network(images).lengths)


def test_the_squash_of_primary_capsules_may_be_a_function() -> None:
    layer = PrimaryCapsules(1, 2, 4, 3, squash=exponential_squash)
    same = PrimaryCapsules(1, 2, 4, 3, squash=ExponentialSquash())
    same.load_state_dict(layer.state_dict())
    images = torch.rand(2, 1, 5, 5)
    assert torch.equal(layer(images), same(images))


def test_another_convolution_may_take_the_place_of_the_primary_capsules_own() -> None:
    layer = PrimaryCapsules(1, 2, 4, 3, coupling="uniform", squash=lambda poses: poses)
    images = torch.rand(2, 1, 7, 7)
    for module in (
        nn.Conv2d(1, 8, 3, stride=2, dilation=2),
        nn.Conv2d(1, 8, 3, padding=1, padding_mode="reflect"),
        nn.Sequential(nn.Conv2d(1, 8, 3, bias=False)),
    ):
        layer.convolution = cast(nn.Conv2d, module)
        maps = module(images)
        bias = getattr(module, "bias", None)
        bias = torch.zeros(8, 1, 1) if bias is None else bias.view(8, 1, 1)
        expected = ((maps - bias) / 2 + bias).flatten(2).unflatten(1, (2, 4)).transpose(2, 3)
        torch.testing.assert_close(layer(images), expected.flatten(1, 2))


@pytest.mark.parametrize("several", [False, True])
def test_class_weights_may_be_a_tensor_and_must_be_one_for_each_class(several: bool) -> None:
    labels = torch.eye(3)[[0, 2]] if several else torch.tensor([0, 2])
    loss = partial(margin_loss, torch.rand(2, 3), labels)
    assert torch.equal(loss(class_weights=torch.arange(1.0, 4.0)), loss(class_weights=(1, 2, 3)))
    for wrong in ((1.0,) * 5, torch.ones(2)):
        with pytest.raises(ValueError, match=r"class_weights must be of shape \[classes 3\]"):
            loss(class_weights=wrong)
