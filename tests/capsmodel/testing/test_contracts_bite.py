"""The contracts find parts that break them."""

from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from capsmodel.functional import lengths, squash
from capsmodel.losses import Loss
from capsmodel.models import CapsNet, Model, Network, Outputs
from capsmodel.routing import Couplings, Fan, Routed, Router, Routing, VectorRouting, Votes
from capsmodel.testing import LossContract, ModelContract, RoutingContract, VectorRoutingContract


class RoutingOverTheBatch(VectorRouting):
    kind: Literal["over_the_batch"] = "over_the_batch"

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        return squash(votes.sum(dim=1) - votes.mean(dim=(0, 1)))


class RoutingOfTheFirstInput(VectorRouting):
    kind: Literal["first_input"] = "first_input"

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        return squash(votes[:, 0])


class RoutingWithoutSquash(VectorRouting):
    kind: Literal["no_squash"] = "no_squash"

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        return votes.mean(dim=1)


class GloballyRandomRouting(VectorRouting):
    kind: Literal["globally_random"] = "globally_random"

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        return squash((votes * torch.rand(votes.shape[1:3]).unsqueeze(-1)).sum(dim=1))


class RoutingOfNoNumbers(VectorRouting):
    kind: Literal["no_numbers"] = "no_numbers"

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        return (votes / votes.norm(dim=-1, keepdim=True)).mean(dim=1)


class SummedLoss(Loss):
    kind: Literal["summed"] = "summed"

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return -lengths.gather(1, labels.unsqueeze(1)).sum()


class BackwardLoss(Loss):
    kind: Literal["backward"] = "backward"

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return lengths.gather(1, labels.unsqueeze(1)).mean()


class Forgetful(Router):
    """Keeps what it learned where no state tells it, and gives each child to all parents whole."""

    def initialise(self, generator: torch.Generator) -> None:
        self.factor = torch.rand(1, generator=generator, dtype=torch.float64)

    def forward(self, votes: Votes, generator: torch.Generator | None) -> Routed:
        values = votes.values
        poses = squash(self.factor * values.sum(dim=1))
        ones = values.new_ones(*votes.activations.shape, values.shape[2])
        return Routed(poses, lengths(poses), Couplings(ones, votes.neighbourhood))


class ForgetfulRouting(Routing):
    kind: Literal["forgetful"] = "forgetful"

    def build(self, fan: Fan) -> Router:
        return Forgetful()


class OverTheBatch(Network):
    """Looks at its batch, and has a parameter that nothing sets or reads."""

    def __init__(self, inner: Network) -> None:
        super().__init__()
        self.inner = inner
        self.unset = torch.nn.Parameter(torch.empty(2))

    def forward(self, images: Tensor, labels: Any, generator: torch.Generator) -> Outputs:
        return self.inner(images - images.mean(dim=0), labels, generator)

    def penalty(self, outputs: Outputs, images: Tensor) -> Tensor:
        return images.new_zeros(())

    def initialise(self, seed: int) -> None:
        self.inner.initialise(seed)


class ModelOverTheBatch(Model):
    kind: Literal["over_the_batch"] = "over_the_batch"

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        inner = CapsNet(conv_channels=2, conv_kernel=3, primary_types=2, primary_kernel=3)
        return OverTheBatch(inner.build(image_shape, num_classes))


def test_a_router_that_gives_a_child_away_twice_is_found() -> None:
    with pytest.raises(AssertionError):
        RoutingContract().test_couplings_share_out_a_child_at_most_once(
            ForgetfulRouting(), "convolutional"
        )


def test_a_router_whose_state_is_not_all_is_found() -> None:
    with pytest.raises(AssertionError):
        RoutingContract().test_what_a_router_learned_can_be_saved_and_restored(
            ForgetfulRouting(), "convolutional"
        )


def test_a_model_that_looks_at_its_batch_is_found() -> None:
    with pytest.raises(AssertionError):
        ModelContract().test_an_image_is_judged_the_same_alone_and_in_a_batch(ModelOverTheBatch())


def test_a_model_that_leaves_a_parameter_unset_is_found() -> None:
    with pytest.raises(AssertionError):
        ModelContract().test_the_seed_alone_decides_the_initial_values(ModelOverTheBatch())


def test_a_model_that_leaves_a_parameter_unused_is_found() -> None:
    with pytest.raises(AssertionError, match="unset has no gradient"):
        ModelContract().test_every_parameter_learns(ModelOverTheBatch())


def test_a_routing_that_looks_at_its_batch_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_an_image_is_routed_the_same_alone_and_in_a_batch(
            RoutingOverTheBatch()
        )


def test_a_routing_that_knows_the_order_of_its_inputs_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_the_order_of_the_inputs_does_not_matter(
            RoutingOfTheFirstInput()
        )


def test_a_routing_that_cuts_off_an_input_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_every_vote_has_a_gradient(RoutingOfTheFirstInput())


def test_a_routing_whose_poses_are_too_long_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_no_pose_is_longer_than_one(RoutingWithoutSquash(), 1e3)


def test_a_routing_with_chance_of_its_own_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_the_global_generator_is_left_alone(GloballyRandomRouting())
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_the_same_generator_state_gives_the_same_poses(
            GloballyRandomRouting()
        )


def test_a_routing_that_divides_by_zero_is_found() -> None:
    with pytest.raises(AssertionError):
        VectorRoutingContract().test_poses_and_gradients_are_finite(RoutingOfNoNumbers(), 0.0)


def test_a_loss_that_is_no_mean_is_found() -> None:
    with pytest.raises(AssertionError):
        LossContract().test_it_is_the_mean_of_the_images_losses(SummedLoss(), 0.5)


def test_a_loss_that_rewards_the_wrong_is_found() -> None:
    with pytest.raises(AssertionError):
        LossContract().test_a_longer_true_capsule_is_never_worse(BackwardLoss())
