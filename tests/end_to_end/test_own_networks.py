"""Networks of the user's in one table: killed and resumed bit for bit, attacked, reused."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_same_results
from tests.end_to_end.storage_view import num_reported_epochs, outboxes, trial_runs

pytestmark = pytest.mark.slow

NUM_EPOCHS = 4
BLOCKS = '''
"""What the lab's networks are made of."""

import time
from pathlib import Path

from torch import nn

BRAKE = {brake!r}


class Block(nn.Module):
    """A convolution with batch normalisation and dropout."""

    def __init__(self, inputs, outputs, dropout):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, images):
        if self.training and len(images) > 100 and Path(BRAKE).exists():
            time.sleep(0.2)  # so that a kill falls into an epoch
        return self.dropout(self.norm(self.convolution(images)).relu())
'''
NETS = '''
"""Networks of a lab."""

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from capsmodel import model
from lab.blocks import Block


@model
class LabNet(nn.Module):
    """Two blocks."""

    def __init__(self, image_shape: tuple[int, int, int], num_classes: int, dropout: float = 0.2):
        super().__init__()
        self.body = nn.Sequential(Block(image_shape[0], 8, dropout), Block(8, 8, dropout))
        self.head = nn.Linear(8, num_classes)

    def forward(self, images):
        return self.head(self.body(images).mean(dim=(2, 3)))


@model(kind="resnet18")
class ResNet18(nn.Module):
    """torchvision's, for small images."""

    def __init__(self, image_shape: tuple[int, int, int], num_classes: int):
        super().__init__()
        self.net = torchvision.models.resnet18(num_classes=num_classes)
        self.net.conv1 = nn.Conv2d(image_shape[0], 64, 3, stride=2, padding=1, bias=False)

    def forward(self, images):
        return self.net(images)


@model(kind="autoencoder")
class SelfSupervised(nn.Module):
    """An autoencoder of noisy images, whose code a linear layer reads."""

    def __init__(self, num_classes: int, code: int = 8):
        super().__init__()
        self.body = Block(1, code, 0.1)
        self.decoder = nn.Conv2d(code, 1, 3, padding=1)
        self.probe = nn.Linear(code, num_classes)

    def forward(self, images):
        return self.probe(self.body(images).mean(dim=(2, 3)))

    def training_loss(self, images, labels, generator):
        noisy = images + 0.1 * torch.rand(images.shape, generator=generator)
        drawn = self.decoder(self.body(noisy))
        return F.mse_loss(drawn, images) + F.cross_entropy(self(images), labels)
'''
SWEEP = '''
"""Does any of my networks err less than capsules?"""

from capsmodel import TrainingConfig
from capsmodel.data import Digits
from capsmodel.evaluation import FGSM, AdversarialError, SwappedRouting
from capsmodel.models import CapsNet
from capsmodel.stopping import FixedEpochs
from lab.nets import LabNet, ResNet18, SelfSupervised
from search_spaces import ListedArms, Sweep

SWEEP = Sweep(
    name={name!r},
    parts=(LabNet, ResNet18, SelfSupervised),
    base=TrainingConfig(
        data=Digits(fraction=0.4),
        model=CapsNet(
            conv_channels=8, conv_kernel=3, primary_types=2, primary_dim=4, primary_kernel=3,
            class_dim=4, reconstruction="none",
        ),
        stopping=FixedEpochs(epochs=4),
        batch_size=128,
    ),
    plan=ListedArms(
        baseline="capsules",
        arms={{
            "capsules": {{}},
            "resnet18": {{"model": ResNet18(), "loss": "cross_entropy"}},
            "lab net": {{"model": LabNet(), "loss": "cross_entropy"}},
            "autoencoder": {{"model": SelfSupervised()}},
        }},
    ),
    evaluations=(
        AdversarialError(attack=FGSM(), epsilons=(0.0, 0.1), num_images=64),
        SwappedRouting(iterations=(1, 3)),
    ),
    seeds={seeds},
)
'''
OWN = ("resnet18", "lab net", "autoencoder")


def written(folder: Path, name: str, seeds: str, brake: Path) -> Path:
    (folder / "lab").mkdir(parents=True, exist_ok=True)
    (folder / "lab" / "blocks.py").write_text(BLOCKS.format(brake=str(brake)))
    (folder / "lab" / "nets.py").write_text(NETS)
    (folder / f"{name}.py").write_text(SWEEP.format(name=name, seeds=seeds))
    return folder / f"{name}.py"


def weights(terminal: Terminal) -> dict[tuple[str, int], bytes]:
    runs = trial_runs(terminal.storage / "mlflow.db")
    return {run.place: (run.artifacts / "weights.safetensors").read_bytes() for run in runs}


def test_they_are_killed_resumed_attacked_and_reused(
    tmp_path: Path, terminal: Terminal, second_terminal: Terminal
) -> None:
    brake = tmp_path / "brake"
    file = written(tmp_path / "mine", "mine", "(0, 1)", brake)
    reference = second_terminal.run("run", str(file), "--engine", "inline")
    assert reference.code == 0, reference.explained()
    brake.touch()
    command = terminal.start("run", str(file))
    command.wait_until(lambda: num_reported_epochs(terminal.storage) >= 10)
    command.kill_all()
    brake.unlink()
    last = terminal.run("run", str(file))
    assert last.code == 0, last.explained()
    assert any(facts.went_on() for facts in outboxes(terminal.storage).values())
    expect_same_results(terminal.folder, second_terminal.folder, "mine")
    assert weights(terminal) == weights(second_terminal)

    swapped = (terminal.folder / "reports/mine/evaluations-swapped_routing.md").read_text()
    left_out = ", ".join(f"{arm} (not available)" for arm in OWN)
    assert f"No result: {left_out}." in swapped
    attacked = (terminal.folder / "reports/mine/evaluations-adversarial_error.md").read_text()
    assert "No result" not in attacked
    assert all(arm in attacked for arm in OWN)

    again = written(tmp_path / "mine", "again", "(0,)", brake)
    reused = terminal.run("run", str(again))
    assert reused.code == 0, reused.explained()
    assert "again: 0 trained now, 4 of 4 cells filled." in reused.output
