"""All settings that decide a training, as one tree of parts."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import torch
from pydantic import Field, model_validator

from capsmodel.augmentation import AUGMENTATIONS, Augmentation, NoAugmentation
from capsmodel.data import DATA_SETS, DataSet, Digits
from capsmodel.losses import LOSSES, Loss, MarginLoss
from capsmodel.models import MODELS, CapsNet, Model, Network
from capsmodel.optimisers import OPTIMISERS, Adam, ExponentialRate, Optimiser
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import Routing
from capsmodel.search_range import Choices
from capsmodel.settings.measures import own_metrics, parts_in
from capsmodel.settings.parts import OneOf, Settings, is_built_in, kind_of, later
from capsmodel.stopping import STOPPINGS, FixedEpochs, Patience, Stopping, check_length
from capsmodel.tasks import Task

_SABOUR2017_OPTIMISER = {
    "optimiser.kind": "adam",
    "optimiser.learning_rate": 1e-3,
    "optimiser.schedule": ExponentialRate(factor=0.96, every_steps=2000, floor=1e-6),
}
_LONGEST_REASON = 1000
ImageShape = tuple[int, int, int]
Positive = Annotated[float, Field(gt=0)]
Precision = Literal["single", "tf32", "bf16"]


class TrainingConfig(Settings):
    """All settings that decide a training; with a seed they decide its result.

    A part is given as an object, or by its kind, which stands for the part with its defaults:
    `TrainingConfig(data="digits", model=CapsNet(conv_channels=64), loss="spread")`.

    The profile "sabour2017_paper" is model and loss of Sabour, Frosst and Hinton 2017 as printed,
    "sabour2017_official" as their released code; both decay the learning rate as that code does;
    the paper does not give the numbers.

    Attributes:
        data: The data set and its splits.
        augmentation: How training images are varied, and how all images are presented to the
            network.
        model: The network.
        loss: The loss of its beliefs in the classes.
        optimiser: The optimiser of its weights.
        stopping: When the training is done.
        batch_size: Images a step; the last batch of an epoch may be smaller and is kept.
        precision: How matrix products and convolutions are computed. "single": in full. "tf32":
            with 10 instead of 23 binary digits on GPUs that can, and in full elsewhere. "bf16": in
            bfloat16, with 7 digits, as `torch.autocast` chooses them. Routings, losses, weights and
            their optimiser are in single precision in any case.
        frozen: Names of layers or weights of the network that stay as they start: "backbone" is all
            below it. Running means, as of batch normalisation, go on moving.
        rate_factors: Names as in `frozen`, each with what the learning rate of its weights is
            multiplied by: `[("backbone", 0.1)]`.
        clip_norm: Largest Euclidean norm of the whole gradient; a longer one is scaled down to it
            before the step. None leaves it.
        accumulation: Parts in which a batch is computed one after the other, to spare memory. Their
            gradients add up to that of the whole batch, but for layers that look at it as a whole,
            as batch normalisation does.
        weights: Which weights are tested, evaluated and kept. "last": those after the last epoch.
            "best": those after the epoch of the lowest validation error, the earliest of equals.

    Example:
        >>> config = TrainingConfig(data="mnist", loss="spread", batch_size=64)
        >>> num_parameters(config), config.loss.margin
        (8215568, 0.9)
    """

    protocol_version: ClassVar[int] = 1
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            f"sabour2017_{profile}": {
                "model.kind": "capsnet",
                "model.profile": profile,
                "loss.kind": "margin",
                "loss.profile": profile,
                **_SABOUR2017_OPTIMISER,
            }
            for profile in ("paper", "official")
        }
    )
    data: Annotated[DataSet, OneOf(DATA_SETS)] = Digits()
    augmentation: Annotated[Augmentation, OneOf(AUGMENTATIONS)] = NoAugmentation()
    model: Annotated[Model, OneOf(MODELS)] = CapsNet()
    loss: Annotated[Loss, OneOf(LOSSES)] = MarginLoss()
    optimiser: Annotated[Optimiser, OneOf(OPTIMISERS)] = Adam()
    stopping: Annotated[Stopping, OneOf(STOPPINGS)] = FixedEpochs()
    batch_size: Annotated[int, Field(ge=1), Choices(32, 64, 128, 256)] = 128
    precision: Precision = later("single")
    frozen: tuple[str, ...] = later(())
    rate_factors: tuple[tuple[str, Positive], ...] = later(())
    clip_norm: Positive | None = later(None)
    accumulation: Annotated[int, Field(ge=1)] = later(1)
    weights: Literal["last", "best"] = later("last")

    if TYPE_CHECKING:  # the fields say what is held, this says what is taken

        def __init__(
            self,
            *,
            data: DataSet | str = ...,
            augmentation: Augmentation | str = ...,
            model: Model | str = ...,
            loss: Loss | str = ...,
            optimiser: Optimiser | str = ...,
            stopping: Stopping | str = ...,
            batch_size: int = ...,
            precision: Precision = ...,
            frozen: Sequence[str] = ...,
            rate_factors: Sequence[tuple[str, float]] = ...,
            clip_norm: Positive | None = ...,
            accumulation: int = ...,
            weights: Literal["last", "best"] = ...,
        ) -> None: ...

    @classmethod
    def described(cls) -> str:
        """Return how messages refer to the whole configuration."""
        return "the training"

    @model_validator(mode="after")
    def _check_length(self) -> "TrainingConfig":
        check_length(self.stopping)
        return self

    @model_validator(mode="after")
    def _check_patience(self) -> "TrainingConfig":
        rule = self.stopping
        is_of_loss = isinstance(rule, Patience) and rule.metric == "validation_loss"
        if is_of_loss and self.loss.follows_progress:
            raise ValueError(
                f"The stopping rule 'patience' cannot wait for a lower validation loss, as that of "
                f"'{self.loss.kind}' follows a schedule, by which it moves on its own: set "
                f"stopping.metric=validation_error."
            )
        return self

    @model_validator(mode="after")
    def _check_weights(self) -> "TrainingConfig":
        if self.weights == "best" and self.stopping.has_target:
            raise ValueError(
                f"The stopping rule '{self.stopping.kind}' ends a training with the epoch that "
                f"reaches its target, and weights=best would test another: set weights=last, or "
                f"stopping=patience."
            )
        return self

    @model_validator(mode="after")
    def _check_classes(self) -> "TrainingConfig":
        self.loss.check_classes(self.data.num_classes)
        return self

    @model_validator(mode="after")
    def _check_task(self) -> "TrainingConfig":
        task = self.data.task
        for part, family in ((self.loss, LOSSES), (self.model, MODELS)):
            if task.label_form not in part.takes:
                able = ", ".join(
                    kind_of(member) for member in family if task.label_form in member.takes
                )
                raise ValueError(
                    f"{part.described().capitalize()} cannot do the task '{task.kind}' of the data "
                    f"'{self.data.kind}': choose {able or 'a part of your own'}."
                )
        return self

    @model_validator(mode="after")
    def _check_metrics(self) -> "TrainingConfig":
        own_metrics(self)
        return self

    @model_validator(mode="after")
    def _check_decoder(self) -> "TrainingConfig":
        decoder = getattr(self.model, "reconstruction", NoReconstruction())
        if not (self.augmentation.keeps_range or isinstance(decoder, NoReconstruction)):
            raise ValueError(
                f"The decoder '{decoder.kind}' draws values from 0 to 1, which standardised images "
                f"do not have: set model.reconstruction=none, or let the augmentation "
                f"'{self.augmentation.kind}' not standardise."
            )
        return self


def build_model(config: TrainingConfig) -> Network:
    """Return the network on the meta device: names and shapes of parameters without storage.

    It computes nothing. A network with weights from PyTorch's default generator is
    `config.model.build(image_shape, num_classes)`; `Training(config, seed).trained().network` has
    those that a training with the seed begins with, and after its epochs those of its end.

    Raises:
        ValueError: If the images are too small for the augmentation or the model.

    Example:
        >>> config = TrainingConfig(data="mnist")
        >>> {str(weight.device) for weight in build_model(config).parameters()}
        {'meta'}
        >>> network = config.model.build(config.data.image_shape, config.data.num_classes)
        >>> {str(weight.device) for weight in network.parameters()}
        {'cpu'}
    """
    shape = config.augmentation.shape(config.data.image_shape)
    return _on_meta(config.model, shape, config.data.num_classes)


def initial_network(config: TrainingConfig, seed: int) -> Network:
    """Return the network on the CPU with the weights that a training of a seed starts from.

    Raises:
        ValueError: As `build_model` does.
    """
    network = build_model(config).to_empty(device="cpu")
    network.initialise(seed)
    return network


def check_judged(config: TrainingConfig) -> None:
    """Check that the loss judges what the routing gives the classes: scores, or also lengths.

    It is no check of the settings themselves, so that records of such pairs stay readable.

    Raises:
        ValueError: If the classes have scores and the loss sees lengths alone.
    """
    routing = getattr(config.model, "routing", None)
    if not isinstance(routing, Routing) or not routing.judged_by_scores:
        return
    if config.loss.judges_logits():
        return
    form = config.data.task.label_form
    able = [kind_of(loss) for loss in LOSSES if loss.judges_logits() and form in loss.takes]
    choices = " or ".join(f"loss={kind}" for kind in able)
    raise ValueError(
        f"The loss '{config.loss.kind}' judges lengths of class capsules, but the routing "
        f"'{routing.kind}' gives them scores, the logits of a softmax: set {choices}, or choose "
        f"another routing."
    )


def why_unbuildable(config: TrainingConfig) -> str:
    """Return one line on why a config's network cannot be built or trained, or "" if it can."""
    try:
        check_judged(config)
        num_parameters(config)
    except ValueError as error:
        return " ".join(str(error).split())[:_LONGEST_REASON]
    return ""


def num_parameters(config: TrainingConfig) -> int:
    """Return the number of trained values; neither data nor weights are allocated.

    Raises:
        ValueError: If the images are too small for the augmentation or the model.
    """
    return _of_network(_num_parameters, config)


def num_multiply_adds(config: TrainingConfig) -> int:
    """Return the multiply-adds of a forward pass of one image, its decoder included.

    Those of matrix products and convolutions; what is done value by value is left out. Neither data
    nor weights are allocated, and no number is computed, but for a foreign module.

    Raises:
        Exception: Whatever the network raises, as one that looks at numbers has none here.
    """
    return _of_network(_num_multiply_adds, config)


def _of_network(function: Callable[..., int], config: TrainingConfig) -> int:
    """Call a function once for all configs of one network, as most arms and proposals are.

    A user's own code may be edited in the meantime, so a network with a part of it is never kept.
    """
    shape = config.augmentation.shape(config.data.image_shape)
    decisive = config.model, shape, config.data.num_classes, config.data.task
    parts = (config.model, config.data.task, *parts_in(config.model))
    if all(is_built_in(type(part)) for part in parts):
        return function(*decisive)
    return cast(Any, function).__wrapped__(*decisive)


def _on_meta(model: Model, shape: ImageShape, num_classes: int) -> Network:
    with torch.device("meta"):
        return model.build(shape, num_classes)


@lru_cache(maxsize=1024)
def _num_parameters(model: Model, shape: ImageShape, num_classes: int, _: Task) -> int:
    return sum(each.numel() for each in _on_meta(model, shape, num_classes).parameters())


@lru_cache(maxsize=1024)
@torch.no_grad()
def _num_multiply_adds(model: Model, shape: ImageShape, num_classes: int, task: Task) -> int:
    from torch.utils.flop_counter import FlopCounterMode  # takes a tenth of a second to import

    is_one_class = task.label_form == "class"
    network = _on_meta(model, shape, num_classes).eval()
    device = next((p.device for p in network.parameters()), torch.device("meta"))
    with device, FlopCounterMode(display=False) as counter:
        classes = torch.zeros(1 if is_one_class else (1, num_classes))
        drawn = task.drawn(classes.long() if is_one_class else classes.bool())
        network(torch.zeros(1, *shape), drawn, torch.Generator())
    return counter.get_total_flops() // 2
