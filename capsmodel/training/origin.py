"""Where in a training the first non-finite number arose."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from capsmodel.data import DataSplits, Images
from capsmodel.optimisers import Moment
from capsmodel.training.learner import Learner


@dataclass(frozen=True)
class Origin:
    """The first non-finite number of an epoch.

    Attributes:
        step: Step of the epoch, from 1; in a validation the batch.
        layer: The module or parameter by its name in the network, "the loss", or "the images".
        detail: Its part in that, in words.
        phase: Whether weights moved meanwhile.
    """

    step: int
    layer: str
    detail: str
    phase: Literal["training", "validation"] = "training"

    def __str__(self) -> str:
        """Return it as words for a sentence: "step 41, in capsules (its output ...)"."""
        step = "step" if self.phase == "training" else "validation batch"
        return f"{step} {self.step}, in {self.layer} ({self.detail})"


def origin_in_epoch(learner: Learner, data: DataSplits, epoch: int) -> Origin | None:
    """Train the next epoch and check every step, then validate it.

    Each step waits for the device. The step that goes wrong is taken once more, with hooks on
    every module and parameter: it has not moved the weights yet, and the random streams are reset.

    Args:
        learner: The learner as it was before the epoch. Afterwards it is in the state in which
            numbers went wrong.
        data: The training's.
        epoch: The epochs done.

    Returns:
        The first number that is not finite, None if all are.
    """
    for step, (batch, moment) in enumerate(learner.batches(data.train, epoch), start=1):
        chance = learner.drawn_from.get_state()
        loss = learner.differentiate(batch, moment.progress)
        if not _is_finite([loss, learner.gradient_norms()]):
            learner.drawn_from.set_state(chance)
            return _in_gradient(learner, batch, moment, step)
        learner.move(moment)
        for name, parameter in learner.network.named_parameters():
            if not _is_finite(parameter):
                detail = "its value after the step; its gradient was finite"
                return Origin(step, name, detail)
    progress = min(1.0, (epoch + 1) / learner.config.stopping.num_epochs)
    return _in_validation(learner, data.validation, progress)


def _in_gradient(learner: Learner, batch: Images, moment: Moment, step: int) -> Origin | None:
    if not _is_finite(batch.images):
        return Origin(step, "the images", "as they are given to the network")
    with _outputs_watched(learner.network) as outputs, _gradients_watched(learner) as gradients:
        loss = learner.differentiate(batch, moment.progress)
    if outputs:
        return Origin(step, outputs[0], "its output; inputs were finite")
    if not _is_finite(loss):
        return Origin(step, "the loss", "its value; outputs of the network were finite")
    if gradients:
        return Origin(step, gradients[0], "its gradient; the loss was finite")
    return Origin(step, "the gradient", "its norm; each gradient was finite")


@torch.inference_mode()
def _in_validation(learner: Learner, split: Images, progress: float) -> Origin | None:
    with _outputs_watched(learner.network) as outputs:
        for number, (_, judged) in enumerate(learner.judgements(split, progress), start=1):
            if outputs:
                return Origin(number, outputs[0], "its output; inputs were finite", "validation")
            if not _is_finite(judged.loss):
                detail = "its value; outputs of the network were finite"
                return Origin(number, "the loss", detail, "validation")
    return None


@contextmanager
def _outputs_watched(network: nn.Module) -> Generator[list[str]]:
    """Record which modules turn finite inputs into non-finite outputs, in order of completion."""
    broken: list[str] = []

    def watch(name: str) -> Callable[[nn.Module, Any, Any, Any], None]:
        def check(_: nn.Module, inputs: Any, named: Any, output: Any) -> None:
            if not _is_finite(output) and _is_finite([inputs, named]):
                broken.append(name or "the network")

        return check

    modules = list(network.named_modules())
    handles = [module.register_forward_hook(watch(n), with_kwargs=True) for n, module in modules]
    try:
        yield broken
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _gradients_watched(learner: Learner) -> Generator[list[str]]:
    """Record which parameters get non-finite gradients, in backward order."""
    broken: list[str] = []

    def watch(name: str) -> Callable[[Tensor], None]:
        def check(parameter: Tensor) -> None:
            if not _is_finite(parameter.grad):
                broken.append(name)

        return check

    handles = [
        parameter.register_post_accumulate_grad_hook(watch(name))
        for name, parameter in learner.network.named_parameters()
    ]
    try:
        yield broken
    finally:
        for handle in handles:
            handle.remove()


def _is_finite(value: Any) -> bool:
    """Return whether all numbers in tensors, also nested ones, are finite."""
    if isinstance(value, Tensor):
        return bool(value.isfinite().all())
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, tuple | list):
        return all(map(_is_finite, value))
    if is_dataclass(value) and not isinstance(value, type):
        return all(_is_finite(getattr(value, field.name)) for field in fields(value))
    return True
