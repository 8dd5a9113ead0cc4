"""`capsweep status` says the alarms of trials, also of those that are running."""

from pathlib import Path

import pytest

from capsmodel.optimisers import SGD
from sweeps.cli.commands import status as status_command
from sweeps.execution.survey.status import CellStatus, SweepStatus
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.worker.trials import folder_of, job_of, stopped_after

UNMOVED = "No weight has moved."


def test_the_status_says_the_alarms_arm_by_arm(capsys: pytest.CaptureFixture[str]) -> None:
    cells = manifest(arms=("base", "[still]"), seeds=(0, 1)).cells
    statuses = tuple(
        CellStatus(cell, state, 2, warnings=(UNMOVED,) * (cell.arm == "[still]"))
        for cell, state in zip(cells, ("finished", "running") * 2, strict=True)
    )
    arms = ("base", "[still]")
    status_command.print_alarms(SweepStatus("known", statuses, arms, None, is_recorded=True))
    assert capsys.readouterr().out == f"Health: [still], 2 of 2 trials: {UNMOVED}\n"


def test_a_trial_that_runs_leaves_its_alarms_after_each_epoch(tmp_path: Path) -> None:
    job = job_of(tmp_path, optimiser=SGD(learning_rate=1e-30))
    stopped_after(job, 1)
    (alarm,) = folder_of(job).warnings()
    assert alarm.startswith("No weight has moved from its initial value")


def test_a_sound_trials_lines_of_its_outbox_stay_as_they_were(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    stopped_after(job, 1)
    outbox = (folder_of(job).path / "outbox.jsonl").read_text()
    assert '"epoch"' in outbox
    assert "warnings" not in outbox
