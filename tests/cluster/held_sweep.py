"""A sweep whose trials stay half trained on machines with a brake, until a test releases them."""

from collections.abc import Iterable
from pathlib import Path

from tests.cluster.hosts import Hosts
from tests.end_to_end.storage_view import outboxes

NUM_EPOCHS = 4
NUM_CELLS = 6
HELD_ARMS = ("one iteration", "uniform")
"""The arms with a brake; "routing", the baseline, has none."""
_TEXT = '''\
"""A tiny sweep with a loss of its own."""

import time
from pathlib import Path
from typing import Literal

from capsmodel.config import TrainingConfig
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from search_spaces import ListedArms
from search_spaces.sweep import Sweep

FEW = 100


class HeldLoss(Loss):
    """The margin loss, which waits in the second half of a training while its brake is there."""

    kind: Literal["held"] = "held"
    brake: str = ""

    def loss(self, lengths, labels, progress):
        is_trained = lengths.requires_grad and len(labels) > FEW  # the launch itself tries a few
        while is_trained and progress >= 0.5 and self.brake and Path(self.brake).exists():
            time.sleep(0.05)
        return MarginLoss().loss(lengths, labels, progress)


SWEEP = Sweep(
    name={name!r},
    description="A sweep of a test of clusters.",
    base=TrainingConfig(
        model=CapsNet(
            conv_channels=8,
            conv_kernel=3,
            primary_types=2,
            primary_dim=4,
            primary_kernel=3,
            primary_stride=2,
            class_dim=4,
            reconstruction=NoReconstruction(),
        ),
        loss=HeldLoss(),
        stopping=FixedEpochs(epochs={epochs}),
        batch_size=2048,
    ),
    plan=ListedArms(baseline="routing", arms={arms!r}),
    seeds=(0, 1),
    parts=(HeldLoss,),
)
'''


def write_held_sweep(path: Path) -> None:
    """Write the sweep's file; the sweep is named as the file."""
    changes = ({"model.routing.iterations": 1}, {"model.routing": "uniform"})
    held = {
        arm: {**change, "loss.brake": _brake(arm)}
        for arm, change in zip(HELD_ARMS, changes, strict=True)
    }
    text = _TEXT.format(name=path.stem, epochs=NUM_EPOCHS, arms={"routing": {}, **held})
    path.write_text(text, encoding="utf-8")


def hold(hosts: Hosts, names: Iterable[str]) -> None:
    """Put the brakes of both arms on some hosts; trials on other hosts never wait."""
    for name in names:
        for arm in HELD_ARMS:
            hosts.path(name, _brake(arm)).touch()


def release(hosts: Hosts, names: Iterable[str], arm: str) -> None:
    """Remove the brake of an arm from hosts."""
    for name in names:
        hosts.path(name, _brake(arm)).unlink()


def num_filled(storage: Path) -> int:
    """Return how many cells are filled."""
    return len(list(storage.glob("cells/*/final.json")))


def num_begun(storage: Path) -> int:
    """Return how many cells have a trained epoch."""
    return sum(bool(facts.epochs) for facts in outboxes(storage).values())


def _brake(arm: str) -> str:
    """Return the path of an arm's brake, below a folder that each host has for itself."""
    return f"/mnt/{arm.replace(' ', '-')}"
