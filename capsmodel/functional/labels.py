"""Labels: the true class of each image, checked in one place for all losses."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64, Integer, Shaped
from torch import Tensor

from capsmodel.functional.checks import check_shape
from capsmodel.functional.differentiation import has_storage, is_traced

_INTEGERS = {
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
}


class TrueClasses(NamedTuple):
    """The true class of each image, ready to index with.

    Attributes:
        indices: The classes. A label that is no class is replaced by one that is.
        is_class: Whether each label is a class; None where all are known to be.
    """

    indices: Int64[Tensor, " batch"]
    is_class: Bool[Tensor, " batch"] | None

    def is_true(self, num_classes: int) -> Bool[Tensor, "batch classes"]:
        """Return true at each image's class."""
        classes = torch.arange(num_classes, device=self.indices.device)
        return self.indices.unsqueeze(1) == classes


def checked(
    values: Float[Tensor, "*batch_values"], is_class: Bool[Tensor, " batch"] | None
) -> Float[Tensor, "*batch_values"]:
    """Return values, NaN where a label is no class; their gradients are NaN too.

    Args:
        values: A value or a row for each image; or one of all images, NaN if any label is none.
        is_class: Whether each image's label is a class; None where all are known to be.
    """
    if is_class is None:
        return values
    is_valid = is_class.reshape(-1, *[1] * (values.ndim - 1)) if values.ndim else is_class.all()
    return values * torch.ones_like(is_valid, dtype=values.dtype).where(is_valid, math.nan)


def true_classes(
    labels: Shaped[Tensor, "..."], beliefs: Shaped[Tensor, "batch classes ..."]
) -> TrueClasses:
    """Return the true classes that labels name.

    Values are looked at only where that costs nothing: in plain tensors on the CPU. Elsewhere - on
    a GPU, under `torch.func`, compiled, exported or traced - a label that is no class is marked in
    `is_class`, by which `checked` makes the loss NaN.

    Args:
        labels: The class of each image, integers of any type.
        beliefs: Beliefs that the labels belong to; the first two axes are images and classes.

    Raises:
        ValueError: If the labels are not one integer an image, or one of them, in a plain tensor on
            the CPU, is no class.
    """
    check_label_type(labels)
    num_images, num_classes = beliefs.shape[:2]
    check_shape("labels", labels, batch=num_images)
    indices = labels.long()
    if _has_plain_values(labels) and _has_plain_values(beliefs):
        check_label_range(indices, num_classes)
        return TrueClasses(indices, None)
    is_class = (indices >= 0) & (indices < num_classes)
    return TrueClasses(indices.clamp(0, num_classes - 1), is_class)


def multi_hot(
    labels: Shaped[Tensor, "batch classes"], beliefs: Shaped[Tensor, "batch classes"]
) -> tuple[Bool[Tensor, "batch classes"], Bool[Tensor, " batch"] | None]:
    """Return whether an image is of each class, and whether its labels are all 0 or 1.

    The second is None where they are known to be: where values are looked at, see `true_classes`.

    Args:
        labels: One label an image and class, of any number type.
        beliefs: Beliefs that the labels belong to.

    Raises:
        ValueError: If they are not one number per image and class, or in plain tensors on the CPU
            one is neither 0 nor 1.
    """
    num_images, num_classes = beliefs.shape
    check_shape("labels", labels, batch=num_images, classes=num_classes)
    if labels.dtype is torch.bool:
        return labels, None
    is_true = labels == 1
    if _has_plain_values(labels):
        check_zeros_and_ones(labels)
        return is_true, None
    return is_true, (is_true | (labels == 0)).all(dim=1)


def check_different(labels: Integer[Tensor, "batch several"]) -> None:
    """Check, in plain tensors on the CPU, that the classes of each image differ; -1 is none.

    Raises:
        ValueError: Naming the first image with one class twice, as rows of one-hot labels have.
    """
    if not _has_plain_values(labels) or labels.dtype not in _INTEGERS:
        return
    ordered = labels.sort(dim=1).values
    is_twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(dim=1)
    if bool(is_twice.any()):
        image = int(is_twice.nonzero()[0])
        raise ValueError(
            f"The classes of image {image} are {labels[image].tolist()}: several classes of an "
            f"image must differ, with -1 for none. If the labels are one-hot, hand "
            f"labels.argmax(dim=1)."
        )


def check_zeros_and_ones(labels: Shaped[Tensor, "images classes"], split: str = "") -> None:
    """Check that labels of several classes are 0 or 1; a GPU has to be waited for.

    Raises:
        ValueError: Naming the first image whose label is something else.
    """
    is_other = (labels != 0) & (labels != 1)
    if bool(is_other.any()):
        image, label = is_other.nonzero()[0].tolist()
        place = f" of {split}" if split else ""
        raise ValueError(
            f"The label of image {image}{place} is {labels[image, label].item():g} for class "
            f"{label}: labels of several classes are 1 for each class of the image and else 0."
        )


def one_hot(
    labels: Integer[Tensor, " batch"], num_classes: int
) -> Bool[Tensor, "batch {num_classes}"]:
    """Return true at each image's label.

    Unlike `torch.nn.functional.one_hot` it never waits for a GPU. Where values are not looked at
    (see `true_classes`), a label that is no class gives a row without a true.

    Raises:
        ValueError: If the labels are not one integer an image, or one of them, in a plain tensor on
            the CPU, is no class.

    Example:
        >>> import torch
        >>> one_hot(torch.tensor([2, 0]), 3)
        tensor([[False, False,  True],
                [ True, False, False]])
    """
    check_label_type(labels)
    if _has_plain_values(labels):
        check_label_range(labels.long(), num_classes)
    return TrueClasses(labels.long(), None).is_true(num_classes)


def check_label_type(labels: Shaped[Tensor, "..."]) -> None:
    """Check that labels are one integer an image.

    Raises:
        ValueError: Naming their shape and number type.
    """
    if not isinstance(labels, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"Labels are one integer an image, in a tensor, got {type(labels).__name__}: hand "
            f"torch.tensor(labels)."
        )
    if labels.ndim == 1 and labels.dtype not in _INTEGERS:
        raise ValueError(
            f"Labels are one integer an image, of shape [batch], got {labels.dtype} of shape "
            f"{list(labels.shape)}: hand labels.long()."
        )
    if labels.ndim != 1:
        raise ValueError(
            f"Labels are one integer an image, of shape [batch], got {labels.dtype} of shape "
            f"{list(labels.shape)}. If they are one-hot, hand labels.argmax(dim=1); where an "
            f"image may be of several classes, declare task = SeveralClasses() in the data set, "
            f"with the margin, spread or sigmoid loss."
        )


def check_label_range(labels: Int64[Tensor, " images"], num_classes: int, split: str = "") -> None:
    """Check that each label is a class; a GPU has to be waited for.

    Args:
        labels: The class of each image.
        num_classes: Number of classes.
        split: Name of their split in error sentences, if any.

    Raises:
        ValueError: Naming the first image whose label is no class.
    """
    if len(labels) == 0:
        return
    smallest, largest = labels.aminmax()
    if smallest.item() >= 0 and largest.item() < num_classes:
        return
    index = int(((labels < 0) | (labels >= num_classes)).nonzero()[0])
    place = f" of {split}" if split else ""
    raise ValueError(
        f"The label of image {index}{place} is {int(labels[index])}, which is no class: with "
        f"{num_classes} classes, labels are 0 to {num_classes - 1}. Number the classes from 0, or "
        f"set the number of classes to that of the labels."
    )


def _has_plain_values(tensor: Shaped[Tensor, "..."]) -> bool:
    """Return whether the values can be looked at now, without waiting for a device."""
    return not is_traced() and tensor.device.type == "cpu" and has_storage(tensor)
