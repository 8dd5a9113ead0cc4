"""A user's own evaluation, filled into a sweep that is finished: one class in the sweep's file."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import sweeps
from sweeps.cli import main
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import write_format
from sweeps.tracking.opening import open_store

SWEEP = '''"""Two arms of a small network."""
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SWEEP = Sweep(
    name="small",
    description="Two arms of a small network.",
    base=QUICKSTART.base.model_validate(
        {
            "data": {"kind": "digits", "fraction": 0.2},
            "model": {"kind": "capsnet", "conv_channels": 4, "conv_kernel": 3, "primary_types": 2,
                      "primary_dim": 4, "primary_kernel": 3, "class_dim": 4},
            "stopping": {"kind": "fixed_epochs", "epochs": 2},
        }
    ),
    plan=ListedArms(baseline="three", arms={"three": {}, "one": {"model.routing.iterations": 1}}),
    seeds=[0, 1],
    # more
)
'''
EVALUATION = '''"""Two arms of a small network, and how sure they are where they are wrong."""
from typing import Literal
from capsmodel.evaluation import Evaluation, Findings


class Sureness(Evaluation):
    """Mean belief in the winner of validation images that are classified wrongly."""

    kind: Literal["sureness"] = "sureness"

    @property
    def looks_at(self):
        """Images that a choice may go by."""
        return "validation"

    @property
    def metrics(self):
        """One number."""
        return (self.metric("when_wrong"),)

    def evaluate(self, trained, data):
        """Return it, and the belief of each image."""
        said = trained.predict(data.validation.images)
        beliefs, is_wrong = said.lengths.max(dim=1).values, said.classes != data.validation.labels
        value = beliefs[is_wrong].mean().item() if is_wrong.any() else 0.0
        return Findings({"when_wrong": value}, images={"beliefs": beliefs.cpu()})


'''
WITH_EVALUATION = EVALUATION + SWEEP.partition("\n")[2].replace(
    "# more", "parts=[Sureness], evaluations=[Sureness()],"
)


def contents(storage: Path) -> dict[str, bytes]:
    """Return every file of the cells and of the records' artifacts, except locks."""
    return {
        str(path.relative_to(storage)): path.read_bytes()
        for folder in ("cells", "artifacts")
        for path in sorted((storage / folder).rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def assert_only_the_evaluation_is_new(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    own_files = (
        "small.jsonl",
        "sweep.jsonl",
        ".html",
        "capsweep-small.tex",
    )  # the sweep now declares the evaluation, pages show it, captions may explain its table
    changed = {name for name in before if after.get(name) != before[name]}
    assert all(name.endswith(own_files) for name in changed)
    keys = tuple(Path(name).stem for name in after if "/evaluations/" in name)
    new = after.keys() - before.keys()
    of_evaluation = {name for name in new if Path(name).name.startswith(keys)}
    assert len([name for name in of_evaluation if name.startswith("cells/")]) == 4 * 2
    assert len([name for name in of_evaluation if name.startswith("artifacts/")]) == 4 * 2
    others = new - of_evaluation
    assert all("/report/" in name or "/sweep-logs/" in name for name in others)


def train_without_ray(file: Path, storage: Path) -> None:
    """Fill the cells' folders as workers do."""
    definition = define(file, Changes(), ())
    storage.mkdir()
    write_format(Storage(storage))
    for cell in definition.manifest.cells:
        order = TrialJob(cells=str(storage / "cells"), spec=definition.spec(cell))
        run_trial(order, lambda _: None)


def launch(file: Path, storage: Path, engine: str = "ray") -> Any:
    return sweeps.run(file, storage=storage, reports=storage / "reports", engine=engine)


def answer(capsys: pytest.CaptureFixture[str], command: str, name: str, storage: Path) -> list[str]:
    """Return the lines that a command prints."""
    argv = ["capsweep", command, name, "--storage", str(storage)]
    capsys.readouterr()
    with patch.object(sys, "argv", argv), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Path:
    """A folder with the file of a sweep that is finished and recorded, and its storage."""
    folder = tmp_path_factory.mktemp("finished")
    file, storage = folder / "small.py", folder / "store"
    file.write_text(SWEEP)
    train_without_ray(file, storage)
    shutil.copy(empty_database, storage)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
        assert launch(file, storage, "inline").exit_code == 0
    return folder


@pytest.fixture
def finished(
    finished_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """The file of a sweep that is finished and recorded, and its storage."""
    monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
    shutil.copytree(finished_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.py", tmp_path / "store"


def test_it_is_filled_in_without_training(
    finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, storage = finished
    assert not any("evaluation" in line for line in answer(capsys, "status", "small", storage))
    before = contents(storage)
    reports = {path.name: path.read_bytes() for path in (storage / "reports" / "small").iterdir()}
    file.write_text(WITH_EVALUATION)

    plan = sweeps.plan(file, storage=storage)
    assert not plan.has_work
    assert plan.has_evaluations_to_make
    result = launch(file, storage, "inline")

    assert (result.exit_code, result.num_trained, result.num_filled) == (0, 0, 4)
    assert result.evaluations is not None
    assert (result.evaluations.num_made, result.evaluations.num_existing) == (4, 4)
    assert_only_the_evaluation_is_new(before, contents(storage))
    store = open_store(f"sqlite:///{storage / 'mlflow.db'}", storage)
    manifest = store.manifest("small")
    (declared,) = manifest.evaluations
    for record in store.records(manifest.cell_keys().values()).values():
        assert list(record.evaluations) == [declared.evaluation_key]
        assert 0 < record.evaluations[declared.evaluation_key]["when_wrong"] < 1
    written = {path.name: path.read_bytes() for path in (storage / "reports" / "small").iterdir()}
    unchanged = ("ablation.md", "ablation.csv", "ablation.tex", "ablation.png", "trials.csv")
    assert all(written[name] == reports[name] for name in unchanged)
    added = {f"evaluations.{ending}" for ending in ("md", "csv", "tex")}
    added |= {"evaluations-table.tex"}
    assert {name for name in written if name not in reports} == added
    assert b"| sureness | when wrong (%) | three (baseline) | 2 |" in written["evaluations.md"]

    assert "evaluation sureness: 4 recorded" in answer(capsys, "status", "small", storage)
    shown = answer(capsys, "show", next(iter(manifest.cell_keys().values())), storage)
    assert "evaluation sureness, of validation images" in shown
    (line,) = (line for line in shown if line.startswith("  when wrong: "))
    assert line.endswith(" %")

    second = launch(file, storage, "inline")
    assert second.evaluations is not None
    assert (second.exit_code, second.evaluations.num_made) == (0, 0)
    assert_only_the_evaluation_is_new(before, contents(storage))


def test_evaluations_alone_leave_empty_cells_empty(finished: tuple[Path, Path]) -> None:
    file, storage = finished
    file.write_text(WITH_EVALUATION.replace("seeds=[0, 1]", "seeds=[0, 1, 2]"))
    places: dict[str, Any] = {"storage": storage, "reports": storage / "reports"}
    result = sweeps.run(file, evaluations_only=True, engine="inline", **places)
    assert (result.exit_code, result.num_trained, result.num_filled) == (0, 0, 4)
    assert result.evaluations is not None
    assert result.evaluations.num_made == 4
    again = sweeps.run(file, evaluations_only=True, engine="inline", **places)
    assert (again.exit_code, again.num_trained) == (0, 0)
    with pytest.raises(sweeps.BadInput, match="--evaluations-only trains nothing: leave one out"):
        sweeps.run(file, evaluations_only=True, retrain=True, **places)


@pytest.mark.nightly  # test_surveyed_evaluations.py has what is missing
def test_what_raises_or_has_no_weights_is_told_and_keeps_nothing_else_back(
    finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, storage = finished
    refusing = 'assert trained.seed == 0, "only the first seed"; said = trained'
    file.write_text(WITH_EVALUATION.replace("said = trained", refusing))
    failed = launch(file, storage)
    assert failed.exit_code == 3
    assert failed.evaluations is not None
    assert (failed.evaluations.num_made, failed.evaluations.num_existing) == (2, 2)
    failures = [
        (failure.arm, failure.seed, failure.kind, failure.reason)
        for failure in failed.evaluations.failures
    ]
    reason = "AssertionError: only the first seed"
    assert sorted(failures) == [("one", 1, "sureness", reason), ("three", 1, "sureness", reason)]

    for weights in storage.rglob("weights*.safetensors"):
        weights.unlink()
    gone = launch(file, storage)
    assert gone.exit_code == 3
    assert gone.evaluations is not None
    assert (gone.evaluations.num_not_available, gone.evaluations.num_existing) == (2, 2)
    assert "2 evaluations are not available" in gone.sentences[-1]
    assert "--retrain" in gone.sentences[-1]
    status = answer(capsys, "status", "small", storage)
    standing = "2 recorded, 2 not available, as the weights were not kept"
    assert f"evaluation sureness: {standing}" in status
    table = (storage / "reports" / "small" / "evaluations.csv").read_text()
    assert [line.split(",")[-1] for line in table.splitlines()[1:]] == ["1", "1"]


@pytest.mark.nightly  # the first test here adds an evaluation in process
def test_the_command_line_trains_and_then_looks_at_what_it_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CAPSWEEP_TRACKING_URI", "CAPSWEEP_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    file, storage = tmp_path / "small.py", tmp_path / "capsweep-store"
    file.write_text(SWEEP)
    assert "4 trained now, 4 of 4 cells filled" in run_command(tmp_path, "run", "small.py")
    before = contents(storage)

    file.write_text(WITH_EVALUATION)
    planned = run_command(tmp_path, "plan", "small.py")
    assert "4 evaluations are missing and will be made from kept weights." in planned
    printed = run_command(tmp_path, "run", "small.py")
    assert "small: evaluations to make from kept weights: 4" in printed
    assert "0 trained now, 4 of 4 cells filled" in printed
    assert "Evaluations: 4 made now, 4 of 4 there." in printed
    assert_only_the_evaluation_is_new(before, contents(storage))
    assert "4 evaluations are already done." in run_command(tmp_path, "plan", "small.py")

    more = run_command(tmp_path, "run", "small.py", "--add-seeds", "2", "--keep-weights", "none")
    assert "2 trained now, 6 of 6 cells filled" in more
    assert "Evaluations: 2 made now, 6 of 6 there." in more
    assert "The weights of 6 trials were not kept" in more

    file.write_text(WITH_EVALUATION.replace("is_wrong.any() else 0.0", "is_wrong.any() else 1.0"))
    arguments = ("run", "small.py", "--seeds", "0-2")
    gone = run_command(tmp_path, *arguments, expected=3)
    assert "6 evaluations are not available, as the weights of their trials were not kept" in gone
    assert "--retrain" in gone
    assert contents(storage).keys() >= before.keys() - {
        name for name in before if "/weights" in name
    }


def run_command(folder: Path, *arguments: str, expected: int = 0) -> str:
    """Run capsweep in a folder and return what it printed."""
    command = [sys.executable, "-P", "-c", "from sweeps.cli import main; main()", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == expected, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return " ".join(done.stdout.split())
