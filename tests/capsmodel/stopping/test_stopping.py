"""A training ends after so many epochs, or with the first that reaches its target."""

import math
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from capsmodel import tensor_file
from capsmodel.overrides import with_settings
from capsmodel.stopping import STOPPINGS, FixedEpochs, Stopping, TargetMetric, ValidationFigures
from capsmodel.training.training import EpochMetrics, Training
from tests.capsmodel.small_config import small_config

NEVER = TargetMetric(at_or_below=0, max_epochs=2)


def epoch(**changes: Any) -> EpochMetrics:
    known: dict[str, Any] = {
        "epoch": 1,
        "train_loss": 1.0,
        "validation_loss": 0.5,
        "validation_error": 0.25,
        "duration_seconds": 0.1,
    }
    return EpochMetrics(**(known | changes))


def trained(stopping: Stopping) -> Training:
    training = Training(small_config(stopping=stopping), seed=0)
    for _ in training:
        pass
    return training


@pytest.mark.parametrize("kind", STOPPINGS)
def test_every_stopping_names_the_setting_that_holds_its_length(kind: type[Any]) -> None:
    stopping = with_settings(kind(), {kind.length_setting: 7})
    assert stopping.num_epochs == 7


def test_a_fixed_number_of_epochs_has_no_target() -> None:
    assert not FixedEpochs().has_target
    assert not FixedEpochs().is_reached(epoch(validation_error=0.0, validation_loss=0.0))


@given(st.floats(0, 1), st.floats(0, 1))
def test_an_error_at_or_below_the_value_is_reached(target: float, error: float) -> None:
    stopping = TargetMetric(at_or_below=target)
    assert stopping.is_reached(epoch(validation_error=error)) == (error <= target)


def test_the_other_figure_plays_no_part() -> None:
    loss = TargetMetric(metric="validation_loss", at_or_below=0.4)
    assert not loss.is_reached(epoch(validation_loss=0.5, validation_error=0.0))
    assert loss.is_reached(epoch(validation_loss=0.4, validation_error=1.0))


def test_a_figure_that_is_no_number_reaches_nothing() -> None:
    stopping = TargetMetric(metric="validation_loss", at_or_below=100)
    assert not stopping.is_reached(epoch(validation_loss=math.nan))
    assert not stopping.is_reached(epoch(validation_loss=math.inf))


def test_an_error_in_percent_is_refused_with_the_share_to_give() -> None:
    with pytest.raises(ValueError, match=r"for 4 % give 0\.04"):
        TargetMetric(at_or_below=4)
    assert TargetMetric(metric="validation_loss", at_or_below=4).at_or_below == 4


def test_a_training_ends_with_the_first_epoch_that_reaches_its_target() -> None:
    longest = trained(TargetMetric(at_or_below=0, max_epochs=3))
    second = longest.history[1].validation_error
    assert second < longest.history[0].validation_error, "or the target says nothing"
    training = trained(TargetMetric(at_or_below=second, max_epochs=3))
    assert training.epoch == 2
    assert training.is_done
    assert training.target == "reached"
    assert [epoch.train_loss for epoch in training.history] == [
        epoch.train_loss for epoch in longest.history[:2]
    ]


def test_a_training_that_misses_its_target_ends_after_all_its_epochs() -> None:
    training = trained(NEVER)
    assert (training.epoch, training.is_done, training.target) == (2, True, "missed")


def test_a_training_without_a_target_has_neither_reached_nor_missed_one() -> None:
    training = trained(FixedEpochs(epochs=1))
    assert (training.is_done, training.target) == (True, None)


@pytest.mark.parametrize("is_of_earlier_release", [False, True])
def test_a_restored_training_that_had_reached_its_target_does_not_train_on(
    tmp_path: Path, is_of_earlier_release: bool
) -> None:
    config = small_config(stopping=TargetMetric(at_or_below=1, max_epochs=3))
    training = Training(config, seed=0)
    next(iter(training))
    path = tmp_path / "checkpoint.safetensors"
    training.save(path)
    if is_of_earlier_release:  # whose checkpoints do not say so
        facts = tensor_file.read_facts(path)
        del facts["history"][0]["reaches_target"]
        path.write_bytes(tensor_file.encoded(load_file(path), facts))
    restored = Training.restore(path, config, seed=0)
    assert restored.history == training.history
    assert (restored.epoch, restored.is_done, restored.target) == (1, True, "reached")
    assert list(restored) == []


class Soon(Stopping):
    """Ends early without having had to."""

    kind: Literal["soon"] = "soon"

    @property
    def num_epochs(self) -> int:
        return 3

    def is_reached(self, metrics: ValidationFigures) -> bool:
        return metrics.validation_error < 2


def test_an_own_stopping_may_end_a_training_without_a_target() -> None:
    training = trained(Soon())
    assert (training.epoch, training.is_done, training.target) == (1, True, None)


def test_schedules_run_over_the_most_epochs_there_may_be() -> None:
    assert Training(small_config(stopping=NEVER), seed=0).num_epochs == 2
