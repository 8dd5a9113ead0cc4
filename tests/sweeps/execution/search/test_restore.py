"""A search goes on from its journal, from its manifest, or from both."""

from pathlib import Path

from search_spaces.plans.decisions import Continue, Stop
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.restore import restored
from sweeps.records.manifest import Stopped
from tests.sweeps.execution.search.examples import (
    confirm,
    expect_valid,
    proposed,
    searched,
)
from tests.sweeps.execution.search.grown import with_confirmation, with_stopped

STOPPED = Stopped(epoch=2, value=0.5)


def journal_of(folder: Path, definition: Definition, count: int) -> None:
    """Note in a journal what an earlier launch has proposed, and that it stopped the first."""
    assert definition.manifest.search
    journal = Journal(folder, "example")
    log = DecisionLog(journal, definition.manifest.search.definition)
    log.adopt(proposed(definition, count).manifest)
    key = proposed(definition, 1).manifest.cells[0].trial_key
    log.append(Continue(key, 1))
    log.append(Stop(key, STOPPED.epoch, STOPPED.value))
    journal.close()


def earlier(definition: Definition, count: int) -> Definition:
    """Return the definition that an earlier launch left, the first trial stopped."""
    grown = proposed(definition, count)
    return with_stopped(grown, grown.manifest.cells[0].trial_key, STOPPED)


def test_a_new_search_has_nothing(tmp_path: Path) -> None:
    definition = searched()
    assert restored(definition, tmp_path, None) == definition
    assert not list(tmp_path.iterdir()), "looking writes nothing"


def test_a_journal_alone_is_enough(tmp_path: Path) -> None:
    definition = searched()
    journal_of(tmp_path, definition, 3)
    assert restored(definition, tmp_path, None) == earlier(definition, 3)


def test_a_manifest_alone_is_enough(tmp_path: Path) -> None:
    definition = searched()
    left = earlier(definition, 3)
    assert restored(definition, tmp_path, left.manifest) == left


def test_of_both_the_one_that_knows_more_is_taken(tmp_path: Path) -> None:
    definition = searched()
    journal_of(tmp_path, definition, 3)
    for count in (0, 2, 3, 5):
        current = proposed(definition, count).manifest
        result = restored(definition, tmp_path, current)
        assert result == earlier(definition, max(3, count)), count
        expect_valid(result.manifest)


def test_what_another_definition_has_proposed_is_not_taken_over(tmp_path: Path) -> None:
    old = searched(sampler="random")
    journal_of(tmp_path, old, 3)
    new = searched(sampler="tpe")
    assert restored(new, tmp_path, earlier(old, 3).manifest) == new


def test_fewer_trials_leave_the_first_ones(tmp_path: Path) -> None:
    journal_of(tmp_path, searched(trials=6), 5)
    fewer = searched(trials=2)
    assert restored(fewer, tmp_path, None) == earlier(fewer, 2)


def test_more_trials_go_on_from_the_same_proposals(tmp_path: Path) -> None:
    old, more = searched(trials=3), searched(trials=5)
    result = restored(more, tmp_path, earlier(old, 3).manifest)
    assert result == earlier(more, 3)
    assert result.manifest.search
    assert result.manifest.search.num_trials == 5


def confirmed(definition: Definition) -> Definition:
    grown = proposed(definition, definition.sweep.plan.trials)  # pyright: ignore
    return with_confirmation(grown, ["proposal 2"], "proposal 1")


def test_what_was_chosen_stays_chosen(tmp_path: Path) -> None:
    definition = searched(trials=3, confirm=confirm(1))
    left = confirmed(definition)
    assert restored(definition, tmp_path, left.manifest) == left


def test_a_longer_search_chooses_anew(tmp_path: Path) -> None:
    current = confirmed(searched(trials=3, confirm=confirm(1))).manifest
    longer = searched(trials=4, confirm=confirm(1))
    assert restored(longer, tmp_path, current) == proposed(longer, 3)


def test_another_confirmation_chooses_anew(tmp_path: Path) -> None:
    current = confirmed(searched(trials=3, confirm=confirm(1))).manifest
    for other in (confirm(2), confirm(1, (102,)), None):
        definition = searched(trials=3, confirm=other)
        assert restored(definition, tmp_path, current) == proposed(definition, 3)


def test_proposals_that_the_manifest_has_not_heard_of_are_chosen_among(tmp_path: Path) -> None:
    definition = searched(trials=3, confirm=confirm(1))
    journal_of(tmp_path, definition, 3)
    current = proposed(definition, 2).manifest
    assert restored(definition, tmp_path, current) == earlier(definition, 3)
