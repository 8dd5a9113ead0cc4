"""A training that is judged within its epochs ends at the first judgement in a window."""

import itertools
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.augmentation import Shift
from capsmodel.models import MatrixCapsNet
from capsmodel.routing import RandomRouting
from capsmodel.stopping import Stopping, TargetMetric
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config, small_model
from tests.capsmodel.stopping.test_stopping import epoch, trained
from tests.capsmodel.training.test_training import finished, same_bits, untimed

EVERY = 2  # of 7 steps an epoch: 1,257 training images in batches of 200
SEEN: list[float] = []


class Looking(Stopping):
    """Writes down every judgement and never ends a training."""

    kind: Literal["looking"] = "looking"

    @property
    def num_epochs(self) -> int:
        return 3

    @property
    def judged_every_steps(self) -> int | None:
        return EVERY

    def ends_with(self, history: Any) -> bool:
        if not SEEN or history[-1].validation_error != SEEN[-1]:
            SEEN.append(history[-1].validation_error)
        return False


def window_at(error: float) -> TargetMetric:
    """Return the stopping whose window holds one error of 180 validation images alone."""
    return TargetMetric(at_or_below=error, max_epochs=3, every_steps=EVERY, window=0.004)


def judged_errors(**changes: Any) -> list[float]:
    """Return the different errors of a whole training, in the order of their judgements."""
    SEEN.clear()
    finished(small_config(stopping=Looking(), **changes))
    return [*SEEN]


@given(st.integers(1, 180), st.integers(0, 180), st.integers(1, 20))
def test_an_error_in_the_window_alone_is_reached(target: int, error: int, width: int) -> None:
    width = min(width, target)
    stopping = TargetMetric(at_or_below=target / 200, window=width / 200)
    assert stopping.is_reached(epoch(validation_error=error / 200)) == (
        target - width < error <= target
    )


@pytest.mark.parametrize(("error", "is_reached"), [(0.028, False), (0.029, True), (0.03, True)])
def test_the_lower_end_is_excluded_to_the_last_bit(error: float, is_reached: bool) -> None:
    stopping = TargetMetric(at_or_below=0.03, window=0.002)
    assert stopping.is_reached(epoch(validation_error=error)) == is_reached


def test_a_training_ends_at_the_first_judgement_in_its_window_and_goes_on_below_it() -> None:
    errors = judged_errors()
    place = next(
        n for n, error in enumerate(errors) if n > 2 and min(errors[:n]) < error not in errors[:n]
    )
    training = trained(window_at(errors[place]))
    assert training.target == "reached"
    assert training.history[-1].validation_error == errors[place]


def test_the_epoch_in_which_it_ends_has_the_figures_of_its_steps_so_far() -> None:
    first = judged_errors()[0]  # after two steps of seven
    training = trained(window_at(first))
    assert (training.epoch, training.is_done, training.target) == (1, True, "reached")
    assert training.history[-1].validation_error == first
    assert training.validate().error == first
    full = trained(TargetMetric(at_or_below=0, max_epochs=1))
    assert training.history[0].train_loss > full.history[0].train_loss


def test_a_training_that_never_arrives_misses_its_target_though_it_is_below_it() -> None:
    training = trained(TargetMetric(at_or_below=1, window=0.001, max_epochs=2, every_steps=EVERY))
    assert training.history[-1].validation_error < 1
    assert (training.epoch, training.is_done, training.target) == (2, True, "missed")


@pytest.mark.parametrize(
    "model",
    [
        small_model(routing=RandomRouting(), dropout=0.3),
        MatrixCapsNet(
            conv_channels=4,
            conv_kernel=3,
            conv_stride=1,
            batch_norm=True,
            primary_types=2,
            first_types=2,
            second_types=0,
        ),
    ],
    ids=["random routing and dropout", "batch normalisation"],
)
def test_judging_changes_no_number_of_the_training(model: Any, tmp_path: Path) -> None:
    plain, judged = (
        finished(
            small_config(
                model=model,
                augmentation=Shift(pixels=1),
                stopping=TargetMetric(at_or_below=0, max_epochs=2, every_steps=every),
            )
        )
        for every in (None, 3)
    )
    assert untimed(plain.history) == untimed(judged.history)
    assert same_bits(plain, judged, tmp_path)


def test_killed_before_the_epoch_within_which_it_ends_it_ends_there_to_the_last_bit(
    tmp_path: Path,
) -> None:
    chancy = {"model": small_model(dropout=0.3), "augmentation": Shift(pixels=1)}
    errors = judged_errors(**chancy)
    config = small_config(stopping=window_at(errors[-2]), **chancy)
    unbroken = finished(config)
    assert unbroken.epoch > 1
    assert unbroken.target == "reached"
    killed = Training(config, seed=0)
    for _ in itertools.islice(killed, unbroken.epoch - 1):
        killed.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config, seed=0)
    assert len(list(restored)) == 1
    assert untimed(restored.history) == untimed(unbroken.history)
    assert same_bits(restored, unbroken, tmp_path)
    restored.save(tmp_path / "checkpoint")
    ended = Training.restore(tmp_path / "checkpoint", config, seed=0)
    assert (ended.is_done, ended.target, list(ended)) == (True, "reached", [])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"every_steps": 0}, "every_steps must be an integer at least 1, got 0."),
        ({"window": 0}, "window must be a number above 0, got 0."),
        ({"window": -0.1}, "window must be a number above 0, got -0.1."),
        ({"window": 0.2, "at_or_below": 0.03}, "for 0.2 points give 0.002"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TargetMetric(**settings)


def test_a_window_without_any_error_of_the_validation_images_is_refused_before_training() -> None:
    stopping = TargetMetric(at_or_below=0.03, window=0.002)
    with pytest.raises(ValueError, match=r"no error that 180 validation images .* below is 2\.78"):
        Training(small_config(stopping=stopping), seed=0)
    Training(small_config(stopping=TargetMetric(at_or_below=0.03, window=0.006)), seed=0)


def test_an_earlier_release_reads_a_stopping_without_them() -> None:
    assert {"every_steps", "window"}.isdisjoint(TargetMetric().model_dump(mode="json"))
