"""Alarms: what a training's numbers mean where they mean that something is wrong."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

import torch
from jaxtyping import Int
from torch import Tensor

from capsmodel.config import TrainingConfig
from capsmodel.health.figures import HIGH_BELIEF, LOW_BELIEF, WINDOW
from capsmodel.metrics import EpochMetrics

_NUM_EPOCHS = 3  # that a state must last for
_NEAR = 0.01  # how near to a closed form a loss counts as being there
_LEARNT = 0.1  # share of the first loss below which a loss has fallen, whatever it does there
_SWING = 0.1
_TURNS = 0.5


def warnings_of(
    config: TrainingConfig, labels: Int[Tensor, " images"], history: Sequence[EpochMetrics]
) -> tuple[str, ...]:
    """Return what is unsound in a training, a sentence each; of a sound one nothing.

    A state is named where the last three epochs were in it, so a shorter training has none:

    - the loss is within 1 % of its value where all beliefs are alike, and those are
      0, 1 or another number: with default settings 0.81 or 3.645 of the margin loss, and
      (classes - 1) times the squared margin of the spread loss;
    - a class is believed in below 0.05, or above 0.95, in all validation images;
    - the gradient is exactly zero though the loss is not.

    The training loss is called oscillating where over the last eight epochs at least half of
    its steps change direction, a mean step is more than 10 % of the mean loss, the later half is no
    lower on average than the earlier one, and the loss is still above a tenth of its first.

    Args:
        config: The training's settings.
        labels: Of the validation images.
        history: The epochs done.
    """
    if len(history) < _NUM_EPOCHS or not _are_finite(history):
        return ()
    stuck = _stuck(config, labels, history[-_NUM_EPOCHS:])
    alarms = [stuck, *_dead(config, history[-_NUM_EPOCHS:]), _oscillation(history)]
    return tuple(alarm for alarm in alarms if alarm)


def _are_finite(history: Sequence[EpochMetrics]) -> bool:
    return all(math.isfinite(one.train_loss + one.validation_loss) for one in history)


def _stuck(
    config: TrainingConfig, labels: Int[Tensor, " images"], last: Sequence[EpochMetrics]
) -> str:
    by_chance = 1 - 1 / config.data.num_classes
    if any(one.validation_error < by_chance / 2 for one in last):
        return ""  # beliefs that are right cannot be alike, whatever the loss comes to
    forms = [_closed_forms(config, labels, one.epoch) for one in last]
    kind, at = config.loss.kind.replace("_", "-"), last[-1].health.get("class_loss", math.nan)
    told = f"The {kind} loss stays at {at:.4g}, its value where every belief is"
    places = [0, 1] if forms[-1][0] != forms[-1][1] else [0]
    for place in places:
        near = (
            abs(one.health.get("class_loss", math.nan) - form[place]) <= _NEAR * form[place]
            for one, form in zip(last, forms, strict=True)
        )
        if all(near):
            if len(places) == 1:
                return f"{told} the same: the network tells no class from another."
            state = "saturated" if place else "dead"
            return f"{told} {place}: all class capsules are {state}."
    return ""


def _closed_forms(
    config: TrainingConfig, labels: Int[Tensor, " images"], epoch: int
) -> tuple[float, float]:
    """Return the loss after an epoch if all beliefs were 0, and if they were 1."""
    progress = min(1.0, epoch / config.stopping.num_epochs)
    dead = torch.zeros(len(labels), config.data.num_classes, device=labels.device)
    of_dead, of_saturated = (
        config.loss.loss(lengths, labels, progress) for lengths in (dead, 1 + dead)
    )
    return of_dead.item(), of_saturated.item()


def _dead(config: TrainingConfig, last: Sequence[EpochMetrics]) -> Iterator[str]:
    num_classes = config.data.num_classes
    for name, words in (
        ("dead_capsules", f"dead: the belief in them stays below {LOW_BELIEF}"),
        ("saturated_capsules", f"saturated: the belief in them stays above {HIGH_BELIEF}"),
    ):
        number = round(num_classes * min(one.health.get(name, 0.0) for one in last))
        if number:
            yield f"{number} of {num_classes} class capsules are {words} in all validation images."
    has_loss = all(one.train_loss > 0 for one in last)
    if has_loss and all(one.health.get("gradient_norm_max") == 0 for one in last):
        yield "The gradient is exactly zero though the loss is not: nothing is learnt."


def _oscillation(history: Sequence[EpochMetrics]) -> str:
    last = history[-WINDOW:]
    turns = last[-1].health.get("loss_turns", 0.0)
    swing = last[-1].health.get("loss_swing", 0.0)
    losses = [one.train_loss for one in last]
    earlier, later = fmean(losses[: WINDOW // 2]), fmean(losses[WINDOW // 2 :] or [0.0])
    has_learnt = later <= _LEARNT * history[0].train_loss
    if turns < _TURNS or swing <= _SWING or later < earlier or has_learnt:
        return ""
    return (
        f"The training loss oscillates: over the last {WINDOW} epochs it went up and down by "
        f"{100 * swing:.0f} % an epoch and did not fall."
    )
