"""The laws of every routing, in fully connected layers and in convolutional ones."""

from typing import cast

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.routing import ProductVotes, Routed, Router, Routing
from capsmodel.testing.example_votes import (
    BATCH,
    LAYERS,
    OUT_CAPS,
    POSE,
    example_votes,
    fan_of,
    images_of,
    with_outputs_in_order,
    with_types_in_order,
)
from capsmodel.testing.part_contract import PartContract


class RoutingValuesContract:
    """The laws of a routing's numbers and gradients.

    They are enough for other settings of a routing that keeps all of `RoutingContract` in some.
    """

    @pytest.fixture
    def routing(self) -> Routing:
        """Return the routing under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `routing`.")

    @pytest.fixture(params=LAYERS)
    def layer(self, request: pytest.FixtureRequest, routing: Routing) -> str:
        """Return the name of a layer that the routing is for."""
        if LAYERS[request.param].num_places > 1 and not routing.takes_grids:
            pytest.skip(f"{routing.kind} routing says that it is for layers of one place")
        return cast(str, request.param)

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_activations_are_beliefs(self, routing: Routing, layer: str, scale: float) -> None:
        """They lie from 0 to 1."""
        routed = routed_by(router_of(routing, layer), example_votes(layer, scale))
        assert bool((routed.activations >= 0).all())
        assert bool((routed.activations <= 1 + 1e-12).all())

    def test_couplings_share_out_a_child_at_most_once(self, routing: Routing, layer: str) -> None:
        """Couplings of a child add up to at most 1 over its parents, if the routing says so."""
        couplings = routed_by(router_of(routing, layer), example_votes(layer)).couplings
        if couplings is None:
            pytest.skip(f"{routing.kind} routing has no couplings")
        assert not couplings.values.requires_grad
        assert bool((couplings.values >= 0).all())
        if not routing.shares_out_once:
            pytest.skip(f"{routing.kind} routing says that not all parents of a child compete")
        total = couplings.neighbourhood.sum_over_parents(couplings.values.sum(dim=2))
        assert bool((total <= 1 + 1e-12).all())

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_number_type_and_device_are_those_of_the_votes(
        self, routing: Routing, layer: str, dtype: torch.dtype
    ) -> None:
        """Single precision stays single."""
        votes = example_votes(layer, dtype=dtype)
        routed = routed_by(router_of(routing, layer).to(dtype), votes)
        for tensor in (routed.poses, routed.activations):
            assert tensor.dtype == dtype
            assert tensor.device == votes.poses.device

    def test_an_image_gives_the_same_capsules_alone_and_in_a_batch(
        self, routing: Routing, layer: str
    ) -> None:
        """No image affects another one."""
        router, votes = router_of(routing, layer), example_votes(layer)
        alone = [routed_by(router, images_of(votes, slice(n, n + 1))) for n in range(BATCH)]
        together = routed_by(router, votes)
        assert_close(torch.cat([routed.poses for routed in alone]), together.poses)
        assert_close(torch.cat([routed.activations for routed in alone]), together.activations)

    def test_the_order_of_the_children_does_not_matter(self, routing: Routing, layer: str) -> None:
        """Types of children have no order."""
        skip_unless_symmetric(routing)
        router, votes = router_of(routing, layer), example_votes(layer)
        order = torch.arange(fan_of(layer).edges // LAYERS[layer].window_size).roll(1)
        permuted = routed_by(router, with_types_in_order(votes, order))
        assert_close(permuted.poses, routed_by(router, votes).poses)

    def test_permuted_parents_are_permuted_capsules(self, routing: Routing, layer: str) -> None:
        """Types of parents have no names."""
        skip_unless_symmetric(routing)
        router, votes = router_of(routing, layer), example_votes(layer)
        order = torch.arange(OUT_CAPS).roll(1)
        permuted = routed_by(router, with_outputs_in_order(votes, order))
        assert_close(permuted.poses, routed_by(router, votes).poses[:, order])

    @pytest.mark.parametrize("scale", [0.0, 1e-20, 1.0, 1e3])
    def test_capsules_and_gradients_are_finite(
        self, routing: Routing, layer: str, scale: float
    ) -> None:
        """This includes zero votes and large ones."""
        router, votes = router_of(routing, layer), example_votes(layer, scale)
        learned = [votes.poses, votes.activations, votes.matrices, *router.parameters()]
        for tensor in learned:
            tensor.requires_grad_()
        routed = routed_by(router, votes)
        (routed.poses.square().sum() + routed.activations.square().sum()).backward()
        assert bool(routed.poses.isfinite().all())
        assert bool(routed.activations.isfinite().all())
        for tensor in learned:
            assert tensor.grad is None or bool(tensor.grad.isfinite().all())

    def test_every_child_has_a_gradient(self, routing: Routing, layer: str) -> None:
        """No vote is cut off from learning."""
        votes = example_votes(layer)
        votes.poses.requires_grad_()
        routed = routed_by(router_of(routing, layer), votes)
        (routed.poses.square().sum() + routed.activations.square().sum()).backward()
        assert votes.poses.grad is not None
        assert bool((votes.poses.grad.flatten(2) != 0).any(dim=2).all())


class RoutingContract(RoutingValuesContract, PartContract):
    """The laws of every routing.

        class TestMyRouting(RoutingContract):
            @pytest.fixture
            def routing(self) -> Routing:
                return MyRouting()

    The two laws of permutation are skipped if the routing says that it is not symmetric, the law of
    shares if it says that it does not share each child out once, convolutional layers if it says
    that it takes none. A routing of votes alone must also obey `VectorRoutingContract`.
    """

    @pytest.fixture
    def part(self, routing: Routing) -> Routing:
        """Return the routing, for the laws of every part."""
        return routing

    def test_a_routing_for_one_place_refuses_several(self, routing: Routing) -> None:
        """One sentence says so."""
        if routing.takes_grids:
            pytest.skip(f"{routing.kind} routing takes them")
        with pytest.raises(ValueError, match=f"^The routing '{routing.kind}' is for layers of one"):
            routing.build(fan_of("convolutional"))

    def test_each_site_gets_the_capsules_of_its_layer(self, routing: Routing, layer: str) -> None:
        """Shapes are [sites out_caps pose] and [sites out_caps]."""
        routed = routed_by(router_of(routing, layer), example_votes(layer))
        sites = BATCH * LAYERS[layer].num_places
        assert routed.poses.shape == (sites, OUT_CAPS, POSE)
        assert routed.activations.shape == (sites, OUT_CAPS)

    def test_the_same_generator_state_gives_the_same_capsules(
        self, routing: Routing, layer: str
    ) -> None:
        """All random numbers come from the generator."""
        router, votes = router_of(routing, layer), example_votes(layer)
        assert_same(routed_by(router, votes), routed_by(router, votes))

    def test_the_same_seed_gives_the_same_initial_values(
        self, routing: Routing, layer: str
    ) -> None:
        """Initial values come from the generator, and none is left out."""
        first, second = (router_of(routing, layer).state_dict() for _ in range(2))
        assert all(torch.equal(value, second[name]) for name, value in first.items())
        assert all(bool(value.isfinite().all()) for value in first.values())

    def test_the_global_chance_is_left_alone(self, routing: Routing, layer: str) -> None:
        """All random numbers come from the generator."""
        router = router_of(routing, layer)  # which draws where its values are drawn
        before = torch.get_rng_state()
        routed_by(router, example_votes(layer))
        assert torch.equal(torch.get_rng_state(), before)

    def test_a_router_is_built_without_storage(self, routing: Routing, layer: str) -> None:
        """Its values are set afterwards."""
        with torch.device("meta"):
            router = routing.build(fan_of(layer))
        assert all(value.is_meta for value in router.state_dict().values())

    def test_what_a_router_learned_can_be_saved_and_restored(
        self, routing: Routing, layer: str
    ) -> None:
        """Its state determines its capsules."""
        trained, fresh = router_of(routing, layer), router_of(routing, layer, seed=4)
        with torch.no_grad():
            for value in trained.parameters():
                value.add_(torch.rand(value.shape, generator=seeded(5), dtype=value.dtype))
        fresh.load_state_dict(trained.state_dict())
        votes = example_votes(layer)
        assert_same(routed_by(fresh, votes), routed_by(trained, votes))

    def test_nothing_that_is_handed_in_is_written_to(self, routing: Routing, layer: str) -> None:
        """Votes belong to the layer."""
        votes = example_votes(layer)
        tensors = (votes.activations, votes.poses, votes.matrices)
        before = [tensor.clone() for tensor in tensors]
        routed_by(router_of(routing, layer), votes)
        assert all(map(torch.equal, tensors, before))


def seeded(seed: int) -> torch.Generator:
    """Return a fresh generator."""
    return torch.Generator().manual_seed(seed)


def router_of(routing: Routing, layer: str, seed: int = 3) -> Router:
    """Return a routing in a layer, its values set, in double precision."""
    router = routing.build(fan_of(layer))
    for value in router.state_dict().values():
        value.fill_(torch.nan)  # what is not set shows
    router.initialise(seeded(seed))
    return router.double()


def routed_by(router: Router, votes: ProductVotes) -> Routed:
    """Return the capsules of a router for votes, always with the same random numbers."""
    return cast(Routed, router(votes, seeded(2)))


def skip_unless_symmetric(routing: Routing) -> None:
    """Skip a law of permutation that the routing does not promise."""
    if not routing.is_symmetric:
        pytest.skip(f"{routing.kind} routing distinguishes capsules by their place")


def assert_same(first: Routed, second: Routed) -> None:
    """Check that capsules are equal to the last bit."""
    pairs: list[tuple[Tensor, Tensor]] = [
        (first.poses, second.poses),
        (first.activations, second.activations),
    ]
    assert all(torch.equal(tensor, other) for tensor, other in pairs)
