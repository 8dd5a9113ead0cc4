"""All rounds of routing by agreement at once, with a gradient written by hand."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import refuse_forward_mode
from capsmodel.functional.routed import share_out
from capsmodel.functional.sharing import Shares, agreement_with


class RoutedRounds(NamedTuple):
    """What rounds of routing came to.

    Attributes:
        poses: Of the outputs, after the last.
        sums: Of the shared votes, in each round, as they are squashed.
        couplings: The shares of the votes in each round, equal ones in the first.
        agreed: What the shares of each round but the first go by: the sum of all earlier poses.
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
    """Return what rounds come to; only the poses have a gradient.

    The gradient of the votes is a sum of outer products, of a row over `edges` with a row over
    `pose`: one of the first round, two of each that follows. One matrix product makes all of it,
    where round by round a tensor as large as the votes is written for each, and added up. For a
    second derivative, and under `torch.func.vmap`, it is done round by round.

    Args:
        votes: For each output, contiguous.
        bias: Added to each sum of votes; None adds nothing.
        shares: What makes shares of the logits, which start at zero.
        plain: Computes the rounds: equal shares first, then those by the products of the votes
            with the sum of all earlier poses, which are squashed as `squash` does.
    """
    return _rounds(cast(tuple[Tensor, ...], _Rounds.apply((shares, plain), votes, bias)))


class _Rounds(torch.autograd.Function):
    jvp = staticmethod(refuse_forward_mode)

    @staticmethod
    def forward(
        asked: tuple[Shares, PlainRounds], votes: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, ...]:
        return _flat(asked[1], votes, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.asked = inputs[0]
        ctx.save_for_backward(*inputs[1:], *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the votes and of the bias."""
        (shares, plain), of_poses = ctx.asked, gradients[0]
        votes, bias, *kept = ctx.saved_tensors
        if of_poses is None:
            return None, None, None
        with _in_own_type(votes.device.type):
            if torch.is_grad_enabled():  # this gradient may be differentiated in its turn
                return None, *_plain_gradients(plain, votes, bias, of_poses)
            slope = of_poses.contiguous()
            of_votes, of_sums = _gradients(votes, _rounds([slope, *kept]), shares, slope)
            return None, of_votes, None if bias is None else torch.stack(of_sums).sum(dim=(0, 1))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (_, plain), *tensors = inputs
        mapped = torch.vmap(partial(_flat, plain), in_dims[1:], randomness=info.randomness)
        outputs = mapped(*tensors)
        return outputs, (0,) * len(outputs)


def _flat(plain: PlainRounds, votes: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    rounds = plain(votes, bias)
    return rounds.poses, *rounds.sums, *rounds.couplings, *rounds.agreed


def _rounds(tensors: Sequence[Tensor]) -> RoutedRounds:
    poses, *kept = tensors
    number = (len(kept) + 1) // 3
    sums, couplings, agreed = kept[:number], kept[number : 2 * number], kept[2 * number :]
    return RoutedRounds(poses, tuple(sums), tuple(couplings), tuple(agreed))


def _gradients(
    votes: Tensor, rounds: RoutedRounds, shares: Shares, of_poses: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Return the gradients of the votes, and of the sums of each round, the last one first."""
    rows, columns, of_sums = list[Tensor](), list[Tensor](), list[Tensor]()
    slope = of_poses  # of the poses of a round
    of_agreed: Tensor | None = None
    later = zip(rounds.sums[1:], rounds.couplings[1:], rounds.agreed, strict=True)
    for sums, couplings, agreed in reversed(list(later)):
        of_sums.append(_before_squash(sums, slope))
        of_shares = agreement_with(votes, of_sums[-1])
        of_logits = shares.gradient_of_logits(couplings, of_shares)
        rows += [couplings, of_logits]
        columns += [of_sums[-1], agreed]
        own = share_out(votes, of_logits)
        slope = of_agreed = own if of_agreed is None else of_agreed + own
    of_sums.append(_before_squash(rounds.sums[0], slope))
    rows.append(rounds.couplings[0].expand(votes.shape[:3]))
    columns.append(of_sums[-1])
    left, right = torch.stack(rows, dim=-2), torch.stack(columns, dim=-2)
    of_votes = torch.bmm(
        left.reshape(-1, *left.shape[2:]).transpose(1, 2), right.reshape(-1, *right.shape[2:])
    )
    return of_votes.view_as(votes), of_sums


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
    plain: PlainRounds, votes: Tensor, bias: Tensor | None, of_poses: Tensor
) -> tuple[Tensor | None, ...]:
    """Return the gradients round by round, which PyTorch can differentiate once more."""

    def poses(votes: Tensor, bias: Tensor | None = None) -> Tensor:
        return plain(votes, bias).poses

    given = (votes,) if bias is None else (votes, bias)
    pull: Any = torch.func.vjp(poses, *given)[1]
    return (*pull(of_poses), None)[:2]


def _in_own_type(device: str) -> AbstractContextManager[Any]:
    """Compute in the type of what is given in the block, also within a block of autocast."""
    is_cast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if is_cast else nullcontext()
