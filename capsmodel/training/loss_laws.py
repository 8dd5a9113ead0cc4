"""Whether a user's loss judges each image by its own label, and prefers right answers."""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel.losses import Loss
from capsmodel.models import Outputs

_SURE, _UNSURE = 0.9, 0.1
_MOMENTS = (0.0, 0.5, 1.0)  # shares of the training that are done
_LEVELS = (0.05, 0.3, 0.6, 0.95)  # of the belief in the true class
_ROUNDING = 1e-4  # relative


def check_loss(loss: Loss, outputs: Outputs, of_fewer: Outputs) -> None:
    """Check what a loss does with answers that are known to be right or wrong.

    Only the order of its values counts, so that class weights, margins and schedules of any size
    pass. Losses that draw random numbers or look at no beliefs are not checked.

    Args:
        loss: It takes one class an image.
        outputs: Of a network for some images, without gradients. Beliefs and logits are replaced,
            and poses and reconstructions are the first image's for all, so that nothing else
            distinguishes the images.
        of_fewer: Of the network for fewer images, two if there are two.

    Raises:
        ValueError: If it is no mean over images that are judged by their own labels; if right
            answers cost as much as wrong ones at each moment of a training; or if it never falls as
            the belief in the true class rises, where beliefs are not probabilities.
    """
    judged = _JudgedAnswers(loss, outputs, of_fewer)
    if judged.is_comparable():
        _check_mean(judged)
        _check_order(judged)
        _check_pull(judged)


class _JudgedAnswers:
    """What a loss says of answers of a network.

    Attributes:
        kind: The loss's.
        labels: Of as many images as the outputs are of, of all classes where they suffice.
        wrong: Another class for each.
        num_fewer: The number of images of a smaller batch.
        are_probabilities: Whether the network's beliefs in an image add up to 1.
    """

    def __init__(self, loss: Loss, outputs: Outputs, of_fewer: Outputs) -> None:
        num_images, num_classes = outputs.lengths.shape
        self.kind = loss.kind
        self.labels = torch.arange(num_images) % num_classes
        self.wrong = (self.labels + 1) % num_classes
        sums = outputs.lengths.sum(dim=1)
        self.are_probabilities = torch.allclose(sums, torch.ones_like(sums), atol=1e-2)
        self._loss = loss
        self.num_fewer = len(of_fewer.lengths)
        self._outputs = {len(each.lengths): each for each in (of_fewer, outputs)}
        self._num_classes = num_classes

    def is_comparable(self) -> bool:
        """Return whether the loss depends on beliefs, is finite, and the same at each call."""
        values = [self.value(self.labels, self.labels, moment) for moment in (*_MOMENTS, *_MOMENTS)]
        half = len(_MOMENTS)
        return (
            values[:half] == values[half:]
            and all(map(math.isfinite, values))
            and any(bool(gradient.any()) for gradient in self.gradients())
        )

    def value(
        self, answers: Int[Tensor, " images"], labels: Int[Tensor, " images"], progress: float
    ) -> float:
        """Return the loss of sure answers."""
        return float(self._judged(self._beliefs(answers, _SURE), labels, progress))

    def gradients(self) -> Iterator[Float[Tensor, "images classes"]]:
        """Yield the gradient of the loss by the beliefs, for moments and beliefs in the truth."""
        for progress in _MOMENTS:
            for level in _LEVELS:
                beliefs = self._beliefs(self.labels, level).requires_grad_()
                loss = self._judged(1 * beliefs, self.labels, progress)  # which it may write to
                if loss.requires_grad:
                    (gradient,) = torch.autograd.grad(loss, beliefs, materialize_grads=True)
                    yield gradient

    def of_truth(self, gradient: Float[Tensor, "images classes"]) -> Float[Tensor, "images"]:
        """Return the gradient by the belief in each image's true class."""
        return gradient.gather(1, self.labels.unsqueeze(1)).squeeze(1)

    def _judged(self, beliefs: Tensor, labels: Tensor, progress: float) -> Float[Tensor, ""]:
        outputs = self._outputs[len(beliefs)]
        alike = outputs._replace(
            lengths=beliefs,
            logits=None if outputs.logits is None else beliefs.log(),
            reconstructions=_first_image(outputs.reconstructions),
            poses=_first_image(outputs.poses),
        )
        return self._loss.judge(alike, labels.clone(), progress)

    def _beliefs(self, classes: Tensor, level: float) -> Float[Tensor, "images classes"]:
        beliefs = torch.full((len(classes), self._num_classes), _UNSURE)
        return beliefs.scatter(1, classes.unsqueeze(1), level)


def _first_image(value: Tensor | None) -> Tensor | None:
    """Return the first row of a tensor in place of each."""
    return None if value is None else value[:1].expand_as(value).clone()


def _check_mean(judged: _JudgedAnswers) -> None:
    for progress in _MOMENTS:
        alone = [
            judged.value(labels, labels, progress)
            for label in judged.labels.unique().tolist()
            for labels in [torch.full((judged.num_fewer,), label)]
        ]
        together = judged.value(judged.labels, judged.labels, progress)
        rounding = _ROUNDING * max(1.0, *map(abs, alone))
        if not min(alone) - rounding <= together <= max(alone) + rounding:
            raise ValueError(
                f"The loss '{judged.kind}' is no mean over the images, each judged by its own "
                f"label: {judged.num_fewer} of one class that are answered rightly cost "
                f"{min(alone):.3g} to {max(alone):.3g}, and {len(judged.labels)} of several "
                f"classes {together:.3g}. Look for shapes [B] and [B, 1] in one operation, and for "
                f"a sum; what compares images with each other belongs in training_loss of a model."
            )


def _check_order(judged: _JudgedAnswers) -> None:
    gains = [
        judged.value(judged.wrong, judged.labels, progress)
        - judged.value(judged.labels, judged.labels, progress)
        for progress in _MOMENTS
    ]
    if max(gains) <= 0:
        raise ValueError(
            f"The loss '{judged.kind}' is not smaller for images that are answered rightly than "
            f"for those that are answered wrongly: look at its signs, and where it uses labels."
        )


def _check_pull(judged: _JudgedAnswers) -> None:
    """Check the sign of the gradient; probabilities may rise as those of other classes fall."""
    if judged.are_probabilities:
        return
    if not any(bool((judged.of_truth(gradient) < 0).any()) for gradient in judged.gradients()):
        raise ValueError(
            f"The loss '{judged.kind}' never falls as the belief in the true class rises, so that "
            f"all beliefs may fall to 0: look at the sign of what it does with the true class."
        )
