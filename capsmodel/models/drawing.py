"""A network that draws images from the poses of its class capsules."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.functional import keep_class
from capsmodel.initialised import InitialisedModule
from capsmodel.models.base import Network, Outputs
from capsmodel.reconstruction import Reconstruction


class DrawingNetwork(Network):
    """The common part of capsule networks: an optional decoder, and its term of the loss.

    Attributes:
        reconstruction: What the class capsules must encode of the image besides its class.
        decoder: The decoder; None if the reconstruction needs none.
    """

    reconstruction: Reconstruction
    decoder: InitialisedModule | None

    def drawn(
        self,
        outputs: Outputs,
        poses: Float[Tensor, "batch classes pose"],
        labels: Integer[Tensor, "batch *several"] | None,
    ) -> Outputs:
        """Return the outputs with images drawn from one class capsule each, if there is a decoder.

        Args:
            outputs: Without images.
            poses: Poses of the class capsules.
            labels: Whose are drawn, one or several an image, -1 for an image without any; None
                draws those with the strongest belief.
        """
        if self.decoder is None:
            return outputs
        classes = outputs.lengths.argmax(dim=1) if labels is None else labels
        return outputs._replace(reconstructions=self.decode(poses, classes))

    def decode(
        self, poses: Float[Tensor, "batch classes pose"], labels: Integer[Tensor, "batch *several"]
    ) -> Float[Tensor, "batch *several channels height width"] | None:
        """Return images drawn from the poses of these classes, None without a decoder.

        Several classes of an image are drawn apart, with the same weights; a class of -1 is black.
        """
        if self.decoder is None:
            return None
        if labels.ndim == 1:
            return self.decoder(keep_class(poses, labels))
        drawn = self.decoder(keep_class(poses, labels).flatten(0, 1))
        drawn = drawn.unflatten(0, tuple(labels.shape))
        return drawn.masked_fill((labels < 0).view(*labels.shape, 1, 1, 1), 0.0)

    def penalty(
        self, outputs: Outputs, images: Float[Tensor, "batch *several channels height width"]
    ) -> Float[Tensor, ""]:
        """Return the weighted error of the reconstructions, zero without a decoder."""
        if outputs.reconstructions is None:
            return images.new_zeros(())
        return self.reconstruction.penalty(outputs.reconstructions, images)


def perturbed(
    poses: Float[Tensor, "batch classes pose"], offsets: Float[Tensor, " offsets"]
) -> tuple[Float[Tensor, "batch*pose*offsets classes pose"], int]:
    """Return the poses with each offset added to each number of a pose, one at a time.

    The number is moved in all classes alike. The order is by image, then number, then offset.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.1.
    Difference: none.

    Returns:
        The moved poses, and how many there are of each image.
    """
    batch, classes, pose = poses.shape
    steps = torch.eye(pose, device=poses.device).unsqueeze(1) * offsets.view(1, -1, 1)
    moved = poses.view(batch, 1, 1, classes, pose) + steps.view(1, pose, -1, 1, pose)
    return moved.reshape(-1, classes, pose), pose * len(offsets)
