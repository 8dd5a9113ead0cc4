"""A kind of table that the package does not know costs one file: the sweep's own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sweeps
from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.manifest import Manifest
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.store import RecordStore
from tests.sweeps.aggregation.known_sweep import finished, put_sweep
from tests.sweeps.cli.shell import Shell
from tests.sweeps.tracking.memory_store import MemoryStore

FILE = '''
"""How bad is the worst seed of each arm?"""

from typing import Annotated, Literal

from pydantic import Field
from search_spaces import AblationTable, ListedArms, CustomTable, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART
from sweeps import Cell, Column, Figure, Section, Table


class WorstSeed(CustomTable):
    """The worst test error of each arm, in the order of how bad it is."""

    kind: Literal["worst_seed"] = "worst_seed"
    name: str = "worst"
    most: Annotated[int, Field(ge=1)] = 5

    def make(self, results):
        worst = {}
        for cell in results.manifest.cells:
            if record := results.records.get(cell.trial_key):
                worst[cell.arm] = max(worst.get(cell.arm, 0.0), record.test_error)
        ranked = sorted(worst.items(), key=lambda pair: -pair[1])[: self.most]
        table = Table(
            name=self.name,
            title="The worst seed of each arm",
            columns=(
                Column("Arm", ("arm",), align="left"),
                Column("Worst test error", ("test_error",)),
            ),
            rows=tuple(
                (Cell(arm, (arm,)), Cell(f"{error:.3f}", (error,))) for arm, error in ranked
            ),
        )
        figure = Figure(self.name, lambda: drawn(ranked))
        return Section(self.name, self.kind, tables=(table,), figures=(figure,))


def drawn(ranked):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.add_subplot().barh([arm for arm, _ in ranked], [error for _, error in ranked])
    return figure


SWEEP = Sweep(
    name="worst-seeds",
    base=QUICKSTART.base,
    plan=ListedArms(baseline="a", arms={"a": {}, "b": {"batch_size": 16}}),
    seeds=[0, 1],
    tables=[AblationTable(), WorstSeed(most=1)],
)
'''
MAIN = "from sweeps.cli import main; main()"
WRONG = {("a", 0): 9, ("a", 1): 18, ("b", 0): 36, ("b", 1): 3}
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "worst_seeds.py"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.fixture
def tracking_uri(tmp_path: Path, file: Path, empty_database: Path) -> str:
    """Return the address of a store in which the file's sweep has finished."""
    shutil.copy(empty_database, tmp_path)
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    put_finished(MlflowStore(uri, tmp_path / "artifacts"), file)
    return uri


def put_finished(store: RecordStore, file: Path) -> None:
    manifest = define(file, Changes(), ()).manifest
    trials = [
        finished(cell.arm, cell.seed, WRONG[cell.arm, cell.seed], trial_key=cell.trial_key)
        for cell in manifest.cells
    ]
    put_sweep(store, manifest, trials)


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def reported(shell: Shell, tracking_uri: str, sweep: str) -> str:
    """Return what the command line says."""
    answer = shell("report", sweep, "--tracking-uri", tracking_uri)
    assert answer.code in {0, None}, answer.err
    return " ".join(answer.out.split())


def test_the_manifest_holds_the_declaration_as_plain_json(file: Path) -> None:
    text = define(file, Changes(), ()).manifest.model_dump_json()
    declared = {"kind": "worst_seed", "name": "worst", "most": 1}
    assert json.loads(text)["tables"][1] == declared
    assert Manifest.model_validate_json(text).model_dump_json() == text


def test_the_command_line_makes_the_table_where_it_is_given_the_file(
    shell: Shell, tmp_path: Path, tracking_uri: str, file: Path
) -> None:
    output = reported(shell, tracking_uri, str(file))
    folder = tmp_path / "reports" / "worst-seeds"
    assert (folder / "worst.csv").read_text().splitlines() == ["arm,test_error", "b,0.1"]
    assert "| b | 0.100 |" in (folder / "worst.md").read_text()
    assert (folder / "worst.png").read_bytes().startswith(b"\x89PNG")
    assert "left out" not in output


def test_the_report_stays_where_it_is_if_the_table_changes_the_directory(
    shell: Shell, tmp_path: Path, tracking_uri: str, file: Path
) -> None:
    text = file.read_text().replace("worst = {}", "import os; os.chdir('/'); worst = {}")
    file.write_text(text)
    reported(shell, tracking_uri, str(file))
    assert (tmp_path / "reports" / "worst-seeds" / "worst.csv").exists()


def test_without_the_file_all_others_are_made_and_one_sentence_says_what_is_missing(
    shell: Shell, tmp_path: Path, tracking_uri: str
) -> None:
    output = reported(shell, tracking_uri, "worst-seeds")
    names = {path.name for path in (tmp_path / "reports" / "worst-seeds").iterdir()}
    assert {"ablation.md", "ablation.png", "trials.csv", "cost.md"} <= names
    assert not any(name.startswith("worst") for name in names)
    assert "The table 'worst' is left out, as its kind 'worst_seed' is one of" in output
    assert "capsweep report FILE.py" in output


def test_from_python_the_class_is_given_by_argument(tmp_path: Path, file: Path) -> None:
    store = MemoryStore()
    put_finished(store, file)
    classes = sweep_from_file(file)[0].custom_tables
    report = sweeps.report("worst-seeds", store, reports=tmp_path / "reports", tables=classes)
    assert [table.name for table in report.tables] == ["ablation", "worst"]
    assert report.left_out == ()
    assert report.shown == (report.tables[0],)


@pytest.mark.slow
def test_a_launch_makes_it_with_the_others(tmp_path: Path, file: Path) -> None:
    arguments = ["run", str(file), "--epochs", "1", "--seeds", "0", "--engine", "inline"]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (tmp_path / "reports" / "worst-seeds" / "worst.csv").read_text().splitlines()
    assert rows[0] == "arm,test_error"
    assert len(rows) == 2
