"""Evaluations are carried to the record of their trial once, wherever the carrier is killed."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.recorder.recorder import Recorder
from sweeps.records.errors import StoreUnreachable
from sweeps.records.evaluation_record import EvaluationRecord
from tests.sweeps.execution.examples import KEY
from tests.sweeps.execution.recorder.scene import START, Scene
from tests.sweeps.tracking.breaking import Breaking, Killed

EVALUATION_KEY = "ab" * 10
OTHER_KEY = "cd" * 10
METRIC = "evaluation.brightness.abababab.mean"


def evaluation_record(key: str = EVALUATION_KEY, **changes: Any) -> EvaluationRecord:
    fields: dict[str, Any] = {
        "evaluation_key": key,
        "trial_key": KEY,
        "evaluation": {"kind": "brightness", "most": 3},
        "looks_at": "validation",
        "metrics": {"mean": 0.25},
        "images": ("values",),
        "pictures": ("dot",),
        "time": 4000,
        "fence": 2,
    }
    return EvaluationRecord.model_validate(fields | changes)


class EvaluatedScene(Scene):
    """A cell whose evaluations are to be carried."""

    def finish_and_record(self) -> None:
        self.report(START)
        self.finish()
        self.recorder().drain()

    def recorder(self, records: Any = None) -> Recorder:
        return Recorder(records or self.records, self.queue, self.cells)

    def evaluate(self, record: EvaluationRecord) -> None:
        CellEvaluations(self.cell.path).write(record, b"images", {"dot": b"picture"})
        self.queue.add_evaluated([KEY], "example")

    def evaluation_files(self) -> list[str]:
        names = ("json", "png", "safetensors")
        carried = [
            name for name in self.stored_run().files if name.startswith((EVALUATION_KEY, OTHER_KEY))
        ]
        return sorted(name for name in carried if name.endswith(names))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[EvaluatedScene]:
    made = EvaluatedScene(tmp_path)
    made.finish_and_record()
    yield made
    made.queue.close()


def test_an_evaluation_is_a_metric_a_fact_and_files_of_the_same_record(
    scene: EvaluatedScene,
) -> None:
    before = dict(scene.stored_run().facts), scene.stored_run().last_values()
    scene.evaluate(evaluation_record())
    assert scene.recorder().drain_evaluations() == 1
    run = scene.stored_run()
    assert run.last_values() == before[1] | {METRIC: 0.25}
    assert run.facts == before[0] | {f"capsweep.evaluation.{EVALUATION_KEY}": "brightness"}
    assert scene.evaluation_files() == [
        f"{EVALUATION_KEY}.dot.png",
        f"{EVALUATION_KEY}.json",
        f"{EVALUATION_KEY}.safetensors",
    ]
    record = scene.store.record(KEY)
    assert record is not None
    assert record.evaluations == {EVALUATION_KEY: {"mean": 0.25}}
    assert scene.queue.evaluated() == []
    assert scene.recorder().drain_evaluations() == 0


def test_a_later_evaluation_joins_the_earlier_one(scene: EvaluatedScene) -> None:
    for key in (EVALUATION_KEY, OTHER_KEY):
        scene.evaluate(evaluation_record(key, images=(), pictures=()))
        scene.recorder().drain_evaluations()
    record = scene.store.record(KEY)
    assert record is not None
    assert record.evaluations == {EVALUATION_KEY: {"mean": 0.25}, OTHER_KEY: {"mean": 0.25}}


@pytest.mark.parametrize("after", [False, True])
def test_wherever_it_is_killed_the_next_one_ends_with_the_same(after: bool, tmp_path: Path) -> None:
    for at_call in itertools.count(1):
        folder = tmp_path / str(at_call)
        folder.mkdir()
        scene = EvaluatedScene(folder)
        scene.finish_and_record()
        scene.evaluate(evaluation_record())
        breaking = Breaking(scene.records, at_call, after)
        with suppress(Killed):
            scene.recorder(breaking).drain_evaluations()
        scene.recorder().drain_evaluations()
        assert list(scene.stored_run().points[METRIC]) == [(0, 4000, "0.25")]
        assert len(scene.evaluation_files()) == 3
        assert scene.queue.evaluated() == []
        scene.queue.close()
        if breaking.num_calls < at_call:
            break
    assert at_call > 5


def test_one_that_is_written_while_another_is_carried_is_not_lost(scene: EvaluatedScene) -> None:
    scene.evaluate(evaluation_record())
    (request,) = scene.queue.evaluated()
    scene.evaluate(evaluation_record(OTHER_KEY))
    scene.queue.drop_evaluated(request)
    assert [trial.trial_key for trial in scene.queue.evaluated()] == [KEY]
    scene.recorder().drain_evaluations()
    assert len(scene.evaluation_files()) == 6


def test_one_without_a_record_waits_for_it(tmp_path: Path) -> None:
    scene = EvaluatedScene(tmp_path)
    scene.evaluate(evaluation_record())
    assert scene.recorder().drain_evaluations() == 0
    scene.finish_and_record()
    assert scene.recorder().drain_evaluations() == 1
    scene.queue.close()


def test_a_damaged_one_is_told_and_keeps_its_request(scene: EvaluatedScene) -> None:
    scene.evaluate(evaluation_record())
    *_, path = CellEvaluations(scene.cell.path).files(evaluation_record()).values()
    path.write_text("{")
    recorder = scene.recorder()
    assert recorder.drain_evaluations() == 0
    assert "cannot be read" in recorder.error
    assert len(scene.queue.evaluated()) == 1


def test_a_store_that_is_away_is_no_complaint(scene: EvaluatedScene) -> None:
    scene.evaluate(evaluation_record())
    scene.store.backend.is_unreachable = True
    with pytest.raises(StoreUnreachable):
        scene.recorder().drain_evaluations()
    assert len(scene.queue.evaluated()) == 1
