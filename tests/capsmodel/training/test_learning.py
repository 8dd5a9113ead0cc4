"""Small networks learn, and the trainings that the report on learning makes can be made."""

import pytest

from benchmarks.learning import CASES
from capsmodel import Training, TrainingConfig
from capsmodel.config import num_parameters
from capsmodel.losses import SpreadLoss
from capsmodel.models import MatrixCapsNet, Model
from capsmodel.optimisers import Adam
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_model


def validation_error(model: Model, epochs: int) -> float:
    """Return the error after so many epochs on half of the digits, judged by the other half."""
    config = TrainingConfig(
        model=model,
        loss=SpreadLoss() if isinstance(model, MatrixCapsNet) else TrainingConfig().loss,
        optimiser=Adam(learning_rate=1e-2),
        stopping=FixedEpochs(epochs=epochs),
        batch_size=32,
    )
    *_, last = Training(config, seed=0)
    return last.validation_error


# test_contracts.py holds the laws of EM routing with the other profiles' settings in .ci/run
@pytest.mark.parametrize(
    "profile",
    [
        "paper",
        pytest.param("normalised", marks=pytest.mark.nightly),
        pytest.param("official", marks=pytest.mark.nightly),
    ],
)
def test_a_small_em_network_learns_digits(profile: str) -> None:
    model = MatrixCapsNet.of_profile(
        profile,
        conv_channels=16,
        conv_kernel=3,
        conv_stride=1,
        primary_types=4,
        first_types=8,
        second_types=0,
    )
    assert validation_error(model, epochs=1) < 0.7


def test_a_small_network_with_dynamic_routing_learns_digits() -> None:
    assert validation_error(small_model(), epochs=2) < 0.3


@pytest.mark.parametrize("name", CASES)
def test_every_training_of_the_report_can_be_built(name: str) -> None:
    assert num_parameters(CASES[name].config) > 1_000
