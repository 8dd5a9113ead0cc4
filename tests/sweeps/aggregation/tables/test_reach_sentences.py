"""What a next table would find, as the sentences above a table say it."""

import pytest

from sweeps.aggregation.statistics.reach import Reach, Sizes
from sweeps.aggregation.tables.reach_sentences import (
    EFFECTS,
    ERRORS,
    FIGURES,
    is_found,
    next_table_sentences,
)


def reach(
    *, more: float = 0.03, less: float = 0.02, error: float = 0.05, num_seeds: int = 5
) -> Reach:
    """Return figures whose limits are half and twice the middle, those of half power half of it."""

    def sizes(middle: float) -> Sizes:
        return Sizes(middle / 2, middle, 2 * middle)

    return Reach(sizes(more), sizes(less), sizes(more / 2), sizes(less / 2), error, num_seeds)


FOUND = "would show an arm in bold in 8 of 10 cases if it errs"
ROUGHLY = "more than the baseline (these seeds do not tell how much exactly)"
HALF = f"{ROUGHLY}, and in 5 of 10 if it errs"
MISSED = "an improvement may be missed, however large"


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        (
            reach(),
            f"{FOUND} 1.0 to 4.0 points less or 1.5 to 6.0 {HALF} 0.5 to 2.0 points less or 0.8 to "
            "3.0 more.",
        ),
        (
            reach(error=0.03),
            f"{FOUND} at least 1.0 points less or 1.5 to 6.0 {HALF} 0.5 to 2.0 points less or 0.8 "
            "to 3.0 more.",
        ),
        (
            reach(less=0.04, error=0.03),
            f"{FOUND} 1.5 to 6.0 points {HALF} at least 1.0 points less or 0.8 to 3.0 more; "
            f"{MISSED}.",
        ),
        (
            reach(more=0.4, less=0.4),
            f"{FOUND} 20.0 to over 50 points {HALF} 10.0 to 40.0 points more; {MISSED}.",
        ),
        (
            reach(more=1.0, less=1.0, error=0.1),
            "would show an arm in bold in 5 of 10 cases if it errs at least 25.0 points more "
            f"than the baseline; {MISSED}; one that errs more may be missed, however much more.",
        ),
        (reach(num_seeds=3), f"{FOUND} 1.0 to 4.0 points less or 1.5 to 6.0 {ROUGHLY}."),
        (
            reach(error=0.024),
            f"{FOUND} 1.5 to 6.0 points {HALF} at least 0.5 points less or 0.8 to 3.0 more; "
            f"{MISSED}.",
        ),
        (reach(more=2.0, less=2.0, error=0.1), "may miss any arm, however much it differs."),
    ],
    ids=[
        *("both", "at best", "only more", "far", "half alone"),
        *("three seeds", "hardly any error left", "none"),
    ],
)
def test_it_says_what_is_found_in_both_directions(figures: Reach, text: str) -> None:
    (sentence,) = next_table_sentences([figures], "9 images", ERRORS)
    assert sentence == f"A next table like this one (9 images) {text}"


def test_figures_of_several_arms_are_one_range() -> None:
    (alike,) = next_table_sentences([reach(), reach(more=0.04)], "", ERRORS)
    assert "1.5 to 8.0 more" in alike
    assert "depending" not in alike
    (unlike,) = next_table_sentences([reach(), reach(more=0.05)], "", ERRORS)
    assert "(these seeds do not tell how much exactly, and it depends on the arm)" in unlike


def test_arms_held_to_their_own_seeds_have_figures_of_their_own_where_these_are_far() -> None:
    near = [(reach(more=0.04), "wild")]
    assert len([*next_table_sentences([reach()], "", ERRORS, near)]) == 1
    far = [(reach(more=0.06, less=0.06), "wild"), (reach(more=0.09, less=0.06), "odd")]
    first, second = next_table_sentences([reach()], "", ERRORS, far)
    assert first == next(iter(next_table_sentences([reach()], "", ERRORS)))
    assert second == (
        "Of arms held to their own seeds (wild, odd) it would show one in bold in 8 of 10 cases if "
        "it errs 3.0 to 18.0 points more."
    )
    (alone,) = next_table_sentences([], "", ERRORS, far)
    assert "3.0 to 18.0 points more" in alone


def test_other_tables_have_words_of_their_own() -> None:
    (of_effects,) = next_table_sentences([reach()], "", EFFECTS)
    assert "if it lowers errors by 1.0 to 4.0 points or raises them by 1.5 to 6.0 (" in of_effects
    (of_figures,) = next_table_sentences([reach()], "", FIGURES)
    assert "if it lies 1.0 to 4.0 points lower or 1.5 to 6.0 higher than the" in of_figures


@pytest.mark.parametrize(
    ("difference", "is_sure"), [(0.03, True), (0.029, False), (-0.02, True), (-0.019, False)]
)
def test_a_difference_is_found_from_the_figure_of_its_direction_on(
    difference: float, is_sure: bool
) -> None:
    assert is_found(reach(), difference) == is_sure
