"""What PyTorch makes of functions and modules, it makes of every layer, routing and model here."""

import pytest
import torch

from capsmodel.layers import Capsules
from capsmodel.routing import ROUTINGS, Routing
from capsmodel.settings.parts import kind_of


@pytest.mark.parametrize("routing", ROUTINGS, ids=kind_of)
def test_compiled(routing: type[Routing]) -> None:
    capsules = Capsules(6, 4, 3, 5, routing())
    poses = torch.rand(2, 6, 4)
    torch.manual_seed(0)
    want = capsules(poses)
    torch.manual_seed(0)
    got = torch.compile(capsules, fullgraph=True, backend="aot_eager")(poses)
    torch.testing.assert_close(got.poses, want.poses)
