"""Losses as modules take and return what PyTorch's own do."""

import copy
import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from capsmodel.functional import margin_loss
from capsmodel.layers import Capsules
from capsmodel.losses import (
    LOSSES,
    ClassWeightedLoss,
    CrossEntropy,
    LinearMargins,
    MarginLoss,
    Sigmoid,
)
from capsmodel.models import Outputs
from capsmodel.settings.parts import kind_of

BELIEFS = torch.rand(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 2, 0, 2])
SEVERAL = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]])
WEIGHTS = torch.tensor([0.5, 1.0, 4.0], dtype=torch.float64)
of_all = pytest.mark.parametrize("loss", LOSSES, ids=kind_of)


@of_all
def test_it_is_a_module_whose_mean_is_the_loss_to_the_last_bit(
    loss: type[ClassWeightedLoss],
) -> None:
    module = loss().module()
    assert isinstance(module, nn.Module)
    expected = loss().judge(Outputs(BELIEFS, None), LABELS, 1.0)
    assert torch.equal(module(BELIEFS, LABELS), expected)
    assert torch.equal(loss()(BELIEFS, LABELS), expected), "settings are taken for the module"


@of_all
def test_images_are_reduced_as_pytorch_names_it(loss: type[ClassWeightedLoss]) -> None:
    losses = loss().module(reduction="none")(BELIEFS, LABELS)
    assert losses.shape == (6,)
    assert_close(loss().module(reduction="sum")(BELIEFS, LABELS), losses.sum())
    assert_close(loss().module()(BELIEFS, LABELS), losses.mean())
    alone = [loss().module()(BELIEFS[i : i + 1], LABELS[i : i + 1]) for i in range(6)]
    assert_close(losses, torch.stack(alone))


@of_all
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_class_weights_are_those_of_the_settings(
    loss: type[ClassWeightedLoss], reduction: str
) -> None:
    module = loss().module(reduction=reduction, class_weights=WEIGHTS)
    outputs = Outputs(BELIEFS, None)
    settings = loss(class_weights=tuple(WEIGHTS.tolist()))
    assert_close(module(BELIEFS, LABELS), settings.judge(outputs, LABELS, 1.0, reduction))
    listed = loss().module(reduction=reduction, class_weights=WEIGHTS.tolist())
    assert_close(listed(BELIEFS, LABELS), module(BELIEFS, LABELS))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if "classes" in loss.takes], ids=kind_of)
def test_an_image_of_several_classes_has_their_mean_weight(loss: type[ClassWeightedLoss]) -> None:
    plain = loss().module(reduction="none")(BELIEFS, SEVERAL)
    weighted = loss().module(reduction="none", class_weights=WEIGHTS)(BELIEFS, SEVERAL)
    of_images = torch.tensor([0.5, 0.75, 0.0, 5.5 / 3, 2.5, 4.0], dtype=torch.float64)
    assert_close(weighted, plain * of_images)
    settings = loss(class_weights=tuple(WEIGHTS.tolist()))
    assert_close(weighted.mean(), settings(BELIEFS, SEVERAL))


def test_cross_entropy_of_logits_is_pytorchs() -> None:
    logits = 7 * BELIEFS - 3
    for reduction in ("none", "mean", "sum"):
        ours = CrossEntropy().module(reduction=reduction, from_logits=True)
        assert_close(ours(logits, LABELS), nn.CrossEntropyLoss(reduction=reduction)(logits, LABELS))


def test_sigmoid_of_logits_is_pytorchs_with_classes_added_up() -> None:
    logits = 7 * BELIEFS - 3
    expected = nn.BCEWithLogitsLoss(reduction="none")(logits, SEVERAL.double()).sum(dim=1)
    ours = Sigmoid().module(reduction="none", from_logits=True)
    assert_close(ours(logits, SEVERAL), expected)


def test_what_a_layer_or_a_network_returns_is_judged_by_its_logits_where_it_has_them() -> None:
    poses = torch.rand(6, 4, 8, generator=torch.Generator().manual_seed(1))
    scored = Capsules(4, 8, 3, 8, routing="heinsen")(poses)
    judge = CrossEntropy().module()
    assert_close(judge(scored, LABELS), nn.CrossEntropyLoss()(scored.logits, LABELS))
    outputs = Outputs(scored.beliefs, None, scored.logits)
    assert_close(judge(outputs, LABELS), judge(scored, LABELS))
    plain = Capsules(4, 8, 3, 8)(poses)
    assert_close(MarginLoss()(plain, LABELS), margin_loss(plain.activations, LABELS))


def test_schedules_are_at_their_end_unless_a_progress_is_given() -> None:
    moving = MarginLoss(schedule=LinearMargins())
    module = moving.module()
    assert torch.equal(module(BELIEFS, LABELS), moving.loss(BELIEFS, LABELS, 1.0))
    assert torch.equal(module(BELIEFS, LABELS, 0.25), moving.loss(BELIEFS, LABELS, 0.25))


def test_weights_are_a_buffer_that_moves_and_is_copied_with_the_module() -> None:
    module = MarginLoss().module(class_weights=WEIGHTS).to(torch.float32)
    assert module.state_dict()["class_weights"].dtype == torch.float32
    assert_close(copy.deepcopy(module)(BELIEFS, LABELS), module(BELIEFS, LABELS))
    assert not MarginLoss().module().state_dict()
    assert "reduction='none'" in repr(MarginLoss().module(reduction="none"))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: MarginLoss().module(from_logits=True),
            "The loss 'margin' judges lengths, not logits: leave out from_logits and pass lengths, "
            "or take cross-entropy or the sigmoid loss.",
        ),
        (
            lambda: MarginLoss(class_weights=(1, 2)).module(class_weights=[1, 2]),
            "class_weights are given twice, in the settings and for the module: leave out one.",
        ),
        (
            lambda: MarginLoss().module(class_weights=[1, 2])(BELIEFS, LABELS),
            "class_weights must be of shape [classes 3], got [2].",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call: object, sentence: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call()
