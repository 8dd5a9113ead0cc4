"""The geometry of capsule layers, against loops over rows and columns."""

import math
from collections import defaultdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from capsmodel import Training
from capsmodel.data import Digits
from capsmodel.functional import Neighbourhood, constants
from capsmodel.models import MatrixCapsNet
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config


@st.composite
def neighbourhoods(draw: st.DrawFn) -> Neighbourhood:
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    kernel = draw(st.integers(1, min(height, width)))
    return Neighbourhood(height, width, kernel, draw(st.integers(1, 3)))


def edge_children(of: Neighbourhood, types: int, batch: int) -> list[list[tuple[int, int, int]]]:
    """Return for each edge and site the child: image, place, type."""
    rows: list[list[tuple[int, int, int]]] = []
    for window_row in range(of.kernel_size):
        for window_column in range(of.kernel_size):
            for kind in range(types):
                row: list[tuple[int, int, int]] = []
                for image in range(batch):
                    for out_row in range(of.out_height):
                        for out_column in range(of.out_width):
                            y = out_row * of.stride + window_row
                            x = out_column * of.stride + window_column
                            row.append((image, y * of.width + x, kind))
                rows.append(row)
    return rows


def by_loops(
    of: Neighbourhood, values: Tensor, types: int, batch: int
) -> dict[object, list[float]]:
    by_child: dict[object, list[float]] = defaultdict(list)
    for edge, row in enumerate(edge_children(of, types, batch)):
        for site, child in enumerate(row):
            by_child[child].append(values[edge, site].item())
    return by_child


def random_edges(of: Neighbourhood, types: int, batch: int) -> Tensor:
    shape = (of.window_size * types, batch * of.num_places)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@given(neighbourhoods())
def test_every_place_sees_the_children_in_its_window(of: Neighbourhood) -> None:
    batch, types = 2, 3
    names = torch.arange(batch * of.num_child_places * types, dtype=torch.float64)
    children = names.view(batch, of.num_child_places, types, 1)
    seen = of.edges(children).squeeze(-1)
    for edge, row in enumerate(edge_children(of, types, batch)):
        assert seen[edge].tolist() == [children[child].item() for child in row]


@given(neighbourhoods())
def test_a_sum_over_parents_is_that_of_all_edges_of_the_child(of: Neighbourhood) -> None:
    batch, types = 2, 2
    values = random_edges(of, types, batch)
    by_child, actual = by_loops(of, values, types, batch), of.sum_over_parents(values)
    for edge, row in enumerate(edge_children(of, types, batch)):
        assert_close(actual[edge], torch.tensor([sum(by_child[child]) for child in row]).double())


@given(neighbourhoods())
def test_exponentials_are_summed_in_the_same_way(of: Neighbourhood) -> None:
    values = 300 * random_edges(of, 2, 2)  # too large for exponentials in sight
    actual = of.logsumexp_over_parents(values)
    highest = {child: max(row) for child, row in by_loops(of, values, 2, 2).items()}
    for edge, row in enumerate(edge_children(of, 2, 2)):
        for site, child in enumerate(row):
            of_child = by_loops(of, values, 2, 2)[child] if site == 0 else None
            if of_child is not None:
                rest = torch.tensor(of_child).double() - highest[child]
                assert_close(actual[edge, site], rest.exp().sum().log() + highest[child])


def test_gradients_through_the_sums_are_finite_where_a_child_is_seen_by_nobody() -> None:
    of = Neighbourhood(4, 4, kernel_size=1, stride=3)
    values = random_edges(of, 2, 2).requires_grad_()
    (of.logsumexp_over_parents(values).sum() + of.sum_over_parents(values).sum()).backward()
    assert values.grad is not None
    assert_close(values.grad, torch.full_like(values, 2.0))


def test_the_children_in_the_middle_are_seen_most_often() -> None:
    seen = Neighbourhood(3, 3, kernel_size=2, stride=1).num_parent_places(4, 4)
    assert seen[3, 0] == 4  # the middle, at the lower right of the first window
    assert seen[0, 0] == 1  # the corner


def test_what_a_prediction_has_kept_serves_a_training() -> None:
    constants._KEPT.clear()
    model = MatrixCapsNet(
        conv_channels=2,
        conv_kernel=3,
        conv_stride=1,
        primary_types=2,
        first_types=2,
        first_stride=1,
        second_types=0,
    )
    config = small_config(
        model=model, data=Digits(fraction=0.05), stopping=FixedEpochs(epochs=1), batch_size=32
    )
    training = Training(config, seed=0)
    training.trained().predict(torch.zeros(1, 1, 8, 8))
    assert [math.isfinite(metrics.train_loss) for metrics in training] == [True]


def test_a_window_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"A kernel of 3 by 3 capsules does not fit .* 2 by 4"):
        Neighbourhood(2, 4, kernel_size=3)
