"""Warnings derived from a training's numbers when something is wrong."""

import math
from collections.abc import Sequence
from statistics import fmean

import torch
from jaxtyping import Shaped
from torch import Tensor

from capsmodel.config import TrainingConfig
from capsmodel.health.metrics import HIGH_BELIEF, LOW_BELIEF, VANISHED, WINDOW
from capsmodel.metrics import VALIDATION_ERROR, EpochMetrics, Objective, percent

_NUM_EPOCHS = 3  # that a state must last for
_NEAR = 0.01  # how near to a closed form a loss counts as being there
_LEARNT = 0.1  # share of the first loss below which a loss has fallen, whatever it does there
_GUESSED = 0.95  # share of the error of guessing that is no better than it
_DEVIATIONS = 2.5  # standard deviations between guessing and half its error
_FEWEST_IMAGES = 5  # of a class, in all of which a sound network hardly ever misses it
_SWING, _TURNS = 0.1, 0.5
_UNMOVED = (
    "No weight has moved from its initial value beyond rounding: the optimiser takes no steps, or "
    "its learning rate is too small."
)
_JUDGED_BY = Objective(VALIDATION_ERROR)


def warnings_of(
    config: TrainingConfig,
    labels: Shaped[Tensor, "images ..."],
    history: Sequence[EpochMetrics],
    *,
    has_moved: bool = True,
) -> tuple[str, ...]:
    """Return the problems of a training, one sentence each. A sound training has none.

    After each epoch, the first one too, a training is named that learns nothing: the gradient was
    exactly zero in every step, or else no weight has moved. So are the first layers whose gradient
    was nearly zero in all steps of the epoch, unless the loss has fallen below a tenth of its
    first.

    Another state is named where the last three epochs were in it:

    - the loss is within 1 % of its value where all beliefs are alike, and those are
      0, 1 or another number: with default settings 0.81 or 3.645 of the margin loss, and
      (classes - 1) times the squared margin of the spread loss;
    - else a class is believed in below 0.05, or above 0.95, in all validation images; as many
      classes as have fewer than five of them may be believed in below 0.05;
    - else the validation error is as large as that of guessing the most frequent class, and there
      are so many images that a network which errs half as often hardly ever would;
    - the gradient is exactly zero though the loss is not, with or without one of these.

    The training loss is called oscillating where over the last eight epochs at least half of
    its steps change direction, a mean step is more than 10 % of the mean loss, the later half is no
    lower on average than the earlier one, and the loss is still above a tenth of its first. A loss
    that a schedule moves in these epochs, such as the spread loss, is not judged.

    Args:
        config: The training's settings.
        labels: Labels of the validation images.
        history: The epochs done.
        has_moved: Whether any weight has moved from its initial value beyond rounding.
    """
    last = history[-_NUM_EPOCHS:]
    without_gradient = _without_gradient(history)
    vanished = [] if without_gradient else _vanished(history)
    if not has_moved and not without_gradient:  # all else that is seen is of the initial weights
        return tuple(vanished) or (_UNMOVED,)
    if len(last) < _NUM_EPOCHS or not _are_finite(last):
        return (*without_gradient, *vanished)
    by_guessing = config.data.task.chance(labels)
    states = (
        _stuck(config, labels, last, by_guessing)
        or _dead(config, labels, last)
        or _guessing(last, by_guessing, len(labels))
    )
    return (*without_gradient, *states, *vanished, *_oscillation(config, labels, history))


def _vanished(history: Sequence[EpochMetrics]) -> list[str]:
    if not history or history[-1].train_loss <= _LEARNT * history[0].train_loss:
        return []
    names = [name for name in history[-1].health if name.startswith(VANISHED)]
    if not names:
        return []
    layers = ", ".join(name.removeprefix(VANISHED) for name in names)
    are, they = ("layer", "it does") if len(names) == 1 else ("layers", "they do")
    return [
        f"The gradient of the first {are} ({layers}) is nearly zero in every step, so that {they} "
        f"not learn: a bias of the routing, connections that skip capsule layers, best with batch "
        f"normalisation, or EM routing help."
    ]


def _are_finite(history: Sequence[EpochMetrics]) -> bool:
    return all(math.isfinite(epoch.train_loss + epoch.validation_loss) for epoch in history)


def _stuck(
    config: TrainingConfig,
    labels: Shaped[Tensor, "images ..."],
    last: Sequence[EpochMetrics],
    by_guessing: float,
) -> list[str]:
    if any(_is_better(epoch, by_guessing / 2) for epoch in last):
        return []  # beliefs that are right cannot be alike, whatever the loss comes to
    forms = [_closed_forms(config, labels, epoch.epoch) for epoch in last]
    losses = [epoch.health.get("class_loss", math.nan) for epoch in last]
    sentence = f"The loss of the classes stays at {losses[-1]:.4g}, its value where every belief is"
    endings = ("0: all class capsules are dead.", "1: all class capsules are saturated.")
    if forms[-1][0] == forms[-1][1]:
        endings = ("the same: the network does not distinguish classes.",)
    for place, state in enumerate(endings):
        closed = [form[place] for form in forms]
        if all(abs(a - b) < _NEAR * abs(b) for a, b in zip(losses, closed, strict=True)):
            return [f"{sentence} {state}"]
    return []


def _closed_forms(
    config: TrainingConfig, labels: Shaped[Tensor, "images ..."], epoch: int
) -> tuple[float, float]:
    """Return the loss after an epoch if all beliefs were 0, and if they were 1."""
    progress = min(1.0, epoch / config.stopping.num_epochs)
    dead = torch.zeros(len(labels), config.data.num_classes, device=labels.device)
    of_dead, of_saturated = (
        config.loss.loss(lengths, labels, progress) for lengths in (dead, 1 + dead)
    )
    return of_dead.item(), of_saturated.item()


def _dead(
    config: TrainingConfig, labels: Shaped[Tensor, "images ..."], last: Sequence[EpochMetrics]
) -> list[str]:
    num_classes = config.data.num_classes
    num_rare = int((config.data.task.counts(labels, num_classes) < _FEWEST_IMAGES).sum())
    alarms: list[str] = []
    for state, bound, may_be in (
        ("dead", f"below {LOW_BELIEF}", num_rare),
        ("saturated", f"above {HIGH_BELIEF}", 0),
    ):
        share = min(epoch.health.get(f"{state}_capsules", 0.0) for epoch in last)
        if (number := round(num_classes * share) - may_be) > 0:
            are, them = ("is", "it") if number == 1 else ("are", "them")
            alarms.append(
                f"{number} of {num_classes} class capsules {are} {state}: the belief in {them} "
                f"stays {bound} in all validation images."
            )
    return alarms


def _guessing(last: Sequence[EpochMetrics], by_guessing: float, num_images: int) -> list[str]:
    half = by_guessing / 2
    distance = (_GUESSED * by_guessing - half) * math.sqrt(num_images)
    if distance < _DEVIATIONS * math.sqrt(half * (1 - half)):
        return []  # a network that errs half as often may err as often in so few images
    if any(_is_better(epoch, _GUESSED * by_guessing) for epoch in last):
        return []
    metric = _JUDGED_BY.metric
    return [f"The {metric.text} stays at that of guessing, {metric.written(by_guessing, 0)}."]


def _is_better(epoch: EpochMetrics, value: float) -> bool:
    """Whether an epoch is better than some value of the metric that the alarms judge by."""
    judged = getattr(epoch, _JUDGED_BY.metric.name)
    return _JUDGED_BY.cost(judged) < _JUDGED_BY.cost(value)


def _without_gradient(history: Sequence[EpochMetrics]) -> list[str]:
    has_none = [epoch.health.get("gradient_norm_max") == 0 for epoch in history]
    last, is_from_start = history[-_NUM_EPOCHS:], bool(history) and all(has_none)
    if is_from_start and all(epoch.train_loss == 0 for epoch in history):
        return ["Loss and gradient are exactly zero from the first step on: nothing is learnt."]
    has_lasted = len(last) == _NUM_EPOCHS and all(has_none[-_NUM_EPOCHS:])
    if not (is_from_start or has_lasted):
        return []
    if any(epoch.train_loss == 0 for epoch in last):
        return []
    return ["The gradient stays at exactly zero though the loss is not: nothing is learnt."]


def _oscillation(
    config: TrainingConfig, labels: Shaped[Tensor, "images ..."], history: Sequence[EpochMetrics]
) -> list[str]:
    last = history[-WINDOW:]
    turns = last[-1].health.get("loss_turns", 0.0)
    swing = last[-1].health.get("loss_swing", 0.0)
    if turns < _TURNS or swing <= _SWING:
        return []
    if len({_closed_forms(config, labels, epoch.epoch) for epoch in last}) > 1:
        return []
    losses = [epoch.train_loss for epoch in last]
    earlier, later = fmean(losses[: WINDOW // 2]), fmean(losses[WINDOW // 2 :])
    if later < earlier or later <= _LEARNT * history[0].train_loss:
        return []
    return [
        f"The training loss oscillates: over the last {WINDOW} epochs it went up and down by "
        f"{percent(swing):.0f} % an epoch and did not fall."
    ]
