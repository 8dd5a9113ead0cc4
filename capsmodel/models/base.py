"""The interface of every model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, cast

import torch
from jaxtyping import Float, Integer
from pydantic import Field
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from capsmodel.chance import stream
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.initialised import InitialisedModule, SetModule
from capsmodel.routing import Couplings, Routed
from capsmodel.settings.parts import Part

Size = Annotated[int, Field(ge=1)]
"""How many channels, types, capsules, units or numbers of a pose."""
Sizes = Annotated[tuple[Size, ...], Field(min_length=1)]
T = TypeVar("T")
_N = TypeVar("_N", bound="Network")


class Outputs(NamedTuple):
    """The outputs of a network for a batch.

    Attributes:
        lengths: Belief in each class, in [0, 1].
        reconstructions: Images with values in [0, 1], or None where the model draws none; of a task
            of several classes one for each class of an image.
        logits: Logits whose softmax the beliefs are; None if beliefs are not probabilities.
        poses: Poses of the class capsules, or None where there are none.
        couplings: Name of a layer -> its last couplings, if its routing reports them; none from a
            replica of `DataParallel`.
    """

    lengths: Float[Tensor, "batch classes"]
    reconstructions: Float[Tensor, "batch *several channels height width"] | None
    logits: Float[Tensor, "batch classes"] | None = None
    poses: Float[Tensor, "batch classes pose"] | None = None
    couplings: Mapping[str, Couplings] = {}

    @property
    def beliefs(self) -> Float[Tensor, "batch classes"]:
        """The lengths, by the name that the capsules of a layer have for them."""
        return self.lengths

    __repr__ = shapes_repr


def couplings_of(layers: Mapping[str, Routed]) -> dict[str, Couplings]:
    """Return the couplings of the layers whose routing reports them."""
    by_layer = {name: routed.couplings for name, routed in layers.items()}
    return {name: couplings for name, couplings in by_layer.items() if couplings is not None}


class ChildGrid(NamedTuple):
    """The children of the class capsules, and their places.

    Attributes:
        layer: Name of the class capsules' couplings.
        types: Types of children at each place.
        rows: Rows of their places.
        columns: Columns of their places.
        is_by_type: Whether all of one type stand before all of the next, or else all of one place.
    """

    layer: str
    types: int
    rows: int
    columns: int
    is_by_type: bool


class Network(SetModule):
    """A model as a module: its children are `InitialisedModule`s that hold all parameters.

    Unless it is built on the meta device, its weights are drawn from PyTorch's default generator.

    Attributes:
        checkpointing: Whether what is `recomputable` is computed anew in the backward pass, to
            spare memory. It changes no number. A compiler decides for itself what is kept.
        can_be_captured: Whether a CUDA graph can hold a step of it.
        has_own_loss: Whether a training asks `training_loss` in place of a loss.
        image_shape: Channels, height and width that it is built for; None where it takes any.
    """

    checkpointing: bool = False
    can_be_captured: ClassVar[bool] = True
    has_own_loss: bool = False
    image_shape: tuple[int, int, int] | None = None

    def __init__(
        self, image_shape: tuple[int, int, int] | None = None, num_classes: int = 2
    ) -> None:
        """Note the image shape.

        Raises:
            ValueError: If there are fewer than two classes.
        """
        if num_classes < 2:
            raise ValueError(
                f"num_classes must be 2 or more, got {num_classes}: for a yes or no, take 2 "
                f"classes."
            )
        super().__init__()
        self.image_shape = image_shape

    def check_images(self, images: Float[Tensor, "batch channels height width"]) -> None:
        """Check that images have the shape that the network is built for.

        Raises:
            ValueError: Naming the given and the expected shape.
        """
        if self.image_shape is None or list(images.shape[1:]) == list(self.image_shape):
            return
        sizes = zip(("channels", "height", "width"), self.image_shape, strict=True)
        raise ValueError(
            f"images must be of shape [batch, {', '.join(f'{name} {n}' for name, n in sizes)}], "
            f"which the network is built for, got {list(images.shape)}: hand such images, or build "
            f"a network for theirs."
        )

    @abstractmethod
    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return beliefs and reconstructions; each image is judged on its own.

        Args:
            images: Values in [0, 1].
            labels: The class whose pose is drawn, in training the true one; or several of each
                image, -1 for none. None draws the class with the longest pose; a model of a user's
                gets None wherever it is judged, and `decode` draws the true class.
            generator: Source of all chance of the pass, by default PyTorch's own. What is compiled
                or exported draws from that alone.
        """

    def penalty(
        self, outputs: Outputs, images: Float[Tensor, "batch *several channels height width"]
    ) -> Float[Tensor, ""]:
        """Return what the model itself adds to the loss, mean over the images; by default zero.

        Args:
            outputs: For a batch.
            images: What reconstructions are compared with: the images, or the parts of each.
        """
        del outputs
        return images.new_zeros(())

    def training_loss(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"],
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Return the network's own loss, mean over the images. It is asked if `has_own_loss`.

        Args:
            images: As of `forward`.
            labels: The true classes.
            generator: Source of all chance of the pass.
        """
        raise NotImplementedError(f"{type(self).__name__} has no loss of its own.")

    def decode(
        self, poses: Float[Tensor, "batch classes pose"], labels: Integer[Tensor, "batch *several"]
    ) -> Float[Tensor, "batch *several channels height width"] | None:
        """Return images drawn from the poses of these classes; by default None, as none can be."""
        del poses, labels
        return None

    def child_grid(self) -> ChildGrid | None:
        """Return the places of the class capsules' children. The default is None: no places."""
        return None

    def recomputable(
        self, function: Callable[..., T], *inputs: Any, generator: torch.Generator | None
    ) -> T:
        """Return a function's result for inputs and generator; see `recomputed` for its duties."""
        if self.checkpointing and not torch.compiler.is_compiling():
            return recomputed(function, *inputs, generator=generator)
        return function(*inputs, generator)

    def to_empty(self: _N, *, device: str | torch.device | int | None, recurse: bool = True) -> _N:
        """Move all tensors to a device without their values, as PyTorch's method does.

        PyTorch's own imports sympy when tensors come from the meta device: 0.6 seconds of processor
        time in every process that trains.
        """
        for module in self.modules() if recurse else (self,):
            for name, parameter in list(module.named_parameters(recurse=False)):
                empty = _empty_like(parameter, device)
                setattr(module, name, nn.Parameter(empty, parameter.requires_grad))
            for name, buffer in list(module.named_buffers(recurse=False)):
                setattr(module, name, _empty_like(buffer, device))
        return self

    def reset_parameters(self) -> None:
        """Set every weight from a seed that is drawn from PyTorch's default generator.

        On the meta device, where nothing has values, nothing is set or drawn.
        """
        if self._has_values():
            device = next(self.parameters()).device
            self.cpu().initialise(int(torch.randint(2**62, (), device="cpu")))
            self.to(device)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place; storage must be on the CPU.

        Each child draws from a stream of its own name, so that arms of a sweep share the initial
        weights of all children that they have in common.

        Raises:
            ValueError: If a child cannot be initialised.
        """
        for name, child in self.named_children():
            if not hasattr(child, "initialise"):
                raise ValueError(
                    f"'{name}' of {type(self).__name__} is a {type(child).__name__} without a "
                    f"method `initialise`, so no seed can set its weights: make it the child of an "
                    f"InitialisedModule whose `initialise` sets them from the generator it gets."
                )
            cast(InitialisedModule, child).initialise(stream(seed, "initialisation", name))


class Model(Part, ABC):
    """A whole network from images to beliefs in classes.

    Attributes:
        takes: Forms of labels that its network can draw images by, those of `Task.label_form`.
    """

    family: ClassVar[str] = "model"
    takes: ClassVar[frozenset[str]] = frozenset({"class"})

    @abstractmethod
    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        """Return the network, its parameters not yet set.

        Args:
            image_shape: Channels, height, width.
            num_classes: Number of classes.

        Raises:
            ValueError: If images of this shape are too small for the model.
        """


def recomputed(function: Callable[..., T], *inputs: Any, generator: torch.Generator | None) -> T:
    """Return the result of a function; its intermediate values are recomputed for the gradient.

    The backward pass calls the function once more, so that of all tensors between inputs and
    result only the inputs stay in memory. It draws the same numbers then as at first, from a copy
    of the generator as that was: values and gradients are those of a plain call to the last bit,
    and the generator ends where a plain call leaves it.

    Source: Chen, Xu, Zhang and Guestrin 2016, arXiv:1604.06174, section 4.
    Difference: the caller says what is recomputed.

    Args:
        function: Takes the inputs, then the generator. It must do nothing but return: running
            means, as of batch normalisation, would move twice.
        inputs: Tensors, or what holds them.
        generator: Source of all chance of the function; None for PyTorch's own.
    """
    drawn_from = torch.default_generator if generator is None else generator
    start, calls = drawn_from.get_state(), count()

    def run(*arguments: Any) -> T:
        if next(calls) == 0:
            return function(*arguments, drawn_from)
        replayed = torch.Generator(drawn_from.device)
        replayed.set_state(start)
        return function(*arguments, replayed)

    # Nothing draws from the global generators, so there is no state of theirs to keep.
    return checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=False)


def _empty_like(tensor: Tensor, device: str | torch.device | int | None) -> Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
