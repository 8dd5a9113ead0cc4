"""The forward pass of the first capsule network's released code, written out loop by loop."""

from collections.abc import Mapping

import torch
from torch import Tensor

Size = tuple[int, int]


def lengths_and_images(
    values: Mapping[str, Tensor], images: Tensor, sizes: tuple[int, int, int], kernel: int
) -> tuple[Tensor, Tensor]:
    """Lengths of the class capsules, and images drawn from the longest.

    Args:
        values: The network's, by their names.
        images: In double precision, [batch, channels, height, width].
        sizes: Types of primary capsules, their poses' length, that of the classes'.
        kernel: Of both convolutions; the strides are 1 and 2.
    """
    types, pose, class_pose = sizes
    lengths: list[Tensor] = []
    drawn: list[Tensor] = []
    for image in images:
        first = convolved(image, values, "convolution.convolution", kernel, 1).clamp(min=0)
        primary = primary_capsules(first, values, kernel, (types, pose))
        classes = class_capsules(primary, values, class_pose)
        norms = torch.stack([capsule.norm() for capsule in classes])
        lengths.append(norms)
        drawn.append(decoded(classes, int(norms.argmax()), values).view_as(image))
    return torch.stack(lengths), torch.stack(drawn)


def convolved(
    image: Tensor, values: Mapping[str, Tensor], name: str, kernel: int, stride: int
) -> Tensor:
    weight, bias = values[f"{name}.weight"], values[f"{name}.bias"]
    return without_bias(image, weight, kernel, stride) + bias.view(-1, 1, 1)


def without_bias(image: Tensor, weight: Tensor, kernel: int, stride: int) -> Tensor:
    rows, columns = ((size - kernel) // stride + 1 for size in image.shape[1:])
    convolved = image.new_zeros(len(weight), rows, columns)
    for channel in range(len(weight)):
        for row in range(rows):
            for column in range(columns):
                top, left = row * stride, column * stride
                seen = image[:, top : top + kernel, left : left + kernel]
                convolved[channel, row, column] = (seen * weight[channel]).sum()
    return convolved


def primary_capsules(
    features: Tensor, values: Mapping[str, Tensor], kernel: int, shape: Size
) -> list[Tensor]:
    """One input routed once to all types: each gets a share of 1 / types, then its bias."""
    types, pose = shape
    name = "primary.convolution"
    maps = without_bias(features, values[f"{name}.weight"], kernel, 2)
    capsules: list[Tensor] = []
    for kind in range(types):
        for row in range(maps.shape[1]):
            for column in range(maps.shape[2]):
                channels = slice(kind * pose, (kind + 1) * pose)
                biased = maps[channels, row, column] / types + values[f"{name}.bias"][channels]
                capsules.append(squashed(biased))
    return capsules


def class_capsules(
    inputs: list[Tensor], values: Mapping[str, Tensor], class_pose: int
) -> list[Tensor]:
    """Three rounds of routing, with a bias inside each, over the outputs of each input."""
    bias = values["capsules.router.bias"]
    matrices = values["capsules.weight"]
    num_classes = len(bias)
    votes = [
        [
            inputs[i] @ matrices[i, :, j * class_pose : (j + 1) * class_pose]
            for j in range(num_classes)
        ]
        for i in range(len(inputs))
    ]
    logits = torch.zeros(len(inputs), num_classes, dtype=bias.dtype)
    capsules: list[Tensor] = []
    for _ in range(3):
        capsules = []
        for j in range(num_classes):
            total = bias[j].clone()
            for i in range(len(inputs)):
                total = total + logits[i, j].exp() / logits[i].exp().sum() * votes[i][j]
            capsules.append(squashed(total))
        for i in range(len(inputs)):
            for j in range(num_classes):
                logits[i, j] += votes[i][j] @ capsules[j]
    return capsules


def squashed(total: Tensor) -> Tensor:
    squared = total @ total
    return squared / (1 + squared) * total / squared.sqrt()


def decoded(classes: list[Tensor], chosen: int, values: Mapping[str, Tensor]) -> Tensor:
    masked = [capsule if j == chosen else capsule * 0 for j, capsule in enumerate(classes)]
    hidden = torch.cat(masked)
    last = sum(name.startswith("decoder") for name in values) // 2 - 1
    for layer in range(last + 1):
        name = f"decoder.layers.{layer}"
        hidden = values[f"{name}.weight"] @ hidden + values[f"{name}.bias"]
        hidden = hidden.sigmoid() if layer == last else hidden.clamp(min=0)
    return hidden
