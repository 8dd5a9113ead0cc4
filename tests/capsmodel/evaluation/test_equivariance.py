"""A pose that is a place tells every shift; one that is not tells none."""

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from capsmodel import Trained, Training, TrainingConfig
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation import Equivariance, findings_of
from capsmodel.initialised import InitialisedModule
from capsmodel.models import ConvNet, Model, Network, Outputs
from tests.capsmodel.small_config import small_config


class Scale(InitialisedModule):
    """One number, so that there is something to train."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.empty(1))

    def initialise(self, generator: torch.Generator | None) -> None:
        del generator
        nn.init.constant_(self.value, 0.01)


class Mass(Model):
    """Its poses are turned, by class, from the centre of an image's mass; or they are constant."""

    kind: Literal["mass"] = "mass"
    sees_places: bool = True

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        return MassNetwork(self, image_shape, num_classes)


class MassNetwork(Network):
    def __init__(self, settings: Mass, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__(shape, num_classes)
        self.settings = settings
        self.scale = Scale()

    def forward(
        self,
        images: Tensor,
        labels: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        del labels, generator
        places = torch.arange(8.0)
        weights = images.sum(dim=1) / images.sum(dim=(1, 2, 3)).view(-1, 1, 1)
        rows, columns = (weights.sum(dim=2) * places).sum(1), (weights.sum(dim=1) * places).sum(1)
        angles = torch.arange(10.0)
        poses = torch.stack(
            [
                rows[:, None] * angles.cos() + columns[:, None] * angles.sin(),
                columns[:, None] * angles.cos() - rows[:, None] * angles.sin(),
                torch.ones(len(images), 10),
            ],
            dim=2,
        )
        poses = self.scale.value * (poses if self.settings.sees_places else poses * 0 + 1)
        return Outputs(torch.linalg.vector_norm(poses, dim=2), None, None, poses)

    def penalty(self, outputs: Outputs, images: Tensor) -> Tensor:
        del outputs
        return images.new_zeros(())


def splits() -> DataSplits:
    """Return images whose edge is empty, so that nothing leaves them when they move."""
    generator = torch.Generator().manual_seed(0)
    images = torch.zeros(120, 1, 8, 8)
    images[..., 2:6, 2:6] = torch.rand(120, 1, 4, 4, generator=generator)
    labels = torch.arange(120) % 10
    few, rest = Images(images[:80], labels[:80]), Images(images[80:], labels[80:])
    return DataSplits(few, few, rest)


def mass(*, sees_places: bool = True) -> Trained:
    return Training(TrainingConfig(model=Mass(sees_places=sees_places)), seed=0).trained()


def test_poses_that_are_places_tell_every_shift() -> None:
    metrics = Equivariance(pixels=2).evaluate(mass(), splits()).metrics
    assert metrics["r_squared"] == pytest.approx(1, abs=1e-4)
    assert metrics["length_spread"] > 1


def test_poses_that_never_change_tell_nothing() -> None:
    metrics = Equivariance().evaluate(mass(sees_places=False), splits()).metrics
    assert metrics["r_squared"] == pytest.approx(0, abs=1e-9)
    assert metrics["length_spread"] == 0


def test_a_network_without_poses_has_no_figures_but_a_reason() -> None:
    model = ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,))
    network = Training(small_config(model=model), seed=0).trained()
    findings = findings_of(Equivariance(), network, splits())
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith("equivariance is for networks with poses of the classes, got the")
