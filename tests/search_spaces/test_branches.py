"""Each kind of a part gets its share of the branches, whatever the other parts are."""

from collections import Counter

import pytest

from capsmodel.search_range import Choices
from search_spaces import Space
from search_spaces.space.branches import Branches

LOSS, SCHEDULE, SPREAD = "loss", "loss[margin].schedule", "loss[spread].schedule"
KINDS = ("margin", "spread", "cross_entropy")
SCHEDULES = ("constant", "linear")
NESTED = Space(
    {
        "model.routing": ("dynamic", "em"),
        LOSS: KINDS,
        SCHEDULE: SCHEDULES,
        SPREAD: SCHEDULES,
        "batch_size": Choices(32, 64, 128),
    }
)


def branches(space: Space = NESTED, seed: int = 0, count: int = 36) -> list[dict[str, object]]:
    drawn = Branches(space, seed)
    return [dict(drawn.branch(number)) for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_each_kind_has_its_share_and_within_it_each_of_its_parts_kinds(seed: int) -> None:
    drawn = branches(seed=seed)
    assert Counter(branch[LOSS] for branch in drawn) == dict.fromkeys(KINDS, 12)
    assert Counter(branch["model.routing"] for branch in drawn) == {"dynamic": 18, "em": 18}
    for kind, name in (("margin", SCHEDULE), ("spread", SPREAD)):
        within = [branch[name] for branch in drawn if branch[LOSS] == kind]
        assert Counter(within) == dict.fromkeys(SCHEDULES, 6)
    assert all(("batch_size" in branch) is False for branch in drawn), "a value is no part"


def test_any_first_part_is_balanced_to_one_proposal() -> None:
    drawn = branches()
    for count in range(1, 36):
        counts = Counter(branch[LOSS] for branch in drawn[:count])
        assert max(counts[kind] for kind in KINDS) - min(counts[kind] for kind in KINDS) <= 1


def test_two_parts_are_drawn_independently() -> None:
    pairs = Counter((branch["model.routing"], branch[LOSS]) for branch in branches(count=600))
    assert len(pairs) == 6
    assert all(70 <= number <= 130 for number in pairs.values())


def test_a_branch_depends_on_seed_and_number_alone() -> None:
    assert branches()[17] == Branches(NESTED, 0).branch(17)
    assert branches(seed=1) != branches()
    another = NESTED.in_order([LOSS], {LOSS: KINDS[::-1]})
    assert another.dimensions != NESTED.dimensions
    assert branches(another) == branches(), "nor on the order in which it is declared"
