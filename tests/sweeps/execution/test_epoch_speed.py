"""An epoch takes what its steps cost and its images add, by two steps on a few images."""

from dataclasses import replace

import pytest

from capsmodel.data import Images
from sweeps.execution import epoch_speed
from sweeps.execution.epoch_speed import seconds_per_epoch
from tests.capsmodel.small_config import small_config

PER_STEP, PER_IMAGE = 0.05, 0.002


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have steps take what they are told to; return how many images each had."""
    sizes: list[int] = []

    def step(learner: object, train: Images, number: int) -> float:
        del learner
        sizes.append(len(train.take(slice(number))))
        return PER_STEP + PER_IMAGE * sizes[-1]

    monkeypatch.setattr(epoch_speed, "_step", step)
    return sizes


def test_steps_and_images_are_told_apart(clock: list[int]) -> None:
    config = small_config(batch_size=100)
    splits = config.data.load("cpu")
    num_steps = -(-len(splits.train) // 100)
    num_images = len(splits.train) + len(splits.validation) / 3
    expected = num_steps * PER_STEP + num_images * PER_IMAGE
    assert seconds_per_epoch(config, splits) == pytest.approx(expected)
    assert clock == [8, 8, 32]


def test_a_slow_network_takes_one_step_alone(
    clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_speed, "_SLOW_SECONDS", 0.0)
    config = small_config()
    splits = config.data.load("cpu")
    num_images = len(splits.train) + len(splits.validation) / 3
    expected = num_images * (PER_STEP / 8 + PER_IMAGE)
    assert seconds_per_epoch(config, splits) == pytest.approx(expected)
    assert clock == [8]


def test_fewer_images_than_a_step_takes_give_a_time_too() -> None:
    config = small_config()
    splits = config.data.load("cpu")
    few = replace(splits, train=splits.train.take(slice(3)))
    assert 0 < seconds_per_epoch(config, few) < 60
