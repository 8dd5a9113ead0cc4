"""The rounds whose gradient is known as a whole, and those that are differentiated one by one."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import (
    agreement,
    dynamic_routing,
    exponential_squash,
    leaky_routing,
    plain_autograd,
    squash,
)
from capsmodel.layers import Capsules
from capsmodel.routing import DynamicRouting
from capsmodel.squash import SabourSquash
from tests.capsmodel.routing.routed import some_votes

VOTES = some_votes(2, 4, 3, 5)


def gradient(votes: Tensor, **options: Any) -> Tensor:
    leaf = votes.clone().requires_grad_()
    routed = dynamic_routing(leaf, 3, **options)
    slope = some_votes(*routed.poses.shape).to(votes)
    return torch.autograd.grad((routed.poses * slope).sum(), leaf)[0]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the rounds of each routing that is differentiated as a whole."""
    made: list[int] = []
    at_once = agreement.rounds_at_once

    def counted(*inputs: Any) -> Any:
        rounds = at_once(*inputs)
        made.append(len(rounds.sums))
        return rounds

    monkeypatch.setattr(agreement, "rounds_at_once", counted)
    return made


@pytest.mark.parametrize(
    "route",
    [
        lambda: dynamic_routing(VOTES, 3),
        lambda: leaky_routing(VOTES, 3, bias=torch.ones(3, 5)),
        lambda: dynamic_routing(VOTES.float(), 3, competition="types"),
        lambda: Capsules(4, 2, 3, 5)(torch.rand(2, 4, 2)),
        lambda: Capsules(4, 2, 3, 5, routing="leaky")(torch.rand(2, 4, 2)),
        lambda: Capsules(4, 2, 3, 5, routing=DynamicRouting(bias=True))(torch.rand(2, 4, 2)),
    ],
)
def test_the_usual_rounds_are_differentiated_as_a_whole(
    calls: list[int], route: Callable[[], Any]
) -> None:
    route()
    assert calls == [3]


@pytest.mark.parametrize(
    "route",
    [
        lambda: dynamic_routing(VOTES, 1),
        lambda: dynamic_routing(VOTES, 3, gradient="last"),
        lambda: dynamic_routing(VOTES, 3, logits=torch.ones(4, 3)),
        lambda: dynamic_routing(VOTES, 3, squash=exponential_squash),
        lambda: dynamic_routing(VOTES, 3, inverse_temperature=lambda _: 2.0),
        lambda: dynamic_routing(VOTES.half(), 3),
        lambda: dynamic_routing(VOTES.bfloat16(), 3),
        lambda: Capsules(4, 2, 3, 5, routing=DynamicRouting(squash=SabourSquash(epsilon=1e-7)))(
            torch.rand(2, 4, 2)
        ),
    ],
)
def test_others_are_differentiated_one_by_one(calls: list[int], route: Callable[[], Any]) -> None:
    route()
    assert calls == []


class Half(SabourSquash):
    """A squash of one's own that derives from another."""

    kind: Literal["half"] = "half"  # pyright: ignore[reportIncompatibleVariableOverride]

    def squash(self, poses: Tensor) -> Tensor:
        return poses / 2


def test_a_squash_that_derives_from_the_papers_is_taken_as_it_is() -> None:
    assert torch.equal(Half().function(VOTES), VOTES / 2)
    assert SabourSquash().function is squash


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_is_computed_in_the_votes_own_type(create_graph: bool) -> None:
    def slope() -> Tensor:
        leaf = VOTES.float().requires_grad_()
        poses = dynamic_routing(leaf, 3).poses
        return torch.autograd.grad(poses.square().sum(), leaf, create_graph=create_graph)[0]

    expected = slope()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = slope()
    assert_close(actual, expected)


def test_the_values_are_those_of_plain_rounds_to_the_last_bit() -> None:
    with plain_autograd():
        plain = dynamic_routing(VOTES.float(), 3)
    routed = dynamic_routing(VOTES.float(), 3)
    assert torch.equal(routed.poses, plain.poses)
    assert routed.couplings
    assert plain.couplings
    assert torch.equal(routed.couplings.values, plain.couplings.values)


def test_where_votes_cancel_the_gradient_is_that_of_plain_rounds() -> None:
    votes = VOTES.clone()
    votes[:, 2:] = -votes[:, :2]  # so every sum of the first round is zero
    votes[0] = 0.0
    actual = gradient(votes)
    with plain_autograd():
        assert_close(actual, gradient(votes))
    assert (actual[0] == 0).all()


@pytest.mark.parametrize("length", [1e-12, 1e-3, 1e3, 1e12])
def test_the_gradient_holds_at_any_length(length: float) -> None:
    votes = (length * VOTES).float()
    with plain_autograd():
        expected = gradient(votes.double())
    actual = gradient(votes)
    assert actual.isfinite().all()
    assert (actual - expected).norm() <= 1e-4 * expected.norm()


def test_a_bias_of_another_type_has_a_gradient_of_its_own_type() -> None:
    bias = torch.ones(3, 5, requires_grad=True)

    def of_bias() -> Tensor:
        return torch.autograd.grad(dynamic_routing(VOTES, 3, bias=bias).poses.sum(), bias)[0]

    with plain_autograd():
        expected = of_bias()
    assert_close(of_bias(), expected)
    assert of_bias().dtype is torch.float32
