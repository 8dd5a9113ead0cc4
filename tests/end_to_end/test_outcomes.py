"""Trials that raise, turn NaN or are killed, in a sweep of otherwise good ones."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import (
    expect_each_epoch_once,
    expect_no_run_left_running,
)
from tests.end_to_end.storage_view import RunFacts, outboxes, parent_runs, trial_runs
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 4


def test_each_failure_is_recorded_with_its_reason_and_retried_if_possible(
    tmp_path: Path, terminal: Terminal
) -> None:
    arms = {
        "good": {},
        "raises": trouble("raise", tmp_path / "mended"),
        "turns NaN": trouble("nan"),
        "killed once": trouble("kill once", tmp_path / "killed"),
        "killed always": trouble("kill always", tmp_path / "mended"),
    }
    file = write_sweep(tmp_path / "troubled.py", arms=arms, epochs=NUM_EPOCHS)
    arguments = ("run", str(file), "--seeds", "5")
    storage, database = terminal.storage, terminal.database

    first = terminal.run(*arguments)
    assert first.code == 3, first.explained()
    before = {run.place[0]: run for run in trial_runs(database)}
    assert {arm: (run.status, run.outcome) for arm, run in before.items()} == {
        "good": ("FINISHED", "finished"),
        "raises": ("FAILED", "failed"),
        "turns NaN": ("FAILED", "diverged"),
        "killed once": ("FINISHED", "finished"),
        "killed always": ("FAILED", "failed"),
    }
    expect_reasons(before)
    expect_restarts(storage, before)
    expect_shown_in_the_table(terminal.folder / "reports" / "troubled")
    expect_no_run_left_running(storage)
    assert parent_runs(database)["troubled"].status == "FAILED"

    (tmp_path / "mended").touch()
    second = terminal.run(*arguments)
    assert second.code == 0, second.explained()
    after = {run.place[0]: run for run in trial_runs(database)}
    assert {arm: run.artifacts for arm, run in after.items()} == {
        arm: run.artifacts for arm, run in before.items()
    }
    assert (after["raises"].status, after["raises"].outcome) == ("FINISHED", "finished")
    assert after["raises"].tags.get("capsweep.reason", "") == ""
    for arm in ("good", "raises", "killed once", "killed always"):
        expect_each_epoch_once(after[arm].steps, NUM_EPOCHS)
        assert after[arm].steps["test_error"] == [NUM_EPOCHS]
    reported = outboxes(storage)
    assert reported[after["good"].tags["capsweep.trial_key"]].starts == [1]
    assert reported.pop(after["turns NaN"].tags["capsweep.trial_key"]).starts == [1]
    for name in ("raises", "killed once", "killed always"):
        assert reported[after[name].tags["capsweep.trial_key"]].went_on(), name
    assert parent_runs(database)["troubled"].status == "FINISHED"


def trouble(kind: str, marker: Path | None = None) -> dict[str, object]:
    """Return the changes of an arm in trouble."""
    return {"loss.trouble": kind, "loss.marker": str(marker or "")}


def expect_reasons(runs: dict[str, RunFacts]) -> None:
    """Check the reasons, and the logs of those that have something to tell."""
    reasons = {arm: run.tags.get("capsweep.reason", "") for arm, run in runs.items()}
    assert "the <b>routing</b> of 5 & 6 | broke" in reasons["raises"]
    assert reasons["turns NaN"] == (
        "the training loss became NaN in epoch 3, step 1, in the loss "
        "(its value; outputs of the network were finite)"
    )
    assert "killed 4 times" in reasons["killed always"]
    assert reasons["good"] == reasons["killed once"] == ""
    log = (runs["raises"].artifacts / "log.txt").read_text()
    assert "Traceback" in log
    assert "RuntimeError: the <b>routing</b>" in log
    for run in runs.values():
        assert (run.artifacts / "log.txt").read_text().count(": starting\n") == 1
        config = json.loads((run.artifacts / "config.json").read_text())
        assert config["config"]["loss"]["kind"] == "troubled"


def expect_restarts(storage: Path, runs: dict[str, RunFacts]) -> None:
    """Check who was started how often, and that every epoch was told once."""
    reported = outboxes(storage)
    starts = {arm: reported[run.tags["capsweep.trial_key"]].starts for arm, run in runs.items()}
    assert starts["good"] == starts["turns NaN"] == starts["raises"] == [1]
    assert starts["killed once"] == [1, 2]
    assert starts["killed always"] == [1, 2, 3, 4]
    once = reported[runs["killed once"].tags["capsweep.trial_key"]]
    assert [epoch for epoch, _ in once.epochs] == [1, 2, 3, 4]
    # it was killed in its third epoch, when a short second one waited to be kept
    assert [fence for _, fence in once.epochs] in ([1, 2, 2, 2], [1, 1, 2, 2])
    expect_each_epoch_once(runs["killed once"].steps, NUM_EPOCHS)
    num_kept = len(runs["raises"].steps["train_loss"])
    assert num_kept in {1, 2}  # the second one is short, and may have waited to be kept
    expect_each_epoch_once(runs["raises"].steps, num_kept)


def expect_shown_in_the_table(reports: Path) -> None:
    """Check that the table tells of the arms in trouble, escaped for its format."""
    markdown = (reports / "ablation.md").read_text()
    for text in ("raises", "turns NaN", "killed always"):
        assert text in markdown
    assert "diverged" in markdown
    assert "failed" in markdown
    assert "<b>" not in markdown
    assert "<b>" not in (reports / "ablation.svg").read_text()
