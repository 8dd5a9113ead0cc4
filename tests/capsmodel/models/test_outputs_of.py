"""What a module returns is told by its type or its name, and anything else is refused."""

from typing import Any, cast

import pytest
import torch
from torch.testing import assert_close

from capsmodel.layers import Capsules
from capsmodel.models import CapsNet, Outputs, as_outputs
from capsmodel.routing import Routed

TENSOR = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 0.5]])


@pytest.mark.parametrize("returns", [None, "logits"])
def test_logits_are_kept_and_their_softmax_is_the_belief(returns: Any) -> None:
    outputs = as_outputs(TENSOR, returns)
    exponentials = TENSOR.exp()
    assert_close(outputs.lengths, exponentials / exponentials.sum(dim=1, keepdim=True))
    assert outputs.logits is TENSOR
    assert outputs.poses is None


def test_lengths_are_taken_as_they_are() -> None:
    assert as_outputs(TENSOR, "lengths") == Outputs(TENSOR, None)


def test_poses_are_kept_and_their_norm_is_the_belief() -> None:
    poses = torch.tensor([[[0.3, 0.4], [0.0, 0.0]]])
    outputs = as_outputs(poses, "poses")
    assert_close(outputs.lengths, torch.tensor([[0.5, 0.0]]))
    assert outputs.poses is poses
    assert outputs.logits is None


@pytest.mark.parametrize("returns", [None, "outputs"])
def test_what_a_network_returns_stays_as_it_is(returns: Any) -> None:
    outputs = CapsNet(conv_channels=8, conv_kernel=3, primary_types=2, primary_kernel=3).build(
        (1, 8, 8), 10
    )(torch.rand(2, 1, 8, 8))
    assert as_outputs(outputs, returns, 10, num_images=2) is outputs


@pytest.mark.parametrize("returns", [None, "outputs"])
@pytest.mark.parametrize("routing", ["dynamic", "heinsen"])
def test_what_a_capsule_layer_returns_keeps_poses_scores_and_couplings(
    returns: Any, routing: str
) -> None:
    routed = Capsules(in_caps=4, in_dim=3, out_caps=2, out_dim=3, routing=routing)(
        torch.rand(5, 4, 3)
    )
    outputs = as_outputs(routed, returns)
    assert torch.equal(outputs.lengths, routed.beliefs)
    assert outputs.poses is routed.poses
    assert outputs.logits is routed.logits
    assert (outputs.logits is None) == (routing == "dynamic")
    assert set(outputs.couplings) == ({"capsules"} if routed.couplings is not None else set())


def test_gradients_flow_to_what_was_returned() -> None:
    poses = torch.rand(2, 3, 4, requires_grad=True)
    as_outputs(poses, "poses").lengths.sum().backward()
    assert poses.grad is not None
    assert bool((poses.grad != 0).all())


@pytest.mark.parametrize(
    ("value", "returns", "sentence"),
    [
        ((TENSOR, 1), "logits", "logits, a tensor of shape [batch, classes], got a tuple of 2."),
        ({"logits": TENSOR}, None, "got a dict of 1."),
        (None, None, "got None."),
        (0.5, "lengths", "return lengths, a tensor of shape [batch, classes], got float."),
        (TENSOR[0], None, "got a tensor of shape [3] and type float32."),
        (TENSOR.unsqueeze(2), "logits", "got a tensor of shape [2, 3, 1] and type float32."),
        (TENSOR, "poses", "poses of class capsules, a tensor of shape [batch, classes, pose], got"),
        (TENSOR.long(), "logits", "got a tensor of shape [2, 3] and type int64."),
        (TENSOR.bool(), "lengths", "got a tensor of shape [2, 3] and type bool."),
        (TENSOR, "outputs", "return Outputs, or a capsule layer's Routed, got a tensor"),
        (Outputs(TENSOR, None), "logits", "got Outputs."),
        (Routed(TENSOR.unsqueeze(2), TENSOR), "lengths", "got Routed."),
        (TENSOR[:, :1], None, "a belief for each of 2 classes or more, got 1:"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(value: object, returns: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^The module must return ") as error:
        as_outputs(value, returns)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_outputs_without_a_tensor_of_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"lengths of shape \[batch, classes\].*got a list of 1"):
        as_outputs(Outputs(cast(Any, [TENSOR]), None))


def test_other_numbers_of_images_and_classes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"of shape \[2, 10\], got \[2, 3\]"):
        as_outputs(TENSOR, num_classes=10)
    with pytest.raises(
        ValueError, match=r"^The model 'mine' must return .* \[4, 3\], got \[2, 3\]"
    ):
        as_outputs(TENSOR, num_images=4, start="The model 'mine' must return")
    with pytest.raises(ValueError, match=r"returns must be one of 'logits', .*, got 'beliefs'"):
        as_outputs(TENSOR, cast(Any, "beliefs"))
