"""The commands as they are listed, explained and answered; what is refused is in refusals.toml."""

import re
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from search_spaces.catalogue import named_sweep
from sweeps.aggregation.trial_view import TrialView
from sweeps.cli.commands.show import print_trial
from sweeps.cli.program import COMMANDS as EVERY_COMMAND
from sweeps.execution.survey import survey as disk_survey
from sweeps.records.trial_record import Outcome, TrialRecord, sweep_log_artifact
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import write_format
from sweeps.tracking.record_facts import TAG_LOG_HASH
from tests.sweeps.cli.shell import Shell

COMMANDS = (
    "list",
    "parts",
    "new",
    "grid",
    "ablate",
    "confirm",
    "plan",
    "check",
    "run",
    "stop",
    "limit",
    "submit",
    "cluster",
    "status",
    "best",
    "show",
    "predict",
    "logs",
    "diff",
    "ui",
    "report",
    "verify",
    "repair",
    "delete",
    "clean",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(shell: Shell, command: str) -> None:
    answer = shell(command, "--help")
    assert answer.code == 0
    assert answer.out.startswith("Usage: capsweep " + command)
    assert answer.err == ""


def test_these_are_the_commands() -> None:
    assert tuple(EVERY_COMMAND) == COMMANDS


@pytest.mark.parametrize("command", ["status", "report", "best", "plan", "run"])
def test_a_log_that_is_not_valid_is_refused(shell: Shell, storage: Path, command: str) -> None:
    client = MlflowClient(f"sqlite:///{storage / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("capsweep")
    assert experiment is not None
    (parent,) = client.search_runs([experiment.experiment_id])
    folder = storage / "artifacts" / parent.info.run_id / "artifacts"
    digest = parent.data.tags[TAG_LOG_HASH]
    (folder / sweep_log_artifact(digest)).write_text('{"sweep": "quickstart"}')
    assert "The log of sweep 'quickstart' is not valid" in shell.refused(command, "quickstart")


def test_named_sweeps_are_listed_with_their_question(shell: Shell) -> None:
    answer = shell("list")
    assert answer.code == 0
    assert "quickstart" in answer.out
    assert "capsweep run NAME" in answer.out


def test_a_plan_says_what_seeds_that_are_added_after_looking_ask_for(
    shell: Shell, storage: Path
) -> None:
    assert storage.exists()
    assert "added after looking" not in shell("plan", "quickstart").out
    assert (
        "Seeds added after looking: 5, 6." in shell("plan", "quickstart", "--add-seeds", "5-6").out
    )


def test_a_plan_tells_arms_seeds_and_why_and_writes_nothing(shell: Shell) -> None:
    answer = shell("plan", "quickstart", "--seeds", "0-4", "--set", "batch_size=64")
    assert (answer.code, answer.err) == (0, "")
    num_arms = len(named_sweep("quickstart").arms())
    assert f"{num_arms} arms x 5 seeds = {5 * num_arms} cells" in answer.out
    assert f"{5 * num_arms} are new and will be trained." in answer.out
    assert "no estimate" in answer.out
    assert shell.files() == {}


def test_a_plan_says_of_shipped_data_too_that_a_batch_is_larger_than_them(shell: Shell) -> None:
    arguments = ("plan", "quickstart", "--set")
    assert "The batch size" not in shell(*arguments, "batch_size=1257").out
    large = "is more than the 1,257 training images, so that an epoch is one step (arm '3 iterat"
    assert f"The batch size 1,258 {large}" in shell(*arguments, "batch_size=1258").out
    few = shell(*arguments, "data.fraction=0.1", "--set", "batch_size=128").out
    assert "The batch size 128 is more than about 126 training images" in few
    assert "(arm '" in few


def test_a_plan_says_where_a_training_may_end_before_its_full_length(shell: Shell) -> None:
    target = ("--set", "stopping=target_metric", "--set", "stopping.at_or_below=0.04")
    answer = shell("plan", "quickstart", *target, "--epochs", "3")
    assert (answer.code, answer.err) == (0, "")
    assert "up to 3" in answer.out


def test_a_trial_is_shown_with_its_target_extra_tests_and_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = TrialRecord(
        record_id="1",
        trial_key="0" * 20,
        outcome=Outcome.FINISHED,
        seed=0,
        metrics={"test_error": 0.25, "test_error.familiar": 0.125},
        target="missed",
        warnings=("all class capsules are [dead]",),
    )
    stopping = {"metric": "validation_error", "at_or_below": 0.04, "max_epochs": 9}
    print_trial(TrialView(record, {"stopping": stopping}, {}, None))
    lines = capsys.readouterr().out.splitlines()
    assert "test error, familiar: 12.50 %" in lines
    assert "target: missed (validation error at or below 4 %)" in lines
    assert "warning: all class capsules are [dead]" in lines


@pytest.mark.usefixtures("storage")
def test_the_status_of_a_sweep_that_was_only_launched_is_all_missing(shell: Shell) -> None:
    answer = shell("status", "quickstart")
    assert (answer.code, answer.err) == (0, "")
    assert "missing" in answer.out


@pytest.mark.usefixtures("storage")
def test_best_of_a_sweep_without_results_says_so(shell: Shell) -> None:
    answer = shell("best", "quickstart")
    assert (answer.code, answer.out) == (0, "No trial of quickstart has finished.\n")


def test_one_part_is_told_in_full(shell: Shell) -> None:
    output = shell("parts", "em").out
    assert "\nfrom capsmodel.routing import EMRouting\n" in output
    assert "variance_floor" in output
    assert "Hinton, Sabour and Frosst 2018" in output


def test_the_list_of_parts_says_how_each_is_imported(shell: Shell) -> None:
    lines = shell("parts").out.splitlines()
    routings = lines[lines.index("routing: from capsmodel.routing import ...") :]
    assert next(line.split()[:2] for line in routings if "EMRouting" in line) == ["em", "EMRouting"]


def test_a_repair_says_what_it_did(shell: Shell, storage: Path) -> None:
    del storage  # in which quickstart was launched and not ended
    answer = shell("repair")
    assert answer.code == 0
    assert "1 records of 'quickstart' that looked as if they ran were ended" in answer.out
    answer = shell("repair", "quickstart")
    assert answer.code == 0
    assert answer.out == "All is whole: nothing was changed.\n"
    assert "Did you mean 'quickstart'?" in shell.refused("repair", "quickstrat")


def test_what_would_be_free_is_told_and_freed_with_yes(shell: Shell, storage: Path) -> None:
    checkpoint = storage / "cells" / ("0" * 64) / "checkpoint.safetensors"
    checkpoint.parent.mkdir(parents=True)
    write_format(Storage(storage))
    checkpoint.write_bytes(bytes(3 * 2**20))
    aside = storage / "mlflow.db.damaged-1"
    aside.touch()
    output = shell("clean").out
    assert re.search(r"checkpoints that nothing needs +1 +3\.0 MiB", output)
    assert "3.0 MiB would be free: the same command with --yes frees them." in output
    assert shell("clean", "--older-than", "30d").out == "There is nothing to free.\n"
    assert shell("clean", "quickstart", "--yes").out == "Nothing was freed.\n"
    assert checkpoint.exists()
    answer = shell("clean", "--yes")
    assert (answer.code, "3.0 MiB are free." in answer.out) == (0, True)
    assert not checkpoint.exists()
    assert not aside.exists()


def a_mebibyte(folder: Path) -> int:
    """Stand in for what is free on a disk."""
    del folder
    return 2**20


def test_a_plan_says_what_it_takes_on_the_disk_and_warns_where_that_is_not_there(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("plan", "quickstart", "--max-concurrent", "1")
    output = shell(*asked).out
    assert re.search(
        r"Disk: about \d+\.\d MiB will stay, \d+\.\d MiB more for longer trainings", output
    )
    assert "too small" not in output
    monkeypatch.setattr(disk_survey, "free_bytes", a_mebibyte)
    output = shell(*asked).out
    assert "1.0 MiB are free." in output
    assert re.search(r"The disk is too small: about \d+\.\d MiB are missing", output)
    assert "capsweep clean" in output
