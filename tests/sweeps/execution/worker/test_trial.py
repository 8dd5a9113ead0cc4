"""A trial comes to the same end wherever it is killed on the way."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from capsmodel.training.history import read_history
from capsmodel.training.training import TestResult, Training
from search_spaces.trial_key import trial_key
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker import trial
from sweeps.execution.worker.process import PeakMemory
from sweeps.execution.worker.trial import TrialOrder, run_trial
from sweeps.records.cell_contents import FinalRecord, TrialHead
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config, small_model

NUM_EPOCHS = 3


class Killed(BaseException):
    """Stands in for SIGKILL: nothing that handles exceptions hears of it."""


def order_of(cells: Path, seed: int = 0, source: str | None = None, **changes: Any) -> TrialOrder:
    config = small_config(model=small_model(routing={"kind": "random"}), **changes)
    known = TrialHead(
        trial_key=trial_key(config, seed),
        sweep="example",
        arm="base",
        seed=seed,
        config=config.model_dump(mode="json"),
        source=source,
    )
    return TrialOrder(cells=str(cells), head=known)


def folder_of(order: TrialOrder) -> CellFolder:
    return CellFolder(Path(order.cells), order.head.trial_key)


def silent(_: dict[str, Any]) -> None:
    """Hear nothing."""


def timeless(record: FinalRecord) -> dict[str, Any]:
    """Return a final record without what differs from one attempt to the next."""
    plain = record.model_dump(
        exclude={"time", "fence", "duration_seconds", "peak_memory_bytes", "curve"}
    )
    curve = [line.model_dump(exclude={"duration_seconds"}) for line in record.curve]
    return plain | {"curve": curve}


def files(folder: CellFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder.predictions, folder.weights)}


def of_target(tmp_path: Path, at_or_below: float) -> TrialOrder:
    stopping = {"kind": "target_metric", "at_or_below": at_or_below, "max_epochs": NUM_EPOCHS}
    return order_of(tmp_path, stopping=stopping)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> CellFolder:
    """A trial that nobody disturbed."""
    order = order_of(tmp_path_factory.mktemp("unbroken"))
    assert run_trial(order, silent) is Outcome.FINISHED
    return folder_of(order)


def final_of(folder: CellFolder) -> FinalRecord:
    record = folder.read_final()
    assert record is not None
    return record


def test_a_finished_trial_leaves_what_the_record_needs(unbroken: CellFolder) -> None:
    names = sorted(path.name for path in unbroken.path.iterdir())
    assert names == [
        "final.json",
        "lock",
        "log.txt",
        "outbox.jsonl",
        "predictions.safetensors",
        "weights.safetensors",
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


def test_predictions_take_one_byte_an_image_and_agree_with_the_error(unbroken: CellFolder) -> None:
    tensors = load_file(unbroken.predictions)
    assert {tensor.dtype.name for tensor in tensors.values()} == {"uint8"}
    wrong = (tensors["predictions"] != tensors["labels"]).mean()
    assert float(wrong) == final_of(unbroken).test_error


def test_each_epoch_is_reported_once_with_its_figures(tmp_path: Path) -> None:
    order = order_of(tmp_path)
    reports: list[dict[str, Any]] = []
    run_trial(order, reports.append)
    assert [report["epoch"] for report in reports] == [1, 2, 3]
    assert {report["trial_key"] for report in reports} == {order.head.trial_key}
    curve = final_of(folder_of(order)).curve
    assert [report["validation_error"] for report in reports] == [
        line.validation_error for line in curve
    ]


def test_a_filled_cell_is_not_trained_again(unbroken: CellFolder) -> None:
    before = files(unbroken)
    order = order_of(unbroken.path.parent)

    def never(_: dict[str, Any]) -> None:
        raise AssertionError

    assert run_trial(order, never) is Outcome.FINISHED
    assert files(unbroken) == before


# Where a trial can be killed: the calls that leave something behind, each before and after.
SEAMS: dict[str, tuple[Any, str]] = {
    "checkpoint": (Training, "save"),
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


KILLS = [
    (seam, call, after)
    for seam, num_calls in {"checkpoint": 3, "outbox": 4, "test": 1, "final": 1}.items()
    for call in range(1, num_calls + 1)
    for after in (False, True)
]


def told_epochs(folder: CellFolder) -> list[int]:
    return [line.epoch.epoch for line in folder.read_outbox()[0] if line.epoch]


def check_like_unbroken(folder: CellFolder, unbroken: CellFolder) -> None:
    assert timeless(final_of(folder)) == timeless(final_of(unbroken))
    assert files(folder) == files(unbroken)
    assert told_epochs(folder) == list(range(1, NUM_EPOCHS + 1))


@pytest.mark.parametrize(("seam", "call", "after"), KILLS)
def test_killed_anywhere_it_goes_on_to_the_same_end(
    tmp_path: Path,
    unbroken: CellFolder,
    monkeypatch: pytest.MonkeyPatch,
    seam: str,
    call: int,
    after: bool,
) -> None:
    order = order_of(tmp_path)
    owner, name = SEAMS[seam]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), call, after))
        with pytest.raises(Killed):
            run_trial(order, silent)
    assert run_trial(order, silent) is Outcome.FINISHED
    check_like_unbroken(folder_of(order), unbroken)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_killed_inside_a_report_it_goes_on_to_the_same_end(
    tmp_path: Path, unbroken: CellFolder, at: int
) -> None:
    order = order_of(tmp_path)

    def report(told: dict[str, Any]) -> None:
        if told["epoch"] == at:
            raise SystemExit  # how Tune stops a trial

    with pytest.raises(SystemExit):
        run_trial(order, report)
    assert folder_of(order).failure_since() is None
    run_trial(order, silent)
    check_like_unbroken(folder_of(order), unbroken)


def test_killed_again_and_again_it_goes_on_to_the_same_end(
    tmp_path: Path, unbroken: CellFolder
) -> None:
    order = order_of(tmp_path)

    def report(_: dict[str, Any]) -> None:
        raise Killed

    for _ in range(NUM_EPOCHS):
        with pytest.raises(Killed):
            run_trial(order, report)
    run_trial(order, silent)
    check_like_unbroken(folder_of(order), unbroken)
    assert final_of(folder_of(order)).fence == NUM_EPOCHS + 1


def test_an_outbox_torn_by_the_kill_is_told_anew(tmp_path: Path, unbroken: CellFolder) -> None:
    order = order_of(tmp_path)

    def report(told: dict[str, Any]) -> None:
        if told["epoch"] == 2:
            raise Killed

    with pytest.raises(Killed):
        run_trial(order, report)
    outbox = folder_of(order).path / "outbox.jsonl"
    outbox.write_bytes(outbox.read_bytes()[:-9])
    run_trial(order, silent)
    check_like_unbroken(folder_of(order), unbroken)


def test_an_epoch_that_a_kill_kept_from_being_told_is_reported_too(tmp_path: Path) -> None:
    order = order_of(tmp_path)

    def report(told: dict[str, Any]) -> None:
        if told["epoch"] == 2:
            raise Killed

    with pytest.raises(Killed):
        run_trial(order, report)
    outbox = folder_of(order).path / "outbox.jsonl"
    outbox.write_bytes(outbox.read_bytes()[:-9])
    reports: list[dict[str, Any]] = []
    run_trial(order, reports.append)
    assert [told["epoch"] for told in reports] == [2, 3]


def test_an_exception_is_recorded_and_raised_again(tmp_path: Path, unbroken: CellFolder) -> None:
    order = order_of(tmp_path)
    folder = folder_of(order)

    def report(told: dict[str, Any]) -> None:
        if told["epoch"] == 2:
            raise ValueError("first line\nsecond line | <b> \x1b[0m")

    with pytest.raises(ValueError, match="first line"):
        run_trial(order, report)
    assert folder.failure_since() == "ValueError: first line second line | <b> \x1b[0m"
    assert "Traceback" in folder.log.read_text()
    assert not folder.is_filled()
    assert folder.checkpoint.exists(), "the next attempt goes on from it"
    assert not folder.is_busy()
    run_trial(order, silent)
    check_like_unbroken(folder, unbroken)


def test_a_long_reason_is_cut_short(tmp_path: Path) -> None:
    order = order_of(tmp_path)

    def report(_: dict[str, Any]) -> None:
        raise ValueError("x" * 10_000)

    with pytest.raises(ValueError, match="xxx"):
        run_trial(order, report)
    reason = folder_of(order).failure_since()
    assert reason is not None
    assert len(reason) == 500


def test_a_training_that_diverges_ends_and_says_when(tmp_path: Path) -> None:
    order = order_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 1e30})
    folder = folder_of(order)
    assert run_trial(order, silent) is Outcome.DIVERGED
    record = final_of(folder)
    assert record.outcome is Outcome.DIVERGED
    assert record.reason == (
        f"the training loss became nan in epoch {len(record.curve)}, step 2, in "
        "primary.convolution (its output; inputs were finite)"
    )
    assert len(record.curve) < NUM_EPOCHS + 1
    assert record.test_error is None
    assert not folder.weights.exists()
    assert not folder.checkpoint.exists()
    assert told_epochs(folder) == [line.epoch for line in record.curve]
    assert run_trial(order, silent) is Outcome.DIVERGED


def test_a_training_killed_in_the_epoch_it_diverged_in_is_still_diverged(tmp_path: Path) -> None:
    order = order_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 1e30})

    def report(_: dict[str, Any]) -> None:
        raise Killed

    outcome = None
    for _ in range(NUM_EPOCHS + 1):
        try:
            outcome = run_trial(order, report)
        except Killed:
            continue
    assert outcome is Outcome.DIVERGED
    epochs = told_epochs(folder_of(order))
    assert epochs == [line.epoch for line in final_of(folder_of(order)).curve]


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


def test_a_users_own_part_is_rebuilt_from_the_text_beside_it(tmp_path: Path) -> None:
    plain = order_of(tmp_path).head
    config = plain.config | {
        "model": plain.config["model"] | {"routing": {"kind": "mean_of_votes"}},
        "stopping": {"kind": "fixed_epochs", "epochs": 1},
    }
    own = plain.model_copy(update={"config": config, "source": SOURCE, "trial_key": "f" * 20})
    order = TrialOrder(cells=str(tmp_path), head=own)
    assert run_trial(order, silent) is Outcome.FINISHED
    assert "routing by the mean" in folder_of(order).log.read_text()


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


def test_an_epoch_that_is_not_finite_is_told_but_not_kept(tmp_path: Path) -> None:
    plain = order_of(tmp_path).head
    config = plain.config | {"loss": {"kind": "late"}}
    own = plain.model_copy(update={"config": config, "source": LATE, "trial_key": "e" * 20})
    order = TrialOrder(cells=str(tmp_path), head=own)
    folder = folder_of(order)
    stopped_after(order, 2)
    assert told_epochs(folder) == [1, 2]
    assert len(read_history(folder.checkpoint, seed=0)) == 1
    assert run_trial(order, silent) is Outcome.DIVERGED
    assert told_epochs(folder) == [1, 2]
    # 7 steps an epoch, so more than half of 3 epochs are done before the fifth step of the second.
    assert final_of(folder).reason == (
        "the training loss became nan in epoch 2, step 5, in the loss (its value; outputs of the "
        "network were finite)"
    )


def test_the_health_of_each_epoch_and_what_is_unsound_in_the_end_are_in_the_record(
    tmp_path: Path, unbroken: CellFolder
) -> None:
    order = order_of(tmp_path, optimiser={"kind": "adam", "learning_rate": 10})
    run_trial(order, silent)
    unsound, sound = final_of(folder_of(order)), final_of(unbroken)
    assert "class capsules are saturated" in unsound.warnings[-1]
    assert sound.warnings == ()
    assert sound.curve[-1].health["dead_capsules"] == 0
    assert all(line.health["gradient_norm"] > 0 for line in sound.curve)


def test_a_config_that_cannot_be_read_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    known = order_of(tmp_path).head
    order = TrialOrder(cells=str(tmp_path), head=known.model_copy(update={"config": {"x": 1}}))
    with pytest.raises(ValueError, match="x"):
        run_trial(order, silent)
    assert "ValidationError" in (folder_of(order).failure_since() or "")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux alone tells it")
def test_the_peak_memory_is_that_of_the_trial_alone(unbroken: CellFolder) -> None:
    peak = final_of(unbroken).peak_memory_bytes
    assert peak is not None
    assert 0 <= peak < 500 * 2**20
    assert os.access("/proc/self/clear_refs", os.W_OK)


def stopped_after(order: TrialOrder, epoch: int) -> None:
    """Train a trial until it is killed after an epoch."""

    def report(told: dict[str, Any]) -> None:
        if told["epoch"] == epoch:
            raise Killed

    with pytest.raises(Killed):
        run_trial(order, report)


def test_what_fails_before_the_training_is_recorded_with_the_trial_it_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_of(tmp_path)

    def no_driver(_: TrialHead) -> None:
        raise RuntimeError("the CUDA driver is too old")

    monkeypatch.setattr(trial, "warm_up", no_driver)
    with pytest.raises(RuntimeError, match="too old"):
        run_trial(order, silent)
    lines, _ = folder_of(order).read_outbox()
    assert [(line.type, line.head) for line in lines] == [("failed", order.head)]
    assert folder_of(order).failure_since() == "RuntimeError: the CUDA driver is too old"
    assert "Traceback" in folder_of(order).log.read_text()


def test_a_damaged_final_record_is_a_failure_and_not_trained_over(tmp_path: Path) -> None:
    order = order_of(tmp_path)
    folder = folder_of(order)
    folder.path.mkdir()
    (folder.path / "final.json").write_text("{")
    with pytest.raises(BadInput, match="Move the folder"):
        run_trial(order, silent)
    assert "BadInput" in (folder.failure_since() or "")
    assert (folder.path / "final.json").read_text() == "{"


@pytest.mark.parametrize("kept_bytes", [0, 9, 3000])
def test_a_damaged_checkpoint_is_set_aside_and_the_trial_starts_over(
    tmp_path: Path, unbroken: CellFolder, kept_bytes: int
) -> None:
    order = order_of(tmp_path)
    folder = folder_of(order)
    stopped_after(order, 2)
    folder.checkpoint.write_bytes(folder.checkpoint.read_bytes()[:kept_bytes])
    stopped_after(order, 1)
    assert (folder.path / "checkpoint.damaged").stat().st_size == kept_bytes
    assert "starting over, as the checkpoint is damaged" in folder.log.read_text()
    assert run_trial(order, silent) is Outcome.FINISHED
    check_like_unbroken(folder, unbroken)
    assert not (folder.path / "checkpoint.damaged").exists()


def test_a_checkpoint_is_kept_where_the_fault_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_of(tmp_path)
    stopped_after(order, 2)
    before = folder_of(order).checkpoint.read_bytes()

    def other_digits(*_: Any, **__: Any) -> None:
        raise ValueError("other digits than expected")

    monkeypatch.setattr(Training, "__init__", other_digits)
    with pytest.raises(ValueError, match="other digits"):
        run_trial(order, silent)
    assert folder_of(order).checkpoint.read_bytes() == before


def test_the_worker_tells_its_own_device_and_versions(unbroken: CellFolder) -> None:
    found = final_of(unbroken).head
    assert found.device == "cpu"
    assert found.hardware.startswith("cpu: ")
    assert len(found.hardware) > len("cpu: ")
    assert {"python", "platform", "torch"} <= set(found.versions)
    start = unbroken.read_outbox()[0][0]
    assert start.head == found


def test_the_duration_is_that_of_the_whole_trial(tmp_path: Path, unbroken: CellFolder) -> None:
    record = final_of(unbroken)
    assert record.duration_seconds > sum(line.duration_seconds for line in record.curve)
    order = order_of(tmp_path)
    stopped_after(order, 3)
    run_trial(order, silent)
    record = final_of(folder_of(order))
    assert record.duration_seconds > sum(line.duration_seconds for line in record.curve)


def test_the_largest_peak_of_all_attempts_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_of(tmp_path)
    peaks = iter([70, 90, 50, 50])  # after epochs 1, 2, 3 and at the end

    def peak(_: PeakMemory) -> int:
        return next(peaks)

    monkeypatch.setattr(PeakMemory, "bytes", peak)
    for epoch in (1, 2):
        stopped_after(order, epoch)
    run_trial(order, silent)
    assert final_of(folder_of(order)).peak_memory_bytes == 90


def test_a_trial_ends_with_its_target_and_says_so(tmp_path: Path) -> None:
    order = of_target(tmp_path, 1.0)
    reports: list[dict[str, Any]] = []
    assert run_trial(order, reports.append) is Outcome.FINISHED
    record = final_of(folder_of(order))
    assert (len(record.curve), record.target) == (1, "reached")
    assert record.test_error is not None
    assert [(one["epoch"], one["reaches_target"]) for one in reports] == [(1, True)]
    assert run_trial(order, silent) is Outcome.FINISHED


def test_a_trial_that_never_reaches_its_target_says_so_too(tmp_path: Path) -> None:
    order = of_target(tmp_path, 0.0)
    reports: list[dict[str, Any]] = []
    run_trial(order, reports.append)
    record = final_of(folder_of(order))
    assert (len(record.curve), record.target) == (NUM_EPOCHS, "missed")
    assert not any(one["reaches_target"] for one in reports)


def test_a_trial_without_a_target_has_none_in_its_record(unbroken: CellFolder) -> None:
    assert final_of(unbroken).target is None


@pytest.mark.parametrize("seam", ["checkpoint", "outbox", "test", "final"])
@pytest.mark.parametrize("after", [False, True])
def test_killed_in_the_epoch_that_reaches_its_target_it_trains_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seam: str, after: bool
) -> None:
    order = of_target(tmp_path, 1.0)
    owner, name = SEAMS[seam]
    at_call = 2 if seam == "outbox" else 1
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killing(getattr(owner, name), at_call, after))
        with pytest.raises(Killed):
            run_trial(order, silent)
    assert run_trial(order, silent) is Outcome.FINISHED
    assert final_of(folder_of(order)).target == "reached"
    assert told_epochs(folder_of(order)) == [1]


def test_the_errors_of_extra_tests_stand_in_the_final_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Training.test

    def test(training: Training) -> TestResult:
        return replace(real(training), extra_errors={"familiar": 0.25})

    monkeypatch.setattr(Training, "test", test)
    order = of_target(tmp_path, 1.0)
    run_trial(order, silent)
    assert final_of(folder_of(order)).extra_test_errors == {"familiar": 0.25}


def test_gradient_checkpointing_is_asked_of_the_training_and_changes_no_result(
    tmp_path: Path, unbroken: CellFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    real = Training.__init__

    def begin(training: Training, *arguments: Any, checkpointing: bool = False) -> None:
        asked.append(checkpointing)
        real(training, *arguments, checkpointing=checkpointing)

    monkeypatch.setattr(Training, "__init__", begin)
    known = order_of(tmp_path)
    sparing = known.head.model_copy(update={"gradient_checkpointing": True})
    order = TrialOrder(cells=known.cells, head=sparing)
    stopped_after(order, 2)
    run_trial(order, silent)
    assert asked == [True, True], "also where it goes on from a checkpoint"
    assert files(folder_of(order)) == files(unbroken)
    assert final_of(folder_of(order)).head.gradient_checkpointing
