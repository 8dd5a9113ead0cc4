"""Any `torch.nn.Module` as a model: a decorator makes its class a part.

    @model
    class MLP(nn.Module):
        def __init__(
            self,
            image_shape: tuple[int, int, int],
            num_classes: int,
            hidden: Annotated[int, Ints(32, 512, log=True)] = 128,
        ) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                nn.Flatten(), nn.Linear(math.prod(image_shape), hidden), nn.ReLU(),
                nn.Linear(hidden, num_classes),
            )

        def forward(self, images: Tensor) -> Tensor:
            return self.layers(images)

`MLP(hidden=256)` is then a model as capsmodel's own: its arguments are settings.
"""

import inspect
from abc import ABC
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args, overload

import torch
from jaxtyping import Float, Integer
from pydantic import ConfigDict
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from capsmodel.chance import global_generators_seeded, stream
from capsmodel.models.base import Model, Network, Outputs
from capsmodel.models.outputs_of import Returns, as_outputs
from capsmodel.models.weights_file import WeightsFile
from capsmodel.settings.part_of_arguments import part_of_arguments
from capsmodel.settings.profiles import Settings, fields_of

_SHAPES = ("image_shape", "num_classes")
_LARGEST_SEED = 2**62
_OF_NO_TRAINING = -1


class ForeignModel(Model, ABC):
    """A model whose network is a module of the user's. `model` makes its members.

    Attributes:
        module: The class of the network.
        returns: What a call of it returns.
    """

    model_config = ConfigDict(protected_namespaces=())

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    module: ClassVar[type[nn.Module]]
    returns: ClassVar[Returns]

    if TYPE_CHECKING:  # each member has the settings of its module

        def __init__(self, **settings: Any) -> None: ...

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a class that inherits from a part, as its network would be the parent's.

        Raises:
            TypeError: If a member is inherited from.
        """
        super().__init_subclass__(**options)
        if parent := next((base for base in cls.__bases__ if "module" in vars(base)), None):
            raise TypeError(
                f"{cls.__name__} inherits from {parent.__name__}, which @model made a part: "
                f"inherit from {parent.__name__}.module, and decorate both."
            )

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "ForeignNetwork":
        """Return the network, with weights: it is never on the meta device.

        Raises:
            ValueError: If the module refuses its arguments, or makes parameters in its first call.
        """
        return ForeignNetwork(self, image_shape, num_classes)

    def new_module(self, image_shape: tuple[int, int, int], num_classes: int) -> nn.Module:
        """Return a new module on the CPU, drawn from the global generators.

        Raises:
            ValueError: As `build` does.
        """
        asked = inspect.signature(self.module).parameters
        passed = dict(zip(_SHAPES, (image_shape, num_classes), strict=True))
        settings = {name: getattr(self, name) for name in asked if name not in passed}
        for file in _weights_files(tuple(settings.values())):
            file.check()
        shapes = {name: value for name, value in passed.items() if name in asked}
        with torch.device("cpu"):
            module = self._constructed({**settings, **shapes})
        self._check_parameters(module)
        return module

    def _constructed(self, arguments: Mapping[str, Any]) -> nn.Module:
        try:
            return self.module(**arguments)
        except TypeError as error:
            if not str(error).startswith("super("):
                raise
            name = self.module.__name__
            raise ValueError(
                f"{name} calls super({name}, self), and {name} is a part since @model: write "
                f"super().__init__()."
            ) from error

    def _check_parameters(self, module: nn.Module) -> None:
        named = [*module.named_parameters(), *module.named_buffers()]
        lazy = [name for name, value in named if is_lazy(value)]
        if lazy:
            raise ValueError(
                f"The model '{self.kind}' makes '{lazy[0]}' in its first call: give the layer its "
                f"size in the constructor, which may ask for image_shape and num_classes."
            )
        odd = [name for name, p in module.named_parameters() if p.dtype != torch.float32]
        if odd:
            raise ValueError(
                f"The model '{self.kind}' has '{odd[0]}' in "
                f"{str(dict(module.named_parameters())[odd[0]].dtype).removeprefix('torch.')}: "
                f"weights are float32; set precision=bf16 to compute with fewer digits."
            )


def _weights_files(value: Any) -> Iterator[WeightsFile]:
    """Yield the files of weights among some values, also in tuples and parts."""
    if isinstance(value, WeightsFile):
        yield value
    elif isinstance(value, tuple | Settings):
        items = fields_of(value).values() if isinstance(value, Settings) else value
        for item in cast(Iterable[Any], items):
            yield from _weights_files(item)


class ForeignNetwork(Network):
    """A network around a module of the user's.

    The module draws from the global generators of PyTorch, NumPy and Python, in its constructor
    and in its calls. They are seeded for it from the trial's streams and set back afterwards, so
    that a seed decides everything.

    Attributes:
        module: The user's.
    """

    can_be_captured: ClassVar[bool] = False

    def __init__(
        self, settings: ForeignModel, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        self._settings = settings
        self._shapes = image_shape, num_classes
        self.has_own_loss = hasattr(settings.module, "training_loss")

    def reset_parameters(self) -> None:
        """Build the module anew from a seed that is drawn from PyTorch's default generator.

        Where the meta device is the default, as in `build_model`, it is that of no training.
        """
        is_meta = torch.empty(()).is_meta
        drawn = _OF_NO_TRAINING if is_meta else torch.randint(_LARGEST_SEED, (), device="cpu")
        self.initialise(int(drawn))

    def to_empty(
        self, *, device: str | torch.device | int | None, recurse: bool = True
    ) -> "ForeignNetwork":
        """Move the network to a device. Values are kept, as a constructor alone may know them."""
        del recurse
        return self.to(device)

    def initialise(self, seed: int) -> None:
        """Build the module anew, on the CPU."""
        chance = stream(seed, "initialisation")
        drawn = torch.randint(_LARGEST_SEED, (), generator=chance, device="cpu")
        with self._seeded(int(drawn), torch.device("cpu"), "its constructor"):
            self.module = self._settings.new_module(*self._shapes)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return what the module returns for the images, which is all that it is handed.

        Raises:
            ValueError: If it returns something else than it declares.
        """
        del labels
        self.check_images(images)
        return as_outputs(
            self._drawing_from(generator, images.device, self.module, images),
            self._settings.returns,
            self._shapes[1],
            num_images=len(images),
            start=f"The model '{self._settings.kind}' must return",
        )

    def training_loss(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"],
        generator: torch.Generator,
    ) -> Float[Tensor, ""]:
        """Return the module's own loss of a batch, for a module that has one."""
        loss = cast(Any, self.module).training_loss
        return self._drawing_from(generator, images.device, loss, images, labels, generator)

    def _drawing_from(
        self,
        generator: torch.Generator | None,
        device: torch.device,
        function: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """Return a function's result; what it draws is decided by the generator."""
        if generator is None:
            return function(*arguments)
        seed = torch.randint(_LARGEST_SEED, (), generator=generator, device=generator.device)
        with self._seeded(int(seed), device, "a call"):
            return function(*arguments)

    @contextmanager
    def _seeded(self, seed: int, device: torch.device, place: str) -> Generator[None]:
        """Seed the global generators for a block of the user's.

        Raises:
            ValueError: If the block seeds PyTorch's itself, as then all trials would draw the same.
        """
        with global_generators_seeded(seed, device):
            yield
            if torch.default_generator.initial_seed() != seed:
                raise ValueError(
                    f"The model '{self._settings.kind}' seeds PyTorch's generator in {place}, so "
                    f"that trials of other seeds would draw the same numbers: leave it out, as the "
                    f"trial's seed decides them."
                )


@overload
def model(module: type[nn.Module]) -> type[ForeignModel]: ...
@overload
def model(
    *, returns: Returns = "logits", kind: str | None = None
) -> Callable[[type[nn.Module]], type[ForeignModel]]: ...


def model(
    module: type[nn.Module] | None = None,
    *,
    returns: Returns = "logits",
    kind: str | None = None,
) -> Any:
    """Make a model of a class of modules; its settings are the constructor's arguments.

    Each argument has an annotation, whose range a space may search; `image_shape` and `num_classes`
    are passed to a constructor that asks for them. A module is handed images alone. One that has
    a method `training_loss(images, labels, generator)` is trained by that instead of a loss.

    Args:
        module: The class.
        returns: What a call returns. "logits": [batch classes], whose softmax the beliefs are.
            "lengths": beliefs in [0, 1], [batch classes]. "poses": poses of the class capsules,
            [batch classes pose], whose lengths the beliefs are. "outputs": `Outputs`, or what a
            capsule layer returns.
        kind: What messages and `--set model=KIND` call it, by default the class's name in lower
            case with underscores: "small_net" for SmallNet.

    Raises:
        TypeError: If the class is no module, or an argument cannot be a setting.
    """
    if module is None:
        return partial(_part_of, returns=returns, kind=kind)
    return _part_of(module, returns, kind)


def _part_of(module: type[nn.Module], returns: Returns, kind: str | None) -> type[ForeignModel]:
    _check_module(module, returns)
    part = part_of_arguments(ForeignModel, module, kind=kind, passed=_SHAPES)
    part.module = module
    part.returns = returns
    return part


def _check_module(module: Any, returns: str) -> None:
    if not isinstance(module, type) or not issubclass(module, nn.Module):
        raise TypeError(
            f"@model takes a class of torch.nn.Module, got {module!r}: decorate the class itself."
        )
    if returns not in get_args(Returns):
        raise TypeError(
            f"@model(returns=...) is one of {', '.join(get_args(Returns))}, got {returns!r}."
        )
    if module.forward is nn.Module.forward:
        raise TypeError(f"{module.__name__} has no method forward(self, images): define it.")
