"""A stopping rule that sees the whole history costs one file: a class beside the sweep.

The rule goes by how the loss has fallen so far, which no single epoch shows. A trial that is killed
anywhere and resumed from its checkpoint ends in the same epoch.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.cell_contents import FinalRecord
from sweeps.records.trial_record import Outcome

SWEEP_FILE = '''
"""How long is a training worth its time?"""

from typing import Annotated, Literal

from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs, Stopping
from search_spaces import ListedArms, Sweep


class Slowing(Stopping):
    """The training ends with the epoch that gains less than a share of the best gain before."""

    kind: Literal["slowing"] = "slowing"
    epochs: Annotated[int, Field(ge=1)] = 8
    share: Annotated[float, Field(gt=0, lt=1)] = 0.7

    @property
    def num_epochs(self):
        return self.epochs

    def ends_with(self, history):
        losses = [epoch.validation_loss for epoch in history]
        gains = [before - after for before, after in zip(losses, losses[1:])]
        return len(gains) > 0 and gains[-1] < self.share * max(gains)


SWEEP = Sweep(
    name="slowing",
    base=TrainingConfig(
        model=CapsNet(
            conv_channels=8, conv_kernel=3, primary_types=2, primary_dim=4, primary_kernel=3,
            class_dim=4, reconstruction=NoReconstruction(),
        ),
        optimiser=Adam(learning_rate=0.05),
        stopping=Slowing(),
        batch_size=400,
    ),
    plan=ListedArms(
        baseline="slowing",
        arms={
            "slowing": {},
            "fixed": {"stopping": FixedEpochs(epochs=2)},
        },
    ),
    seeds=[0],
    parts=[Slowing],
)
'''


class Killed(BaseException):
    """Stands in for SIGKILL: nothing that handles exceptions hears of it."""


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "slowing.py"
    path.write_text(SWEEP_FILE)
    return path


@pytest.fixture(scope="module")
def unbroken(sweep_file: Path, tmp_path_factory: pytest.TempPathFactory) -> FinalRecord:
    """The trial of the rule that nobody disturbed."""
    order = orders(sweep_file, tmp_path_factory.mktemp("cells"))["slowing"]
    run_trial(order, lambda epochs: None)
    return final_of(order)


def orders(sweep_file: Path, cells: Path) -> dict[str, TrialJob]:
    """Return what a worker is told of each arm, as a launch of the file makes it."""
    definition = define(sweep_file, Changes(), ())
    heads = {cell.arm: definition.spec(cell) for cell in definition.manifest.cells}
    return {arm: TrialJob(cells=str(cells), spec=spec) for arm, spec in heads.items()}


def final_of(order: TrialJob) -> FinalRecord:
    record = CellFolder(Path(order.cells), order.spec.trial_key).read_final()
    assert record is not None
    return record


def losses(record: FinalRecord) -> list[float]:
    return [line.validation_loss for line in record.curve]


def test_the_training_ends_with_the_first_epoch_that_gains_little(unbroken: FinalRecord) -> None:
    values = losses(unbroken)
    gains = [before - after for before, after in pairwise(values)]
    is_little = [gain < 0.7 * max(gains[: place + 1]) for place, gain in enumerate(gains)]
    assert is_little == [False] * (len(gains) - 1) + [True]
    assert 3 <= len(values) < 8, "or the rule is one of the last epochs, or says nothing"
    assert unbroken.outcome is Outcome.FINISHED
    assert [line.reaches_target for line in unbroken.curve] == [False] * (len(values) - 1) + [True]


def test_a_rule_that_asks_for_no_target_has_neither_reached_nor_missed_one(
    unbroken: FinalRecord,
) -> None:
    assert unbroken.target is None


@pytest.mark.parametrize("every", [1, 2])
def test_killed_and_taken_up_again_it_ends_in_the_same_epoch(
    sweep_file: Path, tmp_path: Path, unbroken: FinalRecord, every: int
) -> None:
    order = orders(sweep_file, tmp_path)["slowing"]

    def report(epochs: Sequence[EpochMetrics]) -> None:
        if epochs[-1].epoch % every == 0:
            raise Killed

    for _ in range(len(unbroken.curve) // every):
        with pytest.raises(Killed):
            run_trial(order, report)
    run_trial(order, lambda epochs: None)
    assert losses(final_of(order)) == losses(unbroken)
    assert final_of(order).test_error == unbroken.test_error


def test_an_arm_beside_it_may_have_a_rule_of_the_package(sweep_file: Path, tmp_path: Path) -> None:
    order = orders(sweep_file, tmp_path)["fixed"]
    run_trial(order, lambda epochs: None)
    assert len(final_of(order).curve) == 2
