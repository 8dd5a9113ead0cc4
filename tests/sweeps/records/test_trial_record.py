"""A record holds numbers by name, and refuses a name that nobody has declared."""

import pytest

from capsmodel.metrics import VALIDATION_ERROR, Metric
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome, TrialRecord

NUMBERS = {
    "train_loss": 0.5,
    "validation_error": 0.25,
    "validation_top2_error": 0.125,
    "health.dead_capsules": 0.0,
    "test_error": 0.375,
    "test_error.unfamiliar": 0.75,
    "test_error.familiar": 0.625,
    "test_error.No Slug": 1.0,
}
RECORD = TrialRecord(
    record_id="1", trial_key="0" * 20, outcome=Outcome.FINISHED, seed=0, metrics=NUMBERS
)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_found_by_its_name(name: str) -> None:
    assert RECORD.value(name) == NUMBERS[name]


def test_built_in_numbers_have_names_of_their_own() -> None:
    assert (RECORD.train_loss, RECORD.validation_error, RECORD.test_error) == (0.5, 0.25, 0.375)
    assert RECORD.extra_test_errors == {"familiar": 0.625, "unfamiliar": 0.75}


@pytest.mark.parametrize("name", ["validation_loss", "test_error.cluttered", "health.loss_turns"])
def test_a_number_that_it_does_not_hold_is_none(name: str) -> None:
    assert RECORD.value(name) is None
    assert RECORD.validation_loss is None


def test_a_name_that_nobody_has_declared_is_refused_with_the_near_one() -> None:
    with pytest.raises(BadInput) as caught:
        RECORD.value("validation_eror")
    assert str(caught.value) == (
        "Unknown metric 'validation_eror'. Did you mean 'validation_error'? Known: train_loss, "
        "validation_loss, validation_error, test_error, validation_top2_error, "
        "test_error.unfamiliar, test_error.familiar, test_error.No Slug."
    )


def test_a_metric_that_is_declared_may_be_missing() -> None:
    assert RECORD.value(VALIDATION_ERROR) == 0.25
    assert RECORD.value(Metric(name="validation_top3_error")) is None
