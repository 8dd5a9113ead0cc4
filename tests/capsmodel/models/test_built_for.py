"""A network refuses what it was not built for, and its outputs are shown by their shapes."""

import re

import pytest
import torch

from capsmodel.models import CapsNet, ConvNet, MatrixCapsNet, Model
from capsmodel.models.base import Outputs

MODELS = [
    CapsNet(conv_channels=4, conv_kernel=3, primary_types=2, primary_kernel=3, class_dim=4),
    MatrixCapsNet(conv_channels=2, primary_types=2, first_types=2, second_types=0, pose_size=4),
    ConvNet(conv_channels=(2,), hidden=(4,)),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)


@each_model
def test_images_of_another_shape_are_refused(model: Model) -> None:
    network = model.build((3, 12, 20), 4).eval()
    assert network(torch.rand(2, 3, 12, 20)).lengths.shape == (2, 4)
    expected = (
        "images must be of shape [batch, channels 3, height 12, width 20], which the network "
    )
    for shape in [(2, 3, 20, 12), (2, 1, 12, 20)]:
        sentence = f"{expected}is built for, got {list(shape)}: hand such images, or build "
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
            network(torch.rand(*shape))


@each_model
def test_one_class_is_refused(model: Model) -> None:
    with pytest.raises(ValueError, match=r"^num_classes must be 2 or more, got 1: for a yes or no"):
        model.build((3, 12, 20), 1)


def test_outputs_are_shown_by_their_shapes() -> None:
    outputs = MODELS[0].build((3, 12, 20), 4).eval()(torch.rand(2, 3, 12, 20))
    assert isinstance(outputs, Outputs)
    shown = repr(outputs)
    assert shown.startswith(
        "Outputs(lengths=float32[2, 4], reconstructions=float32[2, 3, 12, 20], logits=None, "
        "poses=float32[2, 4, 4], couplings={'capsules': Couplings(values=float32[64, 2, 4], "
    ), shown
    assert "\n" not in shown
