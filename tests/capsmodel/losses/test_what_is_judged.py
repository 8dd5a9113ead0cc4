"""The losses take tensors, and what a capsule layer or a network returns."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import margin_loss, sigmoid_loss, spread_loss
from capsmodel.layers import Capsules
from capsmodel.losses import LOSSES, Loss
from capsmodel.models import Outputs
from capsmodel.routing import Routed
from capsmodel.settings.parts import kind_of

CHILDREN = torch.rand(4, 6, 5, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([0, 1, 2, 1])
FUNCTIONS = [margin_loss, spread_loss, partial(sigmoid_loss, from_logits=False)]
functions = pytest.mark.parametrize("loss", FUNCTIONS, ids=["margin", "spread", "sigmoid"])


def routed(routing: str) -> Routed:
    torch.manual_seed(0)
    return Capsules(in_caps=6, in_dim=5, out_caps=3, out_dim=4, routing=routing)(CHILDREN)


@pytest.fixture(autouse=True)
def _chance_restored() -> Any:
    with torch.random.fork_rng(devices=()):
        yield


@functions
@pytest.mark.parametrize("routing", ["dynamic", "em", "heinsen"])
def test_a_function_judges_the_beliefs_of_a_layer(
    loss: Callable[..., Tensor], routing: str
) -> None:
    capsules = routed(routing)
    expected = loss(capsules.beliefs, LABELS, reduction="none")
    assert torch.equal(loss(capsules, LABELS, reduction="none"), expected)
    outputs = Outputs(capsules.beliefs, None, capsules.logits)
    assert torch.equal(loss(outputs, LABELS, reduction="none"), expected)


def test_a_gradient_flows_through_what_a_layer_returns() -> None:
    layer = Capsules(in_caps=6, in_dim=5, out_caps=3, out_dim=4)
    margin_loss(layer(CHILDREN), LABELS).backward()
    assert layer.weight.grad is not None
    assert bool(layer.weight.grad.any())


def test_the_sigmoid_loss_judges_logits_where_it_is_told_to() -> None:
    capsules = routed("heinsen")
    assert capsules.logits is not None
    expected = sigmoid_loss(capsules.logits, LABELS, from_logits=True)
    assert torch.equal(sigmoid_loss(capsules, LABELS, from_logits=True), expected)
    assert not torch.equal(sigmoid_loss(capsules, LABELS, from_logits=False), expected)
    with pytest.raises(ValueError, match=r"beliefs must have logits .*, got Routed without"):
        sigmoid_loss(routed("dynamic"), LABELS, from_logits=True)


@pytest.mark.parametrize("loss", LOSSES, ids=kind_of)
def test_settings_judge_what_a_layer_returns(loss: type[Loss]) -> None:
    capsules = routed("dynamic")
    assert_close(loss()(capsules, LABELS), loss()(capsules.activations, LABELS))


@pytest.mark.usefixtures("unchecked")
@functions
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((torch.zeros(4, 3), None), "or what a capsule layer or a network returns, got tuple"),
        (None, "or what a capsule layer or a network returns, got NoneType"),
        ([[0.5, 0.5]], "got list"),
        (torch.zeros(4, 3, 2), r"must be of shape \[batch, classes\], got \[4, 3, 2\]"),
        (torch.zeros(4), r"must be of shape \[batch, classes\], got \[4\]"),
    ],
    ids=["a pair", "nothing", "a list", "three axes", "one axis"],
)
def test_a_function_refuses_anything_else(
    loss: Callable[..., Tensor], given: object, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        loss(given, LABELS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("loss", LOSSES, ids=kind_of)
def test_settings_refuse_anything_else(loss: type[Loss]) -> None:
    for given, sentence in (
        ((torch.zeros(4, 3), None), r"The beliefs must be lengths, .* got a tuple of 2\."),
        (
            torch.zeros(4, 3, 2),
            r"The beliefs must be lengths, .* got a tensor of shape \[4, 3, 2\]",
        ),
        (None, r"The beliefs must be lengths, .* got None\."),
    ):
        with pytest.raises(ValueError, match=sentence):
            loss()(given, LABELS)  # type: ignore[arg-type]
