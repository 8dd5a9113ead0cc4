"""Labels: the true class of each image."""

import torch
from jaxtyping import Int
from torch import Tensor


def one_hot(labels: Int[Tensor, " batch"], num_classes: int) -> Tensor:
    """Return true at each image's label: booleans of shape [batch classes].

    Unlike `torch.nn.functional.one_hot` it looks at no value, so a GPU need not be waited for.

    Raises:
        ValueError: If the labels are not one integer an image.
    """
    refuse_other_labels(labels)
    return labels.unsqueeze(1) == torch.arange(num_classes, device=labels.device)


def refuse_other_labels(labels: Tensor) -> None:
    """Refuse labels that are not one integer an image, which would be taken for others in silence.

    Raises:
        ValueError: Naming their shape and number type.
    """
    if labels.ndim != 1 or labels.is_floating_point() or labels.dtype is torch.bool:
        raise ValueError(
            f"Labels are one integer an image, of shape [batch], got {labels.dtype} of shape "
            f"{list(labels.shape)}. If they are one-hot, hand labels.argmax(dim=1)."
        )
