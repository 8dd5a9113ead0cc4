"""Attacks on a network whose detector sees how far an image is from its reconstruction."""

from typing import Any
from unittest.mock import Mock

import pytest
import torch

from capsmodel import Trained, Training
from capsmodel.data import DataSplits
from capsmodel.evaluation import FGSM, PGD, AdversarialError, UndetectedError, findings_of
from capsmodel.evaluation.undetected_error import DetectedVictim, alarm_threshold, distances
from capsmodel.models import ConvNet
from capsmodel.reconstruction import NoReconstruction
from tests.capsmodel.small_config import small_config, small_model

CONFIG = small_config()


@pytest.fixture(scope="module")
def trained() -> Trained:
    training = Training(CONFIG, seed=3)
    for _ in training:
        pass
    return training.trained()


@pytest.fixture(scope="module")
def data() -> DataSplits:
    return CONFIG.data.load("cpu")


def victim(trained: Trained, data: DataSplits, threshold: float, *, knows: bool) -> DetectedVictim:
    few = data.test.take(slice(40))
    return DetectedVictim(trained, few, threshold, objective="loss", knows_detector=knows)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3])
def test_the_detector_gives_no_more_alarms_than_it_may(
    trained: Trained, data: DataSplits, rate: float
) -> None:
    drawn = trained.predict(data.validation.images).reconstructions
    assert drawn is not None
    far = (drawn - data.validation.images).flatten(1).norm(dim=1).double()
    share = (far > alarm_threshold(trained, data.validation, rate)).double().mean().item()
    assert share <= rate
    assert share > rate - 0.02


def test_false_alarms_are_of_the_unchanged_test_images(trained: Trained, data: DataSplits) -> None:
    evaluation = UndetectedError(attack=FGSM(), epsilons=(0.0, 0.1))
    findings = evaluation.evaluate(trained, data)
    said = trained.predict(data.test.images)
    assert said.reconstructions is not None
    far = (said.reconstructions - data.test.images).flatten(1).norm(dim=1)
    has_alarm = far > alarm_threshold(trained, data.validation, 0.05)
    assert torch.equal(findings.images["false_alarms"].bool(), has_alarm)
    missed = (said.classes != data.test.labels) & ~has_alarm
    assert torch.equal(findings.images["aware_error.epsilon_0"].bool(), missed)
    assert torch.equal(findings.images["unaware_error.epsilon_0"].bool(), missed)
    assert [*findings.metrics] == [metric.name for metric in evaluation.metrics]
    assert evaluation.primary == "aware_error"


def test_an_attacker_who_knows_the_detector_is_never_worse(
    trained: Trained, data: DataSplits
) -> None:
    evaluation = UndetectedError(attack=PGD(steps=10), epsilons=(0.0, 0.05, 0.1, 0.2))
    findings = evaluation.evaluate(trained, data)
    for epsilon in (0.05, 0.1, 0.2):
        aware, unaware = (
            findings.images[f"{who}_error.epsilon_{epsilon:g}"] for who in ("aware", "unaware")
        )
        assert bool((unaware <= aware).all())
    curve = [findings.metrics[f"aware_error.epsilon_{e:g}"] for e in (0.0, 0.05, 0.1, 0.2)]
    assert curve == sorted(curve)
    assert curve[-1] > findings.metrics["unaware_error.epsilon_0.2"]
    assert 0 < findings.metrics["detected.epsilon_0.2"] < 1


@pytest.mark.parametrize("knows", [True, False])
def test_without_alarms_every_error_counts(trained: Trained, data: DataSplits, knows: bool) -> None:
    attack, epsilons = PGD(steps=5), (0.0, 0.1)
    settings: dict[str, Any] = {"attack": attack, "epsilons": epsilons, "num_images": 40}
    plain = AdversarialError(**settings).evaluate(trained, data)
    with pytest.MonkeyPatch.context() as patch:
        module = "capsmodel.evaluation.undetected_error.alarm_threshold"
        patch.setattr(module, Mock(return_value=torch.inf))
        findings = UndetectedError(objective="loss", **settings).evaluate(trained, data)
        patch.setattr(module, Mock(return_value=-1.0))
        none = UndetectedError(objective="loss", **settings).evaluate(trained, data)
    name = f"{'aware' if knows else 'unaware'}_error.epsilon_0.1"
    assert torch.equal(findings.images[name], plain.images["error.epsilon_0.1"])
    assert none.metrics[name] == 0
    assert none.metrics["detected.epsilon_0.1"] == none.metrics["false_alarms"] == 1


def test_where_the_network_errs_a_step_lowers_the_distance(
    trained: Trained, data: DataSplits
) -> None:
    knowing, other = (victim(trained, data, 0.0, knows=knows) for knows in (True, False))
    rows = torch.arange(40)
    grey = torch.full_like(knowing.images, 0.5)
    points = (knowing.images + 0.2 * (grey - knowing.images)).requires_grad_()
    aware, plain = (victim.judge_and_differentiate(points, rows) for victim in (knowing, other))
    assert 0 < aware.is_wrong.sum() < 40
    distances(trained, points, trained.outputs(points)).sum().backward()
    assert points.grad is not None
    torch.testing.assert_close(aware.gradient[aware.is_wrong], -points.grad[aware.is_wrong])
    assert torch.equal(aware.gradient[~aware.is_wrong], plain.gradient[~aware.is_wrong])


@pytest.mark.parametrize(
    "model",
    [
        ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,)),
        small_model(reconstruction=NoReconstruction()),
    ],
    ids=["cnn", "no-decoder"],
)
def test_a_network_that_draws_nothing_has_no_figures_but_a_reason(
    model: Any, data: DataSplits
) -> None:
    network = Training(small_config(model=model), 0).trained()
    findings = findings_of(UndetectedError(), network, data)
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith("undetected_error is for networks that draw images, got the model")


def test_an_attack_without_gradient_is_refused() -> None:
    with pytest.raises(ValueError, match="attack must be one that follows gradients"):
        UndetectedError.model_validate({"attack": "square"})
