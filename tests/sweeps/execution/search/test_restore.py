"""A search resumes from its log here, from that in the tracking store, or from both."""

from pathlib import Path

import pytest

from search_spaces.plans.decisions import Continue, Stop
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.growing_definition import resumed
from sweeps.execution.sweep_log import EarlierLog, SweepLog, stored_entries
from sweeps.records.manifest import Stopped
from sweeps.records.sweep_log import Entry
from tests.sweeps.execution.search.examples import confirm, expect_valid, proposed, searched
from tests.sweeps.execution.search.grown import with_confirmation, with_decisions

STOPPED = Stopped(epoch=2, value=0.5)


def log_of(definition: Definition) -> list[Entry]:
    """Return the log that a launch leaves."""
    return [definition.declared, *definition.decisions]


def resumed_from(
    definition: Definition, here: Definition | None = None, stored: Definition | None = None
) -> Definition:
    """Return a definition resumed from what earlier launches left here and in the store."""
    logs = (log_of(one) if one else [] for one in (here, stored))
    return resumed(definition, EarlierLog(*logs).decisions(definition.decided_by))


def earlier(definition: Definition, count: int) -> Definition:
    """Return the definition that an earlier launch left, the first trial stopped."""
    grown = proposed(definition, count)
    key = grown.manifest.cells[0].trial_key
    return with_decisions(grown, Continue(key, 1), Stop(key, STOPPED.epoch, STOPPED.value))


def test_a_new_search_has_nothing() -> None:
    definition = searched()
    assert resumed_from(definition) == definition


def test_the_log_here_alone_is_enough() -> None:
    left = earlier(searched(), 3)
    assert resumed_from(searched(), here=left) == left


def test_the_log_in_the_store_alone_is_enough() -> None:
    left = earlier(searched(), 3)
    assert resumed_from(searched(), stored=left) == left


@pytest.mark.parametrize("count", [0, 2, 3, 5])
def test_of_both_the_one_that_knows_more_is_taken(count: int) -> None:
    result = resumed_from(
        searched(), here=earlier(searched(), 3), stored=proposed(searched(), count)
    )
    assert result.manifest == earlier(searched(), max(3, count)).manifest
    expect_valid(result.manifest)


def test_what_another_definition_has_proposed_is_not_taken_over() -> None:
    old, new = searched(sampler="random"), searched(sampler="tpe")
    assert resumed_from(new, here=earlier(old, 3), stored=earlier(old, 3)) == new


def test_what_another_definition_has_proposed_in_between_changes_nothing() -> None:
    first, second = searched(sampler="random"), searched(sampler="tpe")
    entries = [*log_of(earlier(first, 2)), *log_of(proposed(second, 3)), *log_of(first)]
    for definition, left in ((first, earlier(first, 2)), (second, proposed(second, 3))):
        known = EarlierLog(entries, ()).decisions(definition.decided_by)
        assert resumed(definition, known) == left


def test_fewer_trials_leave_the_first_ones() -> None:
    fewer = searched(trials=2)
    result = resumed_from(fewer, here=earlier(searched(trials=6), 5))
    assert result.manifest == earlier(fewer, 2).manifest


def test_more_trials_go_on_from_the_same_proposals() -> None:
    more = searched(trials=5)
    result = resumed_from(more, stored=earlier(searched(trials=3), 3))
    assert result == earlier(more, 3)
    assert result.manifest.search
    assert result.manifest.search.num_trials == 5


def confirmed(definition: Definition) -> Definition:
    grown = proposed(definition, definition.sweep.plan.trials)  # pyright: ignore
    return with_confirmation(grown, ["proposal 2"], "proposal 1")


def test_what_was_chosen_stays_chosen() -> None:
    left = confirmed(searched(trials=3, confirm=confirm(1)))
    assert resumed_from(searched(trials=3, confirm=confirm(1)), stored=left) == left


def test_a_longer_search_chooses_anew() -> None:
    left = confirmed(searched(trials=3, confirm=confirm(1)))
    longer = searched(trials=4, confirm=confirm(1))
    assert resumed_from(longer, here=left) == proposed(longer, 3)


def test_another_confirmation_chooses_anew() -> None:
    left = confirmed(searched(trials=3, confirm=confirm(1)))
    for other in (confirm(2), confirm(1, (102,)), None):
        definition = searched(trials=3, confirm=other)
        assert resumed_from(definition, here=left) == proposed(definition, 3)


def test_a_log_that_starts_over_has_no_earlier_decisions(tmp_path: Path) -> None:
    left = earlier(searched(), 3)
    log = SweepLog(tmp_path, "example")
    log.declare(left.declared, left.decisions)
    log.declare(left.declared.model_copy(update={"starts_over": True}))
    entries = stored_entries(tmp_path, "example")
    assert EarlierLog(entries, ()).decisions(left.decided_by) == []


def test_declaring_the_same_again_writes_nothing(tmp_path: Path) -> None:
    left = earlier(searched(), 3)
    for definition in (left, left, searched()):
        log = SweepLog(tmp_path, "example")
        log.declare(definition.declared, definition.decisions)
    assert stored_entries(tmp_path, "example") == log_of(left)


def test_a_log_gets_the_decisions_that_only_the_store_has(tmp_path: Path) -> None:
    left = earlier(searched(), 3)
    log = SweepLog(tmp_path, "example")
    log.declare(left.declared, left.decisions[:2])
    log.declare(left.declared, left.decisions)
    assert stored_entries(tmp_path, "example") == log_of(left)
