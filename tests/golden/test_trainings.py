"""Trainings give what they gave at the pinned commit.

To rounding: machines of different kinds add up in different orders. On the machine that wrote the
file they were equal to the last bit.
"""

import json

import pytest
import torch

from tests.golden import trainings

PINNED: dict[str, dict[str, list[str]]] = json.loads(trainings.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", trainings.MODELS)
def test_a_short_training_gives_what_it_gave(name: str) -> None:
    if name == "official matrices" and torch.__version__ < "2.15":
        pytest.skip("the weights are drawn otherwise: truncated normals changed in torch 2.15")
    result = trainings.training(name)
    for what, then in PINNED[name].items():
        now = [float.fromhex(value) for value in result[what]]
        assert now == pytest.approx([float.fromhex(value) for value in then], rel=1e-4, abs=1e-4)
