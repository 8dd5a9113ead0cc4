"""Convolutions with branches of homogeneous vector capsules, without routing."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from pydantic import Field, model_validator
from torch import Tensor, nn

from capsmodel.functional import lengths
from capsmodel.initialised import InitialisedModule, set_truncated
from capsmodel.layers import HomogeneousCapsules, Window
from capsmodel.layers.capsule_grid import normalised
from capsmodel.layers.convolution import BatchNorm
from capsmodel.models.base import Model, Network, Outputs, Size, Sizes
from capsmodel.search_range import Choices

BranchWeights = Literal["fixed", "ones", "random"]
_EPSILON = 1e-3  # of all normalisations in the released code


class HomogeneousCapsNet(Model):
    """Convolutions without pooling; after some of them, capsules of each class; their sum.

    Votes are elementwise products, see `HomogeneousCapsules`, and nothing is routed: it has no
    `routing`. So it is no control of routing, as its votes differ as well: compare the routing
    "uniform" with others in one body for that. A branch gives each class the sum of its capsule, or
    its length. Branches are weighted, normalised over the batch and added up: the logits of a
    softmax. The normalisation undoes the size of a weight, so that little but its sign counts.

    The defaults are the paper's network for MNIST: 1,514,187 parameters on 28 by 28 grey pixels, 3
    more with learned branch weights. `branches=(9,)` has one output, and 916,965. The code of 2021
    is `capsules="places", class_score="norm", branch_weights="ones"`.

    Source: Byerly, Kalganova and Dear 2020, arXiv:2001.09136, section 3 and the released code.
    Difference: running statistics move by 0.01 in each step; those of the code by 0.0003, which
    take some ten thousand steps to become those of the data. It has no decoder; the code of 2021
    has one. That code averages weights over steps, which is not done here.

    Attributes:
        conv_channels: Feature maps of each convolution.
        conv_kernel: Their kernel in pixels.
        branches: After which convolutions capsules stand, counted from 1; the last is the last one.
        capsules: Whether each of the "maps" is a capsule, with a number for each place; or each of
            the "places", with a number for each map.
        class_score: Whether a class has the "sum" of its capsule's numbers, or their "norm".
        branch_weights: Whether branches count alike ("fixed"), or by learned weights that begin as
            "ones", or as "random" numbers from -1 to 1.
        norm_momentum: Weight of a batch in the running statistics.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["homogeneous_capsnet"] = "homogeneous_capsnet"
    conv_channels: Sizes = (32, 48, 64, 80, 96, 112, 128, 144, 160)
    conv_kernel: Size = 3
    branches: Sizes = (3, 6, 9)
    capsules: Annotated[Literal["maps", "places"], Choices("maps", "places")] = "maps"
    class_score: Annotated[Literal["sum", "norm"], Choices("sum", "norm")] = "sum"
    branch_weights: Annotated[BranchWeights, Choices("fixed", "ones", "random")] = "fixed"
    norm_momentum: Annotated[float, Field(gt=0, le=1)] = 0.01

    @model_validator(mode="after")
    def _check_branches(self) -> "HomogeneousCapsNet":
        number = len(self.conv_channels)
        if self.branches[-1] != number or list(self.branches) != sorted(set(self.branches)):
            raise ValueError(
                f"branches must rise and end at {number}, the number of convolutions, got "
                f"{self.branches}."
            )
        return self

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "HomogeneousNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at.
        """
        return HomogeneousNetwork(self, image_shape, num_classes)

    def sizes(self, height: int, width: int) -> Iterator[tuple[int, int]]:
        """Return rows and columns of the features of each convolution.

        Raises:
            ValueError: If a kernel is larger than what it looks at.
        """
        window = Window(self.conv_kernel)
        for _ in self.conv_channels:
            height, width = window.positions(height), window.positions(width)
            yield height, width


class ShiftedConvolution(InitialisedModule):
    """A convolution without bias, normalised over the batch, shifted and rectified."""

    def __init__(
        self, in_channels: int, out_channels: int, window: Window, momentum: float
    ) -> None:
        super().__init__()
        self.convolution = window.convolution(in_channels, out_channels, bias=False)
        self.norm = BatchNorm(out_channels, momentum=momentum, epsilon=_EPSILON, scale=False)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights truncated normally with a deviation of 0.1."""
        set_truncated(self.convolution.weight, 0.1, generator)
        self.norm.initialise(generator)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the rectified feature maps."""
        return F.relu(self.norm(self.convolution(images)))


class MergedBranches(InitialisedModule):
    """The scores of all branches, weighted, normalised over batch and classes, and added up.

    Attributes:
        weight: A number a branch; None where all count alike.
        norm: Normalises the scores of each branch.
    """

    def __init__(self, branches: int, weights: BranchWeights, momentum: float) -> None:
        super().__init__()
        self.is_random = weights == "random"
        self.weight = None if weights == "fixed" else nn.Parameter(torch.empty(branches))
        self.norm = BatchNorm(branches, momentum=momentum, epsilon=_EPSILON, scale=False)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the weights to one, or draw them evenly from -1 to 1."""
        self.norm.initialise(generator)
        if self.weight is None:
            return
        if self.is_random:
            nn.init.uniform_(self.weight, -1, 1, generator=generator)
        else:
            nn.init.ones_(self.weight)

    def forward(
        self, scores: Float[Tensor, "batch classes branches"]
    ) -> Float[Tensor, "batch classes"]:
        """Return the logits of the classes."""
        weighted = scores if self.weight is None else scores * self.weight
        return normalised(self.norm, weighted).sum(dim=2)


class HomogeneousNetwork(Network):
    """The module that a `HomogeneousCapsNet` describes."""

    def __init__(
        self, settings: HomogeneousCapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        self.settings = settings
        channels, *size = image_shape
        window, momentum = Window(settings.conv_kernel), settings.norm_momentum
        sizes = settings.sizes(*size)
        for number, (after, places) in enumerate(
            zip(settings.conv_channels, sizes, strict=True), 1
        ):
            convolution = ShiftedConvolution(channels, after, window, momentum)
            self.add_module(f"convolution{number}", convolution)
            if number in settings.branches:
                maps, pixels = after, places[0] * places[1]
                shape = (maps, pixels) if settings.capsules == "maps" else (pixels, maps)
                capsules = HomogeneousCapsules(shape[0], num_classes, shape[1], momentum=momentum)
                self.add_module(f"capsules{number}", capsules)
            channels = after
        self.merged = MergedBranches(len(settings.branches), settings.branch_weights, momentum)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the probabilities of the classes; a pose is a class's capsules of all branches."""
        self.check_images(images)
        features = images
        poses: list[Tensor] = []
        for number, _ in enumerate(self.settings.conv_channels, 1):
            features = self.get_submodule(f"convolution{number}")(features)
            if number in self.settings.branches:
                capsules = cast(HomogeneousCapsules, self.get_submodule(f"capsules{number}"))
                children = features.flatten(2)
                by_map = self.settings.capsules == "maps"
                poses.append(capsules(children if by_map else children.transpose(1, 2)))
        logits = self.merged(torch.stack([self._score(pose) for pose in poses], dim=2))
        return Outputs(logits.softmax(dim=1), None, logits, torch.cat(poses, dim=2))

    def _score(self, poses: Float[Tensor, "batch classes pose"]) -> Float[Tensor, "batch classes"]:
        return poses.sum(dim=2) if self.settings.class_score == "sum" else lengths(poses)
