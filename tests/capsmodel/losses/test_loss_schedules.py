import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from capsmodel.losses import (
    ConstantMargins,
    ConstantSpread,
    LinearMargins,
    LinearSpread,
    MarginLoss,
    Margins,
    SigmoidMargins,
    SigmoidSpread,
    SpreadLoss,
)
from capsmodel.overrides import with_settings

MOVING = (LinearMargins, SigmoidMargins)
FINAL = Margins(0.9, 0.1, 0.25)
LENGTHS = torch.rand(6, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([0, 1, 2, 3, 0, 1])

progresses = st.floats(0, 1)
moving_margins = st.builds(
    LinearMargins, positive_start=st.floats(0.5, 1), negative_start=st.floats(0, 0.49)
) | st.builds(
    SigmoidMargins,
    positive_start=st.floats(0.5, 1),
    negative_start=st.floats(0, 0.49),
    steepness=st.floats(0.1, 500),
    midpoint=st.floats(0, 1),
)


@pytest.mark.parametrize("progress", [0.0, 0.3, 1.0])
def test_constant_margins_are_those_of_the_loss(progress: float) -> None:
    assert ConstantMargins().at(FINAL, progress) == FINAL


@pytest.mark.parametrize("schedule", MOVING)
def test_moving_margins_go_from_their_own_to_exactly_those_of_the_loss(schedule: type) -> None:
    margins = schedule(positive_start=0.7, negative_start=0.2, down_weight_start=1.0)
    assert margins.at(FINAL, 0.0) == Margins(0.7, 0.2, 1.0)
    assert margins.at(FINAL, 1.0) == FINAL


@pytest.mark.parametrize("schedule", MOVING)
def test_half_way_moving_margins_are_half_way(schedule: type) -> None:
    margins = schedule(positive_start=0.5, negative_start=0.3, down_weight_start=0.75)
    assert margins.at(FINAL, 0.5) == pytest.approx((0.7, 0.2, 0.5))


def test_linear_margins_move_evenly() -> None:
    assert LinearMargins().at(FINAL, 0.25) == pytest.approx((0.675, 0.25, 0.4375))


def test_sigmoid_margins_move_fastest_at_their_midpoint() -> None:
    schedule = SigmoidMargins(positive_start=0.1, negative_start=0.0, midpoint=0.3)
    positives = [schedule.at(FINAL, step / 100).positive for step in range(101)]
    rises = [after - before for before, after in pairwise(positives)]
    assert min(rises) > 0
    assert rises.index(max(rises)) in {29, 30}


def test_a_steep_sigmoid_is_a_step() -> None:
    schedule = SigmoidMargins(steepness=500, midpoint=0.5)
    assert schedule.at(FINAL, 0.45).positive == pytest.approx(0.6)
    assert schedule.at(FINAL, 0.55).positive == pytest.approx(0.9)


@given(moving_margins, progresses)
def test_moving_margins_stay_in_order_and_between_their_ends(
    schedule: LinearMargins | SigmoidMargins, progress: float
) -> None:
    positive, negative, _ = schedule.at(FINAL, progress)
    assert negative < positive
    low, high = sorted((schedule.positive_start, FINAL.positive))
    assert low - 1e-12 <= positive <= high + 1e-12


@pytest.mark.parametrize("schedule", MOVING)
def test_starting_margins_must_be_in_order(schedule: type) -> None:
    with pytest.raises(ValueError, match="negative_start must be below positive_start"):
        schedule(positive_start=0.3, negative_start=0.3)


@pytest.mark.parametrize("schedule", MOVING)
def test_the_down_weight_stays_unless_it_is_set(schedule: type) -> None:
    final = Margins(0.9, 0.1, MarginLoss().down_weight)
    assert schedule().at(final, 0.37).down_weight == pytest.approx(0.5)


@pytest.mark.parametrize("progress", [0.0, 0.4, 1.0])
def test_the_margin_loss_takes_margins_and_weight_from_its_schedule(progress: float) -> None:
    schedule = LinearMargins(positive_start=0.6, negative_start=0.2, down_weight_start=1.0)
    positive, negative, weight = schedule.at(Margins(0.9, 0.1, 0.5), progress)
    still = MarginLoss(positive_margin=positive, negative_margin=negative, down_weight=weight)
    moved = MarginLoss(schedule=schedule).loss(LENGTHS, LABELS, progress)
    assert_close(moved, still.loss(LENGTHS, LABELS, 0.0))


@pytest.mark.parametrize("progress", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("schedule", "expected"), [(ConstantSpread(), (0.9,) * 3), (LinearSpread(), (0.2, 0.55, 0.9))]
)
def test_the_margin_of_the_spread_loss_is_the_papers(
    schedule: ConstantSpread | LinearSpread, expected: tuple[float, ...], progress: float
) -> None:
    assert schedule.at(0.9, progress) == pytest.approx(expected[round(2 * progress)])


@pytest.mark.parametrize(
    ("step", "expected"),
    [(0, 0.2142), (100_000, 0.2942), (200_000, 0.595), (400_000, 0.9758), (2_000_000, 0.98996)],
)
def test_the_sigmoid_spread_is_that_of_the_authors_open_review(step: int, expected: float) -> None:
    margin = SigmoidSpread().at(0.99, step / 2_000_000)
    assert margin == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("length", [200_000, 300_000, 2_000_000])
@pytest.mark.parametrize("step", [0, 100_000, 200_000, 300_000])
def test_the_sigmoid_spread_can_go_by_the_authors_steps_in_a_shorter_training(
    step: int, length: int
) -> None:
    schedule = SigmoidSpread(steepness=length / 50_000, midpoint=200_000 / length)
    theirs = 0.2 + 0.79 / (1 + math.exp(-min(10, step / 50_000 - 4)))
    assert schedule.at(0.99, step / length) == pytest.approx(theirs)


def test_the_official_spread_loss_of_equal_lengths_is_nine_tenths_of_the_squared_margin() -> None:
    lengths = torch.full((2, 10), 0.4, dtype=torch.float64)
    loss = SpreadLoss.of_profile("official").loss(lengths, torch.tensor([0, 9]), 0.1)
    assert_close(loss.item(), 0.9 * 0.595**2)


def test_the_sigmoid_spread_stops_where_its_argument_is_ten() -> None:
    schedule = SigmoidSpread()
    assert schedule.at(0.99, 0.35) == schedule.at(0.99, 1.0)
    assert schedule.at(0.99, 0.34) < schedule.at(0.99, 0.35)


@pytest.mark.parametrize(("progress", "margin"), [(0.0, 0.2), (0.5, 0.55), (1.0, 0.9)])
@pytest.mark.parametrize("length", [0.0, 0.4, 1.0])
def test_spread_loss_of_equal_lengths_is_the_squared_margin_of_each_wrong_class(
    length: float, progress: float, margin: float
) -> None:
    lengths = torch.full((4, 10), length, dtype=torch.float64)
    loss = SpreadLoss().loss(lengths, torch.tensor([0, 3, 9, 9]), progress)
    assert_close(loss.item(), 9 * margin**2)


def test_spread_loss_adds_up_the_squared_shortfalls_of_the_wrong_classes() -> None:
    lengths = torch.tensor([[0.9, 0.3, 0.8], [0.1, 0.1, 0.5]], dtype=torch.float64)
    loss = SpreadLoss(margin=0.5, schedule=ConstantSpread())
    first = (0.5 - 0.1) ** 2  # 0.9 leads 0.3 by more than the margin
    second = 0.5**2 + (0.5 + 0.4) ** 2
    assert_close(loss.loss(lengths, torch.tensor([0, 1]), 0.0).item(), (first + second) / 2)


def test_spread_loss_is_zero_where_the_lead_is_the_margin() -> None:
    lengths = torch.tensor([[1.0, 0.0, 0.05]], dtype=torch.float64)
    assert SpreadLoss().loss(lengths, torch.tensor([0]), 1.0).item() == 0


@pytest.mark.parametrize("schedule", [SigmoidMargins, SigmoidSpread])
def test_a_sigmoid_that_a_number_cannot_hold_is_refused(schedule: type) -> None:
    with pytest.raises(ValueError, match=r"steepness must be a number from 0\.1 to 500, got"):
        schedule(steepness=1000)


def test_settings_of_moving_margins_are_told_to_one_who_keeps_them_constant() -> None:
    with pytest.raises(ValueError, match=r"has no effect: .*\(only linear, sigmoid have\)"):
        with_settings(MarginLoss(), {"schedule.positive_start": 0.7})
