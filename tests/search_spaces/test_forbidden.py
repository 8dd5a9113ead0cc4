"""A point that has all values of a forbidden combination is no point of its space."""

from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices, Floats, Ints
from search_spaces import Search, Space, Sweep
from search_spaces.space.branches import Branches
from search_spaces.space.dimensions import extreme_points
from search_spaces.space.forbidden import combinations, in_one_form

ROUTING, LOSS, BATCH = "model.routing", "loss", "batch_size"
SCHEDULE = "loss[margin].schedule"
PAIR = {ROUTING: "em", LOSS: "margin"}
VALUES: dict[str, Any] = {
    ROUTING: ("dynamic", "em"),
    "model.routing[em].iterations": Ints(1, 3),
    LOSS: ("margin", "spread"),
    SCHEDULE: ("constant", "linear"),
    BATCH: Choices(32, 64),
}
FREE = Space(VALUES)
SPACE = Space(VALUES, forbid=[PAIR])


def has_all(point: Any, values: Any) -> bool:
    return all(point.get(name) == value for name, value in values.items())


@pytest.mark.parametrize(
    "forbid",
    [
        [PAIR],
        [PAIR, {BATCH: 32, SCHEDULE: "linear"}],
        [{ROUTING: "em", LOSS: "margin", BATCH: 64}],
        [{"model.routing[em].iterations": 2, BATCH: 64}, {LOSS: "spread", BATCH: 64}],
        [{LOSS: "spread"}],
    ],
)
def test_the_grid_and_the_number_of_points_are_those_that_are_left(forbid: Any) -> None:
    space = Space(VALUES, forbid=forbid)
    left = [point for point in FREE.grid() if not any(has_all(point, values) for values in forbid)]
    assert list(space.grid()) == left
    assert space.num_points == len(left) < (FREE.num_points or 0)
    space.check(TrainingConfig())


def test_a_path_without_kinds_means_the_setting_of_each_kind() -> None:
    both = Space({LOSS: ("margin", "spread"), "loss.schedule": ("constant", "linear")})
    either = both.forbidding({"loss.schedule": "linear", LOSS: "spread"})
    neither = both.forbidding({"loss.schedule": "linear"})
    assert (both.num_points, either.num_points, neither.num_points) == (4, 3, 2)
    assert both.forbidding({"loss[margin].schedule": "linear"}).num_points == 3


def test_it_goes_with_all_ways_to_make_a_space() -> None:
    whole, pair = (
        Space.of(TrainingConfig).varied({"model": ("capsnet",)}),
        PAIR | {ROUTING: "random"},
    )
    narrowed = whole.forbidding(pair).only(ROUTING, LOSS, BATCH).without(BATCH)
    again = whole.only(ROUTING, LOSS).forbidding(pair)
    assert narrowed == again
    kinds = {ROUTING: ("random", "dynamic"), LOSS: ("margin", "spread")}
    assert again.varied(kinds).num_points == 3
    assert FREE.forbidding(PAIR) == SPACE
    listed = Space({ROUTING: ("dynamic", "em")}, forbid=[PAIR]) + Space(
        {LOSS: ("margin", "spread")}
    )
    assert listed.num_points == 3
    assert listed.varied({BATCH: Choices(32, 64)}).num_points == 6
    assert hash(SPACE) == hash(Space(VALUES, forbid=[PAIR]))


@pytest.mark.parametrize(
    ("forbid", "sentence"),
    [
        ({ROUTING: "em"}, r"forbid must be a list of dicts, such as \[\{.*, got \{.*\}\.$"),
        ([{}], r"must be a dict with at least one setting, such as .* got \{\}\.$"),
        ([("loss", "em")], r"must be a dict with at least one setting, .* got \('loss', 'em'\)\.$"),
        ([{1: 2}], r"must be a dict with at least one setting, .* got \{1: 2\}\.$"),
        (["em"], r"must be a dict with at least one setting, .* got 'em'\.$"),
        (
            [{"model.rooting": "em", LOSS: "margin"}],
            r"^Forbidding model\.rooting = em with loss = margin has no effect: Unknown setting "
            r"'model\.rooting' of the space\. Did you mean 'model\.routing'\?",
        ),
        (
            [{ROUTING: "random", LOSS: "margin"}],
            r"as 'model\.routing' is never 'random' in this space: its values are dynamic, em\.$",
        ),
        ([{BATCH: 33, LOSS: "margin"}], r"as 'batch_size' is never 33 .* values are 32, 64\.$"),
        (
            [{LOSS: "spread", SCHEDULE: "linear"}],
            r"no point of the space has these together: leave",
        ),
        (
            [{LOSS: "spread"}, {LOSS: "margin"}],
            r"^The space has no point that is not forbidden \(loss = spread; loss = margin\): ",
        ),
    ],
)
def test_what_cannot_be_forbidden_is_refused(forbid: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Space(VALUES, forbid=forbid).check(TrainingConfig())


def test_a_value_of_a_range_without_steps_is_not_forbidden() -> None:
    rate = Space({"optimiser.learning_rate": Floats(1e-4, 1e-2), LOSS: ("margin", "spread")})
    forbidden = rate.forbidding({"optimiser.learning_rate": 1e-3, LOSS: "margin"})
    with pytest.raises(ValueError, match=r"'optimiser\.learning_rate' is a range without steps"):
        forbidden.check(TrainingConfig())


def test_the_ends_of_ranges_are_checked_beside_what_is_forbidden() -> None:
    points = list(extreme_points(SPACE.dimensions, SPACE.forbids))
    assert not any(has_all(point, PAIR) for point in points)
    ends = {(name, value) for point in points for name, value in point.items()}
    assert ends >= {(ROUTING, "em"), (LOSS, "margin"), (BATCH, 32), (SCHEDULE, "linear")}
    assert ends >= {("model.routing[em].iterations", 1), ("model.routing[em].iterations", 3)}


@pytest.mark.parametrize("seed", range(3))
def test_branches_keep_clear_of_it_and_the_first_part_keeps_its_share(seed: int) -> None:
    branches = [Branches(SPACE, seed).branch(number) for number in range(24)]
    pairs = [(branch[ROUTING], branch[LOSS]) for branch in branches]
    counts = {pair: pairs.count(pair) for pair in set(pairs)}
    assert counts == {("dynamic", "margin"): 6, ("dynamic", "spread"): 6, ("em", "spread"): 12}


def test_a_kind_that_values_leave_no_point_is_in_no_branch() -> None:
    space = FREE.forbidding({ROUTING: "em", BATCH: 32}, {ROUTING: "em", BATCH: 64})
    branches = [Branches(space, 0).branch(number) for number in range(12)]
    assert {branch[ROUTING] for branch in branches} == {"dynamic"}


def test_equal_combinations_are_the_same_however_they_are_written() -> None:
    first = {"model.primary_dim": 16, "loss": "margin"}
    second = {"loss": "margin", "model.primary_dim": 16.0}
    alone, twice = (combinations(forbid) for forbid in ([first], [second, first]))
    assert in_one_form(alone) == in_one_form(twice)
    assert in_one_form(alone) != in_one_form(combinations([{**first, "loss": "spread"}]))


def test_it_decides_what_is_proposed_and_its_absence_changes_nothing() -> None:
    def definition_of(space: Space) -> str:
        plan = Search(space=space, trials=4, confirm=None, sampler="random", balance=False)
        return plan.definition_hash(Sweep(name="mine", base=TrainingConfig(), plan=plan))

    assert definition_of(FREE) == "df5de7d7ac6df8d5d3ff", "as ever"
    assert definition_of(SPACE) != definition_of(FREE)
    assert definition_of(FREE.forbidding(dict(reversed(PAIR.items())))) == definition_of(SPACE)
