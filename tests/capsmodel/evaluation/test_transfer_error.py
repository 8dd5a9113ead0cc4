"""Images that were attacked on one network, shown to another."""

from typing import Any

import pytest
import torch

from capsmodel import Trained, Training
from capsmodel.data import DataSplits, Digits
from capsmodel.evaluation import FGSM, PGD, AdversarialError, TransferError, findings_of
from capsmodel.models import ConvNet
from tests.capsmodel.small_config import small_config

KEY = "0123456789abcdef0123"
EPSILONS = (0.0, 0.1)


def network(seed: int, **changes: Any) -> Trained:
    training = Training(small_config(**changes), seed=seed)
    for _ in training:
        pass
    return training.trained()


@pytest.fixture(scope="module")
def data() -> DataSplits:
    return small_config().data.load("cpu")


@pytest.fixture(scope="module")
def victim() -> Trained:
    return network(0)


@pytest.fixture(scope="module")
def other() -> Trained:
    model = ConvNet(conv_channels=(8,), conv_kernel=3, hidden=(16,))
    return network(1, model=model)


def test_images_made_on_a_network_are_the_same_for_all(
    victim: Trained, other: Trained, data: DataSplits
) -> None:
    """A step of FGSM on the other network, by hand."""
    evaluation = TransferError(source=KEY, attack=FGSM(), epsilons=EPSILONS, objective="loss")
    findings = findings_of(evaluation, victim, data, {KEY: other})
    points = data.test.images.clone().requires_grad_()
    loss = other.config.loss.judge(other.outputs(points), data.test.labels, 1.0)
    (gradient,) = torch.autograd.grad(loss, points)
    changed = (data.test.images + 0.1 * gradient.sign()).clamp(0, 1)
    for name, judge in (("error", victim), ("source_error", other)):
        expected = judge.predict(changed).classes != data.test.labels
        assert torch.equal(findings.images[f"{name}.epsilon_0.1"].bool(), expected)
        plain = judge.predict(data.test.images).classes != data.test.labels
        assert torch.equal(findings.images[f"{name}.epsilon_0"].bool(), plain)
    assert findings.metrics["error.epsilon_0.1"] > findings.metrics["error.epsilon_0"]
    assert evaluation.primary == "error"


def test_without_a_source_the_network_is_attacked_itself(victim: Trained, data: DataSplits) -> None:
    settings: dict[str, Any] = {"attack": PGD(steps=10), "epsilons": EPSILONS, "num_images": 60}
    findings = TransferError(objective="loss", **settings).evaluate(victim, data)
    strongest = AdversarialError(**settings).evaluate(victim, data).images["error.epsilon_0.1"]
    last = findings.images["error.epsilon_0.1"]
    assert bool((last.bool() <= strongest.bool()).all())
    assert last.mean() > 0.5
    assert torch.equal(last, findings.images["source_error.epsilon_0.1"])


def test_a_source_that_is_not_there_is_a_reason(victim: Trained, data: DataSplits) -> None:
    findings = findings_of(TransferError(source=KEY), victim, data)
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith(f"transfer_error makes images on the network of the trial {KEY}")


def test_a_source_for_other_images_is_refused(victim: Trained, data: DataSplits) -> None:
    source = Training(small_config(data=Digits(padding=1)), 0).trained()
    with pytest.raises(ValueError, match="needs a source for the same images, image_shape"):
        findings_of(TransferError(source=KEY), victim, data, {KEY: source})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"attack": "square"}, "attack must be one that follows gradients"),
        ({"source": "abc"}, "source must be a whole trial key of 20 letters and digits"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TransferError.model_validate(settings)
