"""A lab's own folder: a sweep's file imports modules of its folder, and is launched whole."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sweeps
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.worker.trial import TrialJob
from tests.sweeps.cli.shell import Shell

FILES = {
    "mine.py": '''
"""Does it help to route to the mean?"""

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from lab.nets import MeanRouting
from search_spaces import ListedArms, Sweep

SWEEP = Sweep(
    name="mine",
    parts=[MeanRouting],
    base=TrainingConfig(
        model=CapsNet(
            conv_channels=8, conv_kernel=3, primary_types=2, primary_dim=4, primary_kernel=3,
            class_dim=4, reconstruction=NoReconstruction(), routing=MeanRouting(),
        ),
        stopping=FixedEpochs(epochs=1),
        batch_size=200,
    ),
    plan=ListedArms(baseline="mean", arms={"mean": {}}),
    seeds=[0],
)
''',
    "lab/nets.py": """
from typing import Literal

from capsmodel.functional import squash
from capsmodel.routing import VectorRouting


class MeanRouting(VectorRouting):
    kind: Literal["mean_of_lab"] = "mean_of_lab"

    def route(self, votes, *, generator):
        import scales  # while it is trained

        return squash(scales.FACTOR * votes.mean(dim=1))
""",
    "scales.py": "FACTOR = 2.0\n",
    "unused.py": "raise SystemExit\n",
}
_WORKER = """
import sys
from sweeps.execution.worker.trial import TrialJob, run_trial
run_trial(TrialJob.model_validate_json(sys.stdin.read()), lambda epochs: None)
"""


@pytest.fixture
def lab(shell: Shell, empty_database: Path) -> Path:
    """Return the sweep's file in a folder below that of the launch, whose store has no record."""
    for name, text in FILES.items():
        (shell.folder / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (shell.folder / "own" / name).write_text(text)
    (shell.folder / "capsweep-store").mkdir()
    shutil.copy(empty_database, shell.folder / "capsweep-store")
    return shell.folder / "own" / "mine.py"


def edit(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_it_is_launched_recorded_and_found_again(shell: Shell, lab: Path) -> None:
    says = "2 files travel with it: lab/nets.py, scales.py."
    assert says in shell("plan", "own/mine.py").out
    result: Any = sweeps.run(lab, storage="capsweep-store", engine="inline")
    assert result.exit_code == 0
    (record,) = shell.folder.glob("capsweep-store/**/parts.py")
    assert "#> scales.py\n#| FACTOR = 2.0\n" in record.read_text()
    assert "unused" not in record.read_text()

    shutil.copy(record, shell.folder / "alone.py")
    assert "1 is already done." in shell("plan", "alone.py").out, "a record runs by itself"
    assert shell("report", "own/mine.py").code == 0
    edit(lab.parent / "scales.py", "2.0", "2.0  # of votes")
    assert "1 is already done." in shell("plan", "own/mine.py").out
    edit(lab.parent / "scales.py", "2.0", "2.5")
    assert "1 is new and will be trained." in shell("plan", "own/mine.py").out
    assert "1 is already done." in shell("plan", "alone.py").out


def test_a_worker_needs_no_file_of_the_folder(lab: Path, tmp_path: Path) -> None:
    definition = define(lab, Changes(), ())
    (cell,) = definition.manifest.cells
    assert [*definition.spec(cell).code] == ["lab", "lab.nets", "scales"]
    job = TrialJob(cells=str(tmp_path / "cells"), spec=definition.spec(cell))
    shutil.rmtree(lab.parent)
    worker = [sys.executable, "-c", _WORKER]
    subprocess.run(worker, input=job.model_dump_json(), text=True, check=True, cwd="/")
    final = CellFolder(tmp_path / "cells", cell.trial_key).read_final()
    assert final
    assert final.head.code == definition.spec(cell).code
