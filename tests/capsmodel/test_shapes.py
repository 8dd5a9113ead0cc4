import pytest
import torch
from jaxtyping import TypeCheckError

from capsmodel.losses import MarginLoss


def test_shapes_in_signatures_are_checked_here() -> None:
    with pytest.raises(TypeCheckError):
        MarginLoss().loss(torch.zeros(3, 10), torch.zeros(4, dtype=torch.int64), 0.0)
