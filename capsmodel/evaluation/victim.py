"""A network under attack: its errors on changed images, and the gradient for the next step."""

import copy
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from capsmodel.data import Images
from capsmodel.evaluation.base import UnsuitableNetworkError
from capsmodel.evaluation.routers import EqualShares, replace_router, sharing_routers
from capsmodel.functional import gradient_through_all_rounds
from capsmodel.models import Outputs
from capsmodel.routing import Router
from capsmodel.squash import ExponentialSquash
from capsmodel.training.trained import Trained

Objective = Literal["loss", "lengths", "votes"]
_DRAWS = 10  # of random routing, whose mean gradient a step follows
_SMALLEST, _LARGEST = 1e-12, 1 - 2**-24  # lengths whose log-odds float32 holds


class Judgement(NamedTuple):
    """A network's errors on changed images, and the gradient of the attack's objective.

    Attributes:
        is_wrong: Whether it errs.
        reaches_goal: Whether it does what the attack is after.
        gradient: Gradient of the objective that the attack raises.
    """

    is_wrong: Bool[Tensor, " images"]
    reaches_goal: Bool[Tensor, " images"]
    gradient: Float[Tensor, "images channels height width"]


class Victim:
    """A network under attack on some images.

    It is differentiated through all rounds of its routings, whatever they did in training. Where
    its routing draws, the gradient is the mean over ten draws, fresh ones at each step, and it is
    judged by another draw, the one that it predicts with.

    Attributes:
        images: The unchanged images, on the network's device.
        seed: Seed of the network.
    """

    def __init__(
        self,
        trained: Trained,
        split: Images,
        *,
        objective: Objective = "loss",
        is_targeted: bool = False,
    ) -> None:
        """Take a network and the images that are attacked.

        Args:
            trained: The network.
            split: The images with their labels, on the network's device.
            objective: What the gradient is of: the loss of the training at its end; "lengths",
                the log-odds of the lengths (see `log_odds`), the largest of the other classes
                minus the true one's, or the least of the true ones'; or "votes", the same where
                every child is shared equally among its parents.
            is_targeted: Whether the goal is the class after the true one, not any wrong class.

        Raises:
            UnsuitableNetworkError: If the objective is "votes", and no routing can be given shares.
            ValueError: If it is targeted, and images have several classes.
        """
        taken = split.take(slice(None))
        self.images = taken.images
        self.seed = trained.seed
        self._trained = trained
        self._labels = taken.labels
        self._objective = objective
        self._differentiated = without_routing(trained) if objective == "votes" else trained
        self._goals = _next_classes(trained, taken.labels) if is_targeted else None
        self._draws = _DRAWS if self._is_random() else 0

    def judge(
        self, points: Float[Tensor, "images channels height width"], rows: Int[Tensor, " images"]
    ) -> tuple[Bool[Tensor, " images"], Bool[Tensor, " images"]]:
        """Return whether the network errs on each changed image, and whether the goal is reached.

        Args:
            points: The changed images.
            rows: Which of the images they are.
        """
        with torch.no_grad():
            return self._judged(points, self._trained.outputs(points), rows)

    def judge_and_differentiate(
        self,
        points: Float[Tensor, "images channels height width"],
        rows: Int[Tensor, " images"],
        step: int = 0,
    ) -> Judgement:
        """Judge as `judge` does, and return the gradient of the attack's objective too.

        Args:
            points: The changed images.
            rows: Which of the images they are.
            step: Number of the step, which decides the draws of random routing.

        Raises:
            UnsuitableNetworkError: If the network's outputs have no gradient with respect to the
                images.
        """
        points = points.detach().requires_grad_()
        with torch.enable_grad(), gradient_through_all_rounds():
            if self._differentiated is self._trained and not self._draws:
                outputs = self._trained.outputs(points)
                is_wrong, reaches_goal = self._judged(points, outputs, rows)
                return Judgement(is_wrong, reaches_goal, self._gradient([outputs], points, rows))
            draws = range(step * self._draws, (step + 1) * self._draws) if self._draws else [None]
            drawn = [self._differentiated.outputs(points, chance=draw) for draw in draws]
            gradient = self._gradient(drawn, points, rows)
        return Judgement(*self.judge(points.detach(), rows), gradient)

    def judge_and_measure(
        self, points: Float[Tensor, "images channels height width"], rows: Int[Tensor, " images"]
    ) -> tuple[Bool[Tensor, " images"], Bool[Tensor, " images"], Float[Tensor, " images"]]:
        """Judge as `judge` does, and return how near each image is to the goal, by its log-odds."""
        with torch.no_grad():
            outputs = self._trained.outputs(points)
            return *self._judged(points, outputs, rows), self._nearness(outputs, rows)

    def _judged(
        self, points: Tensor, outputs: Outputs, rows: Int[Tensor, " images"]
    ) -> tuple[Bool[Tensor, " images"], Bool[Tensor, " images"]]:
        """Return whether the network errs at each point, and whether the goal is reached."""
        del points
        task, labels = self._trained.config.data.task, self._labels[rows]
        is_wrong = task.errors(task.answers(outputs.lengths, labels), labels) > 0
        if self._goals is None:
            return is_wrong, is_wrong
        return is_wrong, outputs.lengths.argmax(dim=1) == self._goals[rows]

    def _gradient(self, drawn: list[Outputs], points: Tensor, rows: Tensor) -> Tensor:
        """Return the gradient of the objective of each image, summed over draws."""
        raised = torch.stack([self._raised(outputs, rows) for outputs in drawn]).sum()
        gradient = None
        if raised.requires_grad:
            (gradient,) = torch.autograd.grad(raised, points, allow_unused=True)
        if gradient is None:
            raise UnsuitableNetworkError(
                f"The model '{self._trained.config.model.kind}' has no gradient with respect to "
                f"its images, got beliefs that do not depend on them for autograd: take the attack "
                f"'square', which needs none, or remove what detaches them."
            )
        return gradient.nan_to_num(nan=0.0)

    def _raised(self, outputs: Outputs, rows: Tensor) -> Tensor:
        """Return the attack's objective, summed over the images."""
        if self._objective != "loss":
            return self._nearness(outputs, rows).sum()
        labels = self._labels if self._goals is None else self._goals
        loss = self._trained.config.loss.judge(outputs, labels[rows], 1.0) * len(rows)
        return loss if self._goals is None else -loss

    def _nearness(self, outputs: Outputs, rows: Tensor) -> Float[Tensor, " images"]:
        """Return by how much the goal leads, in log-odds; above 0 it is reached."""
        odds = log_odds(self._trained, outputs)
        labels = (self._labels if self._goals is None else self._goals)[rows]
        is_label = labels if labels.ndim == 2 else F.one_hot(labels, odds.shape[1]).bool()
        of_labels = odds.masked_fill(~is_label, torch.inf).amin(dim=1)
        others = odds.masked_fill(is_label, -torch.inf).amax(dim=1)
        return others - of_labels if self._goals is None else of_labels - others

    def _is_random(self) -> bool:
        """Return whether two draws give different beliefs."""
        few = self.images[:8]
        with torch.no_grad():
            first, second = (self._differentiated.outputs(few, chance=draw) for draw in (0, 1))
        return not torch.equal(first.lengths, second.lengths)


class RecordedVictim(Victim):
    """A network under attack, with the point at which each image was last looked at.

    Attributes:
        changed: These points; the image itself where it was not attacked.
    """

    changed: Float[Tensor, "images channels height width"]

    def __init__(
        self,
        trained: Trained,
        split: Images,
        *,
        objective: Objective = "loss",
        is_targeted: bool = False,
        ends_at_goal: bool = True,
    ) -> None:
        """Take a network and the images that are attacked.

        Args:
            trained: As in `Victim`.
            split: As in `Victim`.
            objective: As in `Victim`.
            is_targeted: As in `Victim`.
            ends_at_goal: Whether an image is attacked until the goal is reached, so that its point
                is the first that does; else every attack goes on to its last step.

        Raises:
            UnsuitableNetworkError: As `Victim` does.
            ValueError: As `Victim` does.
        """
        super().__init__(trained, split, objective=objective, is_targeted=is_targeted)
        self._ends_at_goal = ends_at_goal
        self.forget()

    def forget(self) -> None:
        """Take all images as not attacked."""
        self.changed = self.images.clone()

    def _judged(
        self, points: Tensor, outputs: Outputs, rows: Int[Tensor, " images"]
    ) -> tuple[Bool[Tensor, " images"], Bool[Tensor, " images"]]:
        is_wrong, reaches_goal = super()._judged(points, outputs, rows)
        self.changed[rows] = points.detach()
        return is_wrong, reaches_goal if self._ends_at_goal else torch.zeros_like(reaches_goal)


def without_routing(trained: Trained) -> Trained:
    """Return a copy of a network in which every child is shared equally among its parents.

    Raises:
        UnsuitableNetworkError: If it has no routing that can be given shares.
    """
    network = copy.deepcopy(trained.network)
    routers = sharing_routers(network)
    if not routers:
        raise UnsuitableNetworkError(
            f"The objective 'votes' is for capsules under the routings dynamic, leaky, uniform, "
            f"random and em, got the model '{trained.config.model.kind}' without."
        )
    for name, router in routers:
        replace_router(network, name, EqualShares(router))
    return trained.with_network(network)


def _next_classes(trained: Trained, labels: Shaped[Tensor, "images ..."]) -> Int[Tensor, " images"]:
    """Return the class after the true one of each image.

    Raises:
        ValueError: If images have several classes.
    """
    if labels.ndim > 1:
        raise ValueError(
            f"is_targeted must be false for data of several classes an image, got true for the "
            f"data '{trained.config.data.kind}': an image has no one class to take the next of."
        )
    return (labels + 1) % trained.config.data.num_classes


def log_odds(trained: Trained, outputs: Outputs) -> Float[Tensor, "images classes"]:
    """Return numbers that order the classes as the beliefs do and do not saturate as they do.

    They are the network's logits if it has some. Else they are made of the lengths: with the
    squash n^2 / (1 + n^2) the logarithm of the odds is 2 ln n, of the length n before the squash;
    with 1 - exp(-n) it is ln n; of an activation of EM routing it is what its sigmoid is taken of.
    """
    if outputs.logits is not None:
        return outputs.logits
    lengths = outputs.lengths.clamp(_SMALLEST, _LARGEST)
    if isinstance(_squash_of(trained), ExponentialSquash):
        return (-torch.log1p(-lengths)).log()
    return lengths.log() - torch.log1p(-lengths)


def _squash_of(trained: Trained) -> object:
    """Return the squash of the class capsules, as the settings or the highest router has it."""
    highest = [module for module in trained.network.modules() if isinstance(module, Router)][-1:]
    for holder in (trained.config.model, *highest):
        if squash := getattr(getattr(holder, "routing", None), "squash", None):
            return squash
    return None
