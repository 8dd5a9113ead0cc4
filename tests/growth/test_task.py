"""A task of a user's own, in the sweep's file: how far an answer is off, not just whether."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sweeps
from sweeps.execution.plan.definition import Changes, define
from tests.growth.test_evaluation import launch, train_without_ray

SWEEP = '''"""Two arms that guess how large a digit is."""
from typing import ClassVar, Literal

from capsmodel.data import DataSet, Digits
from capsmodel.tasks import OneClass
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class HowFar(OneClass):
    """The error of an image is the distance of the digits, in ninths."""

    kind: Literal["how_far"] = "how_far"

    def errors(self, answers, labels):
        """Return it."""
        return (answers - labels).abs().float() / 9


class Sizes(DataSet):
    """Digits, by how large they are."""

    kind: Literal["sizes"] = "sizes"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10
    task: ClassVar[OneClass] = HowFar()

    def load(self, device):
        """Return the splits of the digits."""
        return Digits(fraction=self.fraction).load(device)


SWEEP = Sweep(
    name="sizes",
    parts=[Sizes],
    base=QUICKSTART.base.model_validate(
        {
            "data": Sizes(fraction=0.2),
            "model": {"kind": "capsnet", "conv_channels": 4, "conv_kernel": 3, "primary_types": 2,
                      "primary_dim": 4, "primary_kernel": 3, "class_dim": 4},
            "stopping": {"kind": "fixed_epochs", "epochs": 1},
        }
    ),
    plan=ListedArms(baseline="three", arms={"three": {}, "one": {"model.routing.iterations": 1}}),
    seeds=[0, 1, 2],
)
'''


def test_tables_compare_the_errors_of_a_users_own_task(
    tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
    file, storage = tmp_path / "sizes.py", tmp_path / "store"
    file.write_text(SWEEP)
    train_without_ray(file, storage)
    shutil.copy(empty_database, storage)
    assert launch(file, storage).exit_code == 0

    trials = sweeps.trials("sizes", storage=str(storage)).set_index("trial_key")
    images = sweeps.predictions("sizes", storage=str(storage))
    off = (images.prediction.astype(int) - images.label.astype(int)).abs() / 9
    by_trial = off.groupby(images.trial_key).mean()
    assert len(by_trial) == 6
    assert np.allclose(trials.test_error.loc[by_trial.index], by_trial)
    assert (images.is_wrong == (off > 0)).all()
    table = (storage / "reports" / "sizes" / "ablation.md").read_text()
    assert "for new seeds and new test images" in table


def test_another_measure_of_errors_gives_other_trials(tmp_path: Path) -> None:
    file, other = tmp_path / "sizes.py", tmp_path / "other.py"
    file.write_text(SWEEP)
    other.write_text(SWEEP.replace(".float() / 9", ".float() / 18"))
    keys = [
        {cell.trial_key for cell in define(path, Changes(), ()).manifest.cells}
        for path in (file, other)
    ]
    assert not keys[0] & keys[1]
