"""Several layers of fully connected capsules, one above the other."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional import lengths, squash
from capsmodel.initialised import InitialisedModule
from capsmodel.layers.capsules import Capsules, RoutingGiven, chosen_routing
from capsmodel.layers.convolution import BatchNorm
from capsmodel.routing import Routed


class CapsuleStack(InitialisedModule):
    """Layers of fully connected capsules, each routed to the next.

    Deep stacks train badly: squashed poses are short, and each layer makes them shorter, so that
    neither poses nor gradients get through. A bias in the routing, normalisation, and connections
    that skip a layer are three remedies.

    Source: for connections that skip a layer, Gugglberger, Peer and Rodriguez-Sanchez 2021,
    arXiv:2104.07393; for normalisation of what is squashed, Ioffe and Szegedy 2015,
    arXiv:1502.03167.
    Difference: the poses of a layer are added to those of the next one of the same shape. Poses
    that were normalised are squashed again. The lengths of the new poses are the activations;
    where capsules have activations of their own, these stay, and poses are not squashed.

    Attributes:
        out_caps: Number of capsules of the last layer; of the inputs if there is no layer.
        out_dim: Length of their poses.
        layers: The layers, the lowest first.
        norms: Their normalisations; none without.
        skip: Whether poses of the layer below are added.
        has_activations: Whether capsules have activations apart from the lengths of their poses.

    Example:
        >>> import torch
        >>> stack = CapsuleStack(72, 8, out_caps=(16, 16), out_dim=8, skip=True)
        >>> [routed.poses.shape for routed in stack(torch.rand(2, 72, 8))]
        [torch.Size([2, 16, 8]), torch.Size([2, 16, 8])]
    """

    def __init__(
        self,
        in_caps: int,
        in_dim: int,
        out_caps: Sequence[int],
        out_dim: int,
        *,
        routing: RoutingGiven = "dynamic",
        std: float = 0.1,
        batch_norm: bool = False,
        skip: bool = False,
    ) -> None:
        """Take the sizes, the routing of all layers, and the operations between them.

        Args:
            in_caps: Number of inputs.
            in_dim: Length of an input's pose.
            out_caps: Number of capsules of each layer; empty for no layer.
            out_dim: Length of their poses.
            routing: The routing, as in `Capsules`.
            std: Standard deviation of the initial weights.
            batch_norm: Whether poses are normalised over the batch and squashed again.
            skip: Whether the poses of a layer are added to the next one's of the same shape.
        """
        super().__init__()
        numbers = (in_caps, *out_caps)
        sizes = (in_dim, *[out_dim] * len(out_caps))
        self.out_caps, self.out_dim = numbers[-1], sizes[-1]
        self.layers = nn.ModuleList(
            Capsules(below, size, above, out_dim, routing=routing, std=std)
            for below, size, above in zip(numbers[:-1], sizes[:-1], out_caps, strict=True)
        )
        self.norms = nn.ModuleList(BatchNorm(above * out_dim) for above in out_caps if batch_norm)
        self.skip = skip
        self.has_activations = chosen_routing(routing).reads_activations

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights of each layer as it says."""
        for module in (*self.layers, *self.norms):
            assert isinstance(module, InitialisedModule)
            module.initialise(generator)

    def forward(
        self,
        poses: Float[Tensor, "batch in_caps in_dim"] | Routed,
        generator: torch.Generator | None = None,
        *,
        compute: Callable[..., Routed] | None = None,
    ) -> list[Routed]:
        """Return the routed capsules of each layer, the lowest first.

        Args:
            poses: Poses of the input capsules, or what another layer returns.
            generator: Source of all chance, by default PyTorch's own.
            compute: Called with each layer, its input and `generator=...`, for instance to compute
                the layer anew in the backward pass; by default it is just called.
        """
        below = poses
        routed: list[Routed] = []
        for place, layer in enumerate(self.layers):
            above: Routed = (
                layer(below, generator)
                if compute is None
                else compute(layer, below, generator=generator)
            )
            below = self._with_skip(self._normalised(above, place), below)
            routed.append(below)
        return routed

    def _normalised(self, routed: Routed, place: int) -> Routed:
        if not self.norms:
            return routed
        maps = routed.poses.flatten(1)[:, :, None, None]
        return self._with_poses(routed, self.norms[place](maps).view_as(routed.poses), squash)

    def _with_skip(self, routed: Routed, below: Tensor | Routed) -> Routed:
        before = below.poses if isinstance(below, Routed) else below
        if not self.skip or before.shape != routed.poses.shape:
            return routed
        return self._with_poses(routed, routed.poses + before, lambda poses: poses)

    def _with_poses(
        self, routed: Routed, poses: Tensor, squashed: Callable[[Tensor], Tensor]
    ) -> Routed:
        if self.has_activations:
            return routed._replace(poses=poses)
        poses = squashed(poses)
        return routed._replace(poses=poses, activations=lengths(poses))
