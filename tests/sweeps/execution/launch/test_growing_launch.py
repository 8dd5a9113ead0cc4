"""What a search adds reaches the recorder's queue, the live view and the log."""

import os
from pathlib import Path
from typing import Any

import pytest

from search_spaces.plans.decisions import Propose, Select, Stop
from search_spaces.plans.search import BASE
from sweeps.execution.engine.capacity import ONE_AT_A_TIME
from sweeps.execution.launch.growing_launch import GrowingLaunch
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.survey import Survey
from sweeps.execution.sweep_log import (
    EarlierLog,
    LogReader,
    SweepLog,
    log_path,
    stored_manifest,
    write_log,
)
from sweeps.execution.view.board import Board
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, Stopped
from sweeps.records.sweep_log import Decided, Declared, LogLines, entries_of, manifest_of, text_of
from sweeps.storage.locations import Storage
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.search.examples import confirm, params, proposed, searched
from tests.sweeps.execution.search.grown import cells_of, with_stopped

URI = "sqlite:///x"


class Scene:
    """A launch of a search that has proposed nothing yet."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.storage = Storage(folder)
        self.definition = searched(seeds=(0, 1), **plan)
        self.log = SweepLog(self.storage.journals, "example")
        self.path = log_path(self.storage.journals, "example")
        self.board = Board([], {}, self.log, num_expected=12)
        survey = Survey(
            definition=self.definition,
            earlier=EarlierLog((), ()),
            current=None,
            known=self.definition.manifest,
            lost=frozenset(),
            cells=(),
            capacity=ONE_AT_A_TIME,
            storage=self.storage,
            tracking_uri=URI,
        )
        self.log.declare(self.definition.declared)
        self.launch = GrowingLaunch(survey, self.board, "parent")

    def decide(self, decision: Propose | Stop | Select) -> Decided:
        """Take a decision as a plan's runner does."""
        entry = self.launch.growing.resolved(decision)
        self.log.append(entry)
        self.launch.growing.take(entry)
        self.launch.grown(entry)
        return entry

    def grow(self, count: int = 1) -> Decided | None:
        """Take some proposals; return the last one."""
        entry = None
        for _ in range(count):
            number = self.launch.growing.manifest.num_proposals
            entry = self.decide(Propose(tuple(cells_of(number, params(number), self.definition))))
        return entry

    def reader(self) -> LogReader:
        """Return what the recorder reads by."""
        return LogReader(self.storage.journals, "example")

    def recorded(self) -> Manifest | None:
        """Return the manifest that the recorder would publish."""
        return manifest_of(entries_of(self.reader().shared()))

    def queued(self) -> list[str]:
        """Return the trial keys that the recorder serves."""
        queue = RecorderQueue(self.storage.journals, URI)
        keys = [cell.trial_key for cell in queue.open_cells("example")]
        queue.close()
        return keys


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_each_proposal_is_queued_shown_and_recorded(scene: Scene) -> None:
    for count in (1, 2):
        scene.grow()
        grown = proposed(scene.definition, count)
        added = [cell for cell in grown.manifest.cells if cell.arm != BASE]  # which is declared
        keys = [cell.trial_key for cell in added]
        assert scene.queued() == keys
        assert [cell.cell.trial_key for cell in scene.board.cells] == keys
        assert scene.recorded() == grown.manifest
        assert scene.launch.definition == grown
    assert scene.board.num_cells == 12
    scene.board.dispatched(scene.queued()[-1])
    assert scene.board.snapshot()[0].num_epochs == 3


def test_a_cell_that_is_shown_already_is_counted_once(scene: Scene) -> None:
    entry = scene.grow(2)
    assert entry
    scene.log.append(entry)
    scene.launch.grown(entry)
    assert len(scene.board.cells) == 4
    assert len(scene.queued()) == 4
    assert scene.recorded() == proposed(scene.definition, 2).manifest


def test_a_count_of_cells_that_falls_is_explained(tmp_path: Path) -> None:
    scene = Scene(tmp_path, trials=3, confirm=confirm(best=2))
    scene.grow(3)
    assert scene.board.said == []
    scene.decide(Select(("proposal 1",), BASE, scene.definition.declared.question))
    (sentence,) = scene.board.said
    assert sentence.startswith(
        f"{len(scene.launch.definition.manifest.cells)} cells instead of 11:"
    )


def test_a_stop_is_recorded_and_queues_nothing(scene: Scene) -> None:
    scene.grow()
    key = scene.queued()[0]
    scene.decide(Stop(key, 2, 0.5))
    assert len(scene.queued()) == len(scene.board.cells) == 2
    stopped = with_stopped(proposed(scene.definition, 1), key, Stopped(epoch=2, value=0.5))
    assert scene.recorded() == stopped.manifest


def test_a_reader_takes_each_line_once_and_none_that_is_torn(scene: Scene) -> None:
    reader, torn = scene.reader(), b'{"sum":"0123abcd","entry":{"ty'
    for count in (1, 2, 3):
        scene.grow()
        with scene.path.open("ab") as file:
            file.write(torn)
        grown = proposed(scene.definition, count).manifest
        assert manifest_of(entries_of(reader.shared())) == grown
        os.truncate(scene.path, scene.path.stat().st_size - len(torn))
    assert reader.shared() == scene.reader().shared()


def test_the_store_gets_no_launches_and_nothing_of_single_trials(scene: Scene) -> None:
    scene.log.start_launch(3)
    scene.grow()
    scene.log.note(scene.queued()[0], "started")
    scene.log.end_launch(0)
    shared = entries_of(scene.reader().shared())
    assert [entry.type for entry in shared] == ["declared", "decided"]
    assert len(scene.log.entries()) == 5


def test_a_line_costs_the_same_however_many_there_are(scene: Scene) -> None:
    sizes: list[int] = []
    scene.grow()
    for _ in range(6):
        before = scene.path.stat().st_size
        scene.grow()
        sizes.append(scene.path.stat().st_size - before)
    assert max(sizes) < 1.1 * min(sizes)


def test_a_design_takes_the_place_of_an_earlier_search(scene: Scene) -> None:
    scene.grow()
    for _ in range(2):
        SweepLog(scene.storage.journals, "example").declare(Declared(manifest=manifest()))
        assert scene.recorded() == manifest()
        assert stored_manifest(scene.storage.journals, "example") == manifest()


def test_a_reader_sees_a_log_that_was_written_anew(scene: Scene) -> None:
    scene.grow(2)
    reader = scene.reader()
    shared = reader.shared()
    write_log(scene.storage.journals, "example", [Declared(manifest=manifest())])
    assert manifest_of(entries_of(reader.shared())) == manifest()
    write_log(scene.storage.journals, "example", entries_of(shared))
    assert reader.shared() == shared


def test_a_log_that_is_empty_is_begun(tmp_path: Path) -> None:
    path = log_path(tmp_path / "journals", "example")
    path.parent.mkdir()
    path.touch()  # as a write that was refused leaves it
    scene = Scene(tmp_path)
    scene.grow(2)
    assert scene.recorded() == proposed(scene.definition, 2).manifest


def test_a_log_that_is_too_large_counts_as_damaged(scene: Scene) -> None:
    scene.grow()
    reader = scene.reader()
    shared = reader.shared()
    os.truncate(scene.path, 20 * 2**30)  # it takes no room on the disk
    assert stored_manifest(scene.storage.journals, "example") is None
    with pytest.raises(BadInput, match="too large to be read"):
        reader.shared()
    write_log(scene.storage.journals, "example", entries_of(shared))
    assert reader.shared() == shared


@pytest.mark.parametrize("damaged", [b"", b"{}", b"garbage", b"garbage\n"])
def test_a_damaged_log_is_refused_each_time_and_read_again_when_it_is_back(
    scene: Scene, damaged: bytes
) -> None:
    scene.grow()
    reader, content = scene.reader(), scene.path.read_bytes()
    shared = reader.shared()
    assert shared == LogLines(content).shared() == text_of(entries_of(content))
    scene.path.write_bytes(content[:100] + b"\n" + damaged + content[100:])
    for asked in (scene.reader(), scene.reader()):
        with pytest.raises(BadInput, match=r"is damaged .line 1 is not as it was written.*repair"):
            asked.shared()
    assert stored_manifest(scene.storage.journals, "example") is None
    scene.path.write_bytes(content)
    assert scene.reader().shared() == shared
