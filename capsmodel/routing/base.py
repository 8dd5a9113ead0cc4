"""The interface of every routing."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional import Couplings, Neighbourhood, Routed, lengths, squash
from capsmodel.functional.votes import Votes, output_first, share_out
from capsmodel.initialised import InitialisedModule
from capsmodel.settings.parts import Part


class Fan(NamedTuple):
    """The sizes of a layer, as its routing needs them.

    Attributes:
        edges: Children that a site sees: places in its window times types of children.
        out_caps: Types of parents at a place.
        pose: Numbers of a parent's pose.
        neighbourhood: Which edges belong to one child.
        child_pose: Numbers of a child's pose; None for as many as a parent's.
        shared: Whether all children share the matrices of their votes.
    """

    edges: int
    out_caps: int
    pose: int
    neighbourhood: Neighbourhood = Neighbourhood()
    child_pose: int | None = None
    shared: bool = False


class RoutingFacts(NamedTuple):
    """What people compare routings by, a few words each; `docs/routings.md` is made from it.

    Attributes:
        competition: What competes with what.
        learned: What the routing learns besides the matrices of the votes.
        passes: How often it looks at the votes.
        cost: Multiply-adds for each number of a vote, r being the rounds.
        memory: Numbers held for each vote besides the vote itself.
        gradient: Where the gradient flows.
        failures: What is known to go wrong.
        published: Results of its source, with the data, and whose they are.
        ours: Mean test error and standard deviation over five seeds in the sweep `six_routings` on
            digits, and over three on MNIST at half resolution with 5,000 training images.
    """

    competition: str
    learned: str
    passes: str
    cost: str
    memory: str
    gradient: str
    failures: str
    published: str
    ours: str = "not in that comparison"


class Router(InitialisedModule, ABC):
    """A routing in a layer, with the values that it learns there, if any."""

    @abstractmethod
    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules that the votes form; each image is routed on its own.

        Args:
            votes: Predictions of the children.
            generator: Source of all chance. In training it is the trial's own, which advances from
                call to call; in evaluation each call gets a fresh one of the trial's seed. None is
                enough for a routing without chance.
        """


class Routing(Part, ABC):
    """How the votes of lower capsules become higher ones.

    It is built once a layer. `capsmodel.testing.RoutingContract` checks all that is promised.

    Attributes:
        is_symmetric: Whether permuting the inputs changes nothing and permuting the outputs
            permutes the result. A routing that distinguishes capsules by their place says False.
        reads_activations: Whether capsules have an activation as well as a pose. Where they have
            none, the length of the pose is the activation.
        reads_votes: Whether activations depend on votes. Where they do not, class capsules need no
            poses.
        facts: What people compare it by; None for a routing of one's own that does not say it.
        takes_grids: Whether it routes in layers of several places, as convolutional ones are.
        judged_by_scores: Whether class capsules are to be judged by their scores, as its source
            does; a loss of lengths is then refused.
    """

    family: ClassVar[str] = "routing"
    is_symmetric: ClassVar[bool] = True
    reads_activations: ClassVar[bool] = False
    reads_votes: ClassVar[bool] = True
    facts: ClassVar[RoutingFacts | None] = None
    takes_grids: ClassVar[bool] = True
    judged_by_scores: ClassVar[bool] = False

    @property
    def shares_out_once(self) -> bool:
        """Whether the couplings of a child add up to at most 1 over all its parents."""
        return True

    @abstractmethod
    def build(self, fan: Fan) -> Router:
        """Return the routing for a layer, its learned values not yet set.

        Raises:
            ValueError: If it cannot route poses of this size.
        """

    def check_places(self, fan: Fan) -> None:
        """Check that a layer has one place, for a routing that takes no grids.

        Raises:
            ValueError: If it has several.
        """
        places = fan.neighbourhood.num_places
        if places > 1:
            raise ValueError(
                f"The routing '{self.kind}' is for layers of one place, got a convolutional layer "
                f"of {places}: choose fully connected capsules, as those of the model 'capsnet', "
                f"or another routing."
            )


class VectorRouting(Routing, ABC):
    """A routing that is a pure function of votes; a pose's length is the belief in it.

    Most custom routings are of this class. In a convolutional layer each site is routed by itself:
    a child's shares add up to 1 at each place that sees it.
    `capsmodel.testing.VectorRoutingContract` checks all that is promised here.
    """

    @abstractmethod
    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return one pose an output, its length at most 1: the belief that the output is present.

        Args:
            votes: Output pose that each input capsule predicts. From a capsule layer they lie in
                memory as [batch out_caps in_caps pose]: `votes.transpose(1, 2)` is contiguous.
            generator: Source of all chance, as for a router.
        """

    def build(self, fan: Fan) -> Router:
        """Return a router that calls `route` at every site."""
        return SiteRouter(self)


class SiteRouter(Router):
    """Routes every site by itself, by a pure function."""

    def __init__(self, routing: VectorRouting) -> None:
        super().__init__()
        self.routing = routing

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set nothing: there is nothing to learn."""

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed poses and their lengths.

        Raises:
            ValueError: If the routing returns no poses, or poses of another shape.
        """
        values = votes.values
        poses = self.routing.route(values, generator=generator)
        check_routed_poses(f"The routing '{self.routing.kind}'", poses, values)
        return Routed(poses, lengths(poses))


def check_routed_poses(routing_name: str, poses: Any, votes: Tensor) -> None:
    """Check that a routing has returned one pose for each output.

    Raises:
        ValueError: Naming what it has returned.
    """
    batch, _, out_caps, pose = votes.shape
    if isinstance(poses, Tensor) and poses.shape == (batch, out_caps, pose):
        return
    returned = (
        f"a tensor of shape {list(poses.shape)}" if isinstance(poses, Tensor) else f"{poses!r}"
    )
    raise ValueError(
        f"{routing_name} must return poses of shape {[batch, out_caps, pose]}: batch, out_caps, "
        f"pose; got {returned}."
    )


_INITIAL = 0.1


class BiasedRouter(Router):
    """A router that adds a learned vector to each sum of votes, or none.

    Source: the released code of Sabour, Frosst and Hinton 2017.
    Difference: none.

    Attributes:
        bias: Bias of shape [out_caps, pose], or None.
    """

    def __init__(self, fan: Fan, *, has_bias: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(fan.out_caps, fan.pose)) if has_bias else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the bias to 0.1."""
        if self.bias is not None:
            nn.init.constant_(self.bias, _INITIAL)

    def share_out(self, votes: Votes, shares: Float[Tensor, "edges sites out_caps"]) -> Routed:
        """Return the poses that votes form in given shares, as the last round makes them."""
        sums = share_out(output_first(votes.values), shares.permute(1, 2, 0))
        poses = self.squashed(sums if self.bias is None else sums + self.bias)
        return Routed(poses, lengths(poses), Couplings(shares.detach(), votes.neighbourhood))

    def squashed(
        self, sums: Float[Tensor, "sites out_caps pose"]
    ) -> Float[Tensor, "sites out_caps pose"]:
        """Return the poses that sums of votes become."""
        return squash(sums)
