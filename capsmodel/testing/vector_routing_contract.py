"""The laws of every routing that is a pure function of votes."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.routing import VectorRouting
from capsmodel.testing.routing_contract import RoutingContract, skip_unless_symmetric

_BATCH, _IN_CAPS, _OUT_CAPS, _POSE = 3, 7, 4, 5


class VectorRoutingContract(RoutingContract):
    """The laws of every routing that is a pure function of votes, besides those of every routing.

        class TestMyRouting(VectorRoutingContract):
            @pytest.fixture
            def routing(self) -> VectorRouting:
                return MyRouting()

    The two laws of permutation are skipped if the routing says that it is not symmetric.
    """

    @pytest.fixture
    def routing(self) -> VectorRouting:
        """Return the routing under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `routing`.")

    @pytest.fixture
    def part(self, routing: VectorRouting) -> VectorRouting:
        """Return the routing, for the laws of every part."""
        return routing

    def test_each_output_gets_one_pose(self, routing: VectorRouting) -> None:
        """Shapes are [batch out_caps pose]."""
        assert _route(routing, _votes()).shape == (_BATCH, _OUT_CAPS, _POSE)

    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
    def test_no_pose_is_longer_than_one(self, routing: VectorRouting, scale: float) -> None:
        """Lengths are beliefs."""
        lengths = _route(routing, scale * _votes()).norm(dim=-1)
        assert bool((lengths <= 1 + 1e-12).all())

    def test_the_poses_have_the_number_type_of_the_votes(self, routing: VectorRouting) -> None:
        """Single precision stays single."""
        assert _route(routing, _votes().float()).dtype == torch.float32

    def test_the_same_generator_state_gives_the_same_poses(self, routing: VectorRouting) -> None:
        """All random numbers come from the generator."""
        assert torch.equal(_route(routing, _votes()), _route(routing, _votes()))

    def test_the_global_generator_is_left_alone(self, routing: VectorRouting) -> None:
        """All random numbers come from the generator."""
        before = torch.get_rng_state()
        _route(routing, _votes())
        assert torch.equal(torch.get_rng_state(), before)

    def test_an_image_is_routed_the_same_alone_and_in_a_batch(self, routing: VectorRouting) -> None:
        """No image affects another one."""
        votes = _votes()
        alone = [_route(routing, image) for image in votes.split(1)]
        assert_close(torch.cat(alone), _route(routing, votes))

    def test_the_order_of_the_inputs_does_not_matter(self, routing: VectorRouting) -> None:
        """Inputs have no order."""
        skip_unless_symmetric(routing)
        votes, order = _votes(), torch.arange(_IN_CAPS).roll(2)
        assert_close(_route(routing, votes[:, order]), _route(routing, votes))

    def test_permuted_outputs_give_permuted_poses(self, routing: VectorRouting) -> None:
        """Outputs have no names."""
        skip_unless_symmetric(routing)
        votes, order = _votes(), torch.arange(_OUT_CAPS).roll(1)
        assert_close(_route(routing, votes[:, :, order]), _route(routing, votes)[:, order])

    def test_how_the_votes_lie_in_memory_does_not_matter(self, routing: VectorRouting) -> None:
        """The layout is a promise about speed, not about values."""
        votes = _votes()
        assert_close(_route(routing, votes.contiguous()), _route(routing, votes))

    def test_the_votes_are_not_written_to(self, routing: VectorRouting) -> None:
        """A routing is a pure function."""
        votes = _votes()
        before = votes.clone()
        _route(routing, votes)
        assert torch.equal(votes, before)

    @pytest.mark.parametrize("scale", [0.0, 1.0, 1e3])
    def test_poses_and_gradients_are_finite(self, routing: VectorRouting, scale: float) -> None:
        """This includes zero votes and large ones."""
        votes = (scale * _votes()).requires_grad_()
        poses = _route(routing, votes)
        poses.square().sum().backward()
        assert votes.grad is not None
        assert bool(poses.isfinite().all())
        assert bool(votes.grad.isfinite().all())

    def test_every_vote_has_a_gradient(self, routing: VectorRouting) -> None:
        """No input is cut off from learning."""
        votes = _votes().requires_grad_()
        _route(routing, votes).square().sum().backward()
        assert votes.grad is not None
        assert bool((votes.grad != 0).any(dim=-1).any(dim=-1).all())


def _votes() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = (_BATCH, _OUT_CAPS, _IN_CAPS, _POSE)
    return torch.randn(shape, generator=generator, dtype=torch.float64).transpose(1, 2)


def _route(routing: VectorRouting, votes: Tensor) -> Tensor:
    return routing.route(votes, generator=torch.Generator().manual_seed(2))
