"""A data set of a user's own that knows who wrote each image: tables count writers, not images."""

import csv
import shutil
from pathlib import Path

import pytest

from sweeps.aggregation.tables.notes import OBJECTS_NOTE
from tests.growth.test_evaluation import launch, train_without_ray

SWEEP = '''"""Two arms on digits by known writers."""
from typing import ClassVar, Literal

import numpy as np
import torch
from sklearn.datasets import load_digits

from capsmodel.data import DataSet, DataSplits, Images
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class Written(DataSet):
    """Digits, 45 by each writer."""

    kind: Literal["written"] = "written"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10

    def load(self, device):
        """Return the splits; the last eight writers are the test's."""
        pixels, labels = load_digits(return_X_y=True)
        images = torch.from_numpy(np.float32(pixels).reshape(-1, 1, 8, 8) / 16)
        classes, writers = torch.from_numpy(labels), torch.arange(len(labels)) // 45
        split = self.split(labels[:1440].tolist(), labels[1440:1800].tolist())

        def some(indices, first=0):
            rows = torch.tensor(indices) + first
            taken = images[rows], classes[rows]
            return Images(*(one.to(device) for one in taken), objects=writers[rows])

        return DataSplits(some(split.train), some(split.validation), some(split.test, 1440))


SWEEP = Sweep(
    name="written",
    parts=[Written],
    base=QUICKSTART.base.model_validate(
        {
            "data": Written(),
            "model": {"kind": "capsnet", "conv_channels": 4, "conv_kernel": 3, "primary_types": 2,
                      "primary_dim": 4, "primary_kernel": 3, "class_dim": 4},
            "stopping": {"kind": "fixed_epochs", "epochs": 1},
        }
    ),
    plan=ListedArms(baseline="three", arms={"three": {}, "one": {"model.routing.iterations": 1}}),
    seeds=[0, 1, 2],
)
'''


# test_verdicts.py has intervals over objects, test_evaluation.py a launch of a user's own file
@pytest.mark.nightly
def test_intervals_are_over_the_writers_of_a_users_own_images(
    tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
    file, storage = tmp_path / "written.py", tmp_path / "store"
    file.write_text(SWEEP)
    train_without_ray(file, storage)
    shutil.copy(empty_database, storage)
    assert launch(file, storage).exit_code == 0

    folder = storage / "reports" / "written"
    _, row = csv.DictReader((folder / "ablation.csv").read_text().splitlines())
    assert (row["num_images"], row["num_objects"]) == ("357", "8")
    table = (folder / "ablation.md").read_text()
    assert "for new seeds and new test objects" in table
    assert OBJECTS_NOTE in table
    assert "357 test images of 8 objects (or writers, or sources)" in (
        folder / "checklist.md"
    ).read_text().replace("\\", "")
