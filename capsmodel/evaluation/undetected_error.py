"""The error on attacked images that a detector by reconstruction lets pass."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.data import DataSplits, Images
from capsmodel.evaluation.adversarial_error import few_images
from capsmodel.evaluation.attacks import ATTACKS, PGD, Attack, Ball, Broken, Norm, accumulated
from capsmodel.evaluation.base import Evaluation, Findings, UnsuitableNetworkError
from capsmodel.evaluation.victim import Judgement, Objective, Victim
from capsmodel.functional import gradient_through_all_rounds
from capsmodel.metrics import Direction, Metric
from capsmodel.models import Outputs
from capsmodel.settings.parts import OneOf
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained


class UndetectedError(Evaluation):
    """The share of images on which an attacked network errs and a detector gives no alarm.

    The detector looks at the Euclidean distance of an image from what the decoder draws of the pose
    of the winning class. It gives an alarm above a threshold, which a given share of the validation
    images is above; `false_alarms` is that share of the unchanged test images.

    - `aware_error`: the attacker knows the detector. Where the network is right, a step follows the
      attack's objective; where it errs, the step lowers the distance. An image counts if at any
      step the network errs without an alarm, and at all larger epsilons.
    - `unaware_error`: the attacker does not. The first point at which the network errs is what the
      detector sees, so larger changes may be detected more often; `detected` is the share of these
      points with an alarm. Images that are wrong as they are stay so.

    Source: Frosst, Sabour and Hinton 2018, arXiv:1811.06969, for the detector; Qin, Frosst, Sabour,
    Raffel, Cottrell and Hinton 2019, arXiv:1907.02957, for an attacker who knows it.
    Difference: the steps against the distance are taken where the network errs, not in a second
    stage or alternately; the winner's pose alone is drawn.

    Attributes:
        attack: How changes are searched for, along gradients.
        epsilons: Largest changes that are tried, ascending: points of the curves.
        norm: How a change is measured, as in `adversarial_error`.
        objective: What gradients are of, as in `adversarial_error`.
        alarm_rate: Share of the validation images that the detector gives an alarm for.
        num_images: The most images that are attacked, the first ones of the split.
    """

    kind: Literal["undetected_error"] = "undetected_error"
    attack: Annotated[Attack, OneOf(ATTACKS)] = PGD()
    epsilons: tuple[Annotated[float, Field(ge=0, le=1000)], ...] = (0.0, 0.1, 0.2, 0.3)
    norm: Norm = "linf"
    objective: Objective = "lengths"
    alarm_rate: Annotated[float, Field(ge=0, lt=1)] = 0.05
    num_images: Annotated[int, Field(ge=1)] = 1000

    @model_validator(mode="after")
    def _check(self) -> "UndetectedError":
        self._curve("aware_error")
        if not self.attack.follows_gradient or self.norm not in self.attack.norms:
            raise ValueError(
                f"attack must be one that follows gradients, 'fgsm', 'bim' or 'pgd', got "
                f"'{self.attack.kind}': an attacker who knows the detector lowers a distance."
            )
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Undetected errors with and without an attacker who knows, and two shares of alarms."""
        return (
            *self._curve("aware_error"),
            *self._curve("unaware_error"),
            *self._curve("detected", direction=None),
            self.metric("false_alarms"),
        )

    @property
    def most_images(self) -> int | None:
        """As many as the settings say."""
        return self.num_images

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the curves, and which images are wrong without an alarm at each point.

        Raises:
            UnsuitableNetworkError: If the network draws no images.
        """
        split = self.images_of(data)
        threshold = alarm_threshold(trained, data.validation, self.alarm_rate)
        knowing, other = (
            DetectedVictim(
                trained, split, threshold, objective=self.objective, knows_detector=knows
            )
            for knows in (True, False)
        )
        clean = _as_they_are(knowing)
        by_image = {"false_alarms": knowing.has_alarm.clone()}
        balls = [Ball(self.norm, epsilon) for epsilon in self.epsilons]
        missed = Broken(clean.reaches_goal, clean.reaches_goal)
        aware = accumulated(self.attack, knowing, missed, balls)
        unaware = [self._unaware(other, clean, ball) for ball in balls]
        by_image |= dict(zip(self._names("aware_error"), _missed(aware), strict=True))
        by_image |= dict(zip(self._names("unaware_error"), _missed(unaware), strict=True))
        numbers = {name: values.double().mean().item() for name, values in by_image.items()}
        numbers |= dict(zip(self._names("detected"), map(_share_detected, unaware), strict=True))
        return Findings(
            metrics={metric.name: numbers[metric.name] for metric in self.metrics},
            images={name: values.to("cpu", torch.uint8) for name, values in by_image.items()},
            left_out=tuple(few_images(len(split), len(data.test))),
        )

    def _unaware(self, victim: "DetectedVictim", clean: Broken, ball: Ball) -> Broken:
        """Return where the network errs in a ball, and where the detector gives no alarm then."""
        is_wrong, is_missed = clean.is_wrong.clone(), clean.reaches_goal.clone()
        rows = torch.nonzero(~clean.is_wrong).flatten()
        if ball.epsilon > 0 and len(rows):
            is_wrong[rows] = self.attack.broken(victim, rows, ball).is_wrong
            is_missed[rows] = is_wrong[rows] & ~victim.has_alarm[rows]
        return Broken(is_wrong, is_missed)

    def _names(self, curve: str) -> list[str]:
        return [metric.name for metric in self.metrics if metric.curve == curve]

    def _curve(self, name: str, direction: Direction | None = "smaller") -> tuple[Metric, ...]:
        return self.curve(name, "epsilon", self.epsilons, direction=direction)


class DetectedVictim(Victim):
    """A network under attack, with a detector that looks at each point.

    Attributes:
        has_alarm: Whether there was an alarm when each image was last looked at.
    """

    def __init__(
        self,
        trained: Trained,
        split: Images,
        threshold: float,
        *,
        objective: Objective,
        knows_detector: bool,
    ) -> None:
        """Take the network, the images, and the distance above which there is an alarm.

        Args:
            trained: The network, with a decoder.
            split: The images with their labels.
            threshold: The distance.
            objective: As in `Victim`.
            knows_detector: Whether the goal is an error without an alarm, not any error.
        """
        super().__init__(trained, split, objective=objective)
        self.has_alarm = torch.zeros(len(split), dtype=torch.bool, device=self.images.device)
        self._threshold = threshold
        self._knows_detector = knows_detector

    def judge_and_differentiate(
        self,
        points: Float[Tensor, "images channels height width"],
        rows: Int[Tensor, " images"],
        step: int = 0,
    ) -> Judgement:
        """Judge as `judge` does, and return the direction of the attacker's step too.

        Raises:
            ValueError: If the network's outputs have no gradient with respect to the images.
        """
        judgement = super().judge_and_differentiate(points, rows, step)
        if not self._knows_detector or not bool(judgement.is_wrong.any()):
            return judgement
        points = points.detach().requires_grad_()
        with torch.enable_grad(), gradient_through_all_rounds():
            distance = distances(self._trained, points, self._trained.outputs(points)).sum()
            (rising,) = torch.autograd.grad(distance, points)
        is_wrong = judgement.is_wrong.view(-1, 1, 1, 1)
        return judgement._replace(gradient=torch.where(is_wrong, -rising, judgement.gradient))

    def _judged(
        self, points: Tensor, outputs: Outputs, rows: Int[Tensor, " images"]
    ) -> tuple[Bool[Tensor, " images"], Bool[Tensor, " images"]]:
        is_wrong, _ = super()._judged(points, outputs, rows)
        with torch.no_grad():
            has_alarm = distances(self._trained, points, outputs) > self._threshold
        self.has_alarm[rows] = has_alarm
        return is_wrong, is_wrong & ~has_alarm if self._knows_detector else is_wrong


def distances(
    trained: Trained, images: Float[Tensor, "images channels height width"], outputs: Outputs
) -> Float[Tensor, " images"]:
    """Return the distance of each image from the reconstruction of its winning capsule.

    Raises:
        UnsuitableNetworkError: If nothing is drawn.
    """
    if outputs.reconstructions is None:
        raise UnsuitableNetworkError(
            f"undetected_error is for networks that draw images, got the model "
            f"'{trained.config.model.kind}' without a decoder."
        )
    presented = trained.config.augmentation.plain(images)
    return torch.linalg.vector_norm((outputs.reconstructions - presented).flatten(1), dim=1)


def alarm_threshold(trained: Trained, split: Images, alarm_rate: float) -> float:
    """Return the distance that a share of the images of a split is above."""
    of_batches: list[Tensor] = []
    for start in range(0, len(split), EVALUATION_BATCH_SIZE):
        images = split.take(slice(start, start + EVALUATION_BATCH_SIZE)).images
        with torch.no_grad():
            of_batches.append(distances(trained, images, trained.outputs(images)).double().cpu())
    return torch.quantile(torch.cat(of_batches), 1 - alarm_rate, interpolation="higher").item()


def _as_they_are(victim: DetectedVictim) -> Broken:
    """Return which unchanged images are wrong, and which of them have no alarm."""
    rows = torch.arange(len(victim.images), device=victim.images.device)
    judgements = [
        victim.judge(victim.images[some], some) for some in rows.split(EVALUATION_BATCH_SIZE)
    ]
    is_wrong, is_missed = (torch.cat(parts) for parts in zip(*judgements, strict=True))
    return Broken(is_wrong, is_missed)


def _missed(curve: Sequence[Broken]) -> list[Bool[Tensor, " images"]]:
    return [at.reaches_goal for at in curve]


def _share_detected(at: Broken) -> float:
    """Return the share of wrong images that raise an alarm, or 0 if no image is wrong."""
    num_wrong = int(at.is_wrong.sum())
    return (num_wrong - int(at.reaches_goal.sum())) / max(1, num_wrong)
