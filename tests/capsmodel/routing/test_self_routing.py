"""Self-routing is that of Hahn and others, and bears windows in which nothing is active."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import Routed, self_routing
from capsmodel.layers import CapsuleGrid, Capsules, ConvCapsules
from capsmodel.routing import Fan, GivenVotes, Neighbourhood, SelfRouting
from tests.capsmodel.routing.published_votes import (
    ACTIVATIONS,
    CASES,
    assert_alike,
    assert_golden,
    waves,
)
from tests.capsmodel.routing.routed import some_votes


def route_literally(
    votes: Tensor, activations: Tensor, logits: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Route image after image; return poses, activations and their logarithms."""
    batch, in_caps, out_caps, pose = votes.shape
    poses: list[Tensor] = []
    beliefs: list[Tensor] = []
    for b in range(batch):
        raised = [[logits[b, i, j].exp() for j in range(out_caps)] for i in range(in_caps)]
        shares = [[value / torch.stack(row).sum() for value in row] for row in raised]
        for j in range(out_caps):
            routed = [activations[b, i] * shares[i][j] for i in range(in_caps)]
            mass = torch.stack(routed).sum()
            means = [routed[i] / mass * votes[b, i, j] for i in range(in_caps)]
            poses.append(torch.stack(means).sum(dim=0))
            beliefs.append(mass / activations[b].sum())
    beliefs_of_all = torch.stack(beliefs).reshape(batch, out_caps)
    log_mass = activations.sum(dim=1, keepdim=True).log()
    return (
        torch.stack(poses).reshape(batch, out_caps, pose),
        beliefs_of_all,
        beliefs_of_all.log() + log_mass,
    )


def routed_by_functions(votes: Tensor, activations: Tensor, logits: Tensor) -> tuple[Tensor, ...]:
    routed = self_routing(votes, activations, logits)
    assert routed.logits is not None
    return routed.poses, routed.activations, routed.logits


@pytest.mark.parametrize("shape", CASES)
def test_it_equals_the_printed_formulae_and_so_do_its_gradients(shape: tuple[int, ...]) -> None:
    assert_alike(
        routed_by_functions,
        route_literally,
        some_votes(*shape),
        some_votes(*shape[:2]).sigmoid(),
        some_votes(*shape[:3]),
    )


def golden_routed() -> Routed:
    children, to_shares = waves(3, 4), torch.arange(24).double().cos().reshape(3, 2, 4)
    votes = torch.einsum("ijpc,ic->ijp", waves(3, 2, 4, 4), children)
    logits = torch.einsum("ijc,ic->ij", to_shares, children)
    return self_routing(votes.unsqueeze(0), ACTIVATIONS, logits.unsqueeze(0))


def test_it_has_the_values_of_the_released_code() -> None:
    routed = golden_routed()
    assert_golden(routed.activations, 0.3422488, 0.6577512)
    assert routed.couplings is not None
    shares = (0.21727377, 0.78272623, 0.96328952, 0.03671048, 0.02499841, 0.97500159)
    assert_golden(routed.couplings.values, *shares)
    first = (-1.37734895, 1.5154083, -0.60372499, -0.72616633)
    second = (-2.16956439, 1.70583622, -0.06045353, -1.62680609)
    assert_golden(routed.poses, *first, *second)


def test_activations_add_up_to_one_and_are_the_softmax_of_the_logits() -> None:
    routed = self_routing(some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid(), some_votes(2, 6, 3))
    assert routed.logits is not None
    assert_close(routed.activations.sum(dim=1), torch.ones(2).double())
    assert_close(routed.logits.softmax(dim=1), routed.activations)


def test_a_child_that_is_absent_has_no_effect() -> None:
    votes, logits = some_votes(2, 6, 3, 4), some_votes(2, 6, 3)
    activations = some_votes(2, 6).sigmoid()
    activations[:, 2] = 0
    others = [0, 1, 3, 4, 5]
    with_it = self_routing(votes, activations, logits)
    without = self_routing(votes[:, others], activations[:, others], logits[:, others])
    assert_close(with_it.poses, without.poses)
    assert_close(with_it.activations, without.activations)


@pytest.mark.parametrize("scale", [0.0, 1e-310])
def test_where_no_child_is_active_all_is_zero_and_gradients_are_finite(scale: float) -> None:
    inputs = [some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid(), some_votes(2, 6, 3)]
    inputs[1][0] *= scale
    for tensor in inputs:
        tensor.requires_grad_()
    routed = self_routing(*inputs)
    assert bool((routed.poses[0] == 0).all() and (routed.activations[0] == 0).all())
    assert bool((routed.activations[1] > 0).all())
    assert routed.logits is not None
    total = routed.poses.sum() + routed.activations.square().sum() + routed.logits.softmax(1).sum()
    for gradient in torch.autograd.grad(total, inputs):
        assert bool(gradient.isfinite().all())


def test_a_layer_reads_the_childrens_poses() -> None:
    capsules = Capsules(6, 4, 3, 5, routing="self_routing").double()
    router, poses = capsules.router, some_votes(2, 6, 4)
    assert isinstance(router.weight, Tensor)
    assert router.weight.shape == (6, 4, 3)
    assert bool((capsules(poses).couplings.values == 1 / 3).all())
    with torch.no_grad():
        router.weight.copy_(some_votes(6, 4, 3))
    logits = torch.einsum("bic,icj->bij", poses, router.weight)
    expected = self_routing(capsules.votes(poses), poses.norm(dim=-1), logits)
    assert_close(capsules(poses).poses, expected.poses)
    assert_close(capsules(poses).activations, expected.activations)


def test_a_convolutional_layer_has_as_many_values_as_the_released_one() -> None:
    layer = ConvCapsules(2, 3, (4, 4), 3, pose_dim=16, pose_kind="vector", routing="self_routing")
    assert sum(parameter.numel() for parameter in layer.router.parameters()) == 9 * 2 * 3 * (16 + 1)
    routed = layer(CapsuleGrid(torch.rand(2, 16, 2, 16), torch.rand(2, 16, 2)))
    assert routed.logits is None
    assert_close(routed.activations.sum(dim=1), torch.ones(8))


def test_votes_without_children_are_refused_in_one_sentence() -> None:
    votes = GivenVotes(torch.ones(6, 2), Neighbourhood(), torch.rand(2, 6, 3, 4))
    router = SelfRouting().build(Fan(6, 3, 4))
    with pytest.raises(ValueError, match=r"^The children's poses are unknown where votes"):
        router(votes)
