"""The plain convolutional network that capsules are compared with."""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.layers import Classifier, ConvolutionStack
from capsmodel.models.base import Model, Network, Outputs, Size, Sizes
from capsmodel.search_range import Choices, Floats


class ConvNet(Model):
    """Convolutions, fully connected layers and a softmax; its beliefs are probabilities.

    With the cross-entropy loss it is trained as usual, on the logits of its softmax. Every loss
    on lengths takes its probabilities. The defaults are the baseline of the first capsule network
    for 28 by 28 grey images: 35,445,522 parameters.

    The baseline of Hinton, Sabour and Frosst 2018, 4.2 million parameters on 32 by 32 pixels, is
    `ConvNet(conv_channels=(32, 64), pooling=2, hidden=(1024,))`. That of Sabour, Frosst and Hinton
    2017 for pairs of digits, 24.56 million on 36 by 36 pixels, is
    `ConvNet(conv_channels=(512, 256), conv_kernel=(9, 5), pooling=2, hidden=(1024,))`.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.
    Difference: the paper states neither the padding, which is found from its number of parameters,
    nor the rate of the dropout, for which 0.5 is taken.

    Attributes:
        conv_channels: Feature maps of each convolution, of stride 1; they keep the image's size.
        conv_kernel: Their kernel in pixels, odd; a list has one for each.
        pooling: Pixels of the max-pooling after each convolution, 1 for none.
        hidden: Units of each fully connected layer before the softmax.
        dropout: Share of the last hidden units that is dropped in training.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["cnn"] = "cnn"
    conv_channels: Sizes = (256, 256, 128)
    conv_kernel: Annotated[Size | Sizes, Choices(3, 5, 7)] = 5
    pooling: Annotated[int, Field(ge=1)] = 1
    hidden: Sizes = (328, 192)
    dropout: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.7)] = 0.5

    @model_validator(mode="after")
    def _check_kernels(self) -> "ConvNet":
        kernels = self.conv_kernel if isinstance(self.conv_kernel, tuple) else (self.conv_kernel,)
        if even := [kernel for kernel in kernels if kernel % 2 == 0]:
            raise ValueError(
                f"conv_kernel must be odd, as the image keeps its size, got {even[0]}."
            )
        if isinstance(self.conv_kernel, tuple) and len(kernels) != len(self.conv_channels):
            raise ValueError(
                f"conv_kernel must be one number or one for each of the {len(self.conv_channels)} "
                f"convolutions, got {len(kernels)}."
            )
        return self

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "ConvolutionalNetwork":
        """Return the network.

        Raises:
            ValueError: If the images are too small for the pooling.
        """
        return ConvolutionalNetwork(self, image_shape, num_classes)


class ConvolutionalNetwork(Network):
    """The module that a `ConvNet` describes."""

    def __init__(
        self, settings: ConvNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        self.convolutions = ConvolutionStack(
            (channels, *settings.conv_channels), settings.conv_kernel, settings.pooling
        )
        num_places = self.convolutions.positions(height) * self.convolutions.positions(width)
        self.classifier = Classifier(
            settings.conv_channels[-1] * num_places, settings.hidden, num_classes, settings.dropout
        )

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the probabilities of the classes; no image is drawn."""
        self.check_images(images)
        logits = self.classifier(self.convolutions(images).flatten(1), generator)
        return Outputs(logits.softmax(dim=1), None, logits)
