"""A finished trial leaves what its record needs."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file

from capsmodel.metrics import EpochMetrics
from capsmodel.training import training as training_module
from capsmodel.training.training import SplitResult, TestResult, Training, read_history
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.sealed_files import check_files, sealed
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config, small_model
from tests.sweeps.execution.worker.trials import (
    NUM_EPOCHS,
    Reported,
    files,
    final_of,
    folder_of,
    job_of,
    of_target,
    silent,
    stopped_after,
    told_epochs,
    unjudged,
)


def test_a_finished_trial_leaves_what_the_record_needs(unbroken: CellFolder) -> None:
    names = sorted(path.name for path in unbroken.path.iterdir())
    assert names == [
        "final.json",
        "lock",
        "log.txt",
        "outbox.jsonl",
        "predictions-1.safetensors",
        "weights-1.safetensors",
    ]
    assert "base, seed 0, on cpu" in unbroken.log.read_text()
    assert unbroken.log.read_text().startswith("# log of a capsweep trial, schema_version 1\n")


def test_its_figures_are_those_of_the_training_alone(unbroken: CellFolder) -> None:
    record = final_of(unbroken)
    training = Training(small_config(model=small_model(routing={"kind": "random"})), seed=0)
    for metrics, line in zip(training, record.curve, strict=True):
        assert (metrics.epoch, metrics.train_loss) == (line.epoch, line.train_loss)
        assert metrics.validation_error == line.validation_error
    assert record.test_error == training.test().error
    assert record.outcome is Outcome.FINISHED


def test_its_files_may_be_read_by_all_who_may_read_the_others_and_are_sealed(
    unbroken: CellFolder,
) -> None:
    files = (unbroken.predictions, unbroken.weights)
    assert {path.stat().st_mode for path in files} == {unbroken.log.stat().st_mode}
    final = unbroken.read_final()
    assert final is not None
    assert final.files == sealed(unbroken, *files)
    check_files(unbroken, final)


def test_predictions_take_one_byte_an_image_and_agree_with_the_error(unbroken: CellFolder) -> None:
    tensors = load_file(unbroken.predictions)
    assert {tensor.dtype.name for tensor in tensors.values()} == {"uint8"}
    wrong = (tensors["predictions"] != tensors["labels"]).mean()
    assert float(wrong) == final_of(unbroken).test_error
    of_validation = (tensors["validation_predictions"] != tensors["validation_labels"]).mean()
    assert float(of_validation) == final_of(unbroken).curve[-1].validation_error


def test_each_epoch_is_reported_once_with_its_figures(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    reports: list[EpochMetrics] = []
    run_trial(job, reports.extend)
    assert [report.epoch for report in reports] == [1, 2, 3]
    assert tuple(reports) == final_of(folder_of(job)).curve


def test_short_epochs_that_nobody_judges_are_kept_together(
    tmp_path: Path, unbroken: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = unjudged(tmp_path, monkeypatch)
    folder = folder_of(job)
    batches: list[tuple[list[int], list[int], int]] = []

    def report(reported: Reported) -> None:
        saved = read_history(folder.checkpoint, seed=0)
        batches.append(([metrics.epoch for metrics in reported], told_epochs(folder), len(saved)))

    run_trial(job, report)
    assert batches == [([1], [1], 1), ([2, 3], [1, 2, 3], 3)], "the first at once, and the last"
    assert files(folder) == files(unbroken)
    times = [line.time for line in folder.read_outbox()[0] if line.epoch]
    assert times == sorted(times)


def test_no_kill_costs_more_than_a_second_of_short_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 0.4 s an epoch two wait at most: with a third it would be 1.2 s."""
    job = unjudged(tmp_path, monkeypatch, stopping={"kind": "fixed_epochs", "epochs": 6})
    monkeypatch.setattr(trial, "_SAVE_SECONDS", 1.0)
    now, steps = [0.0], Training._steps

    def lasting(training: Training, epoch: int) -> Any:
        now[0] += 0.4
        return steps(training, epoch)

    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])
    monkeypatch.setattr(trial, "time", clock)
    monkeypatch.setattr(training_module, "time", clock)
    monkeypatch.setattr(Training, "_steps", lasting)
    batches: list[list[int]] = []
    run_trial(job, lambda reported: batches.append([metrics.epoch for metrics in reported]))
    assert batches == [[1], [2, 3], [4, 5], [6]]


def test_epochs_that_take_long_are_kept_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = unjudged(tmp_path, monkeypatch)
    monkeypatch.setattr(trial, "_SAVE_SECONDS", 0.0)
    reports: list[list[int]] = []
    run_trial(job, lambda reported: reports.append([metrics.epoch for metrics in reported]))
    assert reports == [[1], [2], [3]]


def test_a_filled_cell_is_not_trained_again(unbroken: CellFolder) -> None:
    before = files(unbroken)
    job = job_of(unbroken.path.parent)

    def never(_: Reported) -> None:
        raise AssertionError

    assert run_trial(job, never) is Outcome.FINISHED
    assert files(unbroken) == before


SOURCE = """
from typing import ClassVar, Literal
from capsmodel import TrainingConfig
from capsmodel.functional import squash
from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep


class Mean(VectorRouting):
    kind: Literal["mean_of_votes"] = "mean_of_votes"
    is_symmetric: ClassVar[bool] = True

    def route(self, votes, *, generator):
        print("routing by the mean")
        return squash(votes.mean(dim=1))


SWEEP = Sweep(name="own", base=TrainingConfig(), plan=ListedArms(baseline="a", arms={"a": {}}),
              seeds=(0,), parts=(Mean,))
"""


def job_of_own_routing(cells: Path, source: str) -> TrialJob:
    plain = job_of(cells).spec
    config = plain.config | {
        "model": plain.config["model"] | {"routing": {"kind": "mean_of_votes"}},
        "stopping": {"kind": "fixed_epochs", "epochs": 1},
    }
    user_code = {"source": source, "source_name": "mine.py", "trial_key": "f" * 20}
    spec = plain.model_copy(update={"config": config, **user_code})
    return TrialJob(cells=str(cells), spec=spec)


@pytest.mark.parametrize(
    ("bug", "reason"),
    [
        ("votes.men(dim=1)", "AttributeError: 'Tensor' object has no attribute 'men'"),
        ("votes @ votes", "RuntimeError: "),
        ("sys.exit(0)", "SystemExit: 0"),
        ("stop()", "KeyboardInterrupt: "),
    ],
)
def test_a_bug_in_a_users_part_is_a_failure_with_its_line(
    tmp_path: Path, bug: str, reason: str
) -> None:
    header = "import sys\n\ndef stop():\n    raise KeyboardInterrupt\n"
    source = header + SOURCE.replace("votes.mean(dim=1)", bug)
    job = job_of_own_routing(tmp_path, source)
    with pytest.raises((AttributeError, RuntimeError)):
        run_trial(job, silent)
    failed = folder_of(job).failed_since()
    assert failed
    assert failed.is_deterministic
    assert failed.reason.startswith(reason)
    number = 4 if bug == "stop()" else source[: source.index(bug)].count("\n") + 1
    assert f"(mine.py, line {number}: " in failed.reason


def test_a_users_own_part_is_rebuilt_from_the_text_beside_it(tmp_path: Path) -> None:
    job = job_of_own_routing(tmp_path, SOURCE)
    assert run_trial(job, silent) is Outcome.FINISHED
    assert "routing by the mean" in folder_of(job).log.read_text()


def test_the_health_of_each_epoch_and_what_is_unsound_in_the_end_are_in_the_record(
    tmp_path: Path, unbroken: CellFolder
) -> None:
    job = job_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 10})
    run_trial(job, silent)
    unsound, sound = final_of(folder_of(job)), final_of(unbroken)
    assert "class capsules are saturated" in unsound.warnings[-1]
    assert sound.warnings == ()
    assert sound.curve[-1].health["dead_capsules"] == 0
    assert all(line.health["gradient_norm"] > 0 for line in sound.curve)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux alone tells it")
def test_the_peak_memory_is_that_of_the_trial_alone(unbroken: CellFolder) -> None:
    peak = final_of(unbroken).peak_memory_bytes
    assert peak is not None
    assert 0 <= peak < 500 * 2**20
    assert os.access("/proc/self/clear_refs", os.W_OK)


def test_the_worker_tells_its_own_device_and_versions(unbroken: CellFolder) -> None:
    spec = final_of(unbroken).head
    assert spec.device == "cpu"
    assert spec.hardware.startswith("cpu: ")
    assert len(spec.hardware) > len("cpu: ")
    assert {"python", "platform", "torch"} <= set(spec.versions)
    start = unbroken.read_outbox()[0][0]
    assert start.head == spec


def test_the_duration_is_that_of_the_whole_trial(tmp_path: Path, unbroken: CellFolder) -> None:
    record = final_of(unbroken)
    assert record.duration_seconds > sum(line.duration_seconds for line in record.curve)
    job = job_of(tmp_path)
    stopped_after(job, 3)
    run_trial(job, silent)
    record = final_of(folder_of(job))
    assert record.duration_seconds > sum(line.duration_seconds for line in record.curve)


def test_a_trial_ends_with_its_target_and_says_so(tmp_path: Path) -> None:
    job = of_target(tmp_path, 1.0)
    reports: list[EpochMetrics] = []
    assert run_trial(job, reports.extend) is Outcome.FINISHED
    record = final_of(folder_of(job))
    assert (len(record.curve), record.target) == (1, "reached")
    assert record.test_error is not None
    assert [(metrics.epoch, metrics.reaches_target) for metrics in reports] == [(1, True)]
    assert run_trial(job, silent) is Outcome.FINISHED


def test_a_trial_that_never_reaches_its_target_says_so_too(tmp_path: Path) -> None:
    job = of_target(tmp_path, 0.0)
    reports: list[EpochMetrics] = []
    run_trial(job, reports.extend)
    record = final_of(folder_of(job))
    assert (len(record.curve), record.target) == (NUM_EPOCHS, "missed")
    assert not any(metrics.reaches_target for metrics in reports)


def test_a_trial_without_a_target_has_none_in_its_record(unbroken: CellFolder) -> None:
    assert final_of(unbroken).target is None


FAMILIAR = SplitResult(
    error=0.25,
    predictions=torch.tensor([1, 1, 0, 0], dtype=torch.uint8),
    labels=torch.tensor([1, 0, 0, 0], dtype=torch.uint8),
)


def test_the_errors_of_extra_tests_stand_in_the_final_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Training.test

    def test(training: Training) -> TestResult:
        return replace(real(training), extra_tests={"familiar": FAMILIAR})

    monkeypatch.setattr(Training, "test", test)
    job = of_target(tmp_path, 1.0)
    run_trial(job, silent)
    assert final_of(folder_of(job)).extra_test_errors == {"familiar": 0.25}
    tensors = load_file(folder_of(job).predictions)
    assert [*tensors["test.familiar.predictions"]] == [1, 1, 0, 0]
    assert [*tensors["test.familiar.labels"]] == [1, 0, 0, 0]


def test_gradient_checkpointing_is_asked_of_the_training_and_changes_no_result(
    tmp_path: Path, unbroken: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    real = Training.__init__

    def begin(training: Training, *arguments: Any, checkpointing: bool, **options: Any) -> None:
        asked.append(checkpointing)
        real(training, *arguments, checkpointing=checkpointing, **options)

    monkeypatch.setattr(Training, "__init__", begin)
    known = job_of(tmp_path)
    sparing = known.spec.model_copy(update={"gradient_checkpointing": True})
    job = TrialJob(cells=known.cells, spec=sparing)
    stopped_after(job, 2)
    run_trial(job, silent)
    assert asked == [True, True], "also where it goes on from a checkpoint"
    assert files(folder_of(job)) == files(unbroken)
    assert final_of(folder_of(job)).head.gradient_checkpointing


def test_an_attempt_does_not_tell_of_room_that_a_killed_one_waited_for(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    stats = folder_of(job).stats
    stats.path.parent.mkdir()
    stats.note_wanted_disk(7)
    wanted: list[int] = []

    def report(_: Reported) -> None:
        wanted.append(stats.wanted_disk_bytes())

    run_trial(job, report)
    assert set(wanted) == {0}
