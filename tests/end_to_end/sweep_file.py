"""The sweep file of a user who has trouble: a loss of their own that raises, dies or takes long."""

from collections.abc import Mapping
from pathlib import Path

_TEXT = '''\
"""A tiny sweep with a loss of its own."""

import os
import signal
import time
from pathlib import Path
from typing import Literal

from capsmodel.config import TrainingConfig
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from search_spaces import Asha, Confirm, ListedArms, PromotionAsha, Search, Space
from search_spaces.sweep import Sweep

FEW = 100


class TroubledLoss(Loss):
    """The margin loss, and in the second half of the training what its trouble asks for."""

    kind: Literal["troubled"] = "troubled"
    trouble: Literal["none", "raise", "nan", "kill once", "kill always", "eat"] = "none"
    marker: str = ""
    seconds: float = 0.0
    gate: str = ""
    brake: str = ""

    def loss(self, lengths, labels, progress):
        value = MarginLoss().loss(lengths, labels, progress)
        if not lengths.requires_grad:
            return value
        if not self.brake or Path(self.brake).exists():
            time.sleep(self.seconds)
        is_trained = len(labels) > FEW  # and not only tried, as before the launch
        while is_trained and self.gate and Path(self.gate).exists():
            time.sleep(0.05)
        if progress < 0.5 or self.trouble == "none":
            return value
        return self._in_trouble(value)

    def _in_trouble(self, value):
        is_marked = Path(self.marker).exists()
        if self.trouble == "nan":
            return value * float("nan")
        if self.trouble == "raise" and not is_marked:
            raise RuntimeError("the <b>routing</b> of 5 & 6 | broke")
        if self.trouble == "kill once" and not is_marked:
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "eat" and not is_marked:
            eaten = []
            while True:
                eaten.append(bytearray(os.urandom(1)) * 2**26)
        if self.trouble == "kill always" and not is_marked:
            os.kill(os.getpid(), signal.SIGKILL)
        return value


SWEEP = Sweep(
    name={name!r},
    description="A sweep of an end-to-end test.",
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
        loss=TroubledLoss(seconds={seconds!r}, gate={gate!r}, brake={brake!r}),
        stopping=FixedEpochs(epochs={epochs!r}),
        batch_size=2048,
    ),
    plan={plan},
    seeds={seeds!r},
    parts=(TroubledLoss,),
    across={across!r},
)
'''

_SEARCH = """\
Search(
        space=Space.of(TrainingConfig)
        .varied({{"model": ("capsnet",), "optimiser": ("adam",)}})
        .only("optimiser.learning_rate", "model.class_dim"),
        scheduler={scheduler},
        trials={trials!r},
        confirm=Confirm(best=2, seeds=(101, 102)),
    )"""

ROUTINGS: Mapping[str, Mapping[str, object]] = {
    "routing": {},
    "one iteration": {"model.routing.iterations": 1},
    "uniform": {"model.routing": "uniform"},
}


NO_DATA_SETS: Mapping[str, Mapping[str, object]] = {}


def write_sweep(
    path: Path,
    *,
    arms: Mapping[str, Mapping[str, object]] = ROUTINGS,
    seeds: tuple[int, ...] = (0, 1),
    epochs: int = 4,
    seconds: float = 0.0,
    gate: str = "",
    brake: str = "",
    across: Mapping[str, Mapping[str, object]] = NO_DATA_SETS,
) -> Path:
    """Write a sweep file, named as the sweep is to be, and return its path.

    Args:
        path: The file to write.
        arms: Name -> changes; the first is the baseline.
        seeds: Of every arm.
        epochs: Of every trial, one batch each.
        seconds: That each epoch takes at least.
        gate: A file: while it is there, no epoch ends.
        brake: A file: epochs take those seconds only while it is there.
        across: Data set -> settings; none for a sweep of one data set.
    """
    plan = f"ListedArms(baseline={next(iter(arms))!r}, arms={arms!r})"
    told = {"seeds": seeds, "epochs": epochs, "seconds": seconds, "gate": gate, "brake": brake}
    return _write(path, plan=plan, across=across, **told)


def write_search(
    path: Path,
    *,
    trials: int,
    epochs: int = 4,
    seconds: float = 0.0,
    scheduler: str = "Asha(grace=0.5, reduction_factor=3)",
) -> Path:
    """Write the file of a search, named as the sweep is to be, and return its path.

    Unless another scheduler is given, it has one rung, after half of the epochs. It confirms the
    best two on two seeds.

    Args:
        path: The file to write.
        trials: Proposals.
        epochs: Of a trial that is not stopped.
        seconds: That each epoch takes at least.
        scheduler: As it is written.
    """
    plan = _SEARCH.format(trials=trials, scheduler=scheduler)
    return _write(path, plan=plan, seeds=(), epochs=epochs, seconds=seconds, gate="", brake="")


def _write(path: Path, **settings: object) -> Path:
    fields = {"across": {}, **settings}
    path.write_text(_TEXT.format(name=path.stem, **fields), encoding="utf-8")
    return path
