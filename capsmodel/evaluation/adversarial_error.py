"""The error on images that are changed within bounds to mislead the network."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.data import DataSplits
from capsmodel.evaluation.attacks import ATTACKS, PGD, Attack, Ball, Broken, Norm, accumulated
from capsmodel.evaluation.base import Evaluation, Findings, beliefs_in, image_errors
from capsmodel.evaluation.victim import Objective, Victim
from capsmodel.metrics import Metric
from capsmodel.settings.parts import OneOf
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained

_STRONG = PGD(steps=100, restarts=5)


class AdversarialError(Evaluation):
    """The error on the first test images, each changed so that the network errs, as a curve.

    An image may be changed by epsilon at most, and its values stay in [0, 1]. Every image counts,
    also those classified wrongly as they are. An image that is broken at one epsilon counts at all
    larger ones, whose balls contain the change, so the curve never falls.

    The gradient flows through all rounds of routing, also where the training stopped it at the
    last. A loss that is exactly met has no gradient, which looks like robustness:
    `zero_gradients` is the share of images without one, and the objective "lengths" has no such
    plateau. A finite attack gives a lower bound of the error; the attack "square" needs no gradient
    and tells where gradients mislead: `masked`.

    Source: Madry, Makelov, Schmidt, Tsipras and Vladu 2017, arXiv:1706.06083, for the attack and
    the grid of epsilon; Gu, Wu and Tresp 2021, arXiv:2102.10055, for the objective "votes".
    Difference: settings are in `attack`; the curve accumulates over epsilon. With "votes" the
    gradient is of a difference of log-odds, not of a cross-entropy, a bias of the routing is added
    to the shared votes, and networks with several routed layers share equally in each.

    Attributes:
        attack: How changes are searched for.
        epsilons: Largest changes that are tried, ascending: points of the curve.
        norm: How a change is measured: "linf" by the largest change of a value, "l2" by the
            Euclidean norm.
        objective: What gradients are of: the "loss" of the training at its end, without
            reconstruction; the log-odds of the "lengths", or of the network's own logits: those of
            the best wrong class minus the true one's; or the same log-odds where each child's
            "votes" are shared equally, without routing.
        is_targeted: Whether an attack is after the class behind the true one, in place of any
            wrong class. Error and success then differ: an image may be wrong by the way.
        num_images: The most images that are attacked, the first ones of the split.
        strong_epsilon: Where a stronger attack is made too, PGD with 100 steps and 5 restarts; 0
            for none.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["adversarial_error"] = "adversarial_error"
    attack: Annotated[Attack, OneOf(ATTACKS)] = PGD()
    epsilons: tuple[Annotated[float, Field(ge=0, le=1000)], ...] = (
        0.0,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
    )
    norm: Norm = "linf"
    objective: Objective = "loss"
    is_targeted: bool = False
    num_images: Annotated[int, Field(ge=1)] = 1000
    strong_epsilon: Annotated[float, Field(ge=0, le=1000)] = 0.0

    @model_validator(mode="after")
    def _check(self) -> "AdversarialError":
        self.curve("error", "epsilon", self.epsilons)
        if self.norm not in self.attack.norms:
            raise ValueError(
                f"norm must be '{self.attack.norms[0]}' for the attack '{self.attack.kind}', got "
                f"'{self.norm}'."
            )
        if self.objective == "votes" and not self.attack.follows_gradient:
            raise ValueError(
                f"objective must be 'loss' or 'lengths' for the attack '{self.attack.kind}', got "
                f"'votes': it follows no gradient that could skip the routing."
            )
        if self.strong_epsilon and not self.attack.follows_gradient:
            raise ValueError(
                f"strong_epsilon must be 0 for the attack '{self.attack.kind}', got "
                f"{self.strong_epsilon:g}: the stronger attack follows gradients."
            )
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Error and success at each epsilon, a stronger attack's error, and two warnings.

        `zero_gradients` is the share of unchanged images whose gradient is zero. `masked`, of an
        attack without gradients, is by how much its error exceeds that of PGD with 100 steps, 5
        restarts and the same objective, where it does most: above 0, gradients mislead.
        """
        largest = self.epsilons[-1]
        points = [
            *self.curve("error", "epsilon", self.epsilons),
            *self.curve("success", "epsilon", self.epsilons),
        ]
        if self.strong_epsilon:
            text = (
                f"error, epsilon = {self.strong_epsilon:g}, {_STRONG.steps} steps, "
                f"{_STRONG.restarts} restarts"
            )
            points.append(self.metric("strong_error", words=text))
        if self.attack.follows_gradient:
            points.append(self.metric("zero_gradients", direction=None))
        else:
            text = f"masked, error above that of PGD up to epsilon = {largest:g}"
            points.append(self.metric("masked", words=text, direction=None))
        return tuple(points)

    @property
    def most_images(self) -> int | None:
        """As many as the settings say."""
        return self.num_images

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the curves, and which images are broken at each point.

        Raises:
            ValueError: If the attack follows gradients and the network has none.
        """
        split = self.images_of(data)
        victim = Victim(trained, split, objective=self.objective, is_targeted=self.is_targeted)
        is_wrong = image_errors(trained, beliefs_in(trained, split), split.labels) > 0
        clean = Broken(is_wrong.to(trained.device), torch.zeros_like(is_wrong).to(trained.device))
        balls = [Ball(self.norm, epsilon) for epsilon in self.epsilons]
        curve = accumulated(self.attack, victim, clean, balls)
        by_image = dict(zip(self._names("error"), (at.is_wrong for at in curve), strict=True))
        numbers = {
            name: int(at.reaches_goal.sum()) / max(1, int((~is_wrong).sum()))
            for name, at in zip(self._names("success"), curve, strict=True)
        }
        notes = [*few_images(len(split), len(data.test))]
        if self.strong_epsilon:
            weaker = [
                at for at, e in zip(curve, self.epsilons, strict=True) if e <= self.strong_epsilon
            ]
            strong = Ball(self.norm, self.strong_epsilon)
            (at,) = accumulated(_STRONG, victim, clean, [strong], above=[clean, *weaker][-1])
            by_image["strong_error"] = at.is_wrong
        if self.attack.follows_gradient:
            by_image["zero_gradients"] = _without_gradient(victim)
        else:
            numbers["masked"], sentences = self._masked(
                curve, accumulated(_STRONG, victim, clean, balls)
            )
            notes += sentences
        numbers |= {name: values.double().mean().item() for name, values in by_image.items()}
        return Findings(
            metrics={metric.name: numbers[metric.name] for metric in self.metrics},
            images={name: values.to("cpu", torch.uint8) for name, values in by_image.items()},
            left_out=tuple(notes),
        )

    def _masked(
        self, curve: Sequence[Broken], by_gradient: Sequence[Broken]
    ) -> tuple[float, list[str]]:
        """Return by how much an error exceeds that of an attack by gradient, and a sentence."""
        counts = [
            (int(result.is_wrong.sum()), int(gradient_result.is_wrong.sum()), epsilon)
            for result, gradient_result, epsilon in zip(
                curve, by_gradient, self.epsilons, strict=True
            )
        ]
        num, num_by_gradient, epsilon = max(counts, key=lambda count: count[0] - count[1])
        if num <= num_by_gradient:
            return 0.0, []
        sentence = (
            f"Masked: at epsilon = {epsilon:g} the attack '{self.attack.kind}', which needs no "
            f"gradient, broke {num} images and PGD with {_STRONG.steps} steps and "
            f"{_STRONG.restarts} restarts {num_by_gradient}: errors under attacks by gradient are "
            f"too small."
        )
        return (num - num_by_gradient) / len(curve[0].is_wrong), [sentence]

    def _names(self, curve: str) -> list[str]:
        return [metric.name for metric in self.metrics if metric.curve == curve]


def few_images(num_images: int, num_all: int) -> Iterator[str]:
    """Yield a sentence where not all images are attacked."""
    if num_images < num_all:
        yield f"Only the first {num_images} of {num_all} test images are attacked."


def _without_gradient(victim: Victim) -> Bool[Tensor, " images"]:
    """Return which of the unchanged images have a gradient of zero."""
    rows = torch.arange(len(victim.images), device=victim.images.device)
    return torch.cat(
        [
            (victim.judge_and_differentiate(victim.images[some], some).gradient == 0)
            .flatten(1)
            .all(dim=1)
            for some in rows.split(EVALUATION_BATCH_SIZE)
        ]
    )
