import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from capsmodel.layers import Capsules
from capsmodel.routing import (
    ConstantInverseTemperature,
    EMRouting,
    Fan,
    GivenVotes,
    Neighbourhood,
    RisingInverseTemperature,
    Routed,
)
from tests.capsmodel.routing.em_examples import (
    ONE_PLACE,
    STRIDE_1,
    STRIDE_2,
    Layer,
    given_votes,
    gradients,
    results,
)

SHARP = RisingInverseTemperature(final=0.3)


def test_after_one_iteration_the_centre_is_the_mean_weighted_by_activations() -> None:
    votes = given_votes(2, 7, 3, 4)
    routed = route(votes, EMRouting(iterations=1))
    weights = votes.activations.t().unsqueeze(-1).unsqueeze(-1)
    assert_close(routed.poses, (weights * votes.values).sum(1) / weights.sum(1))


neighbourhoods = st.builds(
    Neighbourhood,
    height=st.integers(3, 6),
    width=st.integers(3, 6),
    kernel_size=st.integers(1, 3),
    stride=st.integers(1, 3),
)


@given(of=neighbourhoods, iterations=st.integers(1, 3), types=st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_every_child_is_shared_out_whole(of: Neighbourhood, iterations: int, types: int) -> None:
    layer = Layer.drawn(of, types=types)
    shares = results(layer.route(EMRouting(iterations=iterations)))[2]
    total = of.sum_over_parents(shares.sum(dim=2))
    assert_close(total, torch.ones_like(total))


@given(of=neighbourhoods, iterations=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_no_mass_is_lost(of: Neighbourhood, iterations: int) -> None:
    layer = Layer.drawn(of)
    shares = results(layer.route(EMRouting(iterations=iterations)))[2]
    seen = torch.zeros(of.num_child_places, dtype=torch.bool)
    places = torch.arange(of.num_child_places, dtype=torch.float64).view(1, -1, 1, 1)
    seen[of.edges(places).long().flatten()] = True
    given_out = (shares * layer.products().activations.unsqueeze(-1)).sum()
    assert_close(given_out, layer.activations[:, seen].sum())


@pytest.mark.parametrize("held_in_full", [False, True])
def test_a_child_that_is_not_there_has_no_effect(held_in_full: bool) -> None:
    layer = Layer.drawn(STRIDE_1)
    layer.activations[:, 5, 1] = 0
    other = layer._replace(poses=layer.poses.clone())
    other.poses[:, 5, 1] += 3
    routing = EMRouting(inverse_temperature=SHARP)
    routed, changed_routed = (
        each.route(routing, held_in_full=held_in_full) for each in (layer, other)
    )
    assert torch.equal(routed.poses, changed_routed.poses)
    assert torch.equal(routed.activations, changed_routed.activations)


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_activations_are_not_cancelled_by_the_competition(iterations: int) -> None:
    layer = Layer.drawn(STRIDE_1)
    other = layer._replace(activations=layer.activations.clone())
    other.activations[:, 5, 1] *= 0.5
    poses, changed_poses = (
        each.route(EMRouting(iterations=iterations)).poses for each in (layer, other)
    )
    assert (poses - changed_poses).abs().max() > 1e-3


def test_halving_all_activations_halves_the_mass_and_moves_no_first_centre() -> None:
    layer = Layer.drawn(STRIDE_1)
    routing = EMRouting(iterations=1, inverse_temperature=ConstantInverseTemperature(value=1e-2))
    full, half = (
        layer._replace(activations=scale * layer.activations).route(routing) for scale in (1, 0.5)
    )
    assert_close(full.poses, half.poses)
    worth = 1e-2 * layer.activation_bias
    assert_close(half.activations.logit() - worth, (full.activations.logit() - worth) / 2)


def test_the_order_of_the_children_does_not_matter() -> None:
    votes, order = given_votes(2, 7, 3, 4), torch.arange(7).roll(2)
    moved = GivenVotes(votes.activations[order], ONE_PLACE, votes.values[:, order])
    for actual, expected in zip(route(moved)[:2], route(votes)[:2], strict=True):
        assert_close(actual, expected)


def test_permuted_types_of_parents_give_permuted_parents() -> None:
    layer, order = Layer.drawn(STRIDE_1), torch.arange(3).roll(1)
    moved = layer._replace(
        matrices=layer.matrices[..., order],
        activation_bias=layer.activation_bias[order],
        cost_bias=layer.cost_bias[order],
    )
    routing = EMRouting(inverse_temperature=SHARP)
    assert_close(moved.route(routing).poses, layer.route(routing).poses[:, order])
    assert_close(moved.route(routing).activations, layer.route(routing).activations[:, order])


@pytest.mark.parametrize("competition", ["parents", "places", "types"])
def test_an_image_is_routed_the_same_alone_and_in_a_batch(competition: str) -> None:
    layer = Layer.drawn(STRIDE_1, batch=3)
    routing = EMRouting.model_validate({"competition": competition})
    alone = [
        layer._replace(poses=layer.poses[[i]], activations=layer.activations[[i]]).route(routing)
        for i in range(3)
    ]
    together = layer.route(routing)
    assert_close(torch.cat([image.poses for image in alone]), together.poses)
    assert_close(torch.cat([image.activations for image in alone]), together.activations)


def test_it_reads_no_chance() -> None:
    before = torch.get_rng_state()
    votes = given_votes(2, 7, 3, 4)
    assert torch.equal(route(votes).poses, route(votes).poses)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (RisingInverseTemperature(), [5.0e-4, 9.75e-4, 1.42625e-3]),
        (ConstantInverseTemperature(value=0.5), [0.5, 0.5, 0.5]),
    ],
)
def test_each_iteration_has_its_inverse_temperature(
    temperature: RisingInverseTemperature, expected: list[float]
) -> None:
    assert [temperature.at(i) for i in range(3)] == pytest.approx(expected, rel=1e-12)


# Degenerate layers.


def single_child(dtype: torch.dtype) -> Layer:
    return Layer.drawn(Neighbourhood(3, 3, 1, 1), types=1).to(dtype).with_gradient()


def is_finite(routed: Routed, layer: Layer) -> bool:
    tensors = [*results(routed), *gradients(routed, layer)]
    return all(bool(tensor.isfinite().all()) for tensor in tensors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("held_in_full", [False, True])
def test_a_parent_with_a_single_child_is_finite(dtype: torch.dtype, held_in_full: bool) -> None:
    layer = single_child(dtype)
    assert is_finite(layer.route(EMRouting(), held_in_full=held_in_full), layer)


def test_without_a_floor_a_parent_with_a_single_child_is_not_a_number() -> None:
    layer = single_child(torch.float32)
    assert not is_finite(layer.route(EMRouting(variance_floor=0)), layer)


@pytest.mark.parametrize("held_in_full", [False, True])
@pytest.mark.parametrize("momentum", [0.9, 1.0])
def test_nothing_at_all_is_finite(held_in_full: bool, momentum: float) -> None:
    layer = Layer.drawn(STRIDE_1, offset=True).to(torch.float32)
    empty = layer._replace(
        poses=torch.zeros_like(layer.poses), activations=torch.zeros_like(layer.activations)
    ).with_gradient()
    routing = EMRouting(centre_momentum=momentum)
    routed = empty.route(routing, held_in_full=held_in_full)
    assert torch.equal(routed.poses, torch.zeros_like(routed.poses))
    assert all(bool(tensor.isfinite().all()) for tensor in results(routed))
    # A division by next to nothing would give finite gradients, and enormous ones.
    assert all(bool((gradient.abs() < 10).all()) for gradient in gradients(routed, empty))


def test_votes_far_apart_are_finite() -> None:
    layer = Layer.drawn(STRIDE_2).to(torch.float32)
    far = layer._replace(poses=1e3 * layer.poses).with_gradient()
    assert is_finite(far.route(EMRouting()), far)


def test_vector_capsules_of_length_zero_are_routed() -> None:
    layer = Capsules(7, 4, 3, 5, routing=EMRouting())
    layer.initialise(torch.Generator().manual_seed(0))
    poses = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(0))
    poses[:, :2] = 0
    poses[1] = 0
    routed = layer(poses.requires_grad_(), torch.Generator())
    (routed.activations.sum() + routed.poses.square().sum()).backward()
    assert routed.poses.shape == (2, 3, 5)
    assert all(bool(leaf.grad.isfinite().all()) for leaf in (poses, *layer.parameters()))  # pyright: ignore


def route(votes: GivenVotes, routing: EMRouting | None = None) -> Routed:
    _, edges, out_caps, pose = votes.values.shape
    router = (routing or EMRouting()).build(Fan(edges, out_caps, pose)).double()
    router.initialise(torch.Generator())
    return router(votes, None)
