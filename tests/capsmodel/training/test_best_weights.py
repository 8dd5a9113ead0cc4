"""With `weights="best"` a training tests the weights of the lowest validation error."""

from pathlib import Path
from typing import Any

import pytest
import torch

from capsmodel.optimisers import Adam
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config

NUM_EPOCHS = 6


def config_of(num_epochs: int = NUM_EPOCHS, **changes: Any) -> Any:
    """Return a training whose error rises and falls, as its steps are long."""
    return small_config(
        optimiser=Adam(learning_rate=0.15), stopping=FixedEpochs(epochs=num_epochs), **changes
    )


def done(training: Training) -> Training:
    for _ in training:
        pass
    return training


def answers(training: Training) -> list[torch.Tensor]:
    """Return all that is recorded of a training's network."""
    network = training.trained()._network.state_dict()
    return [training.test().predictions, training.validate().predictions, *network.values()]


@pytest.fixture(scope="module")
def best() -> Training:
    return done(Training(config_of(weights="best"), seed=1))


@pytest.fixture(scope="module")
def literal() -> Training:
    """A training of the same seed that ends with the best epoch of the longer one."""
    errors = [metrics.validation_error for metrics in Training(config_of(), seed=1)]
    first = next(number for number, error in enumerate(errors, start=1) if error == min(errors))
    assert 1 < first < NUM_EPOCHS, "or the training shows nothing"
    return done(Training(config_of(first), seed=1))


def test_what_is_recorded_is_of_the_training_that_ends_with_its_best_epoch(
    best: Training, literal: Training
) -> None:
    assert best.epoch == NUM_EPOCHS
    assert best.tested_epoch == literal.epoch
    assert all(map(torch.equal, answers(best), answers(literal)))
    assert best.test().error == literal.test().error
    assert best.validate().error == literal.history[-1].validation_error


def test_to_test_it_changes_nothing_of_the_training(best: Training) -> None:
    before = best.encoded()
    answers(best)
    assert best.encoded() == before


@pytest.mark.parametrize("saved_after", range(NUM_EPOCHS + 1))
def test_restored_it_tests_the_same(best: Training, tmp_path: Path, saved_after: int) -> None:
    training, path = Training(best.config, seed=1), tmp_path / "checkpoint.safetensors"
    training.save(path)
    for metrics in training:
        if metrics.epoch == saved_after:
            training.save(path)
            break
    restored = done(Training.restore(path, best.config, seed=1))
    assert [metrics.best_epoch for metrics in restored.history] == [
        metrics.best_epoch for metrics in best.history
    ]
    assert all(map(torch.equal, answers(restored), answers(best)))


def test_of_equal_epochs_the_first_is_tested() -> None:
    training = Training(config_of(3, weights="best"), seed=1)
    first = next(iter(training))
    training.history = (first, first, first)
    assert training._with_end(training.history)[-1].best_epoch == first.epoch


def test_a_training_of_the_last_weights_says_nothing_of_a_best_epoch(literal: Training) -> None:
    assert {metrics.best_epoch for metrics in literal.history} == {0}
    assert literal.tested_epoch == literal.epoch
