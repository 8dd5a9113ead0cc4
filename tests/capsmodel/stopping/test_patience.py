"""A training ends once its validation figure has not fallen for some epochs."""

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from capsmodel.losses import MarginLoss
from capsmodel.losses.margin import ConstantMargins, LinearMargins, Margins
from capsmodel.metrics import EpochMetrics
from capsmodel.stopping import Patience, TargetMetric
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config

ERRORS = st.lists(st.integers(0, 8).map(lambda wrong: wrong / 8), min_size=1, max_size=12)


def history_of(errors: list[float], **others: Any) -> list[EpochMetrics]:
    return [
        EpochMetrics(
            **{
                "epoch": number,
                "train_loss": 1.0,
                "validation_loss": 1.0,
                "validation_error": error,
                **others,
            }
        )
        for number, error in enumerate(errors, start=1)
    ]


def literal_end(errors: list[float], patience: int, min_delta: float) -> int | None:
    """Return the epoch in which a loop with a counter stops, as Keras and Lightning count."""
    best, waited = float("inf"), 0
    for number, error in enumerate(errors, start=1):
        if error < best - min_delta:
            best, waited = error, 0
        else:
            waited += 1
            if waited >= patience:
                return number
    return None


@given(ERRORS, st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.125, 0.25]))
def test_it_ends_where_a_loop_with_a_counter_does(
    errors: list[float], patience: int, min_delta: float
) -> None:
    rule, history = Patience(epochs=patience, min_delta=min_delta), history_of(errors)
    ends = [number for number in range(1, len(errors) + 1) if rule.ends_with(history[:number])]
    assert (ends[0] if ends else None) == literal_end(errors, patience, min_delta)


def test_an_error_that_returns_to_its_lowest_has_not_fallen() -> None:
    assert Patience(epochs=2).ends_with(history_of([0.5, 0.25, 0.5, 0.25]))


def test_it_may_wait_for_the_loss() -> None:
    rule = Patience(epochs=1, metric="validation_loss")
    falling = history_of([0.5, 0.25])
    assert rule.ends_with(falling)  # as the losses are equal
    assert not Patience(epochs=1).ends_with(falling)


def test_a_training_waits_in_vain_and_ends() -> None:
    longest = Training(small_config(stopping=Patience(epochs=30, max_epochs=30)), seed=0)
    errors = [metrics.validation_error for metrics in longest]
    end = literal_end(errors, 1, 0.0)
    assert end is not None, "or the training shows nothing"
    assert 2 < end < 30, "or the training shows nothing"
    training = Training(small_config(stopping=Patience(epochs=1, max_epochs=30)), seed=0)
    assert [metrics.validation_error for metrics in training] == errors[:end]
    assert training.target is None


@pytest.mark.parametrize(
    ("setting", "value"), [("epochs", 0), ("max_epochs", 0), ("min_delta", -0.1)]
)
def test_a_setting_out_of_its_range_is_refused(setting: str, value: float) -> None:
    with pytest.raises(ValidationError, match=setting):
        Patience.model_validate({setting: value})


def test_it_does_not_wait_for_a_loss_that_moves_by_itself() -> None:
    waiting = Patience(metric="validation_loss")
    with pytest.raises(ValueError, match=r"set stopping\.metric=validation_error"):
        small_config(loss=MarginLoss(schedule=LinearMargins()), stopping=waiting)
    assert small_config(loss=MarginLoss(), stopping=waiting).stopping == waiting


class Creeping(ConstantMargins):
    """Margins of one's own that move, derived from those that do not."""

    kind: Literal["creeping"] = "creeping"

    def at(self, setting: Margins, when: Any) -> Margins:
        return Margins(setting.positive * (1 - 0.1 * when), *setting[1:])


def test_a_schedule_of_ones_own_may_follow_the_progress_whatever_it_derives_from() -> None:
    assert MarginLoss(schedule=Creeping()).follows_progress
    assert not MarginLoss(schedule=ConstantMargins()).follows_progress


def test_the_best_weights_are_not_tested_where_a_target_ends_the_training() -> None:
    with pytest.raises(ValueError, match="set weights=last, or stopping=patience"):
        small_config(weights="best", stopping=TargetMetric())
