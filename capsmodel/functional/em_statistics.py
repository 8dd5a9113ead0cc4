"""Statistics of the votes for a parent: their mass, their centre and their spread."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import (
    WrittenByHand,
    differentiable_gradients,
    has_storage,
    is_plain,
)
from capsmodel.functional.neighbourhood import ONE_PLACE
from capsmodel.functional.votes import ProductVotes, Votes


class Statistics(NamedTuple):
    """Statistics of the votes for each parent.

    Attributes:
        mass: Number of its children, each weighted by its activation and its assignment.
        centre: Weighted mean of their votes; zero without children.
        variance: Mean squared distance of the votes from the centre, plus the floor.
        distances: The squared distance of each vote from the centre, each number of the pose in
            units of its variance, summed over the pose. None where nobody asked.
    """

    mass: Float[Tensor, "sites out_caps"]
    centre: Float[Tensor, "sites pose out_caps"]
    variance: Float[Tensor, "sites pose out_caps"]
    distances: Float[Tensor, "edges sites out_caps"] | None


@dataclass(frozen=True)
class Question:
    """Which statistics of the votes are computed.

    Attributes:
        assignment: The share of each child that goes to each parent; one number for all types of
            parents, or one each.
        previous: The centres of the iteration before, None for zero.
        momentum: Weight of the new centre; the rest is the previous one.
        floor: Added to each variance.
        with_distances: Whether the distances of the votes are asked for.
    """

    assignment: Float[Tensor, "edges sites some_caps"]
    previous: Float[Tensor, "sites pose out_caps"] | None
    momentum: float
    floor: float
    with_distances: bool


def plain_statistics(votes: Votes, question: Question) -> Statistics:
    """Return the statistics of votes that are held in full, differentiated automatically."""
    values = votes.values.permute(1, 0, 3, 2)  # [edges sites pose out_caps]
    shares = question.assignment * votes.activations.unsqueeze(-1)
    mass = shares.sum(dim=0).expand(-1, values.shape[-1])
    least = least_mass(mass.dtype)
    # Divided, not multiplied by the inverse: of that the gradient has the square, which overflows.
    weights = torch.where(mass >= least, shares / mass.clamp_min(least), 0.0).unsqueeze(2)
    centre = question.momentum * (weights * values).sum(dim=0)
    if question.previous is not None:
        centre = centre + (1 - question.momentum) * question.previous
    squares = (values - centre).square()
    variance = (weights * squares).sum(dim=0) + question.floor
    distances = (squares / variance).sum(dim=2) if question.with_distances else None
    return Statistics(mass, centre, variance, distances)


def inverse_mass(mass: Float[Tensor, "sites out_caps"]) -> Float[Tensor, "sites out_caps"]:
    """Return one over each mass, and zero where the mass is next to zero."""
    least = least_mass(mass.dtype)
    return torch.where(mass >= least, mass.clamp_min(least).reciprocal(), 0.0)


def least_mass(dtype: torch.dtype) -> float:
    """Return the mass below which a parent counts as having no children: its weights are zero.

    A gradient over a smaller one would not be a number: 1e-31 in float32.
    """
    limits = torch.finfo(dtype)
    return limits.tiny / limits.eps


# Large enough for matrix products to be fast, small enough for a processor's cache, where the
# votes are read ten times; a GPU waits for less where its kernels are few.
_TILE_BYTES = {"cpu": 2**22, "cuda": 2**28}


def tiled_statistics(votes: ProductVotes, question: Question) -> Statistics:
    """Compute what `plain_statistics` does, up to rounding, in the memory of the votes' factors.

    The gradient is written by hand: it multiplies the votes out again, a few sites at a time. For
    a second derivative, and under `torch.func.vmap`, the votes are held in full.
    """
    if is_plain():
        return plain_statistics(votes, question)
    tensors = _Tiled.apply(
        (question.momentum, question.floor, question.with_distances),
        votes.poses,
        votes.matrices,
        votes.offsets,
        votes.activations,
        question.assignment,
        question.previous,
    )
    return Statistics(*cast(tuple[Tensor, Tensor, Tensor, Tensor | None], tensors))


class _Tile(NamedTuple):
    """Some sites.

    Attributes:
        sites: Which.
        votes: Votes of all edges, [edges sites pose out_caps]; may be overwritten.
        room: Memory as large as the votes.
        factors: The children's poses at these sites, as one matrix an edge.
    """

    sites: slice
    votes: Tensor
    room: Tensor
    factors: Tensor


class _Saved(NamedTuple):
    """What the backward pass reads.

    Where all types of parents have the same assignment, `mass` and `assignment` tell it once.
    """

    poses: Float[Tensor, "edges sites rows inner"]
    matrices: Float[Tensor, "edges inner columns out_caps"]
    offsets: Float[Tensor, "edges pose some_caps"] | None
    activations: Float[Tensor, "edges sites"]
    assignment: Float[Tensor, "edges sites some_caps"]
    previous: Float[Tensor, "sites pose out_caps"] | None
    mass: Float[Tensor, "sites some_caps"]
    centre: Float[Tensor, "sites pose out_caps"]
    variance: Float[Tensor, "sites pose out_caps"]


class _Slopes(NamedTuple):
    """The gradients of the statistics."""

    mass: Float[Tensor, "sites out_caps"]
    centre: Float[Tensor, "sites pose out_caps"]
    variance: Float[Tensor, "sites pose out_caps"]
    distances: Float[Tensor, "edges sites out_caps"] | None

    def at(self, sites: slice) -> "_Slopes":
        """Return the values of some sites; distances get one more axis, for the pose."""
        distances = None if self.distances is None else self.distances[:, sites].unsqueeze(2)
        mass, centre, variance = (
            tensor[sites] for tensor in (self.mass, self.centre, self.variance)
        )
        return _Slopes(mass, centre, variance, distances)


class _Tiled(WrittenByHand):
    generate_vmap_rule = False

    @staticmethod
    def forward(asked: tuple[float, float, bool], *inputs: Any) -> Any:
        poses, matrices, offsets, activations, assignment, previous = inputs
        momentum, floor, with_distances = asked
        (edges, sites), out_caps = activations.shape, matrices.shape[3]
        centre = poses.new_empty(sites, poses.shape[2] * matrices.shape[2], out_caps)
        variance = torch.empty_like(centre)
        distances = poses.new_empty(edges, sites, out_caps) if with_distances else None
        mass = poses.new_empty(sites, assignment.shape[2])
        for at, votes, room, _ in _tiles(poses, matrices, offsets):
            shares = assignment[:, at] * activations[:, at].unsqueeze(-1)
            torch.sum(shares, dim=0, out=mass[at])
            weights = shares.mul_(inverse_mass(mass[at])).unsqueeze(2)
            torch.sum(torch.mul(weights, votes, out=room), dim=0, out=centre[at])
            if momentum < 1:
                centre[at] *= momentum
            if previous is not None:
                centre[at].add_(previous[at], alpha=1 - momentum)
            squares = votes.sub_(centre[at]).square_()
            torch.sum(torch.mul(weights, squares, out=room), dim=0, out=variance[at])
            variance[at] += floor
            if distances is not None:
                relative = squares.mul_(variance[at].reciprocal())
                torch.sum(relative, dim=2, out=distances[:, at])
        return mass.expand(-1, out_caps).contiguous(), centre, variance, distances

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.asked = inputs[0]
        ctx.save_for_backward(*inputs[1:], *output[:3])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        saved, needed = _Saved(*ctx.saved_tensors), ctx.needs_input_grad[1:]
        is_mapped = not all(has_storage(gradient) for gradient in gradients if gradient is not None)
        if torch.is_grad_enabled() or is_mapped:  # this gradient may be differentiated in its turn
            return None, *_plain_gradients(ctx.asked, saved[:6], needed, gradients)
        mass_once = saved.mass[:, : saved.assignment.shape[2]]
        backward = _Backward(saved._replace(mass=mass_once), ctx.asked[0], needed)
        mass, centre, variance, distances = gradients
        # That of the centre may come transposed, and would be read out of order with each tile.
        backward.run(_Slopes(mass, centre.contiguous(), variance, distances))
        return None, *backward.gradients

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        asked, *tensors = inputs
        mapped = torch.vmap(partial(_plain, asked), in_dims[1:], randomness=info.randomness)
        outputs = mapped(*tensors)
        has_distances = len(outputs) == len(Statistics._fields)
        return (*outputs, *(() if has_distances else (None,))), (
            *(0 for _ in outputs),
            *(() if has_distances else (None,)),
        )


def _plain(asked: tuple[float, float, bool], *inputs: Any) -> tuple[Tensor, ...]:
    """Return the requested statistics, differentiated automatically."""
    poses, matrices, offsets, activations, assignment, previous = inputs
    votes = ProductVotes(activations, ONE_PLACE, poses, matrices, offsets)
    statistics = plain_statistics(votes, Question(assignment, previous, *asked))
    return tuple(tensor for tensor in statistics if tensor is not None)


def _plain_gradients(
    asked: tuple[float, float, bool],
    inputs: tuple[Tensor | None, ...],
    needed: tuple[bool, ...],
    gradients: tuple[Tensor | None, ...],
) -> list[Tensor | None]:
    """Return the gradients of the inputs that need one, as PyTorch finds them."""
    places = [place for place, need in enumerate(needed) if need]

    def of_needed(*values: Tensor) -> tuple[Tensor, ...]:
        values_of_all = list(inputs)
        for place, value in zip(places, values, strict=True):
            values_of_all[place] = value
        return _plain(asked, *values_of_all)

    differentiated = cast(tuple[Tensor, ...], tuple(inputs[place] for place in places))
    slopes = tuple(gradient for gradient in gradients if gradient is not None)
    derivatives = differentiable_gradients(of_needed, differentiated, slopes)
    by_place = dict(zip(places, derivatives, strict=True))
    return [by_place.get(place) for place in range(len(inputs))]


class _Backward:
    """The gradient of the statistics, as it adds up tile by tile.

    Attributes:
        gradients: Gradients of poses, matrices, offsets, activations, assignment and previous
            centres; None for those that need none.
    """

    def __init__(self, saved: _Saved, momentum: float, needed: tuple[bool, ...]) -> None:
        self.saved = saved
        self.momentum = momentum
        self.gradients = [
            torch.zeros_like(tensor, memory_format=torch.contiguous_format)
            if need and tensor is not None
            else None
            for tensor, need in zip(saved[:6], needed, strict=True)
        ]

    def run(self, slopes: _Slopes) -> None:
        """Go through all tiles."""
        saved = self.saved
        for tile in _tiles(saved.poses, saved.matrices, saved.offsets):
            tile.votes.sub_(saved.centre[tile.sites])
            at = self._through_distances(tile, slopes.at(tile.sites))
            weights = self._through_weights(tile, at)
            self._through_votes(tile, at, weights)

    def _through_distances(self, tile: _Tile, at: _Slopes) -> _Slopes:
        """Return the slopes of the new centre and of the variance, with what passes through them.

        `tile.votes` are the votes' deviations from the centre, here and in what follows.
        """
        saved, sites, deviations, room = self.saved, tile.sites, tile.votes, tile.room
        of_centre, of_variance = at.centre, at.variance
        if at.distances is not None:
            precision = saved.variance[sites].reciprocal()
            pulls = torch.mul(deviations, at.distances, out=room)
            of_centre = of_centre - 2 * precision * pulls.sum(dim=0)
            of_variance = of_variance - precision.square() * pulls.mul_(deviations).sum(dim=0)
        if self.momentum < 1:
            # The variance is about a centre that is not the mean, and so depends on it.
            of_centre = of_centre - 2 * of_variance * self._lag(sites)
            if self.gradients[5] is not None:
                self.gradients[5][sites] = (1 - self.momentum) * of_centre
        return at._replace(centre=self.momentum * of_centre, variance=of_variance)

    def _lag(self, sites: slice) -> Tensor:
        """Return how far the weighted mean of the votes lies from the centre."""
        saved = self.saved
        mean = saved.centre[sites]
        if saved.previous is not None:
            mean = mean - (1 - self.momentum) * saved.previous[sites]
        has_children = (inverse_mass(saved.mass[sites]) > 0).unsqueeze(1)
        return torch.where(has_children, mean / self.momentum - saved.centre[sites], 0.0)

    def _through_weights(self, tile: _Tile, at: _Slopes) -> Tensor:
        """Add to the gradients of activations and assignment, and return the weights."""
        saved, sites, deviations = self.saved, tile.sites, tile.votes
        inverse = inverse_mass(saved.mass[sites])
        activations = saved.activations[:, sites].unsqueeze(-1)
        assignment = saved.assignment[:, sites]
        weights = assignment * activations * inverse
        # Deviations in the place of votes: what is alike at all children cancels in the next line.
        slope = torch.addcmul(at.centre, deviations, at.variance, out=tile.room)
        of_weights = slope.mul_(deviations).sum(dim=2)
        of_shares = (of_weights - (weights * of_weights).sum(dim=0)) * inverse + at.mass
        if self.gradients[3] is not None:
            self.gradients[3][:, sites] = (of_shares * assignment).sum(dim=2)
        if self.gradients[4] is not None:
            of_assignment = of_shares * activations
            self.gradients[4][:, sites] = of_assignment.sum_to_size(assignment.shape)
        return weights.unsqueeze(2)

    def _through_votes(self, tile: _Tile, at: _Slopes, weights: Tensor) -> None:
        """Add to the gradients of the votes' factors."""
        slope = torch.mul(weights, 2 * at.variance, out=tile.room)
        if at.distances is not None:
            precision = self.saved.variance[tile.sites].reciprocal()
            slope.addcmul_(at.distances, precision, value=2)
        slope.mul_(tile.votes).addcmul_(weights, at.centre)
        edges, sites, rows, inner = self.saved.poses[:, tile.sites].shape
        of_products = slope.view(edges, sites * rows, -1)
        of_poses, of_matrices, of_offsets = self.gradients[:3]
        if of_poses is not None:
            matrices = self.saved.matrices.reshape(edges, inner, -1)
            pose_slopes = torch.bmm(of_products, matrices.transpose(1, 2))
            of_poses[:, tile.sites] = pose_slopes.view(edges, sites, rows, inner)
        if of_matrices is not None:
            sums = of_matrices.view(edges, inner, -1)
            sums.baddbmm_(tile.factors.transpose(1, 2), of_products)
        if of_offsets is not None:
            of_offsets += slope.sum(dim=1).sum_to_size(of_offsets.shape)


def _tiles(poses: Tensor, matrices: Tensor, offsets: Tensor | None) -> Iterator[_Tile]:
    """Yield the sites a few at a time, all in the same memory."""
    edges, sites, rows, inner = poses.shape
    columns, out_caps = matrices.shape[2:]
    pose = rows * columns
    per_site = edges * pose * out_caps
    most = _TILE_BYTES.get(poses.device.type, _TILE_BYTES["cpu"])
    step = max(1, min(sites, most // (per_site * poses.element_size())))
    memory = poses.new_empty(2, step * per_site)
    flat = matrices.reshape(edges, inner, columns * out_caps)
    for start in range(0, sites, step):
        num = min(step, sites - start)
        at = slice(start, start + num)
        factors = poses[:, at].reshape(edges, num * rows, inner)
        votes, room = (
            buffer[: num * per_site].view(edges, num, pose, out_caps) for buffer in memory
        )
        torch.bmm(factors, flat, out=votes.view(edges, num * rows, columns * out_caps))
        if offsets is not None:
            votes += offsets.unsqueeze(1)
        yield _Tile(at, votes, room, factors)
