"""The rounds of routing by agreement as a whole, with a gradient that is written by hand."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import (
    WrittenByHand,
    differentiable_gradients,
    has_storage,
)
from capsmodel.functional.precision import in_own_type
from capsmodel.functional.sharing import Shares, agreement_with
from capsmodel.functional.votes import LinearVotes, multiplied_out, share_out


class RoutedRounds(NamedTuple):
    """The results of the routing rounds.

    Attributes:
        poses: Poses of the outputs after the last round.
        sums: Sums of the shared votes in each round, before they are squashed.
        couplings: The shares of the votes in each round, equal ones in the first.
        agreed: Sum of all earlier poses, which sets the shares of each round but the first.
    """

    poses: Float[Tensor, "sites out_caps pose"]
    sums: tuple[Float[Tensor, "sites out_caps pose"], ...]
    couplings: tuple[Float[Tensor, "#sites #out_caps #edges"], ...]
    agreed: tuple[Float[Tensor, "sites out_caps pose"], ...]


PlainRounds = Callable[[Tensor, Tensor | None], RoutedRounds]


def rounds_at_once(
    votes: Float[Tensor, "sites out_caps edges pose"],
    bias: Float[Tensor, "out_caps pose"] | None,
    shares: Shares,
    plain: PlainRounds,
) -> RoutedRounds:
    """Return the results of the rounds; only the poses have a gradient.

    The gradient of the votes is a sum of outer products, of a row over `edges` with a row over
    `pose`: one of the first round, two of each that follows. One matrix product makes all of it,
    where round by round a tensor as large as the votes is written for each, and added up. For a
    second derivative, and under `torch.func.vmap`, it is done round by round.

    Args:
        votes: For each output, contiguous.
        bias: Added to each sum of votes; None adds nothing.
        shares: Turns the logits, which start at zero, into shares.
        plain: Computes the rounds: equal shares first, then those by the products of the votes
            with the sum of all earlier poses, which are squashed as `squash` does.
    """
    return _rounds(cast(tuple[Tensor, ...], _AllRounds.apply((shares, plain), votes, bias)))


class _Whole(WrittenByHand):
    """All rounds; the first input holds the shares, then what computes the rounds plainly."""

    generate_vmap_rule = False

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.asked = inputs[0]
        ctx.save_for_backward(*inputs[1:], *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        asked, *tensors = inputs
        mapped = torch.vmap(partial(_flat, asked[1]), in_dims[1:], randomness=info.randomness)
        outputs = mapped(*tensors)
        return outputs, (0,) * len(outputs)


class _AllRounds(_Whole):
    @staticmethod
    def forward(
        asked: tuple[Shares, PlainRounds], votes: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, ...]:
        return _flat(asked[1], votes, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the votes and of the bias."""
        (shares, plain), of_poses = ctx.asked, gradients[0]
        votes, bias, *saved = ctx.saved_tensors
        if of_poses is None:
            return None, None, None
        with in_own_type(votes.device.type):
            if torch.is_grad_enabled():  # this gradient may be differentiated in its turn
                return None, *_plain_gradients(plain, (votes, bias), of_poses)
            slope = of_poses.contiguous()
            of_votes, of_sums = _gradients(votes, _rounds([slope, *saved]), shares, slope)
            return None, of_votes, None if bias is None else torch.stack(of_sums).sum(dim=(0, 1))


def _flat(plain: Callable[..., RoutedRounds], *tensors: Tensor | None) -> tuple[Tensor, ...]:
    return _as_tuple(plain(*tensors))


def _as_tuple(rounds: RoutedRounds) -> tuple[Tensor, ...]:
    return rounds.poses, *rounds.sums, *rounds.couplings, *rounds.agreed


def _rounds(tensors: Sequence[Tensor]) -> RoutedRounds:
    poses, *rest = tensors
    number = (len(rest) + 1) // 3
    sums, couplings, agreed = rest[:number], rest[number : 2 * number], rest[2 * number :]
    return RoutedRounds(poses, tuple(sums), tuple(couplings), tuple(agreed))


def _gradients(
    votes: Tensor, rounds: RoutedRounds, shares: Shares, of_poses: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Return the gradients of the votes, and of the sums of each round, the last one first."""
    rows, columns = _factors(votes, rounds, shares, of_poses)
    left, right = torch.stack(rows, dim=-2), torch.stack(columns, dim=-2)
    of_votes = torch.bmm(
        left.reshape(-1, *left.shape[2:]).transpose(1, 2), right.reshape(-1, *right.shape[2:])
    )
    return of_votes.view_as(votes), columns[::2]


def _factors(
    votes: Tensor, rounds: RoutedRounds, shares: Shares, of_poses: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Return rows and columns whose outer products add up to the gradient of the votes.

    Every other column, from the first on, is the gradient of the sums of a round, the last one
    first.
    """
    rows, columns = list[Tensor](), list[Tensor]()
    slope = of_poses  # of the poses of a round
    of_agreed: Tensor | None = None
    later = zip(rounds.sums[1:], rounds.couplings[1:], rounds.agreed, strict=True)
    for sums, couplings, agreed in reversed(list(later)):
        of_sums = _before_squash(sums, slope)
        of_shares = agreement_with(votes, of_sums)
        of_logits = shares.gradient_of_logits(couplings, of_shares)
        rows += [couplings, of_logits]
        columns += [of_sums, agreed]
        of_next = share_out(votes, of_logits)
        slope = of_agreed = of_next if of_agreed is None else of_agreed + of_next
    rows.append(rounds.couplings[0].expand(votes.shape[:3]))
    columns.append(_before_squash(rounds.sums[0], slope))
    return rows, columns


def _before_squash(
    sums: Float[Tensor, "*axes pose"], slope: Float[Tensor, "*axes pose"]
) -> Float[Tensor, "*axes pose"]:
    """Return the gradient of sums by that of their `squash`, zero at a sum of zero."""
    length = torch.linalg.vector_norm(sums, dim=-1, keepdim=True)
    rest = 1 + length.square()
    along = (sums * slope).sum(dim=-1, keepdim=True) / length
    along = along.masked_fill_(length == 0, 0.0)
    return torch.addcmul(slope * (length / rest), sums, along * ((2 / rest - 1) / rest))


def _plain_gradients(
    plain: Callable[..., RoutedRounds], inputs: tuple[Tensor | None, ...], of_poses: Tensor
) -> tuple[Tensor | None, ...]:
    """Return the gradients round by round, which PyTorch can differentiate once more.

    Args:
        plain: Computes the rounds from the inputs.
        inputs: Of these the last may be None, and so is its gradient.
        of_poses: The gradient of the poses.
    """

    def poses(*arguments: Tensor) -> Tensor:
        return plain(*arguments, *inputs[len(arguments) :]).poses

    tensors = tuple(tensor for tensor in inputs if tensor is not None)
    gradients = differentiable_gradients(poses, tensors, of_poses)
    return (*gradients, None)[: len(inputs)]


# The votes of a tile are read some ten times: small enough for a processor's cache, large enough
# for matrix products to be fast.
_TILE_BYTES = 2**23


def needs_tiles(votes: LinearVotes) -> bool:
    """Return whether `rounds_in_tiles` takes less memory and time than votes that are held in full.

    On a GPU it does not: the votes are read faster than they are multiplied out.
    """
    poses, weight = votes.poses, votes.weight
    if votes.is_shared or poses.device.type != "cpu" or poses.dtype != weight.dtype:
        return False
    return votes.neighbourhood.num_places == 1 and _bytes(weight) * len(poses) > 2 * _TILE_BYTES


def _bytes(weight: Tensor) -> int:
    """Return the bytes that the votes of one site take."""
    edges, _, out_caps, pose = weight.shape
    return edges * out_caps * pose * weight.element_size()


def rounds_in_tiles(
    votes: LinearVotes,
    bias: Float[Tensor, "out_caps pose"] | None,
    shares: Shares,
    plain: PlainRounds,
) -> RoutedRounds:
    """Make the rounds of `rounds_at_once`, with votes multiplied out a few sites at a time.

    So they stay in a processor's cache, and memory is taken for their shares only. The gradient
    multiplies them out again to find its factors, and then adds up a few edges at a time: so every
    sum has the order that it has for votes held in full.

    Args:
        votes: Of one place, with matrices of their own.
        bias: As in `rounds_at_once`, like all other arguments.
        shares: Turns the logits into shares.
        plain: Computes the rounds of votes that are held in full.
    """

    def of_factors(poses: Tensor, weight: Tensor, bias: Tensor | None) -> RoutedRounds:
        return plain(multiplied_out(poses, weight), bias)

    asked = _InTiles(shares, of_factors, plain)
    return _rounds(
        cast(tuple[Tensor, ...], _LinearRounds.apply(asked, votes.poses, votes.weight, bias))
    )


class _InTiles(NamedTuple):
    """What is asked of linear votes.

    Attributes:
        shares: Turns the logits into shares.
        of_factors: Computes the rounds of poses, weight and bias.
        of_votes: Computes the rounds of votes and bias.
    """

    shares: Shares
    of_factors: Callable[..., RoutedRounds]
    of_votes: PlainRounds


class _LinearRounds(_Whole):
    @staticmethod
    def forward(
        asked: _InTiles, poses: Tensor, weight: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, ...]:
        tiles = [asked.of_votes(votes, bias) for _, votes in _tiles(poses, weight)]
        return _as_tuple(_joined(tiles))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the poses, of the weight and of the bias."""
        asked, of_poses = ctx.asked, gradients[0]
        poses, weight, bias, *saved = ctx.saved_tensors
        if of_poses is None:
            return None, None, None, None
        with in_own_type(poses.device.type):
            is_mapped = not has_storage(of_poses)
            if torch.is_grad_enabled() or is_mapped:  # or it may be differentiated in its turn
                inputs = (poses, weight, bias)
                return None, *_plain_gradients(asked.of_factors, inputs, of_poses)
            rounds = _rounds([of_poses.contiguous(), *saved])
            left, right = _factors_in_tiles(poses, weight, rounds, asked.shares)
            of_products = _through_products(poses, weight, (left, right), ctx.needs_input_grad[1:3])
            # in memory by round, as the sums of rounds that are held in full
            of_sums = right[:, :, ::2].permute(2, 0, 1, 3).contiguous()
            return None, *of_products, None if bias is None else of_sums.sum(dim=(0, 1))


def _tiles(poses: Tensor, weight: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield some sites and their votes [sites out_caps edges pose], always in the same memory."""
    sites, edges, _ = poses.shape
    out_caps, pose = weight.shape[2:]
    tiles = alike_slices(sites, max(2, _TILE_BYTES // _bytes(weight)))
    most = max(at.stop - at.start for at in tiles)
    room = poses.new_empty(most * edges * out_caps * pose)
    memory = poses.new_empty(most, out_caps, edges, pose)
    for at in tiles:
        num = at.stop - at.start
        products = room[: num * edges * out_caps * pose].view(edges, num, out_caps * pose)
        torch.bmm(poses[at].transpose(0, 1), weight.flatten(2), out=products)
        votes = memory[:num]
        by_edge = products.view(edges, num * out_caps, pose)
        votes.view(num * out_caps, edges, pose).copy_(by_edge.transpose(0, 1))
        yield at, votes


def alike_slices(length: int, least: int) -> list[slice]:
    """Return slices of nearly equal length, each at least `least` long if there are so many.

    A slice of one would be multiplied as a vector is, which rounds otherwise.
    """
    num = max(1, length // least)
    ends = [k * length // num for k in range(num + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


def _joined(tiles: Sequence[RoutedRounds]) -> RoutedRounds:
    """Return the rounds of all sites; the equal shares of the first round are those of any."""
    poses, sums, couplings, agreed = zip(*tiles, strict=True)
    first, *later = zip(*couplings, strict=True)
    return RoutedRounds(
        torch.cat(poses),
        tuple(map(torch.cat, zip(*sums, strict=True))),
        (first[0], *map(torch.cat, later)),
        tuple(map(torch.cat, zip(*agreed, strict=True))),
    )


def _rounds_of(rounds: RoutedRounds, sites: slice) -> RoutedRounds:
    """Return the rounds of some sites."""
    first, *later = rounds.couplings
    sums, later, agreed = (
        tuple(tensor[sites] for tensor in each) for each in (rounds.sums, later, rounds.agreed)
    )
    return RoutedRounds(rounds.poses[sites], sums, (first, *later), agreed)


def _factors_in_tiles(
    poses: Tensor, weight: Tensor, rounds: RoutedRounds, shares: Shares
) -> tuple[Tensor, Tensor]:
    """Return the factors of the votes' gradient; in the place of poses, `rounds` has theirs.

    Returns:
        Rows [sites out_caps factors edges], and columns [sites out_caps factors pose].
    """
    out_caps, pose = weight.shape[2:]
    num_factors = 2 * len(rounds.sums) - 1
    left = poses.new_empty(len(poses), out_caps, num_factors, len(weight))
    right = poses.new_empty(len(poses), out_caps, num_factors, pose)
    for sites, votes in _tiles(poses, weight):
        some = _rounds_of(rounds, sites)
        rows, columns = _factors(votes, some, shares, some.poses)
        torch.stack(rows, dim=-2, out=left[sites])
        torch.stack(columns, dim=-2, out=right[sites])
    return left, right


def _through_products(
    poses: Tensor, weight: Tensor, factors: tuple[Tensor, Tensor], needed: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of the poses and of the weight, those that are needed."""
    sites, edges, in_dim = poses.shape
    out_caps, pose = weight.shape[2:]
    of_poses = poses.new_empty(edges, sites, in_dim) if needed[0] else None
    of_weight = torch.empty_like(weight, memory_format=torch.contiguous_format)
    left, right = (factor.flatten(0, 1) for factor in factors)
    per_edge = sites * out_caps * pose
    tiles = alike_slices(edges, max(2, _TILE_BYTES // (per_edge * poses.element_size())))
    memory = poses.new_empty(2, max(some.stop - some.start for some in tiles) * per_edge)
    for some in tiles:
        num = some.stop - some.start
        room, by_edge = (each[: num * per_edge] for each in memory)
        of_votes = room.view(sites * out_caps, num, pose)
        torch.bmm(left[:, :, some].transpose(1, 2), right, out=of_votes)
        by_edge.view(num, sites * out_caps, pose).copy_(of_votes.transpose(0, 1))
        of_products = by_edge.view(num, sites, out_caps * pose)
        if needed[1]:
            at_edges = poses[:, some].permute(1, 2, 0)
            torch.bmm(at_edges, of_products, out=of_weight[some].flatten(2))
        if of_poses is not None:
            matrices = weight[some].flatten(2).transpose(1, 2)
            torch.bmm(of_products, matrices, out=of_poses[some])
    by_site = None if of_poses is None else of_poses.transpose(0, 1)
    return by_site, of_weight if needed[1] else None
