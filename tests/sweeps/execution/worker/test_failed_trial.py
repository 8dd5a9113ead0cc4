"""What keeps a trial from finishing is recorded with its reason."""

from pathlib import Path
from typing import Any

import pytest

from capsmodel.training.training import Training, read_history
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.worker.trials import (
    NUM_EPOCHS,
    Reported,
    check_like_unbroken,
    final_of,
    folder_of,
    job_of,
    silent,
    stopped_after,
    told_epochs,
    unjudged,
)


def test_an_exception_is_recorded_and_raised_again(tmp_path: Path, unbroken: CellFolder) -> None:
    job = job_of(tmp_path)
    folder = folder_of(job)

    def report(reported: Reported) -> None:
        if reported[-1].epoch == 2:
            raise ValueError("first line\nsecond line | <b> \x1b[0m")

    with pytest.raises(ValueError, match="first line"):
        run_trial(job, report)
    assert folder.failure_since() == "ValueError: first line second line | <b> \x1b[0m"
    assert "Traceback" in folder.log.read_text()
    assert not folder.is_filled()
    assert folder.checkpoint.exists(), "the next attempt goes on from it"
    assert not folder.is_busy()
    run_trial(job, silent)
    check_like_unbroken(folder, unbroken)


def test_epochs_that_waited_when_a_trial_raised_are_trained_again_and_told_once(
    tmp_path: Path, unbroken: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = unjudged(tmp_path, monkeypatch)
    folder, steps = folder_of(job), Training._steps

    def raising(training: Training, epoch: int) -> Any:
        if epoch == 2:
            raise ValueError("in the third")
        return steps(training, epoch)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_steps", raising)
        with pytest.raises(ValueError, match="in the third"):
            run_trial(job, silent)
    assert told_epochs(folder) == [1]
    assert len(read_history(folder.checkpoint, seed=0)) == 1
    run_trial(job, silent)
    check_like_unbroken(folder, unbroken)


def test_a_long_reason_is_cut_short(tmp_path: Path) -> None:
    job = job_of(tmp_path)

    def report(_: Reported) -> None:
        raise ValueError("x" * 10_000)

    with pytest.raises(ValueError, match="xxx"):
        run_trial(job, report)
    reason = folder_of(job).failure_since()
    assert reason is not None
    assert len(reason) == 500


def test_a_training_that_diverges_ends_and_says_when(tmp_path: Path) -> None:
    job = job_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 1e30})
    folder = folder_of(job)
    assert run_trial(job, silent) is Outcome.DIVERGED
    record = final_of(folder)
    assert record.outcome is Outcome.DIVERGED
    assert record.reason == (
        f"the training loss became NaN in epoch {len(record.curve)}, step 2, in "
        "primary.convolution (its output; inputs were finite)"
    )
    assert len(record.curve) < NUM_EPOCHS + 1
    assert record.test_error is None
    assert not folder.weights.exists()
    assert not folder.checkpoint.exists()
    assert told_epochs(folder) == [line.epoch for line in record.curve]
    assert run_trial(job, silent) is Outcome.DIVERGED


LATE = """
from typing import Literal
from capsmodel import TrainingConfig
from capsmodel.losses import Loss, MarginLoss
from search_spaces import ListedArms, Sweep


class Late(Loss):
    kind: Literal["late"] = "late"

    def loss(self, lengths, labels, progress):
        loss = MarginLoss().loss(lengths, labels, progress)
        return loss if progress <= 0.5 else loss * float("nan")


SWEEP = Sweep(name="own", base=TrainingConfig(), plan=ListedArms(baseline="a", arms={"a": {}}),
              seeds=(0,), parts=(Late,))
"""


def test_a_short_epoch_that_diverges_is_told_with_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = unjudged(tmp_path, monkeypatch)
    config = plain.spec.config | {"loss": {"kind": "late"}}
    source = LATE.replace("0.5", "0.9")
    spec = plain.spec.model_copy(update={"config": config, "source": source, "trial_key": "e" * 20})
    job = plain.model_copy(update={"spec": spec})
    assert run_trial(job, silent) is Outcome.DIVERGED
    assert told_epochs(folder_of(job)) == [1, 2, 3]
    # the second was trained once more, as the checkpoint was of the first
    assert final_of(folder_of(job)).reason == (
        "the training loss became NaN in epoch 3, step 6, in the loss (its value; outputs of the "
        "network were finite)"
    )


def test_an_epoch_that_is_not_finite_is_told_but_not_kept(tmp_path: Path) -> None:
    plain = job_of(tmp_path).spec
    config = plain.config | {"loss": {"kind": "late"}}
    spec = plain.model_copy(update={"config": config, "source": LATE, "trial_key": "e" * 20})
    job = TrialJob(cells=str(tmp_path), spec=spec)
    folder = folder_of(job)
    stopped_after(job, 2)
    assert told_epochs(folder) == [1, 2]
    assert len(read_history(folder.checkpoint, seed=0)) == 1
    assert run_trial(job, silent) is Outcome.DIVERGED
    assert told_epochs(folder) == [1, 2]
    # 7 steps an epoch, so more than half of 3 epochs are done before the fifth step of the second.
    assert final_of(folder).reason == (
        "the training loss became NaN in epoch 2, step 5, in the loss (its value; outputs of the "
        "network were finite)"
    )


def test_a_config_that_cannot_be_read_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    known = job_of(tmp_path).spec
    job = TrialJob(cells=str(tmp_path), spec=known.model_copy(update={"config": {"x": 1}}))
    with pytest.raises(ValueError, match="x"):
        run_trial(job, silent)
    assert "ValidationError" in (folder_of(job).failure_since() or "")


def test_what_fails_before_the_training_is_recorded_with_the_trial_it_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(tmp_path)

    def no_driver(_: TrialSpec) -> None:
        raise RuntimeError("the CUDA driver is too old")

    monkeypatch.setattr(trial, "warm_up", no_driver)
    with pytest.raises(RuntimeError, match="too old"):
        run_trial(job, silent)
    lines, _ = folder_of(job).read_outbox()
    assert [(line.type, line.head) for line in lines] == [("failed", job.spec)]
    assert folder_of(job).failure_since() == "RuntimeError: the CUDA driver is too old"
    assert "Traceback" in folder_of(job).log.read_text()


def test_a_damaged_final_record_is_a_failure_and_not_trained_over(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    folder = folder_of(job)
    folder.path.mkdir()
    (folder.path / "final.json").write_text("{")
    with pytest.raises(BadInput, match="Move the folder"):
        run_trial(job, silent)
    assert "BadInput" in (folder.failure_since() or "")
    assert (folder.path / "final.json").read_text() == "{"
