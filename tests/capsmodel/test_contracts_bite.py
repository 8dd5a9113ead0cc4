"""The contracts find parts that break them."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from capsmodel.functional import squash
from capsmodel.losses import Loss
from capsmodel.routing import VectorRouting
from capsmodel.testing import LossContract, VectorRoutingContract


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
