import math
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel import Training
from capsmodel.augmentation import Shift
from capsmodel.optimisers import (
    LEARNING_RATE_SCHEDULES,
    Adam,
    ConstantRate,
    CosineRate,
    ExponentialRate,
    Moment,
    PerEpochRate,
)
from capsmodel.routing import RandomRouting
from capsmodel.settings.parts import kind_of
from tests.capsmodel.small_config import small_config, small_model

moments = st.tuples(st.integers(1, 10_000), st.integers(1, 1000)).flatmap(
    lambda sizes: st.builds(
        Moment, st.integers(0, sizes[0] * sizes[1]), st.just(sizes[0]), st.just(sizes[1])
    )
)
schedules = st.sampled_from([schedule() for schedule in LEARNING_RATE_SCHEDULES])


def moment_after(step: int) -> Moment:
    return Moment(step, steps_per_epoch=468, num_epochs=1000)


def test_a_moment_tells_epoch_and_progress() -> None:
    assert [Moment(step, 4, 2).epoch for step in range(9)] == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert [Moment(step, 4, 2).progress for step in range(9)] == [n / 8 for n in range(9)]


@given(moments)
def test_progress_is_the_share_of_all_steps(moment: Moment) -> None:
    share = moment.step / (moment.steps_per_epoch * moment.num_epochs)
    assert moment.progress == pytest.approx(share)
    assert 0 <= moment.progress <= 1


@given(schedules, moments, st.floats(1e-9, 10))
def test_a_rate_is_never_negative_nor_above_the_optimisers_own(
    schedule: Any, moment: Moment, initial: float
) -> None:
    assert 0 <= schedule.at(initial, moment) <= initial


@given(schedules, st.floats(1e-9, 10))
def test_every_rate_starts_as_the_optimisers_own(schedule: Any, initial: float) -> None:
    assert schedule.at(initial, Moment(0, 7, 3)) == pytest.approx(initial)


@given(moments, st.floats(1e-9, 10))
def test_a_constant_rate_is_the_optimisers_own(moment: Moment, initial: float) -> None:
    assert ConstantRate().at(initial, moment) == initial


@pytest.mark.parametrize(
    ("step", "expected"), [(100_000, 1.30e-4), (200_000, 1.69e-5), (300_000, 2.19e-6)]
)
def test_the_exponential_rate_is_that_of_the_authors_code(step: int, expected: float) -> None:
    assert ExponentialRate().at(1e-3, moment_after(step)) == pytest.approx(expected, rel=3e-3)


def test_the_exponential_rate_reaches_its_floor_where_the_authors_does() -> None:
    schedule = ExponentialRate()
    assert schedule.at(1e-3, moment_after(338_000)) > 1e-6
    assert schedule.at(1e-3, moment_after(339_000)) == 1e-6
    assert schedule.at(1e-3, moment_after(10**9)) == 1e-6


def test_an_exponential_rate_falls_in_each_step_or_in_stairs() -> None:
    stairs = ExponentialRate(factor=0.5, every_steps=4, staircase=True)
    assert [stairs.at(1.0, moment_after(step)) for step in range(9)] == [1.0] * 4 + [0.5] * 4 + [
        0.25
    ]
    smooth = ExponentialRate(factor=0.5, every_steps=4)
    assert [smooth.at(1.0, moment_after(step)) for step in (0, 2, 4)] == [1.0, math.sqrt(0.5), 0.5]


@pytest.mark.parametrize("schedule", [ExponentialRate(floor=0.1), CosineRate(floor=0.1)])
def test_a_floor_does_not_lift_a_rate_that_starts_below_it(schedule: Any) -> None:
    assert [schedule.at(0.01, moment_after(step)) for step in (0, 1, 10_000)] == [0.01] * 3


def test_a_rate_per_epoch_falls_between_epochs_only() -> None:
    rates = [PerEpochRate(factor=0.5).at(1.0, Moment(step, 3, 9)) for step in range(7)]
    assert rates == [1.0] * 3 + [0.5] * 3 + [0.25]


def test_nine_tenths_an_epoch_come_to_half_a_percent_in_fifty() -> None:
    last = PerEpochRate().at(1e-3, Moment(50 * 600, 600, 50))
    assert last == pytest.approx(5.15e-6, rel=1e-3)


def test_a_cosine_is_half_way_in_the_middle_and_at_its_floor_in_the_end() -> None:
    schedule = CosineRate(floor=0.2)
    rates = [schedule.at(1.0, Moment(step, 2, 2)) for step in range(5)]
    quarter = 0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2
    assert rates == pytest.approx([1.0, quarter, 0.6, 1.2 - quarter, 0.2])


class RecordingAdam(Adam):
    kind: Literal["recording"] = "recording"  # pyright: ignore[reportIncompatibleVariableOverride]
    seen: ClassVar[list[Moment]] = []

    def learning_rate_at(self, moment: Moment) -> float:
        self.seen.append(moment)
        return super().learning_rate_at(moment)


def test_a_training_tells_the_moment_of_each_step_also_when_it_was_restored(
    tmp_path: Path,
) -> None:
    RecordingAdam.seen.clear()
    config = small_config(optimiser=RecordingAdam(), batch_size=629)
    training = Training(config, seed=0)
    next(iter(training))
    training.save(tmp_path / "checkpoint")
    for _ in Training.restore(tmp_path / "checkpoint", config, seed=0):
        pass
    steps = len(RecordingAdam.seen)
    assert RecordingAdam.seen == [Moment(step, steps // 3, 3) for step in range(steps)]


def test_weights_move_by_the_schedules_rate() -> None:
    vanishing = Adam(learning_rate=1e-2, schedule=PerEpochRate(factor=1e-300))
    first, *others = Training(small_config(optimiser=vanishing), seed=0)
    assert [metrics.validation_loss for metrics in others] == [first.validation_loss] * 2
    constant = next(iter(Training(small_config(), seed=0)))
    assert first.validation_loss == constant.validation_loss


@pytest.mark.parametrize("schedule", LEARNING_RATE_SCHEDULES, ids=kind_of)
def test_a_restored_training_goes_on_with_the_rate_that_it_would_have_had(
    tmp_path: Path, schedule: Any
) -> None:
    config = small_config(
        model=small_model(routing=RandomRouting()),
        augmentation=Shift(),
        optimiser=Adam(schedule=schedule()),
    )
    unbroken, broken = Training(config, seed=2), Training(config, seed=2)
    losses = [metrics.train_loss for metrics in unbroken]
    next(iter(broken))
    broken.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config, seed=2)
    assert losses[1:] == [metrics.train_loss for metrics in restored]
