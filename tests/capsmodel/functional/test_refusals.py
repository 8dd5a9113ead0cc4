"""What would be taken for something else is refused in one sentence."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from capsmodel import functional
from capsmodel.functional import (
    Neighbourhood,
    dynamic_routing,
    em_routing,
    heinsen_routing,
    inverted_attention_routing,
    leaky_routing,
    margin_loss,
    random_routing,
    self_attention_routing,
    self_routing,
    spread_loss,
    uniform_routing,
    variational_bayes_routing,
)
from capsmodel.layers import CapsuleGrid, Capsules, ConvCapsules, PrimaryCapsules

pytestmark = pytest.mark.usefixtures("unchecked")

VOTES = torch.rand(2, 5, 3, 4)
SEEN = torch.rand(2, 5)
LENGTHS, LABELS = torch.rand(4, 3), torch.tensor([0, 1, 2, 0])
DYNAMIC: Any = dynamic_routing
EM: Any = em_routing
MARGIN: Any = margin_loss
CONV: Any = ConvCapsules
PRIMARY: Any = PrimaryCapsules
CAPSULES: Any = Capsules

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no rounds": (lambda: DYNAMIC(VOTES, 0), "iterations must be 1 or more, got 0."),
    "votes of three axes": (
        lambda: DYNAMIC(VOTES[0]),
        "votes must be of shape [batch, in_caps, out_caps, pose], got [5, 3, 4].",
    ),
    "such votes, shared equally": (
        lambda: uniform_routing(VOTES[0]),
        "votes must be of shape [batch, in_caps, out_caps, pose], got [5, 3, 4].",
    ),
    "such votes, shared by chance": (
        lambda: random_routing(VOTES[0]),
        "votes must be of shape [batch, in_caps, out_caps, pose], got [5, 3, 4].",
    ),
    "bounds in the wrong order": (
        lambda: random_routing(VOTES, between=(2.0, 1.0)),
        "between must be two numbers above 0, the lower first, got (2.0, 1.0).",
    ),
    "a competition that is none": (
        lambda: DYNAMIC(VOTES, competition="places"),
        "competition must be one of 'parents', 'types', 'children', got 'places'.",
    ),
    "one that is none of EM's": (
        lambda: EM(VOTES, SEEN, competition="children"),
        "competition must be one of 'parents', 'places', 'types', got 'children'.",
    ),
    "children that compete and leak": (
        lambda: leaky_routing(VOTES, competition="children"),
        "competition must be 'parents' or 'types' in leaky routing, got 'children': the leak is "
        "one more parent.",
    ),
    "a gradient that is none": (
        lambda: DYNAMIC(VOTES, gradient="first"),
        "gradient must be one of 'all', 'last', got 'first'.",
    ),
    "a bias of another size": (
        lambda: DYNAMIC(VOTES, bias=torch.ones(4)),
        "bias must be of shape [out_caps 3, pose 4], got [4].",
    ),
    "logits of another size": (
        lambda: DYNAMIC(VOTES, logits=torch.ones(1, 3)),
        "logits must be of shape [in_caps 5, out_caps 3], got [1, 3].",
    ),
    "a bias of shares for each number of the pose": (
        lambda: self_attention_routing(VOTES, bias=torch.ones(3, 4)),
        "bias must be of shape [in_caps 5, out_caps 3], got [3, 4].",
    ),
    "attention in a grid": (
        lambda: CONV(2, 3, (3, 3), 2, pose_dim=4, routing="self_attention"),
        "The routing 'self_attention' is for layers of one place, got a convolutional layer of 4: "
        "choose fully connected capsules, as those of the model 'capsnet', or another routing.",
    ),
    "a scale for each output": (
        lambda: inverted_attention_routing(VOTES, scale=torch.ones(3)),
        "scale must be of shape [pose 4], got [3].",
    ),
    "attention in no rounds": (
        lambda: inverted_attention_routing(VOTES, 0),
        "iterations must be 1 or more, got 0.",
    ),
    "logits of one image": (
        lambda: self_routing(VOTES, SEEN, torch.rand(1, 5, 3)),
        "logits must be of shape [batch 2, in_caps 5, out_caps 3], got [1, 5, 3].",
    ),
    "worths of one child": (
        lambda: heinsen_routing(VOTES, SEEN, use=torch.ones(1, 3)),
        "use must be of shape [in_caps 5, out_caps 3], got [1, 3].",
    ),
    "a prior of nothing": (
        lambda: variational_bayes_routing(VOTES, SEEN, mean_precision=0.0),
        "mean_precision must be above 0, got 0.0.",
    ),
    "activations of one image": (
        lambda: EM(VOTES, SEEN[:1]),
        "activations must be of 2 images, got 1.",
    ),
    "a cost for each number of the pose": (
        lambda: EM(VOTES, SEEN, cost_bias=torch.ones(3, 4)),
        "cost_bias must be of shape [out_caps 3], got [3, 4].",
    ),
    "no momentum": (
        lambda: EM(VOTES, SEEN, centre_momentum=0.0),
        "centre_momentum must be above 0 and at most 1, got 0.0.",
    ),
    "a floor below zero": (
        lambda: EM(VOTES, SEEN, variance_floor=-1.0),
        "variance_floor must be 0 or more, got -1.0.",
    ),
    "a reduction that is none": (
        lambda: MARGIN(LENGTHS, LABELS, over_classes="mean"),
        "over_classes must be one of 'sum', 'half_mean', got 'mean'.",
    ),
    "fewer labels than images": (
        lambda: MARGIN(LENGTHS, LABELS[:1]),
        "labels must be of shape [batch 4], got [1].",
    ),
    "such labels in the other loss": (
        lambda: spread_loss(LENGTHS, LABELS[:1]),
        "labels must be of shape [batch 4], got [1].",
    ),
    "a window of nothing": (
        lambda: Neighbourhood(kernel_size=0),
        "A window has a kernel and a stride of at least 1, got 0 and 1.",
    ),
    "a kind of pose that is none": (
        lambda: CONV(2, 3, (3, 3), 2, pose_kind="vectors"),
        "pose_kind must be one of 'matrix', 'vector', got 'vectors'.",
    ),
    "a kernel that is none": (
        lambda: CONV(2, 3, (3, 3), "al"),
        "kernel_size must be one of 'all', got 'al'.",
    ),
    "a grouping that is none": (
        lambda: PRIMARY(2, 2, 4, 3, grouping="pixel"),
        "grouping must be one of 'channels', 'pixels', got 'pixel'.",
    ),
    "a coupling that is none": (
        lambda: PRIMARY(2, 2, 4, 3, coupling="leak"),
        "coupling must be one of 'none', 'uniform', 'leaky', got 'leak'.",
    ),
    "a routing that is none": (
        lambda: Capsules(5, 4, 3, 6, routing="dynamc"),
        "Unknown routing 'dynamc'. Did you mean 'dynamic'? Known: dynamic, leaky, uniform, random, "
        "em, self_attention, inverted_attention, self_routing, heinsen, variational_bayes.",
    ),
    "a squash of another type": (
        lambda: PRIMARY(1, 2, 4, 3, squash="sabour"),
        "squash must be settings or a function of poses, such as SabourSquash() or "
        "capsmodel.functional.squash, got 'sabour'.",
    ),
    "a routing of another type": (
        lambda: CAPSULES(5, 4, 3, 6, routing=None),
        "routing must be a name, settings or a function of votes, such as 'dynamic', "
        "DynamicRouting() or capsmodel.functional.dynamic_routing, got None.",
    ),
    "capsules of another number": (
        lambda: Capsules(5, 4, 3, 6)(torch.rand(2, 6, 4)),
        "poses must be of shape [batch, in_caps 5, in_dim 4], got [2, 6, 4].",
    ),
    "a grid of another size": (
        lambda: CONV(2, 3, (3, 3), 2, pose_dim=4)(
            CapsuleGrid(torch.rand(1, 16, 2, 4), torch.rand(1, 16, 2))
        ),
        "poses must be of shape [batch, places 9, types 2, pose 4], got [1, 16, 2, 4].",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_one_sentence_says_what_is_wrong(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as refused:
        call()
    assert str(refused.value) == sentence


@pytest.mark.parametrize("name", ["AgreementOptions", "EMOptions"])
def test_a_name_that_is_gone_says_what_takes_its_place(name: str) -> None:
    with pytest.raises(ImportError, match="its options as keyword arguments"):
        getattr(functional, name)
