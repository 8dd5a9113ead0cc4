"""Engine and driver understand each other across processes."""

import json
import math

import pytest
from pydantic import BaseModel, ValidationError

from sweeps.execution.engine.engine import EpochEnded, Job, Next, Stop, TrialEnded, TrialStarted
from sweeps.execution.engine.placement import Machine, Request, Share
from sweeps.execution.worker.trial import TrialJob
from tests.sweeps.execution.examples import KEY, epoch, spec

JOB = Job(trials=(TrialJob(cells="/cells", spec=spec()),), share=Share(cpus=2, gpus=0.25))
MESSAGES = [
    JOB,
    TrialStarted(trial_key=KEY),
    EpochEnded(trial_key=KEY, result=epoch(3)),
    TrialEnded(trial_key=KEY, reason="ImportError: no"),
    Stop(trial_key=KEY),
    Request(cpus=2, configs=({"routing": {"iterations": 3}},)),
    Machine(cpus=4, gpus=1),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_as_it_was_sent(message: BaseModel) -> None:
    assert type(message).model_validate(json.loads(message.model_dump_json())) == message


def test_a_loss_that_is_not_finite_arrives_as_it_was() -> None:
    sent = EpochEnded(trial_key=KEY, result=epoch(1, math.nan, math.inf))
    arrived = EpochEnded.model_validate_json(sent.model_dump_json())
    assert math.isnan(arrived.result.train_loss)
    assert arrived.result.validation_error == math.inf


def test_the_word_for_no_job_arrives_too() -> None:
    assert [Next(json.loads(json.dumps(word))) for word in Next] == [Next.WAIT, Next.DONE]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_cannot_be_changed_on_its_way(message: BaseModel) -> None:
    name = next(iter(type(message).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(message, name, None)


def test_a_job_without_a_trial_is_none() -> None:
    with pytest.raises(ValidationError):
        Job(trials=())


def test_a_job_names_its_trials() -> None:
    assert JOB.trial_keys == (KEY,)
