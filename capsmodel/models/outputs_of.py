"""What a module returns for a batch of images, as the outputs of a network."""

from typing import Literal, get_args

from torch import Tensor

from capsmodel.functional import lengths
from capsmodel.models.base import Outputs, couplings_of
from capsmodel.routing import Routed

Returns = Literal["logits", "lengths", "poses", "outputs"]
"""What a module returns: logits, or lengths in [0, 1], of shape [batch, classes]; poses of class
capsules, of shape [batch, classes, pose]; or `Outputs` or `Routed`."""

_EXPECTED = {
    "logits": "logits, a tensor of shape [batch, classes]",
    "lengths": "lengths, a tensor of shape [batch, classes]",
    "poses": "poses of class capsules, a tensor of shape [batch, classes, pose]",
    "outputs": "Outputs, or a capsule layer's Routed",
    None: "logits, a tensor of shape [batch, classes], or Outputs, or a capsule layer's Routed",
}


def as_outputs(
    value: object,
    returns: Returns | None = None,
    num_classes: int | None = None,
    *,
    num_images: int | None = None,
    start: str = "The module must return",
) -> Outputs:
    """Return what a module returned for a batch, as `Outputs`.

    Beliefs of logits are their softmax, those of poses their Euclidean lengths, which a squash
    keeps in [0, 1]. Shapes and number types are checked, values are not: that would wait for a GPU.

    Args:
        value: What the module returned.
        returns: What it is to be; None for `Outputs` or `Routed` by its type, and logits for a
            tensor.
        num_classes: Number of classes that it must have; None for any from 2.
        num_images: Number of images that it must be for; None for any.
        start: Beginning of the sentence of an error.

    Raises:
        ValueError: If it is of another type, shape or number type.

    Example:
        >>> import torch
        >>> as_outputs(torch.zeros(3, 2)).lengths[0]
        tensor([0.5000, 0.5000])
        >>> as_outputs((torch.zeros(3, 2), None))
        Traceback (most recent call last):
        ValueError: The module must return logits, a tensor of shape [batch, classes], or Outputs, \
or a capsule layer's Routed, got a tuple of 2.
    """
    if returns not in (None, *get_args(Returns)):
        choices = ", ".join(map(repr, get_args(Returns)))
        raise ValueError(f"returns must be one of {choices}, got {returns!r}.")
    if isinstance(value, Outputs | Routed) and returns in (None, "outputs"):
        outputs = value if isinstance(value, Outputs) else _of_routed(value)
    elif isinstance(value, Tensor) and _is_of(value, returns):
        outputs = _of_tensor(value, returns or "logits")
    else:
        raise ValueError(f"{start} {_EXPECTED[returns]}, got {_described(value)}.")
    _check_sizes(outputs.lengths, num_images, num_classes, start)
    return outputs


def _of_routed(routed: Routed) -> Outputs:
    couplings = couplings_of({"capsules": routed})
    return Outputs(routed.beliefs, None, routed.logits, routed.poses, couplings)


def _is_of(value: Tensor, returns: Returns | None) -> bool:
    if returns == "outputs":
        return False
    return value.ndim == (3 if returns == "poses" else 2) and value.is_floating_point()


def _of_tensor(value: Tensor, returns: Returns) -> Outputs:
    if returns == "logits":
        return Outputs(value.softmax(dim=1), None, value)
    if returns == "lengths":
        return Outputs(value, None)
    return Outputs(lengths(value), None, poses=value)


def _check_sizes(
    beliefs: object, num_images: int | None, num_classes: int | None, start: str
) -> None:
    """Check that there is a belief for each image and class, and that classes are several.

    Raises:
        ValueError: Naming both shapes.
    """
    if not isinstance(beliefs, Tensor) or beliefs.ndim != 2:
        raise ValueError(
            f"{start} lengths of shape [batch, classes] in its Outputs, got {_described(beliefs)}."
        )
    images, classes = beliefs.shape
    if num_images not in (None, images) or num_classes not in (None, classes):
        expected = [images if num_images is None else num_images]
        expected.append(classes if num_classes is None else num_classes)
        raise ValueError(
            f"{start} a belief for each image and class, of shape {expected}, got "
            f"{[images, classes]}."
        )
    if classes < 2:
        raise ValueError(
            f"{start} a belief for each of 2 classes or more, got {classes}: for a yes or no, take "
            f"2 classes."
        )


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"a tensor of shape {list(value.shape)} and type {kind}"
    if isinstance(value, Routed | Outputs) or not isinstance(value, tuple | list | dict):
        return "None" if value is None else type(value).__name__
    return f"a {type(value).__name__} of {len(value)}"
