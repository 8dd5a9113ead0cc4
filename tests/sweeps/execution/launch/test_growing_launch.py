"""What a search adds reaches the recorder's queue, the live view and the manifest's file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces.plans.decisions import Stop
from search_spaces.plans.search import BASE
from sweeps.execution.cells.journal import Journal
from sweeps.execution.engine.capacity import ONE_AT_A_TIME
from sweeps.execution.launch.growing_launch import GrowingLaunch
from sweeps.execution.recorder.manifest_file import (
    ManifestReader,
    hand_over,
    log_file,
    stored_manifest,
)
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.survey import Survey
from sweeps.execution.view.board import Board
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, Stopped
from sweeps.records.manifest_growth import ManifestLine
from sweeps.storage.locations import Storage
from sweeps.tracking.manifests import manifest_text
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.search.examples import params, proposed, searched
from tests.sweeps.execution.search.grown import cells_of, with_stopped

URI = "sqlite:///x"


class Scene:
    """A launch of a search that has proposed nothing yet."""

    def __init__(self, folder: Path) -> None:
        self.storage = Storage(folder)
        self.definition = searched(seeds=(0, 1))
        self.journal = Journal(self.storage.journals, "example")
        self.board = Board([], {}, self.journal, num_expected=12)
        plan = Survey(
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
        hand_over(self.storage.journals, self.definition.manifest)
        self.launch = GrowingLaunch(plan, self.board, "parent")

    def grow(self, count: int = 1) -> ManifestLine:
        """Grow by some proposals, and tell of each; return the last line."""
        line = ManifestLine()
        for _ in range(count):
            growing = self.launch.growing
            number = growing.manifest.num_proposals
            line = growing.propose(cells_of(number, params(number), self.definition))
            self.launch.grown(line)
        return line

    def handed_over(self) -> Manifest:
        """Return the manifest that the recorder would read."""
        text = ManifestReader(self.storage.journals, "example").text()
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
        scene.grow()
        grown = proposed(scene.definition, count)
        added = [cell for cell in grown.manifest.cells if cell.arm != BASE]  # which is declared
        keys = [cell.trial_key for cell in added]
        assert scene.queued() == keys
        assert [one.cell.trial_key for one in scene.board.cells] == keys
        assert scene.handed_over() == grown.manifest
        assert scene.launch.definition == grown
    assert scene.board.num_cells == 12
    scene.board.started(scene.queued()[-1])
    assert scene.board.snapshot()[0].num_epochs == 3


def test_a_cell_that_is_shown_already_is_counted_once(scene: Scene) -> None:
    line = scene.grow(2)
    scene.launch.grown(line)
    assert len(scene.board.cells) == 4
    assert len(scene.queued()) == 4
    assert scene.handed_over() == proposed(scene.definition, 2).manifest


def test_a_stop_is_handed_over_and_queues_nothing(scene: Scene) -> None:
    scene.grow()
    key = scene.queued()[0]
    scene.launch.grown(scene.launch.growing.stop(Stop(key, 2, 0.5)))
    assert len(scene.queued()) == len(scene.board.cells) == 2
    stopped = with_stopped(proposed(scene.definition, 1), key, Stopped(epoch=2, value=0.5))
    assert scene.handed_over() == stopped.manifest


def test_a_reader_takes_each_line_once_and_none_that_is_torn(scene: Scene) -> None:
    reader = ManifestReader(scene.storage.journals, "example")
    log = log_file(scene.storage.journals, "example")
    for count in (1, 2, 3):
        scene.grow()
        with log.open("ab") as file:
            file.write(b'{"arms":[{"na')
        grown = proposed(scene.definition, count).manifest
        assert reader.text() == manifest_text(grown)
        log.write_bytes(log.read_bytes().removesuffix(b'{"arms":[{"na'))
    assert reader.text() == manifest_text(grown)


def test_the_log_of_another_manifest_is_not_taken(scene: Scene) -> None:
    scene.grow(2)
    old = log_file(scene.storage.journals, "example").read_bytes()
    longer = searched(seeds=(0, 1), trials=9).manifest
    hand_over(scene.storage.journals, longer)
    assert scene.handed_over() == longer
    log_file(scene.storage.journals, "example").write_bytes(old)
    assert scene.handed_over() == longer


def test_a_line_costs_the_same_however_many_there_are(scene: Scene) -> None:
    log = log_file(scene.storage.journals, "example")
    sizes: list[int] = []
    scene.grow()
    for _ in range(6):
        before = log.stat().st_size
        scene.grow()
        sizes.append(log.stat().st_size - before)
    assert max(sizes) < 1.1 * min(sizes)


def test_a_design_takes_the_place_of_an_earlier_search(scene: Scene) -> None:
    scene.grow()
    for _ in range(2):
        hand_over(scene.storage.journals, manifest())
        assert scene.handed_over() == manifest()
        assert stored_manifest(scene.storage.journals, "example") == manifest()
        assert not log_file(scene.storage.journals, "example").exists()


def test_a_log_that_is_empty_is_begun(scene: Scene) -> None:
    log_file(scene.storage.journals, "example").touch()  # as a write that was refused leaves it
    scene.grow(2)
    assert scene.handed_over() == proposed(scene.definition, 2).manifest


def test_a_log_that_is_too_large_counts_as_damaged(scene: Scene) -> None:
    scene.grow()
    reader = ManifestReader(scene.storage.journals, "example")
    grown = reader.text()
    with log_file(scene.storage.journals, "example").open("r+b") as file:
        file.truncate(20 * 2**30)  # it takes no room on the disk
    assert stored_manifest(scene.storage.journals, "example") is None
    with pytest.raises(BadInput, match="too large to be read"):
        reader.text()
    hand_over(scene.storage.journals, Manifest.model_validate_json(grown))
    assert reader.text() == grown
