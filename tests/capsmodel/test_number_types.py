"""Every routing and model works in half precision and under autocast, close to what it says."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from capsmodel.layers import Capsules
from capsmodel.layers.capsule_grid import CapsuleGrid
from capsmodel.layers.conv_capsules import ConvCapsules
from capsmodel.models import MODELS, Model
from capsmodel.routing import ROUTINGS, Routed, Routing
from capsmodel.settings.parts import kind_of
from tests.capsmodel.testing.test_model_contracts import SMALL


class Way(NamedTuple):
    """A way of computing: the type of weights and inputs, and whether PyTorch chooses others."""

    dtype: torch.dtype
    is_autocast: bool = False

    def context(self) -> AbstractContextManager[object]:
        """Return what is computed in."""
        return torch.autocast("cpu", torch.bfloat16) if self.is_autocast else nullcontext()


WAYS = {
    "autocast": Way(torch.float32, is_autocast=True),
    "bfloat16": Way(torch.bfloat16),
    "float16": Way(torch.float16),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_close_to_single(
    module: nn.Module, said: Callable[[torch.dtype], list[Tensor]], way: Way
) -> None:
    """Check values against those in single precision, and that every gradient is finite."""
    expected = [value.detach() for value in said(torch.float32)]
    module.to(way.dtype)
    with way.context():
        values = said(way.dtype)
    for value, single in zip(values, expected, strict=True):
        assert way.is_autocast or value.dtype == way.dtype
        torch.testing.assert_close(value.float(), single, rtol=0.05, atol=0.02)
    torch.stack([value.float().square().sum() for value in values]).sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None
        assert bool(parameter.grad.isfinite().all()), name


def parts_of(routed: Routed) -> list[Tensor]:
    return [routed.poses, routed.activations]


@every_way
@pytest.mark.parametrize("routing", ROUTINGS, ids=kind_of)
def test_fully_connected_capsules(routing: type[Routing], way: Way) -> None:
    capsules = Capsules(6, 4, 3, 5, routing())
    capsules.initialise(seeded(0))
    poses = 0.5 * torch.rand(2, 6, 4, generator=seeded(1))
    assert_close_to_single(
        capsules, lambda dtype: parts_of(capsules(poses.to(dtype), seeded(2))), way
    )


@every_way
@pytest.mark.parametrize("routing", ROUTINGS, ids=kind_of)
def test_convolutional_capsules(routing: type[Routing], way: Way) -> None:
    capsules = ConvCapsules(2, 3, (4, 4), 2, routing(), stride=2, pose=4)
    capsules.initialise(seeded(0))
    poses = torch.rand(2, 16, 2, 4, generator=seeded(1))
    activations = torch.rand(2, 16, 2, generator=seeded(3))

    def said(dtype: torch.dtype) -> list[Tensor]:
        grid = CapsuleGrid(poses.to(dtype), activations.to(dtype))
        return parts_of(capsules(grid, seeded(2)))

    assert_close_to_single(capsules, said, way)


@every_way
@pytest.mark.parametrize("model", MODELS, ids=kind_of)
def test_networks(model: type[Model], way: Way) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = model(**SMALL[kind_of(model)]).build((1, 16, 16), 3).eval()
    images = torch.rand(2, 1, 16, 16, generator=seeded(1))

    def said(dtype: torch.dtype) -> list[Tensor]:
        outputs = network(images.to(dtype), None, seeded(2))
        drawn = outputs.reconstructions
        return [outputs.lengths] + ([] if drawn is None else [drawn])

    assert_close_to_single(network, said, way)
