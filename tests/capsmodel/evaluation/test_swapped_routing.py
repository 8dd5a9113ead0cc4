"""Trained networks that route otherwise than in their training."""

from typing import Any

import pytest
import torch

from capsmodel import Trained, Training
from capsmodel.evaluation import SwappedRouting, findings_of
from capsmodel.evaluation.swapped_routing import (
    mean_shares,
    random_shares,
    with_iterations,
    with_shares,
)
from capsmodel.models import ConvNet, MatrixCapsNet, Model
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import (
    DynamicRouting,
    EMRouting,
    LeakyRouting,
    RandomRouting,
    Routing,
    UniformRouting,
)
from capsmodel.squash import ExponentialSquash
from tests.capsmodel.small_config import small_config, small_model

IMAGES = torch.rand(7, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def trained(model: Model, epochs: int = 0) -> Trained:
    training = Training(small_config(model=model), seed=0)
    for _, _ in zip(range(epochs), training, strict=False):
        pass
    return training.trained()


def matrix(routing: Routing) -> MatrixCapsNet:
    return MatrixCapsNet(
        conv_channels=8,
        conv_stride=1,
        conv_kernel=3,
        primary_types=2,
        first_types=2,
        first_stride=1,
        second_types=3,
        pose_size=4,
        routing=routing,
        reconstruction=NoReconstruction(),
    )


MODELS = {
    "dynamic": small_model(),
    "leaky": small_model(routing=LeakyRouting(bias=True)),
    "children": small_model(
        routing=DynamicRouting(competition="children", squash=ExponentialSquash())
    ),
    "em": small_model(routing=EMRouting()),
    "matrix-dynamic": matrix(DynamicRouting()),
    "matrix-types": matrix(DynamicRouting(competition="types")),
    "matrix-em": matrix(EMRouting()),
    "matrix-places": matrix(EMRouting(competition="places")),
}


def test_one_iteration_is_uniform_routing_to_the_last_bit() -> None:
    network = trained(small_model(routing=DynamicRouting(bias=True)), epochs=2)
    uniform = trained(small_model(routing=UniformRouting(bias=True)))
    uniform.network.load_state_dict(network.network.state_dict())
    once = with_iterations(network, 1).predict(IMAGES).lengths
    assert torch.equal(once, uniform.predict(IMAGES).lengths)
    assert not torch.equal(once, network.predict(IMAGES).lengths)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_iterations_of_the_training_change_nothing(model: Model) -> None:
    network = trained(model)
    same, other = (with_iterations(network, n).predict(IMAGES).lengths for n in (3, 5))
    assert torch.equal(same, network.predict(IMAGES).lengths)
    assert not torch.equal(other, same)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_an_image_with_its_own_couplings_is_routed_as_before(model: Model) -> None:
    network = trained(model, epochs=1)
    shares = mean_shares(network, IMAGES[:1])
    alone = with_shares(network, shares).predict(IMAGES).lengths
    torch.testing.assert_close(alone[:1], network.predict(IMAGES[:1]).lengths)
    assert not torch.allclose(alone[1:], network.predict(IMAGES[1:]).lengths, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_couplings_are_the_mean_over_images_of_what_the_network_reports(model: Model) -> None:
    network = trained(model)
    couplings = network.inspect(IMAGES).outputs.couplings
    shares = mean_shares(network, IMAGES)
    assert len(shares) == len(couplings)
    for values, layer in zip(shares.values(), couplings.values(), strict=True):
        by_image = layer.values.unflatten(1, (len(IMAGES), -1))
        torch.testing.assert_close(values, by_image.mean(dim=1))
    drawn = random_shares(shares, torch.Generator().manual_seed(0))
    for name, values in shares.items():
        assert drawn[name].min() >= 0
        torch.testing.assert_close(drawn[name].sum(dim=2), values.sum(dim=2))
        assert not torch.allclose(drawn[name], values)


def test_classes_that_differ_from_those_as_trained_are_counted() -> None:
    network = trained(small_model(), epochs=3)
    data = network.config.data.load("cpu")
    evaluation = SwappedRouting(iterations=(1, 3))
    findings = evaluation.evaluate(network, data)
    before = network.predict(data.test.images).classes
    once = with_iterations(network, 1).predict(data.test.images).classes
    assert torch.equal(findings.images["changed.iterations_1"].bool(), once != before)
    assert torch.equal(findings.images["error.iterations_1"].bool(), once != data.test.labels)
    assert findings.metrics["changed.iterations_3"] == 0
    assert findings.metrics["random_couplings_changed"] > 0
    assert [*findings.metrics] == [metric.name for metric in evaluation.metrics]


@pytest.mark.parametrize(
    "model",
    [
        ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,)),
        small_model(routing=RandomRouting()),
        small_model(routing=UniformRouting()),
    ],
    ids=["cnn", "random", "uniform"],
)
def test_a_network_without_iterations_has_no_figures_but_a_reason(
    model: Any,
) -> None:
    network = trained(model)
    findings = findings_of(SwappedRouting(), network, network.config.data.load("cpu"))
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith("swapped_routing is for routings with iterations, such as dynamic")
