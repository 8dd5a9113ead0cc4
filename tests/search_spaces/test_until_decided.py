"""The declaration of a plan of looks, and what it refuses."""

from typing import Any

import pytest

from search_spaces import FullFactorial, ListedArms, Search, Space, Sweep, UntilDecided
from tests.capsmodel.small_config import small_config

SPACE = Space.of(small_config()).only("optimiser.learning_rate")
ARMS = ListedArms(baseline="base", arms={"base": {}, "uniform": {"model.routing": "uniform"}})


def refusal(**fields: Any) -> str:
    """Return why a sweep or a plan of looks is refused."""
    kind = Sweep if "plan" in fields else UntilDecided
    named: dict[str, Any] = {"name": "example", "base": small_config()} if "plan" in fields else {}
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its words are what is tested
        kind(**named, **fields)
    return str(refused.value)


@pytest.mark.parametrize(
    ("first", "most", "looks"),
    [(3, 20, (3, 5, 8, 12, 20)), (3, 8, (3, 5, 8)), (3, 4, (3, 4)), (5, 10, (5, 10))],
)
def test_by_default_each_look_has_about_1_6_times_as_many_seeds(
    first: int, most: int, looks: tuple[int, ...]
) -> None:
    assert UntilDecided(first=first, most=most).seeds_at_looks == looks


def test_looks_may_be_set() -> None:
    looks = UntilDecided(first=4, most=9, looks=(4, 6, 9))
    assert looks.seeds_at_looks == (4, 6, 9)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"first": 2}, "first must be an integer from 3 to 1000, got 2."),
        ({"most": 3}, "give seeds=range(3) for one look."),
        ({"looks": (3, 12, 8, 20)}, "looks must rise from first=3 to most=20, got [3, 12, 8, 20]"),
        ({"looks": (3, 5, 12)}, "leave it out for [3, 5, 8, 12, 20]."),
        ({"margin_points": 0.0}, "margin_points must be a number above 0 at most 100, got 0.0."),
    ],
    ids=["first", "most", "falling", "short", "margin"],
)
def test_looks_that_cannot_be_are_one_sentence(fields: dict[str, Any], said: str) -> None:
    assert said in refusal(**fields)


def test_a_sweep_has_the_seeds_at_most_and_the_margin_of_its_looks() -> None:
    looks = UntilDecided(most=8, margin_points=0.5)
    sweep = Sweep(name="example", base=small_config(), plan=ARMS, seeds=looks)
    assert sweep.arm_seeds == tuple(range(8))
    assert sweep.margin == 0.5
    assert [cell.seed for cell in ARMS.initial_cells(sweep)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"plan": Search(space=SPACE, seeds=(0,), trials=8), "seeds": UntilDecided()},
            "UntilDecided is for the built-in designs",
        ),
        (
            {"plan": FullFactorial(factors={"model.routing": ("dynamic", "uniform")})},
            "declare tables=[AblationTable()]",
        ),
        (
            {"plan": ARMS, "seeds": UntilDecided(primary_of="shift")},
            "primary_of must name an evaluation of the sweep that has a primary figure, got "
            "'shift': it has none.",
        ),
        ({"plan": ARMS, "split_seeds": (0, 1)}, "split_seeds deals a fixed number of seeds"),
        ({"plan": ARMS, "margin_points": 1.0}, "margin_points is given twice, 0.5 in UntilDecided"),
        ({"plan": ARMS, "seeds": (0, -1)}, "got -1 at place 2."),
    ],
    ids=["search", "effects", "no evaluation", "splits", "margins", "seeds"],
)
def test_a_sweep_that_cannot_have_looks_says_so(fields: dict[str, Any], said: str) -> None:
    assert said in refusal(**{"seeds": UntilDecided(margin_points=0.5), **fields})


def test_a_list_of_seeds_in_place_of_looks_keeps_their_margin() -> None:
    looks = UntilDecided(margin_points=0.5)
    sweep = Sweep(name="example", base=small_config(), plan=ARMS, seeds=looks)
    assert sweep.changed(seeds=(0, 1, 2)).margin == 0.5
    assert sweep.changed(name="other").seeds == looks
