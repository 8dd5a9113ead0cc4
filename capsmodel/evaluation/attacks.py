"""Attacks: how changes of images are searched for that make a network err."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from capsmodel.chance import normal, stream, uniform
from capsmodel.evaluation.distorted_test_error import squares
from capsmodel.evaluation.victim import Victim
from capsmodel.settings.parts import Part
from capsmodel.training.trained import EVALUATION_BATCH_SIZE

Norm = Literal["linf", "l2"]


@dataclass(frozen=True)
class Ball:
    """The images that an attack may reach: those near an image whose values lie in [0, 1].

    Attributes:
        norm: How distance is measured: by the largest change of a value, or by the Euclidean norm
            of all changes of an image.
        epsilon: Largest distance.
    """

    norm: Norm
    epsilon: float

    def project(
        self,
        points: Float[Tensor, "images channels height width"],
        centres: Float[Tensor, "images channels height width"],
    ) -> Float[Tensor, "images channels height width"]:
        """Return the points moved into the ball around their centres, then into [0, 1].

        The second move leads no point out of the ball, as the centres lie in [0, 1].
        """
        changes = points - centres
        if self.norm == "linf":
            changes = changes.clamp(-self.epsilon, self.epsilon)
        else:
            changes = changes * (self.epsilon / _norms(changes)).clamp(max=1)
        return (centres + changes).clamp(0, 1)

    def steepest(
        self, gradient: Float[Tensor, "images channels height width"]
    ) -> Float[Tensor, "images channels height width"]:
        """Return the change of length 1 that rises fastest; zero where the gradient is zero."""
        return gradient.sign() if self.norm == "linf" else gradient / _norms(gradient)

    def draw(
        self, shape: tuple[int, ...], generator: torch.Generator
    ) -> Float[Tensor, "images channels height width"]:
        """Return changes that are uniform in the ball, on the CPU."""
        if self.norm == "linf":
            return self.epsilon * (2 * uniform(shape, generator) - 1)
        directions = normal(shape, generator)
        num_values = directions[0].numel()
        radii = uniform((shape[0], 1, 1, 1), generator) ** (1 / num_values)
        return self.epsilon * radii * directions / _norms(directions)


def _norms(values: Tensor) -> Float[Tensor, "images 1 1 1"]:
    """Return the Euclidean norm of each image's values, not quite 0 that it may divide."""
    norms = torch.linalg.vector_norm(values.flatten(1), dim=1).clamp(min=1e-30)
    return norms.view(-1, 1, 1, 1)


class Broken(NamedTuple):
    """What an attack achieved on each image.

    Attributes:
        is_wrong: Whether the network errs at any point that was tried.
        reaches_goal: Whether it does what the attack is after at any of them.
    """

    is_wrong: Bool[Tensor, " images"]
    reaches_goal: Bool[Tensor, " images"]


class Attack(Part, ABC):
    """A search in a ball around each image for a point at which the network errs.

    Attributes:
        norms: The norms of the balls that it can search.
        follows_gradient: Whether it follows the gradient of the network.
    """

    family: ClassVar[str] = "attack"
    norms: ClassVar[tuple[Norm, ...]] = ("linf", "l2")
    follows_gradient: ClassVar[bool] = True

    @abstractmethod
    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        """Attack some of the victim's images.

        Args:
            victim: The network and the images.
            rows: Which of the images are attacked, on their device.
            ball: How far they may be changed.
        """


def accumulated(
    attack: Attack,
    victim: Victim,
    clean: Broken,
    balls: Sequence[Ball],
    *,
    above: Broken | None = None,
) -> list[Broken]:
    """Attack in each of several balls. What a smaller ball achieved counts in the larger ones.

    Only images that were classified rightly are attacked, each until the goal is reached.

    Args:
        attack: The attack.
        victim: The network and the images.
        clean: The images that are wrong without any change.
        balls: From the smallest to the largest.
        above: What was achieved in smaller balls; None for nothing.
    """
    standing, results = above or clean, list[Broken]()
    for ball in balls:
        rows = torch.nonzero(~clean.is_wrong & ~standing.reaches_goal).flatten()
        standing = Broken(*(values.clone() for values in standing))
        if ball.epsilon > 0 and len(rows):
            broken = attack.broken(victim, rows, ball)
            standing.is_wrong[rows] |= broken.is_wrong
            standing.reaches_goal[rows] |= broken.reaches_goal
        results.append(standing)
    return results


class FGSM(Attack):
    """One step along the sign of the gradient, as long as the ball allows.

    Source: Goodfellow, Shlens and Szegedy 2014, arXiv:1412.6572, section 4.
    Difference: in the Euclidean norm the step goes along the gradient itself.
    """

    kind: Literal["fgsm"] = "fgsm"

    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        """Attack by one step."""
        return climbed(victim, rows, ball, step=ball.epsilon, num_steps=1)


class BIM(Attack):
    """Several short steps along the sign of the gradient, from the image itself.

    Source: Kurakin, Goodfellow and Bengio 2016, arXiv:1607.02533, section 2.2.
    Difference: the steps add up to epsilon, as Hinton, Sabour and Frosst 2018 take them; an image
    counts as broken if any step breaks it.

    Attributes:
        steps: Number of steps, each of epsilon / steps.
    """

    kind: Literal["bim"] = "bim"
    steps: Annotated[int, Field(ge=1, le=10_000)] = 10

    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        """Attack by the steps."""
        step = ball.epsilon / self.steps
        return climbed(victim, rows, ball, step=step, num_steps=self.steps)


class PGD(Attack):
    """Steps along the sign of the gradient, from random points of the ball.

    Source: Madry, Makelov, Schmidt, Tsipras and Vladu 2017, arXiv:1706.06083, section 2.1.
    Difference: a step is 2.5 epsilon / steps, as for their curves over epsilon; an image counts as
    broken if any step of any restart breaks it.

    Attributes:
        steps: Number of steps of each restart.
        restarts: Random points from which it starts, each drawn by the trial's seed.
    """

    kind: Literal["pgd"] = "pgd"
    steps: Annotated[int, Field(ge=1, le=10_000)] = 20
    restarts: Annotated[int, Field(ge=1, le=1000)] = 1

    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        """Step from every start. An image that one start broke is not attacked again."""
        is_wrong, reaches_goal = torch.zeros((2, len(rows)), dtype=torch.bool, device=rows.device)
        for restart in range(self.restarts):
            purpose = ("attack", f"{ball.norm} {ball.epsilon:g}", str(restart))
            changes = ball.draw(tuple(victim.images.shape), stream(victim.seed, *purpose))
            unbroken = torch.nonzero(~reaches_goal).flatten()
            if not len(unbroken):
                break
            broken = climbed(
                victim,
                rows[unbroken],
                ball,
                step=2.5 * ball.epsilon / self.steps,
                num_steps=self.steps,
                changes=changes.to(rows.device),
            )
            is_wrong[unbroken] |= broken.is_wrong
            reaches_goal[unbroken] |= broken.reaches_goal
        return Broken(is_wrong, reaches_goal)


def climbed(
    victim: Victim,
    rows: Int[Tensor, " images"],
    ball: Ball,
    *,
    step: float,
    num_steps: int,
    changes: Float[Tensor, "all_images channels height width"] | None = None,
) -> Broken:
    """Step along the gradient and judge every point on the way.

    Args:
        victim: The network and the images.
        rows: Which of the images are attacked.
        ball: How far they may be changed.
        step: Length of a step.
        num_steps: Number of steps.
        changes: How each of the victim's images is changed at the start; None for not at all.
    """
    is_wrong, reaches_goal = torch.zeros((2, len(rows)), dtype=torch.bool, device=rows.device)
    for places in torch.arange(len(rows), device=rows.device).split(EVALUATION_BATCH_SIZE):
        unbroken, centres = places, victim.images[rows[places]]
        points = centres
        if changes is not None:
            points = ball.project(centres + changes[rows[places]], centres)
        for number in range(num_steps):
            judgement = victim.judge_and_differentiate(points, rows[unbroken], number)
            is_wrong[unbroken], reaches_goal[unbroken] = (
                is_wrong[unbroken] | judgement.is_wrong,
                judgement.reaches_goal,
            )
            going = torch.nonzero(~judgement.reaches_goal).flatten()
            unbroken, centres = unbroken[going], centres[going]
            moved = points[going] + step * ball.steepest(judgement.gradient[going])
            points = ball.project(moved, centres)
            if not len(unbroken):
                break
        else:
            errs, reaches_goal[unbroken] = victim.judge(points, rows[unbroken])
            is_wrong[unbroken] |= errs
    return Broken(is_wrong, reaches_goal)


class SquareAttack(Attack):
    """A random search that changes squares of pixels and needs no gradient.

    A change stays if it raises the log-odds of the best wrong class against the true one.

    Source: Andriushchenko, Croce, Flammarion and Hein 2019, arXiv:1912.00049, algorithms 1 and 2.
    Difference: the objective is a difference of log-odds for networks without logits; a square that
    changes nothing is not drawn again.

    Attributes:
        queries: Times that the network is asked about each image. The side of the squares shrinks
            over them.
    """

    norms: ClassVar[tuple[Norm, ...]] = ("linf",)
    follows_gradient: ClassVar[bool] = False
    kind: Literal["square"] = "square"
    queries: Annotated[int, Field(ge=1, le=100_000)] = 500

    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        """Attack by the search."""
        generator = stream(victim.seed, "attack", f"square {ball.epsilon:g}")
        all_images, channels, height, width = victim.images.shape
        device = rows.device
        is_wrong, reaches_goal = torch.zeros((2, len(rows)), dtype=torch.bool, device=device)
        unbroken, centres = torch.arange(len(rows), device=device), victim.images[rows]
        stripes = _signs((all_images, channels, 1, width), generator).to(device)
        points = ball.project(centres + ball.epsilon * stripes[rows], centres)
        best = torch.full((len(rows),), -torch.inf, device=device)
        current = points
        for query in range(self.queries):
            errs, reached, nearness = self._asked(victim, points, rows[unbroken])
            is_wrong[unbroken], reaches_goal[unbroken] = is_wrong[unbroken] | errs, reached
            is_better = nearness > best
            current = torch.where(is_better.view(-1, 1, 1, 1), points, current)
            best = torch.maximum(nearness, best)
            going = torch.nonzero(~reached).flatten()
            unbroken, centres, current, best = (
                unbroken[going],
                centres[going],
                current[going],
                best[going],
            )
            if not len(unbroken):
                break
            side = self._side(query, height, width)
            corners = uniform((all_images, 2), generator).to(device)[rows[unbroken]]
            signs = _signs((all_images, channels, 1, 1), generator).to(device)[rows[unbroken]]
            is_inside = squares(corners, side, height, width)
            changed = centres + ball.epsilon * signs
            points = ball.project(torch.where(is_inside, changed, current), centres)
        return Broken(is_wrong, reaches_goal)

    def _asked(self, victim: Victim, points: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batches = zip(
            points.split(EVALUATION_BATCH_SIZE), rows.split(EVALUATION_BATCH_SIZE), strict=True
        )
        answers = [victim.judge_and_measure(batch, of_batch) for batch, of_batch in batches]
        errs, reached, nearness = (torch.cat(parts) for parts in zip(*answers, strict=True))
        return errs, reached, nearness

    def _side(self, query: int, height: int, width: int) -> int:
        """Return the side of a query's square: its share of the image is halved by a schedule."""
        progress = 10_000 * query / self.queries
        share = _FIRST_SHARE / 2 ** sum(progress > end for end in _HALVED_AFTER)
        return min(max(1, round((share * height * width) ** 0.5)), height, width)


_FIRST_SHARE = 0.8
_HALVED_AFTER = (10, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)  # of 10,000 queries


def _signs(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.where(uniform(shape, generator) < 0.5, -1.0, 1.0)


ATTACKS = (FGSM, BIM, PGD, SquareAttack)
