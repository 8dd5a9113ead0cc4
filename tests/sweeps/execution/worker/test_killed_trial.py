"""A trial comes to the same end wherever it is killed on the way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capsmodel.metrics import EpochMetrics
from capsmodel.training.training import Training
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import run_trial
from sweeps.execution.worker.worker_process import PeakMemory
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.worker.trials import (
    NUM_EPOCHS,
    Killed,
    Reported,
    check_like_unbroken,
    files,
    final_of,
    folder_of,
    job_of,
    of_target,
    silent,
    stopped_after,
    timeless,
    told_epochs,
    unjudged,
)

# Where a trial can be killed: the calls that leave something behind, each before and after.
SEAMS: dict[str, tuple[Any, str]] = {
    "checkpoint": (trial._Attempt, "_write"),
    "outbox": (CellFolder, "append"),
    "test": (Training, "test"),
    "final": (CellFolder, "write_final"),
}


def killing(real: Callable[..., Any], at_call: int, after: bool) -> Callable[..., Any]:
    calls = 0

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at_call and not after:
            raise Killed
        result = real(*arguments, **named)
        if calls == at_call:
            raise Killed
        return result

    return call


KILLS = [  # nothing is left behind between two of them: after one is before the next
    (seam, call, False)
    for seam, num_calls in {"checkpoint": 3, "outbox": 4, "test": 1, "final": 1}.items()
    for call in range(1, num_calls + 1)
]
KILLS.append(("final", 1, True))


KILLS_OF_UNJUDGED = [  # the last two of its three epochs are kept together
    ("checkpoint", 2, False),
    ("checkpoint", 2, True),
    ("outbox", 3, False),
    ("outbox", 3, True),
    ("test", 1, False),
]


@pytest.mark.parametrize(("seam", "call", "after"), KILLS)
def test_killed_anywhere_it_goes_on_to_the_same_end(
    tmp_path: Path,
    unbroken: CellFolder,
    monkeypatch: pytest.MonkeyPatch,
    seam: str,
    call: int,
    after: bool,
) -> None:
    job = job_of(tmp_path)
    owner, name = SEAMS[seam]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), call, after))
        with pytest.raises(Killed):
            run_trial(job, silent)
    assert run_trial(job, silent) is Outcome.FINISHED
    check_like_unbroken(folder_of(job), unbroken)


@pytest.mark.parametrize(("seam", "call", "after"), KILLS_OF_UNJUDGED)
def test_killed_while_epochs_wait_to_be_kept_it_goes_on_to_the_same_end(
    tmp_path: Path,
    unbroken: CellFolder,
    monkeypatch: pytest.MonkeyPatch,
    seam: str,
    call: int,
    after: bool,
) -> None:
    job = unjudged(tmp_path, monkeypatch)
    owner, name = SEAMS[seam]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), call, after))
        with pytest.raises(Killed):
            run_trial(job, silent)
    assert run_trial(job, silent) is Outcome.FINISHED
    check_like_unbroken(folder_of(job), unbroken)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_killed_inside_a_report_it_goes_on_to_the_same_end(
    tmp_path: Path, unbroken: CellFolder, at: int
) -> None:
    job = job_of(tmp_path)

    def report(reported: Reported) -> None:
        if reported[-1].epoch == at:
            raise SystemExit  # how Tune stops a trial

    with pytest.raises(SystemExit):
        run_trial(job, report)
    assert folder_of(job).failure_since() is None
    run_trial(job, silent)
    check_like_unbroken(folder_of(job), unbroken)


def test_killed_again_and_again_it_goes_on_to_the_same_end(
    tmp_path: Path, unbroken: CellFolder
) -> None:
    job = job_of(tmp_path)

    def report(_: Reported) -> None:
        raise Killed

    for _ in range(NUM_EPOCHS):
        with pytest.raises(Killed):
            run_trial(job, report)
    run_trial(job, silent)
    check_like_unbroken(folder_of(job), unbroken)
    assert final_of(folder_of(job)).fence == NUM_EPOCHS + 1


def test_an_outbox_torn_by_the_kill_is_told_anew(tmp_path: Path, unbroken: CellFolder) -> None:
    job = job_of(tmp_path)

    def report(reported: Reported) -> None:
        if reported[-1].epoch == 2:
            raise Killed

    with pytest.raises(Killed):
        run_trial(job, report)
    outbox = folder_of(job).path / "outbox.jsonl"
    outbox.write_bytes(outbox.read_bytes()[:-9])
    run_trial(job, silent)
    check_like_unbroken(folder_of(job), unbroken)


def test_an_epoch_that_a_kill_kept_from_being_told_is_reported_too(tmp_path: Path) -> None:
    job = job_of(tmp_path)

    def report(reported: Reported) -> None:
        if reported[-1].epoch == 2:
            raise Killed

    with pytest.raises(Killed):
        run_trial(job, report)
    outbox = folder_of(job).path / "outbox.jsonl"
    outbox.write_bytes(outbox.read_bytes()[:-9])
    reports: list[EpochMetrics] = []
    run_trial(job, reports.extend)
    assert [reported.epoch for reported in reports] == [2, 3]


def test_a_training_killed_in_the_epoch_it_diverged_in_is_still_diverged(tmp_path: Path) -> None:
    job = job_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 1e30})

    def report(_: Reported) -> None:
        raise Killed

    outcome = None
    for _ in range(NUM_EPOCHS + 1):
        try:
            outcome = run_trial(job, report)
        except Killed:
            continue
    assert outcome is Outcome.DIVERGED
    epochs = told_epochs(folder_of(job))
    assert epochs == [line.epoch for line in final_of(folder_of(job)).curve]


@pytest.mark.parametrize("kept_bytes", [0, 9, 3000])
def test_a_damaged_checkpoint_is_set_aside_and_the_trial_starts_over(
    tmp_path: Path, unbroken: CellFolder, kept_bytes: int
) -> None:
    job = job_of(tmp_path)
    folder = folder_of(job)
    stopped_after(job, 2)
    folder.checkpoint.write_bytes(folder.checkpoint.read_bytes()[:kept_bytes])
    stopped_after(job, 1)
    assert (folder.path / "checkpoint.damaged").stat().st_size == kept_bytes
    assert "starting over, as the checkpoint is damaged" in folder.log.read_text()
    assert run_trial(job, silent) is Outcome.FINISHED
    check_like_unbroken(folder, unbroken)
    assert not (folder.path / "checkpoint.damaged").exists()


def test_a_checkpoint_is_kept_where_the_fault_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(tmp_path)
    stopped_after(job, 2)
    before = folder_of(job).checkpoint.read_bytes()

    def other_digits(*_: Any, **__: Any) -> None:
        raise ValueError("other digits than expected")

    monkeypatch.setattr(Training, "__init__", other_digits)
    with pytest.raises(ValueError, match="other digits"):
        run_trial(job, silent)
    assert folder_of(job).checkpoint.read_bytes() == before


def test_the_largest_peak_of_all_attempts_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_of(tmp_path)
    peaks = iter([70, 90, 50, 50])  # after epochs 1, 2, 3 and at the end

    def peak(_: PeakMemory) -> int:
        return next(peaks)

    monkeypatch.setattr(PeakMemory, "bytes", peak)
    for epoch in (1, 2):
        stopped_after(job, epoch)
    run_trial(job, silent)
    assert final_of(folder_of(job)).peak_memory_bytes == 90


@pytest.mark.parametrize(
    ("seam", "after"),
    [*((seam, False) for seam in ("checkpoint", "outbox", "test", "final")), ("final", True)],
)
def test_killed_in_the_epoch_that_reaches_its_target_it_trains_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seam: str, after: bool
) -> None:
    job = of_target(tmp_path, 1.0)
    owner, name = SEAMS[seam]
    at_call = 2 if seam == "outbox" else 1
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), at_call, after))
        with pytest.raises(Killed):
            run_trial(job, silent)
    assert run_trial(job, silent) is Outcome.FINISHED
    assert final_of(folder_of(job)).target == "reached"
    assert told_epochs(folder_of(job)) == [1]


@pytest.mark.parametrize(("seam", "call"), [("checkpoint", 1), ("checkpoint", 2), ("outbox", 3)])
def test_killed_around_the_epoch_within_which_it_ends_it_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seam: str, call: int
) -> None:
    full_job = job_of(tmp_path / "whole")
    run_trial(full_job, silent)
    first = final_of(folder_of(full_job)).curve[0].validation_error
    stopping = {
        "kind": "target_metric",
        "at_or_below": first - 0.01,
        "max_epochs": NUM_EPOCHS,
        "every_steps": 1,
    }
    unbroken, job = (job_of(tmp_path / name, stopping=stopping) for name in ("unbroken", "killed"))
    run_trial(unbroken, silent)
    owner, name = SEAMS[seam]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), call, after=False))
        with pytest.raises(Killed):
            run_trial(job, silent)
    assert run_trial(job, silent) is Outcome.FINISHED
    final = final_of(folder_of(job))
    assert (final.target, len(final.curve)) == ("reached", 2)
    assert timeless(final) == timeless(final_of(folder_of(unbroken)))
    assert files(folder_of(job)) == files(folder_of(unbroken))
    assert told_epochs(folder_of(job)) == [1, 2]


def test_an_attempt_leaves_no_checkpoint_of_an_earlier_one_beside_its_own(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    for epoch in (1, 2):
        stopped_after(job, epoch)
        checkpoints = folder_of(job).path.glob("checkpoint*")
        assert [path.name for path in checkpoints] == [f"checkpoint-{epoch}.safetensors"]


def test_an_attempt_goes_on_from_a_checkpoint_of_an_earlier_store(
    tmp_path: Path, unbroken: CellFolder
) -> None:
    job = job_of(tmp_path)
    stopped_after(job, 2)
    checkpoint = folder_of(job).checkpoint
    checkpoint.rename(checkpoint.with_name("checkpoint.safetensors"))
    assert run_trial(job, silent) is Outcome.FINISHED
    assert "going on after epoch 2" in folder_of(job).log.read_text()
    check_like_unbroken(folder_of(job), unbroken)
