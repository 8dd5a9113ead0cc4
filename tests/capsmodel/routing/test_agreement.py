"""The settings of routing by agreement do what they say, and their gradients are exact."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.routing import (
    AgreementRouting,
    DynamicRouting,
    Fan,
    LeakyRouting,
    LearnedLogits,
    Neighbourhood,
    NormalLogits,
    RisingInverseTemperature,
)
from capsmodel.squash import ExponentialSquash, SabourSquash
from tests.capsmodel.routing.routed import poses_of, routed_by, router_for, seeded, some_votes
from tests.covering import covering

PLACES = {
    "fully connected": Neighbourhood(),
    "convolutional": Neighbourhood(height=3, width=2, kernel_size=2),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "one iteration": {"iterations": 1},
    "two iterations": {"iterations": 2},
    "bias": {"bias": True},
    "exponential": {"squash": ExponentialSquash()},
    "epsilon": {"squash": SabourSquash(epsilon=0.1)},
    "learned logits": {"initial_logits": LearnedLogits()},
    "learned logits, one iteration": {"initial_logits": LearnedLogits(), "iterations": 1},
    "normal logits": {"initial_logits": NormalLogits()},
    "rising": {"inverse_temperature": RisingInverseTemperature(final=3.0, decay=0.5)},
    "all": {
        "bias": True,
        "initial_logits": LearnedLogits(),
        "inverse_temperature": RisingInverseTemperature(final=3.0, decay=0.5),
        "squash": ExponentialSquash(),
    },
}
GRADIENTS = ["all", "last"]
KINDS: list[type[AgreementRouting]] = [DynamicRouting, LeakyRouting]


def plain(
    routing: AgreementRouting, votes: Tensor, values: dict[str, Tensor], places: Neighbourhood
) -> Tensor:
    """The same routing by einsum and automatic differentiation, logits kept as they are printed."""
    sites, edges, out_caps, _ = votes.shape
    drawn = routing.initial_logits.draw(edges, out_caps, seeded())
    logits = values["logits"] if routing.initial_logits.are_learned else drawn
    start = votes.new_zeros(edges, out_caps) if logits is None else logits.to(votes)
    agreement, poses = votes.new_zeros(sites, edges, out_caps), votes
    for iteration in range(routing.iterations):
        is_last = iteration == routing.iterations - 1
        seen = votes if is_last or routing.gradient == "all" else votes.detach()
        scaled = routing.inverse_temperature.at(iteration) * (start + agreement)
        exponentials = scaled.exp()
        total = places.sum_over_parents(exponentials.sum(dim=2).t()).t()
        couplings = exponentials / (total + routing.has_leak).unsqueeze(2)
        sums = torch.einsum("seo,seop->sop", couplings, seen)
        poses = routing.squash.squash(sums + values["bias"] if routing.bias else sums)
        agreement = agreement + torch.einsum("seop,sop->seo", seen, poses)
        if routing.gradient == "last":
            agreement = agreement.detach()
    return poses


def example(places: Neighbourhood) -> Tensor:
    return some_votes(2 * places.num_places, 2 * places.window_size, 3, 4)


@pytest.mark.parametrize(
    ("name", "kind", "layer", "gradient"), covering(SETTINGS, KINDS, PLACES, GRADIENTS)
)
def test_poses_and_gradients_equal_those_of_the_plain_formula(
    name: str, kind: type[AgreementRouting], layer: str, gradient: Any
) -> None:
    routing, places = kind(gradient=gradient, **SETTINGS[name]), PLACES[layer]
    votes = example(places).requires_grad_()
    router = router_for(routing, votes, places)
    values = dict(router.named_parameters())
    with torch.no_grad():
        for value in values.values():
            value.add_(0.3 * some_votes(*value.shape))
    weights = some_votes(len(votes), 3, 4)
    actual = routed_by(router, votes, places).poses
    expected = plain(routing, votes, values, places)
    assert_close(actual, expected, atol=1e-12, rtol=1e-12)
    leaves = [votes, *values.values()]
    pairs = zip(
        torch.autograd.grad((weights * actual).sum(), leaves),
        torch.autograd.grad((weights * expected).sum(), leaves),
        strict=True,
    )
    for ours, theirs in pairs:
        assert_close(ours, theirs, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("layer", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_written_by_hand_is_that_of_finite_differences(
    kind: type[AgreementRouting], layer: str
) -> None:
    routing, places = kind(**SETTINGS["all"]), PLACES[layer]
    votes = example(places)[: places.num_places].requires_grad_()
    router = router_for(routing, votes, places)

    def poses(votes: Tensor, *_: Tensor) -> Tensor:
        return routed_by(router, votes, places).poses

    # along one random direction of all votes and values at once, not along each of them alone
    leaves = (votes, *router.parameters())
    assert torch.autograd.gradcheck(poses, leaves, fast_mode=True)


def of_gradient(gradient: Any, iterations: int) -> tuple[Tensor, Tensor]:
    votes = some_votes(2, 6, 4, 5).requires_grad_()
    poses = poses_of(DynamicRouting(gradient=gradient, iterations=iterations), votes)
    (gradient,) = torch.autograd.grad((some_votes(2, 4, 5) * poses).sum(), votes)
    return poses.detach(), gradient


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_detaching_early_rounds_changes_gradients_alone_and_only_where_there_are_some(
    iterations: int,
) -> None:
    (poses, gradient), (same, other) = (of_gradient(name, iterations) for name in GRADIENTS)
    assert_close(same, poses, atol=1e-14, rtol=0)
    assert torch.allclose(gradient, other, atol=1e-6) == (iterations == 1)


def test_the_bias_starts_at_a_tenth_and_is_added_before_each_squash() -> None:
    votes = some_votes(2, 6, 4, 5)
    router = router_for(DynamicRouting(bias=True, iterations=1), votes)
    bias = router.state_dict()["bias"]
    assert_close(bias, torch.full((4, 5), 0.1, dtype=torch.float64), atol=1e-8, rtol=0)
    expected = SabourSquash().squash(votes.sum(dim=1) / 4 + bias)
    assert_close(routed_by(router, votes).poses, expected)


def test_nothing_is_learned_without_bias_and_learned_logits() -> None:
    for kind in KINDS:
        assert list(kind().build(Fan(6, 4, 5)).parameters()) == []


def test_learned_logits_start_where_zero_logits_are() -> None:
    votes = some_votes(2, 6, 4, 5)
    router = router_for(DynamicRouting(initial_logits=LearnedLogits()), votes)
    assert router.state_dict()["logits"].shape == (6, 4)
    assert_close(routed_by(router, votes).poses, poses_of(DynamicRouting(), votes))


def test_normal_logits_are_shared_by_the_images_of_a_batch_and_have_their_deviation() -> None:
    drawn = NormalLogits(deviation=2.0).draw(500, 100, seeded())
    assert drawn is not None
    assert drawn.std().item() == pytest.approx(2.0, rel=0.02)
    votes = some_votes(1, 7, 4, 5).expand(3, -1, -1, -1)
    poses = poses_of(DynamicRouting(initial_logits=NormalLogits()), votes)
    assert_close(poses[0], poses[1])
    assert not torch.allclose(poses[0], poses_of(DynamicRouting(), votes)[0])


def test_a_high_inverse_temperature_sends_an_input_to_one_output() -> None:
    votes = some_votes(2, 6, 4, 5)
    routing = DynamicRouting(inverse_temperature=RisingInverseTemperature(final=1e4, decay=0.0))
    couplings = routed_by(router_for(routing, votes), votes).couplings
    assert couplings is not None
    assert couplings.values.amax(dim=2).min().item() == pytest.approx(1.0, abs=1e-3)


def leaked(scale: float) -> Tensor:
    votes = scale * some_votes(2, 6, 4, 5)
    couplings = routed_by(router_for(LeakyRouting(), votes), votes).couplings
    assert couplings is not None
    return 1 - couplings.values.sum(dim=2)


def test_less_leaks_away_where_votes_agree() -> None:
    assert_close(leaked(0.0), torch.full((6, 2), 0.2, dtype=torch.float64))
    assert leaked(10.0).median() < 0.01
