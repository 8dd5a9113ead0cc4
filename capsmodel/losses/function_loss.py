"""A plain function as a loss: a decorator makes it a part.

    @loss
    def focal(
        lengths: Tensor, labels: Tensor, gamma: Annotated[float, Field(ge=0), Floats(0, 5)] = 2.0
    ) -> Tensor:
        true = lengths.gather(1, labels[:, None]).clamp(min=1e-6)
        return (-((1 - true) ** gamma) * true.log()).mean()

`focal(gamma=1.0)` is then a loss as capsmodel's own: its other arguments are settings.
"""

import inspect
from abc import ABC
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

from jaxtyping import Float, Shaped
from torch import Tensor

from capsmodel.functional.losses import Reduction
from capsmodel.losses.base import Loss
from capsmodel.models.base import Outputs
from capsmodel.schedules import Number
from capsmodel.settings.part_of_arguments import part_of_arguments

_OF_OUTPUTS = ("lengths", "logits", "poses")
_PASSED = (*_OF_OUTPUTS, "labels", "progress")


class FunctionLoss(Loss, ABC):
    """A loss that is a function of the user's. `loss` makes its members.

    Attributes:
        function: The function.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    function: ClassVar[Callable[..., Any]]

    if TYPE_CHECKING:  # each member has the settings of its function

        def __init__(self, **settings: Any) -> None: ...

    @property
    def follows_progress(self) -> bool:
        """Whether the function asks for the progress."""
        return "progress" in inspect.signature(self.function).parameters

    @classmethod
    def judges_logits(cls) -> bool:
        """Return whether the function asks for logits."""
        return "logits" in inspect.signature(cls.function).parameters

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the function's loss of lengths alone."""
        return self.judge(Outputs(lengths, None), labels, progress)

    def judge(
        self,
        outputs: Outputs,
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the function's loss of what it asks for.

        Raises:
            ValueError: If the outputs have no such tensor, or not the mean is asked for.
        """
        if over_images != "mean":
            raise ValueError(
                f"The loss '{self.kind}' is a function that returns the mean over the images, so "
                f"{over_images!r} of them cannot be had: leave out `reduction` and `class_weights`."
            )
        values: dict[str, Any] = {"labels": labels, "progress": progress}
        values |= {name: getattr(outputs, name) for name in _OF_OUTPUTS}
        asked = inspect.signature(self.function).parameters
        for name in asked:
            if name in _OF_OUTPUTS and values[name] is None:
                raise ValueError(
                    f"The loss '{self.kind}' asks for {name}, which the network does not return: "
                    f"ask for lengths, or choose another model."
                )
        arguments = {
            name: values[name] if name in values else getattr(self, name) for name in asked
        }
        return self.function(**arguments)


@overload
def loss(function: Callable[..., Any]) -> type[FunctionLoss]: ...
@overload
def loss(*, kind: str | None = None) -> Callable[[Callable[..., Any]], type[FunctionLoss]]: ...


def loss(function: Callable[..., Any] | None = None, *, kind: str | None = None) -> Any:
    """Make a loss of a function that returns the mean over the images.

    It is passed what it asks for by name: `lengths` [batch classes], `logits` [batch classes],
    `poses` [batch classes pose], `labels` [batch], and `progress`, the share of the training that
    is done. Its other arguments are settings, each with an annotation.

    Args:
        function: The function.
        kind: What messages and `--set loss=KIND` call it, by default the function's name.

    Raises:
        TypeError: If it is no function, asks for no labels or outputs, or an argument cannot be a
            setting.
    """
    if function is None:
        return partial(_part_of, kind=kind)
    return _part_of(function, kind)


def _part_of(function: Callable[..., Any], kind: str | None) -> type[FunctionLoss]:
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        raise TypeError(f"@loss takes a function, got {function!r}: define one by `def`.")
    asked = inspect.signature(function).parameters
    if "labels" not in asked or not any(name in asked for name in _OF_OUTPUTS):
        raise TypeError(
            f"The loss {function.__name__} must ask for labels, and for "
            f"{' or '.join(_OF_OUTPUTS)}, got ({', '.join(asked)}): name its arguments so."
        )
    part = part_of_arguments(FunctionLoss, function, kind=kind, passed=_PASSED)
    part.function = staticmethod(function)
    return part
