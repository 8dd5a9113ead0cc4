"""What a search keeps as it comes is what it would be if it were made anew, at every step."""

import math
import random as chance
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.metrics import VALIDATION_ERROR, Objective
from search_spaces import Median, NoScheduler, Search
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    Continue,
    Entry,
    EpochTold,
    Pause,
    Propose,
    Select,
    Stop,
)
from search_spaces.plans.known import Known, known_after
from search_spaces.plans.scheduler import Scheduler
from sweeps.execution.search.curves import ArmCurves, as_rival
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import ObservedPoint, Proposer
from sweeps.execution.search.search_known import SearchKnown
from tests.sweeps.execution.search.examples import search

NUM_PROPOSALS = 6


def entries_of(seed: int) -> list[Entry]:
    """Return a journal of a made-up search with two seeds, some points of it proposed twice."""
    draw = chance.Random(seed)
    entries: list[Entry] = []
    for number in range(NUM_PROPOSALS):
        cells = tuple(
            Cell(f"proposal {number}", {"x": number // 2}, cell_seed) for cell_seed in (0, 1)
        )
        entries.append(Propose(cells))
        for cell in cells:
            entries += _ended(key_of(cell), draw)
    return [*entries, Select(("proposal 1",), None)]


def _ended(key: str, draw: chance.Random) -> list[Entry]:
    entries: list[Entry] = []
    for epoch in range(1, draw.randint(1, 3) + 1):
        value = draw.choice([draw.random(), math.nan])
        metrics = {"validation_error": value, "reaches_target": draw.random() < 0.2}
        entries += [EpochTold(key, epoch, metrics), Pause(key, epoch), Continue(key, epoch)]
    ends: list[Entry] = [
        Stop(key, 3, draw.random()),
        CellEnded(key, "finished", 3, {"validation_error": draw.random()}),
        CellEnded(key, "failed"),
    ]
    return entries + draw.choices([*([end] for end in ends), []])[0]


def key_of(cell: Cell) -> str:
    return f"{cell.settings['x']} {cell.seed}"


def keys() -> dict[tuple[str, int], str]:
    proposals = [proposal for proposal in entries_of(0) if isinstance(proposal, Propose)]
    return {cell.place: key_of(cell) for proposal in proposals for cell in proposal.cells}


@given(st.integers(0, 10_000))
def test_what_is_known_of_any_sweep_is_the_fold_of_its_journal(seed: int) -> None:
    entries, known = entries_of(seed), Known(keys())
    for number, entry in enumerate(entries):
        known.take(entry)
        assert known == known_after(entries[: number + 1], keys())


@given(st.integers(0, 10_000))
def test_decisions_before_facts_come_to_the_same(seed: int) -> None:
    """So it is after a driver was killed: the log is read first, then the folders."""
    entries = entries_of(seed)
    facts = [entry for entry in entries if isinstance(entry, EpochTold | CellEnded)]
    assert known_after([*(entry for entry in entries if entry not in facts), *facts], keys()) == (
        known_after(entries, keys())
    )


@given(st.integers(0, 10_000))
def test_what_is_known_of_a_search_is_the_fold_of_its_journal(seed: int) -> None:
    entries, known = (
        entries_of(seed),
        SearchKnown(search(), Objective(VALIDATION_ERROR), keys(), {}),
    )
    for number, entry in enumerate(entries):
        known.take(entry)
        anew = SearchKnown(search(), Objective(VALIDATION_ERROR), keys(), {})
        for earlier in entries[: number + 1]:
            anew.take(earlier)
        assert known == anew
        assert (known.params, known.names) == (anew.params, anew.names)
        assert repr(known.observations) == repr(anew.observations)
        assert known.is_open == any(
            observation.state == "open" for observation in known.observations
        )


SEEDS = {"a1": ("a1", "a2"), "a2": ("a1", "a2"), "b1": ("b1",), "c1": ("c1", "c2", "c3")}
SEEDS |= {"c2": SEEDS["c1"], "c3": SEEDS["c1"], "d1": ("d1",)}


@dataclass
class Scanned:
    """What arms come to, as a scan over all that was told finds it."""

    reported: dict[str, dict[int, float]] = field(
        default_factory=lambda: {key: dict[int, float]() for key in SEEDS}
    )
    ended: dict[str, str] = field(default_factory=dict[str, str])

    def value(self, key: str, epoch: int) -> float | None:
        curve, ended = self.reported[key], self.ended.get(key)
        if epoch <= max(curve, default=0) or ended not in {"reached", "diverged"}:
            return curve.get(epoch)
        return math.nan if ended == "diverged" else curve[max(curve)]

    def mean(self, keys: tuple[str, ...], epoch: int) -> float | None:
        values = [self.value(key, epoch) for key in keys if self.ended.get(key) != "failed"]
        present = [value for value in values if value is not None]
        return sum(present) / len(present) if present and len(present) == len(values) else None

    def rivals(self, key: str, epoch: int, rival: Callable[[list[float]], float]) -> list[float]:
        others = {keys for keys in SEEDS.values() if key not in keys}
        rivals = [
            as_rival(rival([as_rival(mean) for mean in means if mean is not None]))
            for keys in others
            if (means := [self.mean(keys, each) for each in range(1, epoch + 1)])[-1] is not None
        ]
        return sorted(rivals)


STEP = st.tuples(
    st.sampled_from([*SEEDS][:-1]),
    st.sampled_from([0.25, 0.5, 0.75, math.nan, math.inf]),
    st.sampled_from(["", "", "", "again", "reached", "diverged", "failed"]),
)
RIVALS = {NoScheduler(): lambda costs: costs[-1], Median(): lambda costs: sum(costs) / len(costs)}


@given(st.lists(STEP, max_size=30), st.sampled_from([*RIVALS]))
def test_ranked_curves_hold_the_rivals_that_a_scan_finds(
    steps: list[tuple[str, float, str]], scheduler: Scheduler
) -> None:
    curves, scanned = ArmCurves(Objective(VALIDATION_ERROR), scheduler), Scanned()
    for keys in dict.fromkeys(SEEDS.values()):
        curves.add(keys)
    for key, value, how in steps:
        if key in scanned.ended and (how != "again" or scanned.ended[key] != "reached"):
            continue
        curve = scanned.reported[key]
        if how in {"diverged", "failed"}:
            scanned.ended[key] = how
            curves.diverge(key) if how == "diverged" else curves.fail(key)
            continue
        epoch = max(1, len(curve)) if how == "again" else len(curve) + 1
        curve[epoch] = value
        if how == "reached":
            scanned.ended[key] = how
        metrics = {"validation_error": value, "reaches_target": key in scanned.ended}
        curves.add_epoch(key, epoch, metrics)
    for key in SEEDS:
        for epoch in range(1, 6):
            rivals = scanned.rivals(key, epoch, RIVALS[scheduler])
            assert list(curves.rivals(key, epoch)) == pytest.approx(rivals, rel=1e-12)


def gone(number: int, params: Mapping[str, Any]) -> Observation:
    """Return how a made-up proposal goes: complete, pruned, diverged or failed."""
    value = abs(math.log10(params["optimiser.learning_rate"]) + 3)
    if number % 4 == 3:
        return Observation("failed" if number % 8 == 3 else "diverged")
    return Observation("pruned" if number % 3 == 1 else "complete", value, 1 + number % 3)


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp"])
def test_a_study_that_is_kept_proposes_what_one_that_is_built_anew_does(sampler: str) -> None:
    plan = search(sampler=sampler, trials=30)
    proposer, params, went = Proposer(plan), list[Mapping[str, Any]](), list[Observation]()
    base = ({"optimiser.learning_rate": 1e-3, "batch_size": 64}, Observation("open"))
    for number in range(14 if sampler == "gp" else 25):
        if number == 5:
            base = (base[0], Observation("complete", 0.125, 3))
        proposed = proposer.propose(params, went, base)
        assert proposed == _built_anew(plan, params, went, base), number
        params.append(proposed)
        went.append(Observation("open"))
        if number >= 2:  # three run at once, and end out of order
            ended = number - (1 if number % 2 else 2)
            went[ended] = gone(ended, params[ended])
    went[:] = [gone(number, params[number]) for number in range(len(params))]
    assert proposer.propose(params, went, base) == _built_anew(plan, params, went, base)


def _built_anew(
    plan: Search, params: list[Mapping[str, Any]], went: list[Observation], base: ObservedPoint
) -> Any:
    return Proposer(plan).propose(list(params), list(went), base)
