"""Gradients that are written by hand are differentiated once more as PyTorch's own would be."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import (
    Neighbourhood,
    dynamic_routing,
    heinsen_routing,
    leaky_routing,
    plain_autograd,
    variational_bayes_routing,
)
from capsmodel.functional.em import share_out_children
from capsmodel.functional.em_statistics import Question, tiled_statistics
from capsmodel.functional.moments import MomentsOfVotes
from capsmodel.functional.sharing import Shares, shared_out
from capsmodel.functional.votes import ProductVotes
from capsmodel.testing.example_votes import BATCH, OUT_CAPS, POSE, example_votes
from tests.capsmodel.routing.routed import some_votes

Function = Callable[..., tuple[Tensor, ...]]


def by_agreement(votes: Tensor, agreed: Tensor, logits: Tensor) -> tuple[Tensor, ...]:
    return shared_out(votes, agreed, logits, Shares(Neighbourhood()))


def by_agreement_with_a_leak(votes: Tensor, agreed: Tensor) -> tuple[Tensor, ...]:
    around = Neighbourhood(2, 2, 1, 1)
    return shared_out(votes, agreed, None, Shares(around, with_leak=True))


def by_rounds(votes: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    return dynamic_routing(votes, 3, bias=bias)[:2]


def by_rounds_with_a_leak(votes: Tensor) -> tuple[Tensor, ...]:
    return leaky_routing(votes, 4, neighbourhood=Neighbourhood(2, 2, 1, 1))[:2]


def by_rounds_of_children(votes: Tensor) -> tuple[Tensor, ...]:
    return dynamic_routing(votes, 2, competition="children")[:2]


def by_competition(scores: Tensor, distances: Tensor) -> tuple[Tensor, ...]:
    return (share_out_children(scores, distances, Neighbourhood(), "parents"),)


def by_tiles(
    poses: Tensor, matrices: Tensor, activations: Tensor, shares: Tensor
) -> tuple[Tensor, ...]:
    votes = ProductVotes(activations.sigmoid(), Neighbourhood(), poses, matrices)
    previous = torch.ones(BATCH, POSE, OUT_CAPS, dtype=torch.float64)
    question = Question(shares.sigmoid(), previous, 0.9, 1e-4, with_distances=True)
    return tuple(tensor for tensor in tiled_statistics(votes, question) if tensor is not None)


def by_moments(
    votes: Tensor, weights: Tensor, divisor: Tensor, precision: Tensor
) -> tuple[Tensor, ...]:
    of_votes = MomentsOfVotes(votes, uses=4)  # one of them is not needed
    moments = of_votes.moments(weights, divisor.exp())
    distances = of_votes.distances(moments, precision)
    again = of_votes.moments(distances.softmax(dim=2))
    return moments.centre, moments.scatter, distances, again.scatter


def by_heinsen(
    votes: Tensor, activations: Tensor, use: Tensor, ignore: Tensor
) -> tuple[Tensor, ...]:
    routed = heinsen_routing(votes, activations.sigmoid(), 3, use=use, ignore=ignore)
    return routed.poses, routed.activations


def by_variational_bayes(votes: Tensor, activations: Tensor, cost: Tensor) -> tuple[Tensor, ...]:
    around = Neighbourhood(2, 2, 1, 1)
    return variational_bayes_routing(
        votes, activations.sigmoid(), cost_bias=cost, neighbourhood=around
    )[:2]


EXAMPLE = example_votes("fully connected")
EDGES = EXAMPLE.activations.shape[0]
CASES: dict[str, tuple[Function, tuple[Tensor, ...]]] = {
    "agreement": (
        by_agreement,
        (some_votes(2, 3, 4, 5), some_votes(2, 3, 5), some_votes(1, 3, 4)),
    ),
    "agreement with a leak": (
        by_agreement_with_a_leak,
        (some_votes(4, 3, 2, 5), some_votes(4, 3, 5)),
    ),
    "rounds": (by_rounds, (some_votes(2, 4, 3, 5), some_votes(3, 5))),
    "rounds with a leak": (by_rounds_with_a_leak, (some_votes(4, 2, 3, 5),)),
    "rounds of children": (by_rounds_of_children, (some_votes(2, 4, 3, 5),)),
    "competition": (by_competition, (some_votes(4, 3), some_votes(5, 4, 3))),
    "moments": (
        by_moments,
        (
            some_votes(2, 3, 4, 5),
            some_votes(2, 3, 4),
            some_votes(2, 3, 1),
            some_votes(2, 3, 5),
        ),
    ),
    "Heinsen": (
        by_heinsen,
        (some_votes(2, 4, 3, 5), some_votes(2, 4), some_votes(4, 3), some_votes(4, 3)),
    ),
    "variational Bayes": (
        by_variational_bayes,
        (some_votes(4, 2, 3, 5), some_votes(4, 2), some_votes(3)),
    ),
    "tiles": (
        by_tiles,
        (EXAMPLE.poses, EXAMPLE.matrices, EXAMPLE.activations, some_votes(EDGES, BATCH, OUT_CAPS)),
    ),
}
every_case = pytest.mark.parametrize(("function", "inputs"), CASES.values(), ids=CASES)


def loss(function: Function, inputs: tuple[Tensor, ...]) -> Tensor:
    """Return a number that depends on every output in a curved way."""
    return torch.stack([output.sin().mul(output).sum() for output in function(*inputs)]).sum()


def curvature(function: Function, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the gradient of the squared length of the gradient."""
    leaves = tuple(tensor.clone().requires_grad_() for tensor in inputs)
    gradients = torch.autograd.grad(loss(function, leaves), leaves, create_graph=True)
    length = torch.stack([gradient.square().sum() for gradient in gradients]).sum()
    return torch.autograd.grad(length, leaves)


@every_case
def test_second_derivatives_are_those_of_automatic_differentiation(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    with plain_autograd():
        expected = curvature(function, inputs)
    assert_close(curvature(function, inputs), expected)


@every_case
def test_so_are_those_of_transformed_functions(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    def length(*inputs_of_function: Tensor) -> Tensor:
        gradients = torch.func.grad(lambda *arguments: loss(function, arguments), every)(
            *inputs_of_function
        )
        return torch.stack([gradient.square().sum() for gradient in gradients]).sum()

    every = tuple(range(len(inputs)))
    assert_close(torch.func.grad(length, every)(*inputs), curvature(function, inputs))


@every_case
def test_the_plain_gradient_is_the_one_written_by_hand(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    leaves = tuple(tensor.clone().requires_grad_() for tensor in inputs)
    by_hand = torch.autograd.grad(loss(function, leaves), leaves)
    with plain_autograd():
        plain = torch.autograd.grad(loss(function, leaves), leaves)
    assert_close(by_hand, plain)


@every_case
def test_mapped_over_an_axis_it_gives_what_it_gives_one_by_one(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    stacked = tuple(torch.stack([tensor, 0.5 * tensor, -tensor], dim=1) for tensor in inputs)
    alone = [function(*(tensor[:, n] for tensor in stacked)) for n in range(3)]
    together = torch.func.vmap(function, in_dims=1)(*stacked)
    assert_close(together, tuple(map(torch.stack, zip(*alone, strict=True))))


@every_case
def test_so_do_its_gradients(function: Function, inputs: tuple[Tensor, ...]) -> None:
    every = tuple(range(len(inputs)))
    gradient = torch.func.grad(lambda *arguments: loss(function, arguments), every)
    stacked = tuple(torch.stack([tensor, 0.5 * tensor, -tensor]) for tensor in inputs)
    alone = [gradient(*(tensor[n] for tensor in stacked)) for n in range(3)]
    expected = tuple(map(torch.stack, zip(*alone, strict=True)))
    assert_close(torch.func.vmap(gradient)(*stacked), expected)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@every_case
def test_forward_mode_works_where_differentiation_is_plain(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    def loss_at(first: Tensor) -> Tensor:
        return loss(function, (first, *inputs[1:]))

    with plain_autograd():
        hessian = torch.func.hessian(loss_at)(inputs[0])
        gradient = torch.func.jacrev(torch.func.grad(loss_at))(inputs[0])
    assert_close(hessian, gradient)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@every_case
def test_elsewhere_it_is_refused_in_one_sentence(
    function: Function, inputs: tuple[Tensor, ...]
) -> None:
    with pytest.raises(NotImplementedError, match=r"compute the routing within `with capsmodel"):
        torch.func.jvp(function, inputs, inputs)


def test_an_input_may_be_made_of_another() -> None:
    def rounds(votes: Tensor) -> tuple[Tensor, ...]:
        return dynamic_routing(votes, 3, bias=votes.mean(dim=(0, 1)))[:2]

    with plain_autograd():
        expected = curvature(rounds, (some_votes(2, 4, 3, 5),))
    assert_close(curvature(rounds, (some_votes(2, 4, 3, 5),)), expected)
