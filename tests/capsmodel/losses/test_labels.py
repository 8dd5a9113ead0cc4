"""Labels that are not one integer an image are refused, not taken for others."""

import re

import pytest
import torch
from torch import Tensor

from capsmodel.losses import LOSSES, Loss
from capsmodel.settings.parts import kind_of

LENGTHS = torch.tensor([[0.9, 0.2, 0.4], [0.3, 0.7, 0.1]])
OTHERS = {
    "one-hot numbers": torch.eye(3)[:2],
    "one-hot booleans": torch.eye(3, dtype=torch.bool)[:2],
    "one-hot integers": torch.eye(3, dtype=torch.int64)[:2],
    "numbers": torch.tensor([0.0, 1.0]),
    "a column": torch.tensor([[0], [1]]),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("labels", OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("loss", LOSSES, ids=kind_of)
def test_they_are_refused_by_every_loss(loss: type[Loss], labels: Tensor) -> None:
    sentence = f"one integer an image, of shape [batch], got {labels.dtype} of shape "
    with pytest.raises(ValueError, match=re.escape(sentence)):
        loss().loss(LENGTHS, labels, 0.5)
