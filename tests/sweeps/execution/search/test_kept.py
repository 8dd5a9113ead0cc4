"""What a search keeps as it comes is what it would be if it were made anew, at every step."""

import math
import random as chance
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.metrics import VALIDATION_ERROR, Objective
from search_spaces import Search
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    Choose,
    Continue,
    Entry,
    EpochTold,
    Propose,
    Stop,
)
from search_spaces.plans.known import Known, known_from
from sweeps.execution.search.curves import TrialCurves, as_rival
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import Proposer
from sweeps.execution.search.search_known import SearchKnown
from tests.sweeps.execution.search.examples import search

NUM_PROPOSALS = 6


def entries_of(seed: int) -> list[Entry]:
    """Return a journal of a made-up search with two seeds, some points of it proposed twice."""
    draw = chance.Random(seed)
    found: list[Entry] = []
    for number in range(NUM_PROPOSALS):
        cells = tuple(Cell(f"proposal {number}", {"x": number // 2}, one) for one in (0, 1))
        found.append(Propose(cells))
        for cell in cells:
            found += _ended(key_of(cell), draw)
    return [*found, Choose(("proposal 1",), None)]


def _ended(key: str, draw: chance.Random) -> list[Entry]:
    told: list[Entry] = []
    for epoch in range(1, draw.randint(1, 3) + 1):
        value = draw.choice([draw.random(), math.nan])
        metrics = {"validation_error": value, "reaches_target": draw.random() < 0.2}
        told += [EpochTold(key, epoch, metrics), Continue(key, epoch)]
    ends: list[Entry] = [
        Stop(key, 3, draw.random()),
        CellEnded(key, "finished", 3, {"validation_error": draw.random()}),
        CellEnded(key, "failed"),
    ]
    return told + draw.choices([*([one] for one in ends), []])[0]


def key_of(cell: Cell) -> str:
    return f"{cell.settings['x']} {cell.seed}"


def keys() -> dict[tuple[str, int], str]:
    proposals = [one for one in entries_of(0) if isinstance(one, Propose)]
    return {cell.place: key_of(cell) for one in proposals for cell in one.cells}


@given(st.integers(0, 10_000))
def test_what_is_known_of_any_sweep_is_the_fold_of_its_journal(seed: int) -> None:
    entries, kept = entries_of(seed), Known(keys())
    for number, entry in enumerate(entries):
        kept.take(entry)
        assert kept == known_from(entries[: number + 1], keys())


@given(st.integers(0, 10_000))
def test_decisions_before_facts_come_to_the_same(seed: int) -> None:
    """So it is after a driver was killed: the log is read first, then the folders."""
    entries = entries_of(seed)
    facts = [one for one in entries if isinstance(one, EpochTold | CellEnded)]
    assert known_from([*(one for one in entries if one not in facts), *facts], keys()) == (
        known_from(entries, keys())
    )


@given(st.integers(0, 10_000))
def test_what_is_known_of_a_search_is_the_fold_of_its_journal(seed: int) -> None:
    entries, kept = entries_of(seed), SearchKnown(Objective(VALIDATION_ERROR), keys(), {})
    for number, entry in enumerate(entries):
        kept.take(entry)
        anew = SearchKnown(Objective(VALIDATION_ERROR), keys(), {})
        for one in entries[: number + 1]:
            anew.take(one)
        assert kept == anew
        assert (kept.params, kept.names) == (anew.params, anew.names)
        assert repr(kept.observations) == repr(anew.observations)
        assert kept.is_open == any(one.state == "open" for one in kept.observations)


@dataclass
class Scanned:
    """The rivals of a trial as a scan over all curves finds them."""

    told: dict[str, dict[int, float]] = field(default_factory=dict[str, dict[int, float]])
    reached: set[str] = field(default_factory=set[str])

    def rivals(self, key: str, epoch: int) -> list[float]:
        found: list[float] = []
        for other, curve in self.told.items():
            if other == key or other[0] != key[0]:
                continue
            if epoch in curve:
                found.append(curve[epoch])
            elif other in self.reached and max(curve) < epoch:
                found.append(curve[max(curve)])
        return sorted(map(as_rival, found))


TOLD = st.tuples(
    st.sampled_from(["a1", "a2", "a3", "b1", "b2"]),
    st.sampled_from([0.25, 0.5, 0.75, math.nan, math.inf]),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(TOLD, max_size=25))
def test_ranked_curves_hold_the_rivals_that_a_scan_finds(
    told: list[tuple[str, float, bool, bool]],
) -> None:
    curves, scanned = TrialCurves(Objective(VALIDATION_ERROR), lambda key: ord(key[0])), Scanned()
    for key, value, reaches_target, is_again in told:
        curve = scanned.told.setdefault(key, {})
        if key in scanned.reached and not is_again:
            continue
        epoch = max(1, len(curve)) if is_again else len(curve) + 1
        reaches = reaches_target or (key in scanned.reached)
        curve[epoch] = value
        scanned.reached |= {key} if reaches and epoch == len(curve) else set()
        curves.tell(
            key, epoch, {"validation_error": value, "reaches_target": key in scanned.reached}
        )
    for key in ("a1", "a2", "a3", "b1", "b2", "c1"):
        for epoch in range(1, 6):
            assert list(curves.rivals(key, epoch)) == scanned.rivals(key, epoch)


def gone(number: int, params: Mapping[str, Any]) -> Observation:
    """Return how a made-up proposal goes: complete, pruned or failed."""
    value = abs(math.log10(params["optimiser.learning_rate"]) + 3)
    if number % 4 == 3:
        return Observation("failed")
    return Observation("pruned" if number % 3 == 1 else "complete", value, 1 + number % 3)


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp"])
def test_a_study_that_is_kept_proposes_what_one_that_is_built_anew_does(sampler: str) -> None:
    one = search(sampler=sampler, trials=30)
    kept, params, went = Proposer(one), list[Mapping[str, Any]](), list[Observation]()
    for number in range(14 if sampler == "gp" else 25):
        proposed = kept.propose(params, went)
        assert proposed == _built_anew(one, params, went), number
        params.append(proposed)
        went.append(Observation("open"))
        if number >= 2:  # three run at once, and end out of order
            ended = number - (1 if number % 2 else 2)
            went[ended] = gone(ended, params[ended])
    went[:] = [gone(number, params[number]) for number in range(len(params))]
    assert kept.propose(params, went) == _built_anew(one, params, went)


def _built_anew(one: Search, params: list[Mapping[str, Any]], went: list[Observation]) -> Any:
    return Proposer(one).propose(list(params), list(went))
