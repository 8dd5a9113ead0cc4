"""Each suggested command leads to the records that the command before it was given."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.aggregation.named_models import named_trial
from sweeps.aggregation.paper.macros import values_name
from sweeps.cli.hints import WITHOUT_PLACE
from sweeps.cli.program import COMMANDS, command_line
from sweeps.execution.housekeeping.delete import _check_not_running
from sweeps.execution.launch.writing.launched_sweep import launched_search
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.view.disk_watch import full_disk
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import PLAIN_VARIABLE, SuggestedCommand, commands_written_by
from sweeps.storage.locations import Storage, resolve_storage
from sweeps.tracking.mlflow.connection import _check_version, _earlier_schemas
from sweeps.tracking.mlflow.ui import _check_artifacts
from sweeps.tracking.opening import open_store
from tests.golden.stores.archive import unpack
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.memory_store import MemoryStore

ARCHIVE = Path(__file__).parents[2] / "golden" / "stores" / "finished_design.tar.xz"
SWEEP = "small_design"
KEY = "47a6ef8b8b5f62e7d77b"  # of uniform, seed 1
PLACE = "a b"
OPTION = shlex.join(["--storage", PLACE])


@pytest.fixture
def folder(shell: Shell) -> Path:
    """A storage folder with a finished sweep, which is not where one is looked for."""
    return (unpack(ARCHIVE, shell.folder) / "capsweep-store").rename(shell.folder / PLACE)


def nothing(folder: Path) -> None:
    pass


def lose_trial(folder: Path) -> None:
    from mlflow import MlflowClient

    record = open_store(None, folder).find(KEY).record_id
    MlflowClient(f"sqlite:///{folder}/mlflow.db").delete_run(record)


def lose_sweep(folder: Path) -> None:
    from mlflow import MlflowClient

    sweep_id = open_store(None, folder).sweep_id(SWEEP)
    MlflowClient(f"sqlite:///{folder}/mlflow.db").delete_run(sweep_id)


def damage_log(folder: Path) -> None:
    (resolve_storage(folder).journals / f"{SWEEP}.jsonl").write_text("x\n" * 3)


def lose_store(folder: Path) -> None:
    (folder / "mlflow.db").unlink()


def lose_both(folder: Path) -> None:
    damage_log(folder)
    lose_store(folder)


def cite_wrongly(folder: Path) -> None:
    (folder.parent / "paper.tex").write_text(f"\\input{{{values_name(SWEEP)}}}\n")
    (folder.parent / values_name(SWEEP)).write_text(
        f"\\capsweepvalue{{{SWEEP}}}{{dynamic}}{{test error}}{{1}}\n"
    )


@pytest.mark.parametrize(
    ("prepare", "command", "suggested"),
    [
        (nothing, ("status",), "status NAME"),
        (nothing, ("show", SWEEP), f"status {SWEEP}"),
        (nothing, ("show", SWEEP), f"best {SWEEP}"),
        (nothing, ("report", SWEEP, "--check"), f"report {SWEEP}"),
        (
            nothing,
            ("grid", "quickstart", "model.routing.iterations=1,2"),
            "run quickstart_iterations.py",
        ),
        (lose_trial, ("status", SWEEP), f"repair {SWEEP}"),
        (lose_trial, ("best", SWEEP), f"repair {SWEEP}"),
        (lose_trial, ("report", SWEEP), f"repair {SWEEP}"),
        (lose_trial, ("show", KEY), "repair"),
        (lose_sweep, ("status", SWEEP), f"repair {SWEEP}"),
        (damage_log, ("run", "quickstart", "--name", SWEEP), f"repair {SWEEP}"),
        (lose_store, ("clean",), "repair"),
        (lose_both, ("clean",), "repair"),
        (lose_both, ("delete", SWEEP), "clean"),
        (cite_wrongly, ("verify", "paper.tex"), f"report {SWEEP}"),
    ],
)
def test_a_suggested_command_names_the_storage_folder_that_was_given(
    shell: Shell,
    folder: Path,
    prepare: Callable[[Path], None],
    command: tuple[str, ...],
    suggested: str,
) -> None:
    prepare(folder)
    answer = shell(*command, "--storage", PLACE)
    printed = " ".join((answer.out + answer.err).split())
    assert f"capsweep {suggested} {OPTION}" in printed


def refusal(function: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(BadInput) as refused:
        function(*arguments)
    return str(refused.value)


def pipe_in(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(
    ("sentence", "suggested"),
    [
        (lambda folder: full_disk(folder, 1), "clean"),
        (
            lambda folder: refusal(_check_not_running, "mine", Storage(folder), ["mine"]),
            "stop mine",
        ),
        (lambda folder: refusal(_check_artifacts, pipe_in(folder)), "repair"),
        (lambda folder: refusal(_check_version, next(iter(_earlier_schemas())), folder), "repair"),
        (
            lambda folder: refusal(launched_search, "capsule_search", MemoryStore()),
            "run capsule_search",
        ),
        (lambda folder: refusal(named_trial, "quickstart", launched()), "status quickstart"),
    ],
    ids=["full disk", "delete", "ui", "older store", "ablate", "predict"],
)
def test_a_sentence_that_is_hard_to_come_by_takes_its_command_from_the_command_line(
    tmp_path: Path, sentence: Callable[[Path], str], suggested: str
) -> None:
    def write(command: SuggestedCommand) -> str:
        return f"<{' '.join([command.verb, *command.arguments])}>"

    with commands_written_by(write):
        assert f"<{suggested}>" in sentence(tmp_path)


def launched() -> MemoryStore:
    store = MemoryStore()
    publish_manifest(store.writer(), define("quickstart", Changes(), ()).manifest)
    return store


def test_places_of_the_environment_are_not_repeated(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSWEEP_STORAGE", str(folder))
    assert f"capsweep status {SWEEP} shows" in shell("show", SWEEP).err
    monkeypatch.setenv("CAPSWEEP_STORAGE", "elsewhere")
    assert f"status {SWEEP} {OPTION} shows" in shell("show", SWEEP, "--storage", PLACE).err


def test_what_runs_for_a_user_of_another_machine_suggests_no_places_of_this_one(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setenv(PLAIN_VARIABLE, "1")
    assert f"capsweep status {SWEEP} shows" in shell("show", SWEEP, "--storage", PLACE).err


def test_a_tracking_store_is_named_without_its_password(shell: Shell, folder: Path) -> None:
    address = f"sqlite:///{shell.folder}/{PLACE}/mlflow.db"
    said = shell("show", SWEEP, "--storage", PLACE, "--tracking-uri", address).err
    assert f"best {SWEEP} {OPTION} --tracking-uri '{address}'" in said
    del folder


def test_files_of_a_report_do_not_depend_on_where_its_records_are(
    shell: Shell, folder: Path
) -> None:
    lose_trial(folder)
    assert OPTION in shell("report", SWEEP, "--storage", PLACE).out.replace("\n", " ")
    page = (shell.folder / "reports" / SWEEP / "report.html").read_text()
    assert f"`capsweep repair {SWEEP}` records it again" in page
    for name, content in shell.files().items():
        assert "/reports/" not in name or b"--storage" not in content, name


def test_a_command_is_suggested_with_the_options_that_it_takes() -> None:
    commands = command_line().commands  # type: ignore[attr-defined]
    for verb in COMMANDS:
        names = {parameter.name for parameter in commands[verb].params}
        lacking = {place for place, without in WITHOUT_PLACE.items() if verb in without}
        if verb != "submit":
            assert set(WITHOUT_PLACE) - names == lacking, verb


def test_without_a_command_line_a_suggestion_is_the_plain_command() -> None:
    assert str(SuggestedCommand("run", "a b.py")) == "capsweep run 'a b.py'"
