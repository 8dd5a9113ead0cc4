"""What must hold of a storage after a sweep, however often it was killed on the way."""

from collections import Counter
from pathlib import Path

from tests.end_to_end.storage_view import outboxes, parent_runs, trial_runs

EPOCH_METRICS = ("train_loss", "validation_loss", "validation_error")
RESULT_FILES = (
    "ablation.md",
    "ablation.csv",
    "ablation.tex",
    "ablation.png",
    "ablation.svg",
    "trials.csv",
)


def expect_each_cell_finished_once(storage: Path, *, num_cells: int, num_epochs: int) -> None:
    """Check that every cell has one finished run with each epoch once, and nothing else lives."""
    runs = trial_runs(storage / "mlflow.db")
    assert Counter(run.status for run in runs) == {"FINISHED": num_cells}
    assert {run.outcome for run in runs} == {"finished"}
    keys = Counter(run.tags["capsweep.trial_key"] for run in runs)
    assert set(keys.values()) == {1}
    for run in runs:
        expect_each_epoch_once(run.steps, num_epochs)
        assert run.steps["test_error"] == [num_epochs]
    expect_no_epoch_told_twice(storage, num_epochs)
    expect_no_run_left_running(storage)


def expect_each_epoch_once(steps: dict[str, list[int]], num_epochs: int) -> None:
    """Check that each metric's history has the steps 1 to `num_epochs`, each once."""
    for metric in EPOCH_METRICS:
        assert steps[metric] == list(range(1, num_epochs + 1)), metric


def expect_no_epoch_told_twice(storage: Path, num_epochs: int) -> None:
    """Check that each outbox tells of the epochs 1 to `num_epochs`, each once."""
    for key, facts in outboxes(storage).items():
        assert [epoch for epoch, _ in facts.epochs] == list(range(1, num_epochs + 1)), key
        assert facts.starts == sorted(set(facts.starts)), key


def expect_no_run_left_running(storage: Path) -> None:
    """Check that no run, of a trial or a sweep, is left RUNNING."""
    runs = [*trial_runs(storage / "mlflow.db"), *parent_runs(storage / "mlflow.db").values()]
    assert not [run.tags for run in runs if run.status == "RUNNING"]


def expect_same_results(folder: Path, reference: Path, sweep: str) -> None:
    """Check that a sweep's result files are those of another folder, byte for byte."""
    for name in RESULT_FILES:
        found = (folder / "reports" / sweep / name).read_bytes()
        assert found == (reference / "reports" / sweep / name).read_bytes(), name
