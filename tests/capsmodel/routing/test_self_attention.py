"""Routing by self-attention is that of Efficient-CapsNet."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import self_attention_routing
from capsmodel.layers import Capsules
from capsmodel.routing import SelfAttentionRouting
from tests.capsmodel.routing.published_votes import CASES, VOTES, assert_alike, assert_golden
from tests.capsmodel.routing.routed import some_votes


def route_literally(votes: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return poses and shares of the printed equations, with every product of two votes."""
    batch, in_caps, out_caps, pose = votes.shape
    poses: list[Tensor] = []
    shares: list[Tensor] = []
    for image in votes:
        for i in range(in_caps):
            logits = [
                torch.stack([image[i, j] @ image[k, j] for k in range(in_caps)]).sum()
                for j in range(out_caps)
            ]
            raised = torch.stack(logits).div(math.sqrt(pose)).exp()
            shares.append(raised / raised.sum() + bias[i])
        for j in range(out_caps):
            weighted = [
                share[j] * vote for share, vote in zip(shares[-in_caps:], image[:, j], strict=True)
            ]
            total = torch.stack(weighted).sum(dim=0)
            length = total.dot(total).sqrt()
            poses.append((1 - (-length).exp()) * total / length)
    by_image = torch.stack(shares).reshape(batch, in_caps, out_caps)
    return torch.stack(poses).reshape(batch, out_caps, pose), by_image


@pytest.mark.parametrize("shape", CASES)
def test_it_equals_the_printed_equations_and_so_do_its_gradients(shape: tuple[int, ...]) -> None:
    bias = 0.3 * some_votes(*shape[1:3])
    assert_alike(
        lambda votes, bias: tuple(self_attention_routing(votes, bias=bias)[:2]),
        lambda votes, bias: (poses := route_literally(votes, bias)[0], poses.norm(dim=-1)),
        some_votes(*shape),
        bias,
    )


def test_it_has_the_values_of_the_released_code() -> None:
    routed = self_attention_routing(VOTES)
    first = (0.29113757, 0.08179453, -0.20275003, -0.30088714)
    second = (-0.17367243, 0.05632839, 0.23454116, 0.19711786)
    assert_golden(routed.poses, *first, *second)
    assert routed.couplings is not None
    shares = (0.46085304, 0.53914696, 0.55086985, 0.44913015, 0.52435343, 0.47564657)
    assert_golden(routed.couplings.values, *shares)


def test_with_a_bias_it_has_the_values_of_the_released_code() -> None:
    bias = 0.1 * torch.arange(6).double().reshape(3, 2)
    first = (0.29945058, -0.12023707, -0.42937931, -0.3437522)
    second = (0.00352538, 0.36236638, 0.3880494, 0.05696159)
    assert_golden(self_attention_routing(VOTES, bias=bias).poses, *first, *second)


def test_opposite_votes_give_opposite_poses_and_the_same_shares() -> None:
    votes = some_votes(2, 6, 3, 4)
    routed, opposite = self_attention_routing(votes), self_attention_routing(-votes)
    assert_close(opposite.poses, -routed.poses)
    assert routed.couplings is not None
    assert opposite.couplings is not None
    assert_close(opposite.couplings.values, routed.couplings.values)
    assert_close(routed.couplings.values.sum(dim=2), torch.ones(6, 2).double())


def test_children_in_pairs_are_not_one_child_each() -> None:
    # where shares were a mean over the children, twice the children would be twice the sum
    votes = some_votes(1, 3, 2, 4)
    twice = self_attention_routing(votes.repeat(1, 2, 1, 1)).couplings
    once = self_attention_routing(votes).couplings
    assert once is not None
    assert twice is not None
    assert not torch.allclose(twice.values[:3], once.values)


def test_a_layer_learns_the_shares_biases() -> None:
    capsules = Capsules(16, 8, 10, 16, routing="self_attention")
    assert isinstance(capsules.router.bias, Tensor)
    assert capsules.router.bias.shape == (16, 10)
    assert sum(parameter.numel() for parameter in capsules.parameters()) == 16 * 8 * 160 + 160
    plain = Capsules(16, 8, 10, 16, routing=SelfAttentionRouting(bias=False))
    assert plain.router.bias is None
    plain.load_state_dict(capsules.state_dict(), strict=False)
    poses = some_votes(2, 16, 8).float()
    assert_close(plain(poses).poses, capsules(poses).poses)
    capsules(poses).activations.sum().backward()
    assert bool((capsules.router.bias.grad != 0).all())
