"""Votes, given in full or as products, and the capsules that they form."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.neighbourhood import Neighbourhood
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.torch_internals import constant


@dataclass(frozen=True)
class Votes(ABC):
    """Predictions that the children of a layer make of its parents, edge by edge.

    Attributes:
        activations: The belief that each child is present, in [0, 1].
        neighbourhood: Which edges belong to one child.
    """

    activations: Float[Tensor, "edges sites"]
    neighbourhood: Neighbourhood

    @abstractmethod
    def to(self, dtype: torch.dtype) -> "Votes":
        """Return the same votes as numbers of a type."""

    @property
    @abstractmethod
    def values(self) -> Float[Tensor, "sites edges out_caps pose"]:
        """All votes: the pose of each parent that each edge predicts."""

    @property
    def children(self) -> Float[Tensor, "edges sites child_pose"]:
        """The poses of the children.

        Raises:
            ValueError: If the votes were given without them.
        """
        raise ValueError(
            "The children's poses are unknown where votes are given: route the votes of a layer, "
            "or call the routing's function."
        )


@dataclass(frozen=True)
class GivenVotes(Votes):
    """Votes that a layer has multiplied out.

    Attributes:
        multiplied: The votes.
    """

    multiplied: Float[Tensor, "sites edges out_caps pose"]

    def to(self, dtype: torch.dtype) -> "GivenVotes":
        """Return the same votes as numbers of a type."""
        return GivenVotes(self.activations.to(dtype), self.neighbourhood, self.multiplied.to(dtype))

    @property
    def values(self) -> Float[Tensor, "sites edges out_caps pose"]:
        """All votes."""
        return self.multiplied


@dataclass(frozen=True)
class LinearVotes(Votes):
    """Votes of fully connected capsules as a linear map, not multiplied out.

    A routing whose shares are alike for all images needs only their sum: one matrix product over
    children and their poses, where the votes take out_caps * pose / in_dim times the poses' memory.

    Attributes:
        poses: The children's poses.
        weight: The layer's matrices.
        is_shared: Whether the matrices of all edges are the same ones: what is computed from them
            takes those of the first.
    """

    poses: Float[Tensor, "sites edges in_dim"]
    weight: Float[Tensor, "edges in_dim out_caps pose"]
    is_shared: bool = False

    def to(self, dtype: torch.dtype) -> "LinearVotes":
        """Return the same votes as numbers of a type."""
        activations, poses, weight = (
            tensor.to(dtype) for tensor in (self.activations, self.poses, self.weight)
        )
        return LinearVotes(activations, self.neighbourhood, poses, weight, self.is_shared)

    @property
    def values(self) -> Float[Tensor, "sites edges out_caps pose"]:
        """All votes, multiplied out; in memory they lie as [sites out_caps edges pose]."""
        if self.is_shared:
            product = self.poses @ self.weight[0].flatten(1)
            alike = product.unflatten(2, self.weight.shape[2:])
            return alike.transpose(1, 2).contiguous().transpose(1, 2)
        return multiplied_out(self.poses, self.weight).transpose(1, 2)

    @property
    def children(self) -> Float[Tensor, "edges sites child_pose"]:
        """The poses of the children."""
        return self.poses.transpose(0, 1)

    def summed(
        self, shares: Float[Tensor, "edges out_caps"] | None = None
    ) -> Float[Tensor, "sites out_caps pose"]:
        """Return the weighted sum of each parent's votes. `shares=None` weighs all by 1."""
        if self.is_shared and shares is None:
            sums = self.poses.sum(dim=1) @ self.weight[0].flatten(1)
            return sums.unflatten(1, self.weight.shape[2:])
        weight = self.weight if shares is None else self.weight * shares[:, None, :, None]
        sums = self.poses.flatten(1) @ weight.flatten(2).flatten(0, 1)
        return sums.unflatten(1, self.weight.shape[2:])


def multiplied_out(
    poses: Float[Tensor, "sites edges in_dim"],
    weight: Float[Tensor, "edges in_dim out_caps pose"],
) -> Float[Tensor, "sites out_caps edges pose"]:
    """Return linear votes grouped by output and contiguous.

    One matrix product an edge, over the whole batch, then one copy into that order: far cheaper
    than a small product for each image.
    """
    sites, edges, _ = poses.shape
    out_caps, pose = weight.shape[2:]
    products = torch.bmm(poses.transpose(0, 1), weight.flatten(2))
    by_output = products.view(edges, sites * out_caps, pose).transpose(0, 1).contiguous()
    return by_output.view(sites, out_caps, edges, pose)


@dataclass(frozen=True)
class ProductVotes(Votes):
    """Votes as products of the children's poses with the layer's matrices, not multiplied out.

    They take pose * out_caps / inner times the memory of the poses, so a routing that needs them
    only in passing multiplies out a few sites at a time.

    Attributes:
        poses: The children's poses as matrices of `rows` by `inner`.
        matrices: One of `inner` by `columns` an edge and type of parent; pose = rows * columns.
        offsets: Added to the votes, for each type of parents or alike for all: a learned bias,
            or what coordinate addition adds. None adds nothing.
    """

    poses: Float[Tensor, "edges sites rows inner"]
    matrices: Float[Tensor, "edges inner columns out_caps"]
    offsets: Float[Tensor, "edges pose some_caps"] | None = None

    def to(self, dtype: torch.dtype) -> "ProductVotes":
        """Return the same votes as numbers of a type."""
        offsets = None if self.offsets is None else self.offsets.to(dtype)
        activations, poses, matrices = (
            tensor.to(dtype) for tensor in (self.activations, self.poses, self.matrices)
        )
        return ProductVotes(activations, self.neighbourhood, poses, matrices, offsets)

    @property
    def values(self) -> Float[Tensor, "sites edges out_caps pose"]:
        """All votes, multiplied out."""
        return self.multiplied(slice(None)).permute(1, 0, 3, 2)

    @property
    def children(self) -> Float[Tensor, "edges sites child_pose"]:
        """The poses of the children, matrices row after row."""
        return self.poses.flatten(2)

    def multiplied(self, sites: slice) -> Float[Tensor, "edges some_sites pose out_caps"]:
        """Return the votes for some sites, types of parents innermost.

        One matrix product an edge; in this order each statistic over the edges is a sum over whole
        rows in memory.
        """
        poses = self.poses[:, sites]
        edges, num_sites, rows, inner = poses.shape
        columns, out_caps = self.matrices.shape[2:]
        products = torch.bmm(
            poses.reshape(edges, num_sites * rows, inner),
            self.matrices.reshape(edges, inner, columns * out_caps),
        )
        votes = products.view(edges, num_sites, rows * columns, out_caps)
        return votes if self.offsets is None else votes + self.offsets.unsqueeze(1)


class Couplings(NamedTuple):
    """The shares in which the children of a layer were routed to their parents, detached.

    Attributes:
        values: The share of each child that goes to each parent; over all edges of a child they
            add up to at most 1, unless the routing lets others than all its parents compete.
        neighbourhood: Which edges belong to one child.

    Example:
        >>> import torch
        >>> couplings = dynamic_routing(torch.rand(2, 6, 3, 8)).couplings
        >>> couplings.values.shape  # of each child, in each image, with each parent
        torch.Size([6, 2, 3])
    """

    values: Float[Tensor, "edges sites out_caps"]
    neighbourhood: Neighbourhood

    __repr__ = shapes_repr


@constant
@dataclass(frozen=True)
class NoScores:
    """Stands where capsules have no scores."""


NO_SCORES = NoScores()


class Routed(NamedTuple):
    """The capsules that votes form.

    Attributes:
        poses: Place and appearance of what each capsule stands for.
        activations: The belief that it is present, in [0, 1].
        couplings: Couplings of the last iteration; None if a routing has none, and from a replica
            of `DataParallel`.
        scores: Where capsules are classes, logits whose softmax the beliefs in these are;
            where activations are beliefs `NO_SCORES`, as `vmap` cannot return None, and from a
            replica of `DataParallel` None.

    Example:
        >>> import torch
        >>> Routed(torch.zeros(2, 3, 8), torch.zeros(2, 3))
        Routed(poses=float32[2, 3, 8], activations=float32[2, 3], couplings=None, scores=NoScores())
        >>> Routed(torch.zeros(1, 2, 8), torch.zeros(1, 2), scores=torch.zeros(1, 2)).beliefs
        tensor([[0.5000, 0.5000]])
    """

    poses: Float[Tensor, "sites out_caps pose"]
    activations: Float[Tensor, "sites out_caps"]
    couplings: Couplings | None = None
    scores: Float[Tensor, "sites out_caps"] | NoScores | None = NO_SCORES

    @property
    def logits(self) -> Float[Tensor, "sites out_caps"] | None:
        """The scores, or None if the routing has none."""
        return self.scores if isinstance(self.scores, Tensor) else None

    @property
    def beliefs(self) -> Float[Tensor, "sites out_caps"]:
        """The belief in each class, where capsules are classes."""
        return self.activations if self.logits is None else self.logits.softmax(dim=1)

    __repr__ = shapes_repr


def output_first(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
) -> Float[Tensor, "batch out_caps in_caps pose"]:
    """Return the votes grouped by output and contiguous: a view of those a capsule layer made."""
    return votes.transpose(1, 2).contiguous()


def share_out(
    votes: Float[Tensor, "batch out_caps in_caps pose"],
    couplings: Float[Tensor, "batch out_caps in_caps"],
) -> Float[Tensor, "batch out_caps pose"]:
    """Return the sum of each output's votes, weighted by their couplings."""
    batch, out_caps, in_caps, pose = votes.shape
    rows = couplings.reshape(batch * out_caps, 1, in_caps)
    sums = torch.bmm(rows, votes.reshape(batch * out_caps, in_caps, pose))
    return sums.view(batch, out_caps, pose)
