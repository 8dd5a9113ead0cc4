"""A search resumes from its log here, from that in the tracking store, or from both."""

from pathlib import Path

import pytest

from search_spaces.plans.decisions import DONE, Continue, Measured, Select, Stop
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import resumed
from sweeps.execution.sweep_log import EarlierLog, SweepLog, stored_entries
from sweeps.records.manifest import Stopped
from sweeps.records.sweep_log import Decided, Entry, decided
from tests.sweeps.execution.search.examples import confirm, expect_valid, params, proposed, searched
from tests.sweeps.execution.search.grown import with_confirmation, with_decisions, with_proposal

STOPPED = Stopped(epoch=2, value=0.5)


def log_of(definition: SweepDefinition) -> list[Entry]:
    """Return the log that a launch leaves."""
    return [definition.declared, *definition.decisions]


def resumed_from(
    definition: SweepDefinition,
    here: SweepDefinition | None = None,
    stored: SweepDefinition | None = None,
) -> SweepDefinition:
    """Return a definition resumed from what earlier launches left here and in the store."""
    logs = (log_of(grown) if grown else [] for grown in (here, stored))
    return resumed(definition, EarlierLog(*logs).decisions(definition.decided_by))


def earlier(definition: SweepDefinition, count: int) -> SweepDefinition:
    """Return the definition that an earlier launch left, the first trial stopped."""
    grown = proposed(definition, count)
    key = grown.manifest.cells[0].trial_key
    return with_decisions(grown, Continue(key, 1), Stop(key, STOPPED.epoch, STOPPED.value))


def test_a_new_search_has_nothing() -> None:
    definition = searched()
    assert resumed_from(definition) == definition


def test_the_log_here_alone_is_enough() -> None:
    here = earlier(searched(), 3)
    assert resumed_from(searched(), here=here) == here


def test_the_log_in_the_store_alone_is_enough() -> None:
    stored = earlier(searched(), 3)
    assert resumed_from(searched(), stored=stored) == stored


@pytest.mark.parametrize("count", [0, 2, 3, 5])
def test_of_both_the_one_that_knows_more_is_taken(count: int) -> None:
    result = resumed_from(
        searched(), here=earlier(searched(), 3), stored=proposed(searched(), count)
    )
    assert result.manifest == earlier(searched(), max(3, count)).manifest
    expect_valid(result.manifest)


def test_logs_that_have_parted_come_to_what_the_store_says() -> None:
    here = with_proposal(proposed(searched(), 2), params(7))
    here = with_decisions(with_proposal(here, params(8)), Select(("proposal 3",)))
    stored = with_proposal(proposed(searched(), 2), params(9))
    stored = with_decisions(stored, Select(("proposal 2",)))
    result = resumed_from(searched(), here=here, stored=stored)
    assert result.manifest.search
    known = [proposal.params for proposal in result.manifest.search.proposals]
    assert known == [params(0), params(1), params(9), params(8)]
    decided_on = [e.decision.arms for e in result.decisions if e.kind == "select"]
    assert decided_on == [("proposal 2",)]


def test_a_log_that_has_parted_from_the_store_starts_over_with_what_that_says(
    tmp_path: Path,
) -> None:
    here = with_proposal(searched(), params(7))
    stored = with_proposal(searched(), params(9))
    log = SweepLog(tmp_path, "example")
    log.declare(here.declared, here.decisions)
    earlier = EarlierLog(stored_entries(tmp_path, "example"), log_of(stored))
    log.declare(stored.declared, earlier.decisions(stored.decided_by))
    alone = EarlierLog(stored_entries(tmp_path, "example"), ())  # which the recorder publishes
    assert alone.decisions(stored.decided_by) == list(stored.decisions)


def test_a_selection_made_again_elsewhere_is_not_lost() -> None:
    steps = [Select(("a",)), Select(("a", "b")), Select(("a", "b", "c"))]
    definition = searched()
    entries = [decided(decision) for decision in (*steps, DONE)]
    for count in range(len(entries) + 1):
        here = [definition.declared, *entries[:count]]
        earlier = EarlierLog(here, [definition.declared, *entries])
        assert earlier.decisions(definition.decided_by) == entries
        earlier = EarlierLog([definition.declared, *entries], here)
        assert earlier.decisions(definition.decided_by) == entries


def test_of_logs_that_have_parted_each_measure_is_the_stores_or_else_that_of_here() -> None:
    def took(key: str, epoch: int, seconds: float) -> Decided:
        return decided(Measured(key * 20, epoch, {"seconds_per_epoch": seconds}))

    definition = searched()
    here = [definition.declared, took("a", 2, 1.0), took("a", 3, 1.0)]
    stored = [definition.declared, took("b", 2, 2.0), took("a", 2, 2.0)]
    merged = EarlierLog(here, stored).decisions(definition.decided_by)
    assert merged == [*stored[1:], took("a", 3, 1.0)]


def test_a_log_that_has_not_heard_that_all_started_over_does_not_count() -> None:
    old, new = earlier(searched(), 3), proposed(searched(), 1)
    anew = new.declared.model_copy(update={"starts_over": True})
    for logs in (
        (log_of(old), [*log_of(old), anew, *new.decisions]),
        ([*log_of(old), anew, *new.decisions], log_of(old)),
    ):
        assert EarlierLog(*logs).decisions(new.decided_by) == list(new.decisions)
        assert EarlierLog(*logs).num_starts(new.decided_by) == 1


def test_what_another_definition_has_proposed_is_not_taken_over() -> None:
    old, new = searched(sampler="random"), searched(sampler="tpe")
    assert resumed_from(new, here=earlier(old, 3), stored=earlier(old, 3)) == new


def test_what_another_definition_has_proposed_in_between_changes_nothing() -> None:
    first, second = searched(sampler="random"), searched(sampler="tpe")
    entries = [*log_of(earlier(first, 2)), *log_of(proposed(second, 3)), *log_of(first)]
    for definition, expected in ((first, earlier(first, 2)), (second, proposed(second, 3))):
        known = EarlierLog(entries, ()).decisions(definition.decided_by)
        assert resumed(definition, known) == expected


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


def confirmed(definition: SweepDefinition) -> SweepDefinition:
    grown = proposed(definition, definition.sweep.plan.trials)  # pyright: ignore
    return with_confirmation(grown, ["proposal 2"], "proposal 1")


def test_what_was_chosen_stays_chosen() -> None:
    stored = confirmed(searched(trials=3, confirm=confirm(1)))
    assert resumed_from(searched(trials=3, confirm=confirm(1)), stored=stored) == stored


def test_a_longer_search_chooses_anew() -> None:
    here = confirmed(searched(trials=3, confirm=confirm(1)))
    longer = searched(trials=4, confirm=confirm(1))
    assert resumed_from(longer, here=here) == proposed(longer, 3)


def test_another_confirmation_chooses_anew() -> None:
    here = confirmed(searched(trials=3, confirm=confirm(1)))
    for other in (confirm(2), confirm(1, (102,)), None):
        definition = searched(trials=3, confirm=other)
        assert resumed_from(definition, here=here) == proposed(definition, 3)


def test_a_log_that_starts_over_has_no_earlier_decisions(tmp_path: Path) -> None:
    definition = earlier(searched(), 3)
    log = SweepLog(tmp_path, "example")
    log.declare(definition.declared, definition.decisions)
    log.declare(definition.declared, num_starts=1)
    log.declare(definition.declared, num_starts=1)
    for decisions in ((), definition.decisions):
        for entry in decisions:  # the same again
            log.append(entry)
        entries = stored_entries(tmp_path, "example")
        assert EarlierLog(entries, ()).decisions(definition.decided_by) == list(decisions)
        assert EarlierLog(entries, ()).num_starts(definition.decided_by) == 1


def test_declaring_the_same_again_writes_nothing(tmp_path: Path) -> None:
    definition = earlier(searched(), 3)
    for _ in range(3):
        SweepLog(tmp_path, "example").declare(definition.declared, definition.decisions)
    assert stored_entries(tmp_path, "example") == log_of(definition)


def test_a_log_gets_the_decisions_that_only_the_store_has(tmp_path: Path) -> None:
    definition = earlier(searched(), 3)
    log = SweepLog(tmp_path, "example")
    log.declare(definition.declared, definition.decisions[:2])
    log.declare(definition.declared, definition.decisions)
    assert stored_entries(tmp_path, "example") == log_of(definition)
