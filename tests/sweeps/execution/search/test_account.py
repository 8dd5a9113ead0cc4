"""What was proposed and decided outlives the driver, for each definition apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.execution.cells.journal import Journal
from sweeps.execution.search.account import SearchAccount, Verdict
from sweeps.execution.search.definition_growth import with_stopped
from sweeps.records.manifest import Manifest, Stopped
from tests.sweeps.execution.search.examples import params, proposed, searched

KEY, OTHER = "0" * 20, "1" * 20
STOP = Verdict(KEY, 2, 0.5, is_stop=True)
GO_ON = Verdict(KEY, 1, 0.25, is_stop=False)


class Scene:
    """A journal that is opened again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journals: list[Journal] = []

    def account(self, definition: str = "one") -> SearchAccount:
        self._journals.append(Journal(self._folder, "example"))
        return SearchAccount(self._journals[-1], definition)

    def close(self) -> None:
        for journal in self._journals:
            journal.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path / "journals")
    yield scene
    scene.close()


def test_a_new_account_is_empty(scene: Scene) -> None:
    account = scene.account()
    assert (account.proposals(), account.verdicts(), account.stopped()) == ([], [], {})


def test_what_was_noted_is_there_at_once_for_the_next_driver(scene: Scene) -> None:
    account = scene.account()
    account.propose(0, {"a": 1, "b": 0.1, "c": "x", "d": True})
    account.judge(GO_ON)
    account.judge(STOP)
    again = scene.account()
    assert again.proposals() == [{"a": 1, "b": 0.1, "c": "x", "d": True}]
    assert again.verdicts() == [GO_ON, STOP]
    assert again.stopped() == {KEY: Stopped(epoch=2, value=0.5)}


def test_a_number_that_no_decimal_holds_survives(scene: Scene) -> None:
    account = scene.account()
    account.propose(0, {"a": 0.1 + 0.2})
    account.judge(Verdict(KEY, 1, 0.1 + 0.2, is_stop=True))
    assert scene.account().proposals() == [{"a": 0.1 + 0.2}]
    assert scene.account().stopped()[KEY].value == 0.1 + 0.2


def test_proposals_come_in_the_order_of_their_numbers(scene: Scene) -> None:
    account = scene.account()
    for number in (2, 10, 0, 1):
        account.propose(number, {"a": number})
    assert account.proposals() == [{"a": number} for number in (0, 1, 2, 10)]


def test_the_first_proposal_of_a_number_stands(scene: Scene) -> None:
    scene.account().propose(0, {"a": 1})
    scene.account().propose(0, {"a": 2})
    assert scene.account().proposals() == [{"a": 1}]


def test_the_first_verdict_at_a_rung_stands(scene: Scene) -> None:
    scene.account().judge(GO_ON)
    scene.account().judge(Verdict(KEY, 1, 0.9, is_stop=True))
    assert scene.account().verdicts() == [GO_ON]
    assert scene.account().stopped() == {}


def test_verdicts_come_in_the_order_in_which_they_fell(scene: Scene) -> None:
    fell = [Verdict(OTHER, 2, 0.5, is_stop=False), STOP, Verdict(OTHER, 1, 0.1, is_stop=False)]
    for verdict in fell:
        scene.account().judge(verdict)
    assert scene.account().verdicts() == fell


def test_what_belongs_to_another_definition_is_not_seen(scene: Scene) -> None:
    scene.account("one").propose(0, {"a": 1})
    scene.account("one").judge(STOP)
    other = scene.account("other")
    assert (other.proposals(), other.verdicts(), other.stopped()) == ([], [], {})
    other.propose(0, {"a": 2})
    other.judge(Verdict(KEY, 2, 0.75, is_stop=False))
    assert scene.account("one").proposals() == [{"a": 1}]
    assert scene.account("one").stopped() == {KEY: Stopped(epoch=2, value=0.5)}


def test_forgetting_drops_one_definition_alone(scene: Scene) -> None:
    for definition in ("one", "other"):
        scene.account(definition).propose(0, {"a": 1})
        scene.account(definition).judge(STOP)
    scene.account("one").forget()
    assert (scene.account("one").proposals(), scene.account("one").verdicts()) == ([], [])
    assert (len(scene.account("other").proposals()), scene.account("other").verdicts()) == (
        1,
        [STOP],
    )


def manifest() -> Manifest:
    definition = proposed(searched(), 3)
    key = definition.manifest.cells[1].trial_key
    return with_stopped(definition, key, Stopped(epoch=2, value=0.5)).manifest


def test_a_manifest_makes_good_what_the_journal_has_lost(scene: Scene) -> None:
    known = manifest()
    assert known.search
    account = scene.account(known.search.definition)
    account.propose(0, params(0))
    account.adopt(known)
    assert account.proposals() == [params(number) for number in range(3)]
    assert account.stopped() == {known.cells[1].trial_key: Stopped(epoch=2, value=0.5)}


def test_what_the_journal_knows_stands_against_a_manifest(scene: Scene) -> None:
    known = manifest()
    assert known.search
    account = scene.account(known.search.definition)
    key = known.cells[1].trial_key
    account.judge(Verdict(key, 2, 0.5, is_stop=False))
    account.adopt(known)
    assert account.stopped() == {}


def test_the_manifest_of_another_definition_is_not_adopted(scene: Scene) -> None:
    account = scene.account("other")
    account.adopt(manifest())
    assert (account.proposals(), account.stopped()) == ([], {})
