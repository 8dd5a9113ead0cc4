"""Labels that are no classes are refused by every loss alike, or make it NaN."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.testing import assert_close

from capsmodel.functional import keep_class, margin_loss, one_hot
from capsmodel.losses import LOSSES, CrossEntropy, Loss
from capsmodel.models import Outputs
from capsmodel.routing import Routed
from capsmodel.settings.parts import kind_of

LENGTHS = torch.tensor([[0.9, 0.2, 0.4], [0.3, 0.7, 0.1], [0.2, 0.2, 0.6]])
LABELS = torch.tensor([0, 2, 1])
WEIGHTS = (1.0, 2.0, 3.0)
OTHERS = {
    "one-hot numbers": torch.eye(3),
    "one-hot booleans": torch.eye(3, dtype=torch.bool),
    "one-hot integers": torch.eye(3, dtype=torch.int64),
    "numbers": torch.tensor([0.0, 1.0, 1.0]),
    "complex numbers": torch.tensor([0j, 1 + 0j, 1 + 0j]),
    "booleans": torch.tensor([True, False, True]),
    "a column": torch.tensor([[0], [1], [2]]),
}
INTEGERS = (
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
NO_CLASS = {"too large": 3, "far too large": 2**40, "negative": -1, "what torch ignores": -100}


def _calls() -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    """Return each loss, with weights too, as a function of beliefs and labels."""
    calls: dict[str, Callable[[Tensor, Tensor], Tensor]] = {}
    kinds: tuple[type[Any], ...] = LOSSES
    for kind in kinds:
        for weights in ((), WEIGHTS):
            loss = kind(class_weights=weights)
            case = f"{kind_of(kind)}{' weighted' if weights else ''}"
            calls[case] = lambda lengths, labels, loss=loss: loss.loss(lengths, labels, 0.5)
    for weights in ((), WEIGHTS):
        softmax = CrossEntropy(class_weights=weights)
        calls[f"logits{' weighted' if weights else ''}"] = lambda lengths, labels, loss=softmax: (
            loss.judge(Outputs(lengths.softmax(1), None, lengths), labels, 0.5)
        )
    calls["the row of its pose"] = lambda lengths, labels: keep_class(
        lengths.unsqueeze(-1), labels
    ).sum()
    calls["what a layer returns"] = lambda lengths, labels: margin_loss(
        Routed(lengths.unsqueeze(-1), lengths), labels
    )
    return calls


CALLS = _calls()
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("loss", LOSSES, ids=kind_of)
def test_other_types_and_shapes_are_refused_by_every_loss(loss: type[Loss]) -> None:
    for labels in OTHERS.values():
        if labels.shape == LENGTHS.shape and "classes" in loss.takes:
            one_hot_loss = loss().loss(LENGTHS, labels, 0.5)
            assert_close(one_hot_loss, loss().loss(LENGTHS, torch.tensor([0, 1, 2]), 0.5))
            continue
        sentence = f"one integer an image, of shape [batch], got {labels.dtype} of shape "
        with pytest.raises(ValueError, match=re.escape(sentence)):
            loss().loss(LENGTHS, labels, 0.5)


@pytest.mark.usefixtures("unchecked")
@each_call
def test_numbers_of_classes_that_are_no_integers_are_refused_with_what_to_hand(
    call: Callable[[Tensor, Tensor], Tensor],
) -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.bool):
        sentence = f"of shape [batch], got {dtype} of shape [3]: hand labels.long()."
        with pytest.raises(ValueError, match=f"{re.escape(sentence)}$"):
            call(LENGTHS, LABELS.to(dtype))


@pytest.mark.usefixtures("unchecked")
@each_call
def test_labels_in_a_list_are_refused(call: Callable[[Any, Any], Tensor]) -> None:
    with pytest.raises(ValueError, match=r"in a tensor, got list: hand torch.tensor\(labels\)\."):
        call(LENGTHS, [0, 2, 1])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("weights", [(), WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss", LOSSES, ids=kind_of)
def test_another_number_of_labels_is_refused_by_every_loss(
    loss: type[Any], weights: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match=r"labels must be of shape \[batch 3\], got \[2\]"):
        loss(class_weights=weights).loss(LENGTHS, LABELS[:2], 0.5)


@each_call
def test_every_type_of_integer_gives_the_same(call: Callable[[Tensor, Tensor], Tensor]) -> None:
    for dtype in INTEGERS:
        assert torch.equal(call(LENGTHS, LABELS.to(dtype)), call(LENGTHS, LABELS)), dtype


@each_call
def test_a_label_that_is_no_class_is_refused(call: Callable[[Tensor, Tensor], Tensor]) -> None:
    for label in NO_CLASS.values():
        sentence = f"The label of image 1 is {label}, which is no class: with 3 classes, labels are"
        with pytest.raises(ValueError, match=re.escape(sentence)):
            call(LENGTHS, torch.tensor([0, label, 7]))


def test_one_hot_refuses_a_label_that_is_no_class() -> None:
    for label in NO_CLASS.values():
        with pytest.raises(ValueError, match=f"image 0 is {label}, which is no class"):
            one_hot(torch.tensor([label]), 3)


def test_a_batch_of_no_images_has_no_bad_label() -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    assert keep_class(torch.rand(0, 3, 2), nothing).shape == (0, 6)
    assert one_hot(nothing, 3).shape == (0, 3)


@each_call
def test_under_a_gradient_it_makes_the_loss_nan(call: Callable[[Tensor, Tensor], Tensor]) -> None:
    for label in NO_CLASS.values():
        bad = torch.tensor([0, label, 1])
        assert bool(grad(call)(LENGTHS, bad).isnan().any()), label
    assert_close(grad(call)(LENGTHS, LABELS), _gradient(call, LENGTHS, LABELS))


@each_call
def test_mapped_over_images_it_makes_the_loss_of_that_image_nan(
    call: Callable[[Tensor, Tensor], Tensor],
) -> None:
    def of_one(lengths: Tensor, label: Tensor) -> Tensor:
        return call(lengths.unsqueeze(0), label.unsqueeze(0))

    for label in NO_CLASS.values():
        losses = vmap(of_one)(LENGTHS, torch.tensor([0, label, 1]))
        assert losses.isnan().tolist() == [False, True, False], label
    good = vmap(of_one)(LENGTHS, LABELS)
    assert_close(good, torch.stack(list(map(of_one, LENGTHS, LABELS))))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if "classes" in loss.takes], ids=kind_of)
def test_mapped_over_images_what_is_neither_0_nor_1_makes_the_loss_of_several_classes_nan(
    loss: type[Loss],
) -> None:
    def of_one(lengths: Tensor, labels: Tensor) -> Tensor:
        return loss().loss(lengths.unsqueeze(0), labels.unsqueeze(0), 0.5)

    for label in (math.nan, 2.0, -1.0):
        labels = torch.tensor([[1.0, 0.0, 1.0], [0.0, label, 1.0], [0.0, 1.0, 0.0]])
        losses = vmap(of_one)(LENGTHS, labels)
        assert losses.isnan().tolist() == [False, True, False], label
        assert_close(losses[::2], torch.stack(list(map(of_one, LENGTHS[::2], labels[::2]))))


@each_call
def test_mapped_over_networks_it_makes_every_loss_nan(
    call: Callable[[Tensor, Tensor], Tensor],
) -> None:
    of_networks = torch.stack([LENGTHS, 1 - LENGTHS])
    for label in NO_CLASS.values():
        losses = vmap(call, in_dims=(0, None))(of_networks, torch.tensor([0, label, 1]))
        assert bool(losses.isnan().all()), label


# test_torch_contract.py compiles and exports a module of each family in .ci/run
@pytest.mark.nightly
def test_compiled_and_exported_it_makes_every_loss_nan() -> None:
    """In a process of its own: here shapes are checked, which compilers cannot read."""
    program = (
        "from tests.capsmodel.losses.test_labels import CALLS, expect_nan_when_compiled\n"
        "for call in CALLS.values():\n"
        "    expect_nan_when_compiled(call)\n"
    )
    folder = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def expect_nan_when_compiled(call: Callable[[Tensor, Tensor], Tensor]) -> None:
    class Whole(nn.Module):
        def forward(self, lengths: Tensor, labels: Tensor) -> Tensor:
            return call(lengths, labels)

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    exported = torch.export.export(Whole(), (LENGTHS, LABELS)).module()
    for way in (compiled, exported):
        assert_close(way(LENGTHS, LABELS), call(LENGTHS, LABELS))
        for label in NO_CLASS.values():
            assert bool(way(LENGTHS, torch.tensor([0, label, 1])).isnan())


@pytest.mark.gpu
@each_call
def test_on_a_gpu_it_makes_the_loss_nan_without_waiting(
    call: Callable[[Tensor, Tensor], Tensor],
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    lengths, bad = LENGTHS.cuda(), torch.tensor([0, 3, -100]).cuda()
    call(lengths, bad)
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss = call(lengths, bad)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert bool(loss.isnan())
    assert_close(call(lengths, LABELS.cuda()).cpu(), call(LENGTHS, LABELS))


def _gradient(call: Callable[[Tensor, Tensor], Tensor], lengths: Tensor, labels: Tensor) -> Tensor:
    lengths = lengths.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(call(lengths, labels), lengths)
    return gradient
