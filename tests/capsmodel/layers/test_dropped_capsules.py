"""Dropped capsules are not there; those that are kept are there as surely as before."""

import pytest
import torch
from torch import Tensor, nn

from capsmodel.layers.capsule_grid import CapsuleGrid, drop_capsules
from capsmodel.routing import EMRouting, Votes
from tests.capsmodel.small_config import small_model


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_kept_capsules_of_a_grid_are_not_raised() -> None:
    poses = torch.randn(4, 9, 5, 3, generator=seeded())
    grid = CapsuleGrid(poses, torch.rand(4, 9, 5, generator=seeded(1)))
    dropped = drop_capsules(grid, 0.4, seeded(2))
    remaining = dropped.activations != 0
    assert remaining.float().mean().item() == pytest.approx(0.6, abs=0.1)
    assert torch.equal(dropped.activations[remaining], grid.activations[remaining])
    assert torch.equal(dropped.poses[remaining], grid.poses[remaining])
    assert not dropped.poses[~remaining].any()


@pytest.mark.parametrize("dropout", [0.25, 0.75])
def test_activations_that_a_routing_reads_are_at_most_one_beside_dropped_capsules(
    dropout: float,
) -> None:
    built = small_model(routing=EMRouting(), dropout=dropout).build((1, 8, 8), 10)
    built.initialise(0)
    with torch.no_grad():
        for value in built.primary.parameters():
            value.mul_(100)  # so that poses are almost of length 1
    seen: list[Tensor] = []

    def see(_: nn.Module, inputs: tuple[Votes, torch.Generator]) -> None:
        seen.append(inputs[0].activations)

    built.capsules.router.register_forward_pre_hook(see)
    built(torch.rand(3, 1, 8, 8, generator=seeded()), None, seeded(1))
    (activations,) = seen
    assert (activations == 0).any()
    assert 0.9 < activations.max() <= 1
