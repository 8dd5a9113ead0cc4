"""A module of anyone's as a trained network, so that every evaluation can examine it."""

import copy
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSet, DataSplits, Images
from capsmodel.evaluation.base import UnsuitableNetworkError
from capsmodel.losses import CrossEntropy, Loss, MarginLoss, Sigmoid
from capsmodel.models import Model, Network, Outputs, Returns, as_outputs
from capsmodel.tasks import OneClass, SeveralClasses, Task
from capsmodel.training.given_images import ImagesGiven, TakenImages
from capsmodel.training.trained import Inspection, Trained, evaluation_chance

_FEW = 2  # images by which classes are counted


class ExaminedModule(Trained):
    """A module as a trained network: called with images, it returns what `as_outputs` takes.

    A network of this package is called as evaluations call it, with a generator of the seed. Any
    other module draws from PyTorch's default generators, which are seeded for each of its passes
    and restored after it.
    """

    def __init__(
        self,
        config: TrainingConfig,
        seed: int,
        device: torch.device,
        network: nn.Module,
        *,
        returns: Returns | None,
    ) -> None:
        """Take a module on its device; `examined` makes one of a module alone."""
        self.config, self.seed, self.device = config, seed, device
        self._network = cast(Network, network.eval())  # what a Network alone has is asked of none
        self._returns: Returns | None = returns

    @property
    def network(self) -> nn.Module:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The module itself, in evaluation mode."""
        return self._network

    def inspect(self, images: ImagesGiven) -> Inspection:
        """Return all outputs for a few images; the places of children only of a `Network`."""
        if isinstance(self.network, Network):
            return super().inspect(images)
        batch = self._taken(images).images
        return Inspection(batch, self._outputs(batch), None)

    def perturb(
        self, images: ImagesGiven, classes: Int[Tensor, " batch"], offsets: Sequence[float]
    ) -> Float[Tensor, "batch pose offsets channels height width"] | None:
        """Return what is drawn of moved poses; None of a module that is no `Network`."""
        is_network = isinstance(self.network, Network)
        return super().perturb(images, classes, offsets) if is_network else None

    def with_network(self, network: nn.Module) -> "ExaminedModule":
        """Return another module, which returns the same."""
        return ExaminedModule(self.config, self.seed, self.device, network, returns=self._returns)

    def checked(
        self,
        images: Float[Tensor, "images channels height width"],
        labels: Shaped[Tensor, "images ..."],
        split: str,
    ) -> Images:
        """Return images with labels in the form of the task.

        Args:
            images: The images.
            labels: Their labels.
            split: Their name in the sentence of an error.

        Raises:
            ValueError: If there is not one label of the task for each image.
        """
        data = self.config.data
        taken = data.task.checked(labels, data.num_classes, split)
        if len(taken) != len(images):
            raise ValueError(
                f"The labels of {split} must be one for each of {len(images)} images, got "
                f"{len(taken)}."
            )
        return Images(images, taken)

    def as_initialised(self) -> "ExaminedModule":
        """Return the network with weights that are drawn by the seed, as those of a training are.

        Raises:
            UnsuitableNetworkError: If it is no `Network`, whose weights a seed cannot set.
        """
        if not isinstance(self.network, Network):
            raise UnsuitableNetworkError(
                f"The evaluation looks at the network as it was initialised too, which only a "
                f"Network of capsmodel.models can be again, got "
                f"'{self.config.model.kind}'."
            )
        network = copy.deepcopy(self.network).cpu()
        network.initialise(self.seed)
        return self.with_network(network.to(self.device))

    def _taken(self, images: ImagesGiven) -> TakenImages:
        return TakenImages(cast(Tensor, images), (), "")  # in their own number type

    def _outputs(self, images: Tensor, chance: int | None = None) -> Outputs:
        if isinstance(self.network, Network):
            return super()._outputs(images, chance)
        generator = evaluation_chance(self.seed, chance)
        return _called(
            self.network, images, generator, self._returns, num_classes=self.config.data.num_classes
        )


def examined(
    network: nn.Module,
    images: Float[Tensor, "images channels height width"],
    labels: Shaped[Tensor, "images ..."],
    *,
    loss: Loss | None = None,
    returns: Returns | None = None,
    seed: int = 0,
) -> ExaminedModule:
    """Return a module as a trained network, in evaluation mode.

    Args:
        network: The module, on the images' device.
        images: Values from 0 to 1; they say of what shape images are.
        labels: The class of each image, or whether it is of each; they say of what form labels are.
        loss: The loss that attacks raise; None for the sigmoid loss of labels of several classes,
            else cross-entropy where the module has logits, and the margin loss of lengths.
        returns: What the module returns, as in `as_outputs`.
        seed: Seed of all chance.

    Raises:
        ValueError: If images, module and loss do not fit each other.
    """
    _check_images(images, network)
    network.eval()
    with torch.no_grad():
        outputs = _called(network, images[:_FEW], evaluation_chance(seed), returns)
    channels, height, width = images.shape[1:]
    is_several = isinstance(labels, Tensor) and labels.ndim == 2  # pyright: ignore[reportUnnecessaryIsInstance]
    data = GivenImages(
        kind="images",
        shape=(channels, height, width),
        classes=outputs.lengths.shape[1],
        most=max(1, int(labels.sum(dim=1).max())) if is_several else None,
    )
    config = TrainingConfig(
        data=data,
        model=GivenModule(kind=type(network).__name__),
        loss=loss or _usual_loss(outputs, data.task),
    )
    return ExaminedModule(config, seed, images.device, network, returns=returns)


def _usual_loss(outputs: Outputs, task: Task) -> Loss:
    if task.label_form == "classes":
        return Sigmoid()
    return MarginLoss() if outputs.logits is None else CrossEntropy()


def _check_images(images: Tensor, network: nn.Module) -> None:
    """Check that images are numbers from 0 to 1, on the network's device.

    Raises:
        ValueError: Saying what they are.
    """
    if images.ndim != 4 or not len(images) or not images.is_floating_point():
        raise ValueError(
            f"images must be floating-point numbers of shape [images, channels, height, width], "
            f"got {images.dtype} of shape {list(images.shape)}."
        )
    devices = {weight.device for weight in network.parameters()}
    if len(devices) == 1 and images.device not in devices:
        raise ValueError(
            f"images must be on the network's device, {devices.pop()}, got {images.device}: hand "
            f"images.to(device)."
        )
    lowest, highest = (float(value) for value in images.aminmax())
    if not 0 <= lowest <= highest <= 1:
        raise ValueError(
            f"images must have values from 0 to 1, got {lowest:g} to {highest:g}: let the network "
            f"standardise them itself, as its first layer."
        )


def _called(
    network: nn.Module,
    images: Tensor,
    generator: torch.Generator,
    returns: Returns | None,
    *,
    num_classes: int | None = None,
) -> Outputs:
    start = f"The module '{type(network).__name__}' must return"
    with _seeded(generator, images.device):
        value: object = network(images)
    return as_outputs(value, returns, num_classes, num_images=len(images), start=start)


@contextmanager
def _seeded(generator: torch.Generator, device: torch.device) -> Generator[None]:
    """Seed PyTorch's default generators of the CPU and of a device, and restore them."""
    seed, is_cuda = generator.initial_seed(), device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if is_cuda else []):
        torch.default_generator.manual_seed(seed)
        if is_cuda:
            torch.cuda.default_generators[device.index].manual_seed(seed)
        yield


@contextmanager
def modes_restored(network: nn.Module) -> Generator[None]:
    """Give every module of a network its mode back at the end, training or evaluation."""
    modes = [(module, module.training) for module in network.modules()]
    try:
        yield
    finally:
        for module, is_training in modes:
            module.training = is_training


class NotGiven(Images):
    """A split that was not handed over: who looks at it raises a ValueError that says so."""

    def __init__(self, sentence: str) -> None:
        """Take the sentence of the error."""
        object.__setattr__(self, "_sentence", sentence)

    def __getattr__(self, name: str) -> Any:
        """Raise the error for whatever a split has.

        Raises:
            ValueError: With the sentence.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        raise ValueError(self._sentence)

    def copied(self) -> Images:
        """Return itself, as there is nothing to copy."""
        return self


class GivenImages(DataSet):
    """Images that were handed over.

    Attributes:
        shape: Channels, height and width.
        classes: Number of classes that the module knows.
        most: The most classes of an image; None where labels are one class each.
    """

    kind: str
    shape: tuple[int, int, int]
    classes: int
    most: int | None

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the images."""
        return self.shape

    @property
    def num_classes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those that the module knows."""
        return self.classes

    @property
    def task(self) -> Task:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the labels."""
        return OneClass() if self.most is None else SeveralClasses(most=self.most)

    def load(self, device: str | torch.device) -> DataSplits:
        """Raise an error: they are on no disk."""
        raise ValueError(f"The images were handed over and are in no file, asked for on {device}.")


class GivenModule(Model):
    """A module that was handed over, called by its class."""

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: str

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        """Raise an error: it is built already."""
        raise ValueError(f"'{self.kind}' was handed over built, asked for {image_shape} again.")
