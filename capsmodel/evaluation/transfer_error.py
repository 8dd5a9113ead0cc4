"""The error on images that were attacked on another network."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.data import DataSplits, Images
from capsmodel.evaluation.adversarial_error import few_images
from capsmodel.evaluation.attacks import ATTACKS, PGD, Attack, Ball, Norm
from capsmodel.evaluation.base import (
    Evaluation,
    Findings,
    UnsuitableNetworkError,
    beliefs_in,
    image_errors,
)
from capsmodel.evaluation.victim import Objective, RecordedVictim
from capsmodel.metrics import Direction, Metric
from capsmodel.settings.parts import OneOf
from capsmodel.training.trained import Trained


class TransferError(Evaluation):
    """The error on the first test images, each changed to mislead the network of another trial.

    An attacker who cannot see a network attacks another one and hopes that it errs alike. The
    attack goes on to its last step, and only the last point of its last restart is judged, once; so
    the curve may fall. Every image counts, also those that a network has wrong as they are.

    Source: Papernot, McDaniel and Goodfellow 2016, arXiv:1605.07277, for the question.
    Difference: the other network is one trial, trained on its own settings.

    Attributes:
        source: Trial key of the other network, whose weights must be in the storage folder; "" for
            the network itself.
        attack: How changes are searched for on it, along gradients.
        epsilons: Largest changes that are tried, ascending: points of the curves.
        norm: How a change is measured, as in `adversarial_error`.
        objective: What gradients are of, as in `adversarial_error`.
        num_images: The most images that are attacked, the first ones of the split.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["transfer_error"] = "transfer_error"
    source: str = ""
    attack: Annotated[Attack, OneOf(ATTACKS)] = PGD()
    epsilons: tuple[Annotated[float, Field(ge=0, le=1000)], ...] = (0.0, 0.1, 0.2, 0.3)
    norm: Norm = "linf"
    objective: Objective = "lengths"
    num_images: Annotated[int, Field(ge=1)] = 1000

    @model_validator(mode="after")
    def _check(self) -> "TransferError":
        self._curve("error")
        if not re.fullmatch("([0-9a-f]{20})?", self.source):
            raise ValueError(
                f"source must be a whole trial key of 20 letters and digits, or '' for the network "
                f"itself, got '{self.source}': `capsweep show` prints it."
            )
        if not self.attack.follows_gradient:
            raise ValueError(
                f"attack must be one that follows gradients, 'fgsm', 'bim' or 'pgd', got "
                f"'{self.attack.kind}', whose last point need not be its best."
            )
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error, and that of the network which the images were made on."""
        return (*self._curve("error"), *self._curve("source_error", direction=None))

    @property
    def most_images(self) -> int | None:
        """As many as the settings say."""
        return self.num_images

    @property
    def other_trials(self) -> tuple[str, ...]:
        """The trial of the other network."""
        return (self.source,) if self.source else ()

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the curves on images made on the network itself.

        Raises:
            UnsuitableNetworkError: If they are to be made on another one.
        """
        return self.evaluate_with(trained, data, {})

    def evaluate_with(
        self, trained: Trained, data: DataSplits, others: Mapping[str, Trained]
    ) -> Findings:
        """Return the curves, and which images each network has wrong at each point.

        Raises:
            UnsuitableNetworkError: If the other network is not there.
            ValueError: If it is for other images or classes.
        """
        source = others.get(self.source) if self.source else trained
        if source is None:
            raise UnsuitableNetworkError(
                f"transfer_error makes images on the network of the trial {self.source}, which is "
                f"not there: train it in this storage folder first."
            )
        _check_fit(source, trained)
        split = self.images_of(data)
        victim = RecordedVictim(source, split, objective=self.objective, ends_at_goal=False)
        rows = torch.arange(len(split), device=victim.images.device)
        by_image: dict[str, Tensor] = {}
        points = zip(self.epsilons, self._curve("error"), self._curve("source_error"), strict=True)
        for epsilon, error, source_error in points:
            victim.forget()
            if epsilon > 0:
                self.attack.broken(victim, rows, Ball(self.norm, epsilon))
            changed = Images(victim.changed, split.labels)
            for name, network in ((error.name, trained), (source_error.name, source)):
                beliefs = beliefs_in(network, changed)
                by_image[name] = image_errors(network, beliefs, split.labels)
        return Findings(
            metrics={metric.name: by_image[metric.name].mean().item() for metric in self.metrics},
            images=by_image,
            left_out=tuple(few_images(len(split), len(data.test))),
        )

    def _curve(self, name: str, direction: Direction | None = "smaller") -> tuple[Metric, ...]:
        return self.curve(name, "epsilon", self.epsilons, direction=direction)


def _check_fit(source: Trained, trained: Trained) -> None:
    """Check that a network takes the images of the other.

    Raises:
        ValueError: If they are of another shape, or have other classes.
    """
    for name in ("image_shape", "num_classes", "task"):
        offered, needed = (getattr(network.config.data, name) for network in (source, trained))
        if offered != needed:
            raise ValueError(
                f"transfer_error needs a source for the same images, {name} {needed}, got a trial "
                f"of the data '{source.config.data.kind}' with {offered}."
            )
