"""Evaluations stand beside a trial: made from its weights, once, and nothing else is touched."""

from bdb import BdbQuit
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from capsmodel import Trained, TrainingConfig
from capsmodel.evaluation import (
    FGSM,
    Confidence,
    ShiftedTestError,
    TransferError,
    findings_of,
)
from capsmodel.training.training import Training
from search_spaces.evaluation_key import evaluation_key
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker.evaluation import (
    EvaluationJob,
    run_evaluations,
    train_and_evaluate,
)
from sweeps.execution.worker.trial import run_trial
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from sweeps.storage.folder import Folder
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.worker import trials

CONFIG = small_config()
KEY = "0123456789abcdef0123"
BOTH = (ShiftedTestError(pixels=1), Confidence())


def job_of(cells: Path, *evaluations: Any, **changes: Any) -> EvaluationJob:
    fields = {
        "cells": str(cells),
        "trial_key": KEY,
        "seed": 0,
        "config": CONFIG.model_dump(mode="json"),
        "weights": str(cells / KEY / "weights.safetensors"),
        "evaluations": [evaluation.model_dump(mode="json") for evaluation in evaluations],
    }
    return EvaluationJob.model_validate(fields | changes)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    folder = CellFolder(tmp_path, KEY)
    folder.path.mkdir()
    Training(CONFIG, seed=0).trained().save(folder.weights)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    written_to = {"lock", "log.txt"}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in written_to]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_each_finds_what_it_finds_of_the_network(cells: Path) -> None:
    records = run_evaluations(job_of(cells, *BOTH))
    trained, data = Training(CONFIG, seed=0).trained(), CONFIG.data.load("cpu")
    for record, evaluation in zip(records, BOTH, strict=True):
        expected = evaluation.evaluate(trained, data)
        assert record.metrics == expected.metrics
        assert record.evaluation == evaluation.model_dump(mode="json")
        assert record.looks_at == evaluation.looks_at
        assert record.schemas == evaluation.metrics
        assert record.evaluation_key == evaluation_key(evaluation)
        assert CellEvaluations(cells / KEY).read(record.evaluation_key) == record
        saved = load_file(next(iter(CellEvaluations(cells / KEY).files(record).values())))
        assert {name: values.tolist() for name, values in saved.items()} == {
            name: values.tolist() for name, values in expected.images.items()
        }


def test_the_network_of_another_trial_comes_from_its_folder(cells: Path) -> None:
    other = trials.job_of(cells, seed=1)
    run_trial(other, trials.silent)
    key = other.spec.trial_key
    evaluation = TransferError(source=key, attack=FGSM(), epsilons=(0.0, 0.1), num_images=20)
    (record,) = run_evaluations(job_of(cells, evaluation))
    config = TrainingConfig.model_validate(other.spec.config)
    source = Trained.load(CellFolder(cells, key).weights, config, 1)
    trained, data = Training(CONFIG, seed=0).trained(), CONFIG.data.load("cpu")
    assert record.metrics == findings_of(evaluation, trained, data, {key: source}).metrics
    assert record.metrics["source_error.epsilon_0.1"] > record.metrics["source_error.epsilon_0"]


def test_another_trial_that_is_not_there_leaves_the_evaluation_to_be_made(cells: Path) -> None:
    evaluation = TransferError(source="f" * 20)
    with pytest.raises(ValueError, match=r"the trial f+, which the storage folder does not have"):
        run_evaluations(job_of(cells, evaluation))
    assert not CellEvaluations(cells / KEY).keys()
    assert not (cells / evaluation.source).exists()


def test_a_trial_is_evaluated_where_it_was_trained_as_it_would_be_later(tmp_path: Path) -> None:
    job = trials.job_of(tmp_path)
    key, dumped = job.spec.trial_key, Confidence().model_dump(mode="json")
    with_evaluation = job.model_copy(update={"evaluations": (dumped,)})
    assert train_and_evaluate(with_evaluation, trials.silent) is Outcome.FINISHED
    made = CellEvaluations(tmp_path / key).read(evaluation_key(Confidence()))
    config = TrainingConfig.model_validate(job.spec.config)
    trained = Trained.load(CellFolder(tmp_path, key).weights, config, 0)
    assert made
    assert made.metrics == Confidence().evaluate(trained, config.data.load("cpu")).metrics


def test_a_failed_evaluation_leaves_its_training_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Confidence, trained: object, data: object) -> None:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(Confidence, "evaluate", failing)
    job = trials.job_of(tmp_path)
    job = job.model_copy(update={"evaluations": (Confidence().model_dump(mode="json"),)})
    assert train_and_evaluate(job, trials.silent) is Outcome.FINISHED
    folder = CellFolder(tmp_path, job.spec.trial_key)
    assert folder.is_filled()
    assert not CellEvaluations(folder.path).keys()
    assert "ZeroDivisionError: by chance" in folder.log.read_text()


def test_leaving_a_debugger_in_an_evaluation_ends_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(self: Confidence, trained: object, data: object) -> None:
        raise BdbQuit

    monkeypatch.setattr(Confidence, "evaluate", leave)
    job = trials.job_of(tmp_path)
    job = job.model_copy(update={"evaluations": (Confidence().model_dump(mode="json"),)})
    with pytest.raises(BdbQuit):
        train_and_evaluate(job, trials.silent)


def test_the_trials_own_files_keep_their_bytes(cells: Path) -> None:
    before = contents(cells)
    run_evaluations(job_of(cells, *BOTH))
    after = contents(cells)
    assert {name: after[name] for name in before} == before
    added = {name for name in after if name not in before}
    keys = {evaluation_key(evaluation) for evaluation in BOTH}
    endings = {".json", "-1.safetensors"}
    assert added == {f"{KEY}/evaluations/{key}{end}" for key in keys for end in endings}


def test_the_first_result_stands(cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_evaluations(job_of(cells, Confidence()))
    before = contents(cells)
    (cells / KEY / "weights.safetensors").unlink()  # nothing that is there is made again
    assert run_evaluations(job_of(cells, Confidence())) == first
    del before[f"{KEY}/weights.safetensors"]
    assert contents(cells) == before
    other = first[0].model_copy(update={"metrics": {"mean_belief": 0.0}})
    assert CellEvaluations(cells / KEY).write(other, b"", {}) == first[0]
    assert contents(cells) == before


def test_an_evaluation_of_a_writer_without_its_lock_is_dropped_when_it_is_the_second(
    cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluations = CellEvaluations(cells / KEY)
    (first,) = run_evaluations(job_of(cells, Confidence()))
    before = contents(cells)
    stale = first.model_copy(update={"metrics": {"mean_belief": 0.0}, "fence": 2})
    with monkeypatch.context() as patch:  # it looked before the first was there
        patch.setattr(CellEvaluations, "read", lambda *_: None)
        evaluations.write(stale, b"other images", {"dot": b"other picture"})
    assert contents(cells) == before
    assert evaluations.read(first.evaluation_key) == first


def test_evaluations_of_early_stores_are_found_under_their_names(cells: Path) -> None:
    (record,) = run_evaluations(job_of(cells, Confidence()))
    fenced, _ = CellEvaluations(cells / KEY).files(record).values()
    early = fenced.with_name(f"{record.evaluation_key}.safetensors")
    fenced.rename(early)
    assert CellEvaluations(cells / KEY).files(record)[early.name] == early


def test_a_killed_one_costs_itself_alone(cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def killed(self: Confidence, trained: object, data: object) -> None:
        calls.append(self.kind)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Confidence, "evaluate", killed)
        with pytest.raises(KeyboardInterrupt):
            run_evaluations(job_of(cells, *BOTH))
    assert CellEvaluations(cells / KEY).keys() == {evaluation_key(BOTH[0])}
    before = contents(cells)
    run_evaluations(job_of(cells, *BOTH))
    after = contents(cells)
    assert CellEvaluations(cells / KEY).keys() == {
        evaluation_key(evaluation) for evaluation in BOTH
    }
    assert {name: after[name] for name in before} == before


def test_a_write_cut_off_before_its_end_is_made_again(
    cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Folder, name: str, content: bytes) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_first", killed)
        with pytest.raises(KeyboardInterrupt):
            run_evaluations(job_of(cells, Confidence()))
    assert CellEvaluations(cells / KEY).keys() == set()
    (record,) = run_evaluations(job_of(cells, Confidence()))
    assert all(path.exists() for path in CellEvaluations(cells / KEY).files(record).values())


def test_it_is_the_cells_one_writer(cells: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(self: Confidence, trained: Any, data: Any) -> Any:
        is_busy.append(CellFolder(cells, KEY).is_busy())
        return evaluate(self, trained, data)

    is_busy: list[bool] = []
    evaluate = Confidence.evaluate
    monkeypatch.setattr(Confidence, "evaluate", busy)
    run_evaluations(job_of(cells, Confidence()))
    assert is_busy == [True]
    assert not CellFolder(cells, KEY).is_busy()


def test_a_damaged_result_is_refused_and_named(cells: Path) -> None:
    (record,) = run_evaluations(job_of(cells, Confidence()))
    *_, path = CellEvaluations(cells / KEY).files(record).values()
    path.write_text("{")
    with pytest.raises(BadInput, match=f"The evaluation {path} cannot be read"):
        run_evaluations(job_of(cells, Confidence()))


def test_where_no_gpu_is_the_processor_stands_in(cells: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    (record,) = run_evaluations(job_of(cells, Confidence(), device="cuda"))
    assert record.hardware.startswith("cpu")


SOURCE = '''from typing import Literal
from capsmodel.evaluation import Evaluation, Findings

class Constant(Evaluation):
    """A number and a picture."""
    kind: Literal["constant"] = "constant"

    def evaluate(self, trained, data):
        """Return them."""
        return Findings(pictures={"dot": b"\\x89PNG\\r\\n"}, left_out=("Nothing else.",))
'''


def test_ones_own_evaluation_comes_from_the_source_beside_it(cells: Path) -> None:
    job = job_of(cells, source=SOURCE, evaluations=[{"kind": "constant"}])
    (record,) = run_evaluations(job)
    assert (record.kind, record.pictures, record.left_out) == (
        "constant",
        ("dot",),
        ("Nothing else.",),
    )
    assert record.looks_at == "test"
    (picture, _) = CellEvaluations(cells / KEY).files(record).values()
    assert picture.read_bytes() == b"\x89PNG\r\n"
