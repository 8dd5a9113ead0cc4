"""What was decided outlives the driver, for each definition apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces.plans.decisions import (
    DONE,
    Cell,
    Continue,
    Decision,
    Propose,
    Select,
    Stop,
)
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, Stopped
from tests.sweeps.execution.search.examples import params, proposed, searched
from tests.sweeps.execution.search.grown import with_stopped

KEY, OTHER = "0" * 20, "1" * 20
STOP, GO_ON = Stop(KEY, 2, 0.5), Continue(KEY, 1)


def proposal(number: int, *seeds: int) -> Propose:
    return Propose(tuple(Cell(f"proposal {number}", params(number), seed) for seed in seeds))


class Scene:
    """A journal that is opened again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journals: list[Journal] = []

    def journal(self) -> Journal:
        self._journals.append(Journal(self._folder, "example"))
        return self._journals[-1]

    def log(self, definition: str = "one") -> DecisionLog:
        return DecisionLog(self.journal(), definition)

    def close(self) -> None:
        for journal in self._journals:
            journal.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path / "journals")
    yield scene
    scene.close()


def test_a_new_log_is_empty_and_looking_writes_nothing(scene: Scene) -> None:
    assert scene.log().entries() == []
    tables = "select name from sqlite_master where name = 'decisions'"
    assert scene.journal().database.execute(tables).fetchall() == []


def test_what_was_decided_is_there_at_once_for_the_next_driver_and_in_order(scene: Scene) -> None:
    decisions: list[Decision] = [
        Propose((Cell("a", {"a": 1, "b": 0.1 + 0.2, "c": "x", "d": True}, 3),)),
        GO_ON,
        proposal(1, 0, 1),
        STOP,
        Select(("a", "b"), "c"),
        Select((), None),
        DONE,
    ]
    log = scene.log()
    for number, decision in enumerate(decisions):
        log.append(decision)
        assert scene.log().entries() == decisions[: number + 1]


def test_the_first_decision_about_the_same_thing_stands(scene: Scene) -> None:
    for decision in (GO_ON, Stop(KEY, 1, 0.9), proposal(0, 0), proposal(0, 0), DONE, DONE):
        scene.log().append(decision)
    assert scene.log().entries() == [GO_ON, proposal(0, 0), DONE]


def test_another_choice_stands_beside_the_first_one(scene: Scene) -> None:
    choices = [Select(("a",)), Select(("b",)), Select(("a",))]
    for choice in choices:
        scene.log().append(choice)
    assert scene.log().entries() == choices


def test_what_belongs_to_another_definition_is_not_seen_nor_forgotten(scene: Scene) -> None:
    for definition in ("one", "other"):
        scene.log(definition).append(STOP)
    scene.log("other").append(DONE)
    scene.log("one").forget()
    assert scene.log("one").entries() == []
    assert scene.log("other").entries() == [STOP, DONE]


def manifest() -> Manifest:
    definition = proposed(searched(), 3)
    key = definition.manifest.cells[1].trial_key
    return with_stopped(definition, key, Stopped(epoch=2, value=0.5)).manifest


def test_a_manifest_makes_good_what_the_journal_has_lost(scene: Scene) -> None:
    known = manifest()
    assert known.search
    log = scene.log(known.search.definition)
    log.append(proposal(0, 0))
    log.adopt(known)
    stop = Stop(known.cells[1].trial_key, 2, 0.5)
    assert log.entries() == [*(proposal(number, 0) for number in range(3)), stop]


def test_what_the_journal_knows_stands_against_a_manifest(scene: Scene) -> None:
    known = manifest()
    assert known.search
    log = scene.log(known.search.definition)
    going_on = Continue(known.cells[1].trial_key, 2)
    log.append(going_on)
    log.adopt(known)
    assert log.entries() == [going_on, *(proposal(number, 0) for number in range(3))]


def test_the_manifest_of_another_definition_is_not_adopted(scene: Scene) -> None:
    log = scene.log("other")
    log.adopt(manifest())
    assert log.entries() == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("stop", "no json"),
        ("stop", "{}"),
        ("stop", "[" * 100_000),
        ("stop", None),
        ("propose", '{"cells": []}'),
        ("propose", '{"cells": [{"arm": 1, "settings": [], "seed": "x"}]}'),
        ("dance", "{}"),
    ],
)
def test_a_decision_that_cannot_be_read_is_told_of(
    scene: Scene, kind: str, content: str | None
) -> None:
    scene.log().append(STOP)
    journal = scene.journal()
    row = ("update decisions set kind = ?, content = ?", (kind, content or "null"))
    journal.database.execute(*row)
    with pytest.raises(BadInput, match="a decision in it cannot be read"):
        scene.log().entries()
