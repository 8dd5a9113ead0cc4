"""What a search adds reaches the recorder's queue, the live view and the manifest's file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.board import Board
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.survey import Plan
from sweeps.execution.engine.capacity import ONE_AT_A_TIME
from sweeps.execution.plan.definition import Definition
from sweeps.execution.recorder.manifest_file import hand_over, manifest_file
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.search.definition_growth import with_stopped
from sweeps.records.manifest import Manifest, Stopped
from sweeps.storage.locations import Storage
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.search.examples import proposed, searched

URI = "sqlite:///x"


class Scene:
    """A launch of a search that has proposed nothing yet."""

    def __init__(self, folder: Path) -> None:
        self.storage = Storage(folder)
        self.definition = searched(seeds=(0, 1))
        self.journal = Journal(self.storage.journals, "example")
        self.board = Board([], {}, self.journal, num_expected=12)
        plan = Plan(
            definition=self.definition,
            current=None,
            known=self.definition,
            lost=frozenset(),
            cells=(),
            capacity=ONE_AT_A_TIME,
            estimate_seconds=None,
            storage=self.storage,
            tracking_uri=URI,
        )
        self.launch = GrowingLaunch(plan, self.board, "parent")

    def grow(self, definition: Definition) -> None:
        """Tell of a definition with more cells than there were."""
        known = set(self.launch.definition.manifest.cells)
        new = [cell for cell in definition.manifest.cells if cell not in known]
        self.launch.grown(definition, new)

    def handed_over(self) -> Manifest:
        """Return the manifest that the recorder would read."""
        text = manifest_file(self.storage.journals, "example").read_text(encoding="utf-8")
        return Manifest.model_validate_json(text)

    def queued(self) -> list[str]:
        """Return the trial keys that the recorder serves."""
        queue = RecorderQueue(self.storage.journals, URI)
        keys = [cell.trial_key for cell in queue.open_cells("example")]
        queue.close()
        return keys


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.journal.close()


def test_each_proposal_is_queued_shown_and_handed_over(scene: Scene) -> None:
    for count in (1, 2):
        grown = proposed(scene.definition, count)
        scene.grow(grown)
        keys = [cell.trial_key for cell in grown.manifest.cells]
        assert scene.queued() == keys
        assert [one.cell.trial_key for one in scene.board.cells] == keys
        assert scene.handed_over() == grown.manifest
        assert scene.launch.definition == grown
    assert scene.board.num_cells == 12
    scene.board.started(scene.queued()[-1])
    assert scene.board.snapshot()[0].num_epochs == 3


def test_a_cell_that_is_shown_already_is_counted_once(scene: Scene) -> None:
    grown = proposed(scene.definition, 2)
    for _ in range(2):
        scene.launch.grown(grown, grown.manifest.cells)
    assert len(scene.board.cells) == 4
    assert len(scene.queued()) == 4


def test_a_stop_is_handed_over_and_queues_nothing(scene: Scene) -> None:
    grown = proposed(scene.definition, 1)
    scene.grow(grown)
    key = grown.manifest.cells[0].trial_key
    stopped = with_stopped(grown, key, Stopped(epoch=2, value=0.5))
    scene.launch.grown(stopped, [])
    assert len(scene.queued()) == len(scene.board.cells) == 2
    assert scene.handed_over() == stopped.manifest


def test_a_design_leaves_no_manifest_of_an_earlier_search(scene: Scene) -> None:
    hand_over(scene.storage.journals, scene.definition.manifest)
    assert scene.handed_over() == scene.definition.manifest
    hand_over(scene.storage.journals, manifest())
    assert not manifest_file(scene.storage.journals, "example").exists()
    hand_over(scene.storage.journals, manifest())
