"""What must hold of a storage after a sweep, however often it was killed on the way."""

from collections import Counter
from pathlib import Path

from tests.end_to_end.storage_view import (
    RunFacts,
    outboxes,
    parent_runs,
    search_facts,
    trial_runs,
)

EPOCH_METRICS = ("train_loss", "validation_loss", "validation_error")
RESULT_FILES = (
    "ablation.md",
    "ablation.csv",
    "ablation.tex",
    "ablation-table.tex",
    "ablation.png",
    "ablation.svg",
    "trials.csv",
    "checklist.md",
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


def expect_search_settled(storage: Path, sweep: str, *, num_trials: int, num_epochs: int) -> None:
    """Check that log, records and manifest of a search agree, each thing once."""
    facts = search_facts(storage, sweep)
    assert [number for number, _ in facts.proposals] == list(range(num_trials))
    proposals = facts.manifest["search"]["proposals"]
    assert [(proposal["number"], proposal["params"]) for proposal in proposals] == facts.proposals
    cells = facts.manifest["cells"]
    stopped = {
        cell["trial_key"]: (cell["stopped"]["epoch"], cell["stopped"]["value"])
        for cell in cells
        if cell["stopped"]
    }
    assert stopped == facts.stopped
    runs = trial_runs(storage / "mlflow.db")
    expect_no_run_left_running(storage)
    assert set(Counter(run.tags["capsweep.trial_key"] for run in runs).values()) == {1}
    by_key = {run.tags["capsweep.trial_key"]: run for run in runs}
    assert {cell["trial_key"] for cell in cells} <= by_key.keys()
    for key, run in by_key.items():
        _expect_pruned_or_finished(run, stopped.get(key), num_epochs)
    for key, reported in outboxes(storage).items():
        last = stopped[key][0] if key in stopped else num_epochs
        assert [epoch for epoch, _ in reported.epochs] == list(range(1, last + 1)), key


def _expect_pruned_or_finished(
    run: RunFacts, stopped: tuple[int, float] | None, num_epochs: int
) -> None:
    if stopped is None:
        assert (run.status, run.outcome) == ("FINISHED", "finished")
        expect_each_epoch_once(run.steps, num_epochs)
        assert run.steps["test_error"] == [num_epochs]
        return
    assert (run.status, run.outcome) == ("KILLED", "pruned")
    expect_each_epoch_once(run.steps, stopped[0])
    assert run.tags["capsweep.epochs"] == str(stopped[0])
    assert run.tags["capsweep.reason"].partition(" after ")[2].startswith(f"epoch {stopped[0]}, ")
    assert "test_error" not in run.steps


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
        result = (folder / "reports" / sweep / name).read_bytes()
        assert result == (reference / "reports" / sweep / name).read_bytes(), name
