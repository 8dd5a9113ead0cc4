"""Fully connected capsules: every input capsule votes for the pose of every output."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional import lengths
from capsmodel.functional.checks import check_shape
from capsmodel.initialised import InitialisedModule
from capsmodel.routing import (
    ROUTINGS,
    Fan,
    FunctionRouting,
    LinearVotes,
    Neighbourhood,
    ProductVotes,
    Routed,
    Routing,
    Votes,
)
from capsmodel.settings.parts import kind_of
from capsmodel.spelling import unknown
from capsmodel.torch_internals import is_replica

RoutingGiven = Routing | str | Callable[[Tensor], Tensor | Routed]


class Capsules(InitialisedModule):
    """Each pair of an input and an output capsule has a matrix of its own, or each output one.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 2.
    Difference: none. The authors' code adds a bias to each sum of votes: a setting of the routing.
    Matrices that all inputs share are those of Gu and Tresp 2020, arXiv:1911.07968, who also leave
    out the routing: the routing "uniform", up to the scale of the matrices.

    Attributes:
        weight: Matrices of shape [in_caps, in_dim, out_caps * out_dim]; where all inputs share
            them, [1, in_dim, out_caps * out_dim].
        router: Turns the votes into capsules.
        neighbourhood: The neighbourhood of one place.

    Example:
        >>> import torch
        >>> capsules = Capsules(in_caps=72, in_dim=8, out_caps=10, out_dim=16, routing="dynamic")
        >>> routed = capsules(torch.rand(2, 72, 8))
        >>> routed.poses.shape, routed.activations.shape
        (torch.Size([2, 10, 16]), torch.Size([2, 10]))
    """

    def __init__(
        self,
        in_caps: int,
        in_dim: int,
        out_caps: int,
        out_dim: int,
        *,
        routing: RoutingGiven = "dynamic",
        std: float = 0.1,
        shared: bool = False,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Take the capsules' numbers and lengths of pose, the routing, and how weights begin.

        Args:
            in_caps: Number of inputs.
            in_dim: Length of an input's pose.
            out_caps: Number of outputs.
            out_dim: Length of an output's pose.
            routing: The routing, by name, as settings, or as a function of votes [batch, in_caps,
                out_caps, pose], which returns poses [batch, out_caps, pose], or `Routed`.
            std: Standard deviation of the initial weights.
            shared: Whether all inputs share one matrix for each output.
            device: Where the weights are, by default PyTorch's own default.
            dtype: Their type, likewise.

        Raises:
            ValueError: If there is no routing of that name, or it cannot route such poses.
        """
        super().__init__()
        chosen = chosen_routing(routing)
        self.in_caps, self.in_dim, self.out_caps, self.out_dim = in_caps, in_dim, out_caps, out_dim
        self.std = std
        self.out_shape = (out_caps, out_dim)
        self.neighbourhood = Neighbourhood()
        self.reads_activations = chosen.reads_activations
        self.weight = nn.Parameter(
            torch.empty(1 if shared else in_caps, in_dim, out_caps * out_dim)
        )
        self.router = chosen.build(Fan(in_caps, out_caps, out_dim, child_pose=in_dim))
        self._place(device, dtype)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights normally; the routing sets its own values.

        By default with a deviation of 0.1, as the authors' code does. From 0.03 to 0.3 the
        validation error on the digits does not distinguish them (8 seeds).
        """
        nn.init.normal_(self.weight, std=self.std, generator=generator)
        self.router.initialise(generator)

    def forward(
        self,
        poses: Float[Tensor, "batch in_caps in_dim"] | Routed,
        generator: torch.Generator | None = None,
    ) -> Routed:
        """Return the routed capsules; an input's activation is the length of its pose.

        Args:
            poses: Poses of the input capsules; or what another such layer returns, whose
                activations then stand for those lengths.
            generator: Source of all chance, by default PyTorch's own.

        Raises:
            ValueError: If the poses are of another shape.
        """
        children, activations = poses[:2] if isinstance(poses, Routed) else (poses, None)
        check_shape("poses", children, batch=None, in_caps=self.in_caps, in_dim=self.in_dim)
        votes = self._votes_for_router(children)
        if activations is not None:
            votes = replace(votes, activations=activations.t())
        return reported(self, self.router(votes, generator))

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        return (
            f"in_caps={self.in_caps}, in_dim={self.in_dim}, out_caps={self.out_caps}, "
            f"out_dim={self.out_dim}"
        )

    def votes(
        self, poses: Float[Tensor, "batch in_caps in_dim"]
    ) -> Float[Tensor, "batch in_caps out_caps pose"]:
        """Return the pose of each output that each input predicts.

        In memory they lie as [batch out_caps in_caps pose], as routings read them.
        """
        return self._linear(poses).values

    def _linear(self, poses: Float[Tensor, "batch in_caps in_dim"]) -> LinearVotes:
        is_shared = len(self.weight) < self.in_caps
        weight = self.weight.expand(self.in_caps, -1, -1).unflatten(2, self.out_shape)
        return LinearVotes(lengths(poses).t(), self.neighbourhood, poses, weight, is_shared)

    def _votes_for_router(self, poses: Float[Tensor, "batch in_caps in_dim"]) -> Votes:
        """Return the votes as the routing needs them: with activations if it reads them."""
        votes = self._linear(poses)
        if not self.reads_activations:
            return votes
        return ProductVotes(
            votes.activations,
            votes.neighbourhood,
            poses.transpose(0, 1).unsqueeze(2),
            votes.weight.transpose(2, 3),
        )


def reported(layer: nn.Module, routed: Routed) -> Routed:
    """Return what a layer reports; a replica omits what `DataParallel` cannot gather."""
    if not is_replica(layer):
        return routed
    return routed._replace(couplings=None, scores=routed.logits)


def chosen_routing(routing: RoutingGiven) -> Routing | FunctionRouting:
    """Return a routing as it is, of a function, or of a name ("dynamic", ...) with its defaults.

    Raises:
        ValueError: If there is no routing of that name.
        TypeError: If it is neither.
    """
    if isinstance(routing, Routing):
        return routing
    if callable(routing) and not isinstance(routing, type):
        return FunctionRouting(routing)
    if not isinstance(routing, str):
        raise TypeError(
            f"routing must be a name, settings or a function of votes, such as 'dynamic', "
            f"DynamicRouting() or capsmodel.functional.dynamic_routing, got {routing!r}."
        )
    members = {kind_of(member): member for member in ROUTINGS}
    if routing not in members:
        raise ValueError(unknown("routing", routing, members))
    member = members[routing]()
    assert isinstance(member, Routing)
    return member
