"""A store that is damaged, or another's, is told of in a sentence; what can be read is read."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest

from sweeps.execution.launch_process.launch_lock import make_folders
from sweeps.storage.locations import Storage
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import line_with
from tests.sweeps.storage.test_sqlite_file import left_by_a_killed_writer

COMMANDS = ["status", "report", "best", "plan"]
TABLES = ["alembic_version", "experiments", "latest_metrics", "metrics", "params", "runs", "tags"]


@pytest.mark.parametrize("table", TABLES)
def test_a_store_without_one_of_its_tables_is_refused_and_left_as_it_is(
    shell: Shell, storage: Path, table: str
) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database:
        database.execute(f"drop table {table}")
    for command in COMMANDS:
        assert f"it has no table '{table}'" in shell.refused(command, "quickstart")


def test_a_store_of_a_newer_mlflow_is_refused_in_a_sentence(shell: Shell, storage: Path) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        database.execute("update alembic_version set version_num = 'ffff00001111'")
    expected = (
        f"capsweep: The tracking store at {storage}/mlflow.db was written by a newer MLflow than "
        f"{version('mlflow')}, which is installed here (its schema 'ffff00001111' is unknown): "
        f"install that MLflow, or name another place with --storage or --tracking-uri.\n"
    )
    for command in ("status", "report quickstart", "plan quickstart", "repair"):
        answer = shell(*command.split())
        assert (answer.code, answer.out, answer.err) == (2, "", expected)


def test_a_store_without_a_version_is_refused(shell: Shell, storage: Path) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        database.execute("delete from alembic_version")
    assert "it has no version" in shell.refused("status", "quickstart")


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000], ids=["nothing", "garbage"])
def test_a_database_that_is_none_is_refused(shell: Shell, storage: Path, content: bytes) -> None:
    (storage / "mlflow.db").write_bytes(content)
    for command in COMMANDS if content else COMMANDS[:3]:  # a launch fills an empty one
        assert "mlflow.db" in shell.refused(command, "quickstart")


def test_a_report_on_a_store_that_cannot_be_written_to_is_written_and_says_so(
    shell: Shell, storage: Path
) -> None:
    for folder in storage.glob("artifacts/*/artifacts"):
        (folder / "report").write_text("no folder")
    answer = shell("report", "quickstart")
    assert answer.code == 0, answer.err
    assert "not kept with the sweep's own record" in " ".join(answer.out.split())
    assert (shell.folder / "reports/quickstart/trials.csv").is_file()


@pytest.mark.parametrize("name", ["cells", "journals", "artifacts", "logs"])
def test_a_storage_folder_that_leads_elsewhere_is_refused(
    shell: Shell, storage: Path, name: str
) -> None:
    (shell.folder / "elsewhere").mkdir()
    if (storage / name).exists():
        (storage / name).rename(storage / "was")
    (storage / name).symlink_to(shell.folder / "elsewhere")
    for command in COMMANDS:
        assert f"{name} is a link" in shell.refused(command, "quickstart")


def test_a_pipe_in_place_of_a_file_holds_nobody_up(shell: Shell, storage: Path) -> None:
    cells = storage / "cells"
    make_folders(Storage(storage))
    plan = shell("status", "quickstart")
    assert plan.code == 0
    from sweeps.tracking.opening import open_store

    for cell in open_store(None, storage).manifest("quickstart").cells:
        (cells / cell.trial_key).mkdir()
        os.mkfifo(cells / cell.trial_key / "final.json")
    for command in ("status", "plan"):
        assert "final.json is not a regular file" in shell.refused(command, "quickstart")


def test_a_number_that_is_a_text_leaves_its_record_out(shell: Shell, storage: Path) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        (run,) = database.execute("select run_uuid from runs").fetchone()
        database.execute("update tags set value = 'trial' where key = 'capsweep.type'")
        database.execute(
            "insert into tags select 'capsweep.trial_key', ?, run_uuid from runs", ("a" * 20,)
        )
        row = {"run_uuid": run, "key": "test_error", "value": "\x1b", "timestamp": 1, "step": 1}
        columns = [name for _, name, *_ in database.execute("pragma table_info(latest_metrics)")]
        values = [row.get(name, 0) for name in columns]
        marks = ", ".join("?" * len(values))
        database.execute(f"insert into latest_metrics values ({marks})", values)
    assert "There is no trial 'aaaa'" in shell("show", "aaaa").err


def test_a_log_with_values_that_none_can_have_is_refused(shell: Shell, storage: Path) -> None:
    make_folders(Storage(storage))
    line = line_with('{"type":"launch_started","at":1e999,"num_cells":1}')
    (storage / "journals/quickstart.jsonl").write_bytes(line)
    sentence = shell.refused("status", "quickstart")
    assert "quickstart.jsonl is damaged (launch_started.at: Input should be" in sentence


@pytest.mark.parametrize(
    "value", ["null", "x'00ff'"], ids=["a tag that is nothing", "a tag that is bytes"]
)
def test_a_row_that_is_no_text_is_left_out(shell: Shell, storage: Path, value: str) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        database.execute(f"update tags set value = {value} where key = 'capsweep.sweep'")
    assert shell("clean").code == 0
    assert "There is no sweep 'quickstart'" in shell.refused("status", "quickstart")


def test_a_store_left_by_a_killed_writer_is_read(shell: Shell, storage: Path) -> None:
    left_by_a_killed_writer(storage / "mlflow.db")
    for command in ("status", "plan"):
        answer = shell(command, "quickstart")
        assert answer.code == 0, answer.err


def test_what_mlflow_logs_of_a_row_does_not_reach_the_terminal(storage: Path) -> None:
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        escape = "cast(x'ff1b5b324a1b5d303b6f776e656407' as text)"
        database.execute(f"update tags set value = {escape} where key = 'capsweep.sweep'")
    capsweep = str(Path(sys.executable).with_name("capsweep"))
    command = [capsweep, "status", "quickstart", "--storage", str(storage)]
    said = subprocess.run(command, capture_output=True, check=False)
    assert said.returncode == 2, said.stderr
    assert b"\x1b" not in said.stdout + said.stderr
    assert b"Traceback" not in said.stderr
