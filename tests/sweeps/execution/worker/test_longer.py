"""A longer trial goes on where a shorter one ended, as if it had never stopped."""

from pathlib import Path
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.losses.margin import LinearMargins
from capsmodel.optimisers import OPTIMISERS
from capsmodel.optimisers.rate_schedule import LEARNING_RATE_SCHEDULES, CosineRate
from capsmodel.training.training import Training
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.kept_states import KeptStates
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import TrialJob, run_trial
from tests.sweeps.execution.worker.trials import (
    Killed,
    files,
    final_of,
    folder_of,
    job_of,
    stopped_after,
    timeless,
    told_epochs,
)

SHORT, LONG = 2, 4
ALLOWED = [schedule for schedule in LEARNING_RATE_SCHEDULES if schedule is not CosineRate]


def job_in(storage: Path, num_epochs: int, most: int | None = None, **changes: Any) -> TrialJob:
    stopping = {"kind": "fixed_epochs", "epochs": num_epochs}
    job = job_of(storage / "cells", **{"stopping": stopping, **changes})
    kept = {"states": str(storage / "states"), "most_state_bytes": most}
    return job.model_copy(update=kept)


def trained_epochs(job: TrialJob, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Run a trial and return the epochs that were trained, not those that were taken over."""
    trained: list[int] = []
    real = Training._next_epoch

    def next_epoch(training: Training) -> Any:
        trained.append(training.epoch + 1)
        return real(training)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_next_epoch", next_epoch)
        run_trial(job, lambda _: None)
    return trained


def check_equal(folder: CellFolder, unbroken: CellFolder) -> None:
    assert timeless(final_of(folder)) == timeless(final_of(unbroken))
    assert files(folder) == files(unbroken)
    assert told_epochs(folder) == told_epochs(unbroken)


@pytest.mark.parametrize("schedule", [schedule().kind for schedule in ALLOWED])
@pytest.mark.parametrize("optimiser", [optimiser().kind for optimiser in OPTIMISERS])
def test_it_is_the_unbroken_one_to_the_last_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimiser: str, schedule: str
) -> None:
    changes: dict[str, Any] = {
        "optimiser": {"kind": optimiser, "schedule": schedule, "warmup_steps": 9},
        "weights": "best",
    }
    unbroken, short, long = (
        job_in(tmp_path / name, epochs, **changes)
        for name, epochs in (("alone", LONG), ("both", SHORT), ("both", LONG))
    )
    assert trained_epochs(unbroken, monkeypatch) == [1, 2, 3, 4]
    assert trained_epochs(short, monkeypatch) == [1, 2]
    before = files(folder_of(short))
    assert trained_epochs(long, monkeypatch) == [3, 4]
    check_equal(folder_of(long), folder_of(unbroken))
    assert files(folder_of(short)) == before


@pytest.mark.parametrize(
    ("rule", "num_trained"),
    [
        ({"kind": "patience", "epochs": 9}, 2),
        ({"kind": "patience", "epochs": 1, "min_delta": 0.9}, 0),  # the shorter one has ended
        ({"kind": "target_metric", "at_or_below": 0.0}, 2),
        ({"kind": "target_metric", "at_or_below": 1.0}, 0),
    ],
)
def test_one_that_may_end_early_ends_where_the_unbroken_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: dict[str, Any], num_trained: int
) -> None:
    unbroken, short, long = (
        job_in(tmp_path / name, epochs, stopping=rule | {"max_epochs": epochs})
        for name, epochs in (("alone", LONG), ("both", SHORT), ("both", LONG))
    )
    run_trial(unbroken, lambda _: None)
    run_trial(short, lambda _: None)
    assert len(trained_epochs(long, monkeypatch)) == num_trained
    check_equal(folder_of(long), folder_of(unbroken))


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> CellFolder:
    job = job_in(tmp_path_factory.mktemp("alone"), LONG, most=0)
    run_trial(job, lambda _: None)
    return folder_of(job)


def after_short(storage: Path, most: int | None = None, **changes: Any) -> TrialJob:
    """Train a shorter trial to its end and return the job of the longer one."""
    run_trial(job_in(storage, SHORT, most, **changes), lambda _: None)
    return job_in(storage, LONG, most, **changes)


def test_killed_after_it_went_on_it_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbroken: CellFolder
) -> None:
    job = after_short(tmp_path)
    stopped_after(job, SHORT + 1)
    assert trained_epochs(job, monkeypatch) == [4]
    check_equal(folder_of(job), unbroken)


def test_killed_before_its_record_was_there_the_shorter_one_ends_from_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise Killed

    job = job_in(tmp_path, SHORT)
    with monkeypatch.context() as patch:
        patch.setattr(CellFolder, "write_final", killed)
        with pytest.raises(Killed):
            run_trial(job, lambda _: None)
    assert trained_epochs(job, monkeypatch) == []
    assert trained_epochs(job_in(tmp_path, LONG), monkeypatch) == [3, 4]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"optimiser": {"kind": "adam", "schedule": "cosine"}},
            "the learning rate follows the length of the training",
        ),
        (
            {"loss": {"kind": "margin", "schedule": LinearMargins().model_dump()}},
            "the loss 'margin' follows the share of the training that is done",
        ),
    ],
)
def test_one_that_follows_its_length_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], reason: str
) -> None:
    job = after_short(tmp_path, **changes)
    (kept,) = (tmp_path / "states").glob("*/*")
    assert not kept.stat().st_size, "as no longer training could go on from it"
    assert trained_epochs(job, monkeypatch) == [1, 2, 3, 4]
    assert reason in folder_of(job).log.read_text()


def change_kept(storage: Path) -> None:
    (file,) = (storage / "states").glob("*/*")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def move_elsewhere(storage: Path) -> None:
    """Have it look as if another machine had trained it."""
    (file,) = (storage / "states").glob("*/*")
    parts = file.name.split("-")
    parts[3] = "0" * 8
    file.rename(file.with_name("-".join(parts)))


def test_of_attempts_on_several_kinds_of_machine_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_in(tmp_path, SHORT)
    stopped_after(job, 1)
    other = job.spec.model_copy(update={"threads": 2})
    run_trial(job.model_copy(update={"spec": other}), lambda _: None)
    assert not (tmp_path / "states").exists()


def test_a_launch_that_trains_all_again_takes_nothing_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = after_short(tmp_path).model_copy(update={"takes_shorter": False})
    assert trained_epochs(job, monkeypatch) == [1, 2, 3, 4]


def test_it_is_found_by_trainings_on_the_data_that_it_was_trained_on_alone(tmp_path: Path) -> None:
    job = job_in(tmp_path, SHORT)
    config = TrainingConfig.model_validate(job.spec.config)
    then, now = (KeptStates(tmp_path / "states", config, 0, data) for data in ("then", "now"))
    then.keep(b"all of it", job.spec, num_epochs=SHORT, steps_per_epoch=2)
    assert [state.num_epochs for state in then.all()] == [SHORT]
    assert not now.all()


def test_a_fault_in_keeping_costs_nothing_but_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "states").write_text("no folder")
    job = after_short(tmp_path)
    assert final_of(folder_of(job_in(tmp_path, SHORT))).test_error is not None
    assert trained_epochs(job, monkeypatch) == [1, 2, 3, 4]


def test_nothing_is_kept_on_a_disk_that_is_nearly_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "free_bytes", lambda _: trial.RESERVE_BYTES)
    run_trial(job_in(tmp_path, SHORT), lambda _: None)
    assert not (tmp_path / "states").exists()


def test_where_all_is_taken_over_no_peak_of_memory_is_told(tmp_path: Path) -> None:
    rule = {"kind": "target_metric", "at_or_below": 1.0}
    for num_epochs in (SHORT, LONG):
        job = job_in(tmp_path, num_epochs, stopping=rule | {"max_epochs": num_epochs})
        run_trial(job, lambda _: None)
    assert final_of(folder_of(job)).peak_memory_bytes is None
    assert len([*(tmp_path / "states").glob("*/*")]) == 1


@pytest.mark.parametrize("spoil", [change_kept, move_elsewhere])
def test_what_was_changed_or_is_of_another_machine_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbroken: CellFolder, spoil: Any
) -> None:
    job = after_short(tmp_path)
    spoil(tmp_path)
    assert trained_epochs(job, monkeypatch) == [1, 2, 3, 4]
    check_equal(folder_of(job), unbroken)


def test_nothing_larger_than_allowed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = after_short(tmp_path, most=100)
    assert not (tmp_path / "states").exists()
    assert trained_epochs(job, monkeypatch) == [1, 2, 3, 4]


def test_a_shorter_one_does_not_go_on_from_a_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_trial(job_in(tmp_path, LONG), lambda _: None)
    assert trained_epochs(job_in(tmp_path, SHORT), monkeypatch) == [1, 2]
