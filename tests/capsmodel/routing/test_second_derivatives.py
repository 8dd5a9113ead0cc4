"""What is differentiated by hand once refuses to be differentiated twice."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from capsmodel.routing import Neighbourhood
from capsmodel.routing.em.competition import share_out_children
from capsmodel.routing.em.statistics import Question
from capsmodel.routing.em.tiled import tiled_statistics
from capsmodel.routing.sharing import Shares, Sharing
from capsmodel.testing.example_votes import OUT_CAPS, example_votes
from tests.capsmodel.routing.routed import some_votes


def by_agreement(values: Tensor) -> Tensor:
    votes = values.view(2, 3, 4, 5)
    return Sharing.share(votes, votes.mean(dim=2), None, Shares(Neighbourhood()))[0]


def by_competition(values: Tensor) -> Tensor:
    return share_out_children(
        values[:12].view(4, 3), values.view(10, 4, 3), Neighbourhood(), "parents"
    )


def by_tiles(values: Tensor) -> Tensor:
    votes = example_votes("fully connected")
    edges, sites = votes.activations.shape
    assignment = values[: edges * sites].view(edges, sites, 1).sigmoid().expand(-1, -1, OUT_CAPS)
    return tiled_statistics(votes, Question(assignment, None, 1.0, 1e-4, False)).variance


@pytest.mark.parametrize("share", [by_agreement, by_competition, by_tiles])
def test_a_second_derivative_is_refused(share: Callable[[Tensor], Tensor]) -> None:
    values = some_votes(120).requires_grad_()
    loss = share(values).square().sum()
    (gradient,) = torch.autograd.grad(loss, values, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
