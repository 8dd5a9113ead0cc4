"""Proposals that are drawn blindly choose each kind of a part in its share."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices
from search_spaces import Limit, Search
from search_spaces.space import limits as limits_module
from search_spaces.space.branches import Branches
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.within_limits import WithinLimits
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.records.errors import BadInput
from tests.sweeps.execution.search.examples import (
    BATCH,
    CONDITIONAL,
    RATE,
    SPACE,
    WHOLE,
    complete,
    expect_valid,
    search,
    searched,
    sweep,
)
from tests.sweeps.execution.search.grown import with_proposal

KINDS = ("cross_entropy", "margin", "sigmoid", "spread")
FINITE = WHOLE.varied({"loss": ("margin", "spread"), BATCH: Choices(100, 200, 300)}).only(
    "loss", BATCH
)
BARS = Path(__file__).parents[3] / "golden" / "user_files" / "bars.py"
BARS_BEFORE = (
    "84445c7bb505e7c9e1f2"  # its definition when it was launched by a release without balance
)
Params = dict[str, Any]


def proposals(plan: Search, count: int, *, is_killed: bool = False) -> list[Params]:
    """Return the first proposals of a search; after a kill each is made by a new process."""
    definition = sweep(plan=plan)
    proposer, params, went = WithinLimits(plan, definition), list[Params](), list[Observation]()
    for _ in range(count):
        proposer = WithinLimits(plan, definition) if is_killed else proposer
        point = proposer.propose(params, went)
        assert point is not None
        params.append(point)
        went.append(complete(float(point.get(RATE, 1.0))))
    return params


def kinds(points: list[Params]) -> list[str]:
    return [str(point["loss"]) for point in points]


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
@pytest.mark.parametrize("seed", [0, 7])
def test_each_kind_gets_its_share_of_what_is_drawn_blindly(sampler: str, seed: int) -> None:
    given: Params = {"startup": 16} if sampler == "tpe" else {}
    plan = search(space=CONDITIONAL, sampler=sampler, sampler_seed=seed, trials=20, **given)
    points = proposals(plan, 17)
    assert Counter(kinds(points[:16])) == dict.fromkeys(KINDS, 4)
    assert proposals(plan, 17, is_killed=True) == points
    drawn = [point.get(RATE) for point in points]
    assert len(set(drawn)) == 17, "the other settings are drawn as ever"
    if sampler == "tpe":
        branches = Branches(CONDITIONAL, seed)
        later = proposals(plan.changed(trials=40), 30)
        assert kinds(later)[16:] != [branches.branch(number)["loss"] for number in range(16, 30)]


FIRST = {  # as they were drawn before there was balance
    "tpe": ("sccssmscmsssccss", 0.0014778),
    "random": ("sccssmscmsmmssms", 0.0014778),
    "qmc": ("sscmmcsssscmmcss", 0.0003273),
}


@pytest.mark.parametrize("sampler", FIRST)
def test_without_balance_points_are_drawn_as_before_there_was_any(sampler: str) -> None:
    plan = search(space=CONDITIONAL, sampler=sampler, trials=30, balance=False)
    points = proposals(plan, 10)
    first, rate = FIRST[sampler]
    assert "".join(kind[0] for kind in kinds(points)) == first[:10]
    assert points[0][RATE] == pytest.approx(rate, abs=1e-6)


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_a_draw_that_breaks_a_limit_is_drawn_again_within_its_branch(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_rate(config: TrainingConfig) -> int:
        return round(config.model_dump()["optimiser"]["learning_rate"] * 1e9)

    monkeypatch.setattr(limits_module, "num_parameters", by_rate)
    limited = {"limits": Limit("num_parameters", at_most=400_000), "trials": 20}
    plan = search(space=CONDITIONAL, sampler=sampler, **limited)
    points = proposals(plan, 8)
    assert max(point[RATE] for point in points) <= 4e-4
    assert Counter(kinds(points)) == dict.fromkeys(KINDS, 2)


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_a_branch_without_points_that_are_left_gives_way(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_loss(config: TrainingConfig) -> int:
        return 2 if config.loss.kind == "margin" else 1

    monkeypatch.setattr(limits_module, "num_parameters", by_loss)
    limits = (Limit("num_parameters", at_most=1),)
    plan = search(space=CONDITIONAL, sampler=sampler, limits=limits, trials=20)
    assert set(kinds(proposals(plan, 8))) == {*KINDS} - {"margin"}
    every = proposals(search(space=FINITE, sampler=sampler, trials=6), 6)
    assert len({tuple(point.items()) for point in every}) == 6


def test_balance_decides_what_is_proposed_where_a_part_varies_and_only_there() -> None:
    with_it, without = (searched(space=CONDITIONAL, balance=balance) for balance in (True, False))
    assert with_it.decided_by != without.decided_by
    assert with_it.manifest.search
    assert with_it.manifest.search.balance
    expect_valid(with_it.manifest)
    for changes in ({"space": SPACE}, {"space": FINITE, "sampler": "grid"}):
        one, other = (searched(**changes, balance=balance) for balance in (True, False))
        assert one.manifest == other.manifest
        assert "balance" not in one.manifest.model_dump_json()


def test_a_search_that_began_without_balance_goes_on_without_it() -> None:
    begun = searched(space=SPACE + WHOLE.only("loss"), balance=False).manifest
    again = sweep(plan=search(space=WHOLE.only("loss") + SPACE))
    assert begun.search
    resumed = define(again, Changes(), (), begun.search)
    assert isinstance(resumed.sweep.plan, Search)
    assert resumed.sweep.plan.balance is False
    assert resumed.decided_by == begun.search.definition
    assert define(again, Changes(), ()).decided_by != begun.search.definition


def test_the_log_of_a_users_file_from_before_there_was_balance_goes_on() -> None:
    fresh = define(BARS, Changes(), ())
    assert fresh.manifest.search
    assert fresh.manifest.search.balance
    fields = {"definition": BARS_BEFORE, "balance": False}
    begun = fresh.manifest.search.model_copy(update=fields)
    assert define(BARS, Changes(), (), begun).manifest.search == begun


def test_a_search_that_began_with_balance_is_refused_without() -> None:
    definition = searched(space=CONDITIONAL)
    point = {"loss": "sigmoid", RATE: 1e-3}
    begun = with_proposal(definition, point).manifest
    without = sweep(plan=search(space=CONDITIONAL, balance=False))
    with pytest.raises(BadInput, match="its balance would change"):
        check_dropped_cells(begun, define(without, Changes(), (), begun.search).manifest)
