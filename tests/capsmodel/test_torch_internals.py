"""What is used of PyTorch's private parts has a public fallback that does the same."""

import subprocess
import sys

import pytest
import torch

from capsmodel import Training, torch_internals
from capsmodel.data import Digits
from capsmodel.optimisers import SGD, Adam, AdamW, Optimiser, adam, sgd
from tests.capsmodel.small_config import small_config


class Unwrapped(torch.optim.SGD):
    """An optimiser of another version of PyTorch, whose methods are not wrapped."""

    add_param_group = zero_grad = state_dict = load_state_dict = lambda self: None


def test_an_optimiser_that_is_not_wrapped_as_read_stays_as_it_is() -> None:
    assert torch_internals.eager(Unwrapped) is Unwrapped
    assert torch_internals.eager(torch.optim.SGD) is not torch.optim.SGD


@pytest.mark.parametrize("part", [Adam(), AdamW(), SGD()], ids=lambda part: part.kind)
def test_a_training_is_the_same_with_pytorchs_optimisers(
    part: Optimiser, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(optimiser=part, data=Digits(fraction=0.2))
    ours = [metrics.validation_loss for metrics in Training(config, 0)]
    monkeypatch.setattr(adam, "_Adam", torch.optim.Adam)
    monkeypatch.setattr(sgd, "_SGD", torch.optim.SGD)
    assert [metrics.validation_loss for metrics in Training(config, 0)] == ours


def test_without_constants_the_tensors_of_a_layer_are_mapped_alone() -> None:
    program = (
        "import torch\n"
        "from torch.utils import _pytree\n"
        "del _pytree.register_constant\n"
        "from capsmodel.layers import Capsules\n"
        "layer, poses = Capsules(4, 3, 2, 3), torch.rand(2, 5, 4, 3)\n"
        "mapped = torch.func.vmap(lambda one: layer(one).poses)(poses)\n"
        "assert mapped.shape == (2, 5, 2, 3)\n"
        "try:\n"
        "    torch.func.vmap(layer)(poses)\n"
        "except ValueError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "refused", done.stderr
