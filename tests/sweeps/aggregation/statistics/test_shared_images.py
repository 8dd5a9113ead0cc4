"""Tests of data sets that show the same images."""

import numpy as np
import pytest
from jaxtyping import Float

from sweeps.aggregation.statistics.across_data_sets import overall
from sweeps.aggregation.statistics.families import holm_rows
from sweeps.aggregation.statistics.shared_images import linked_places, with_shared_images
from sweeps.aggregation.statistics.two_way import TwoWay, two_way

TABLES, COMPARED, SEEDS, IMAGES = 800, 4, 5, 200
DIGITS = ("digits",)


def null_tables(num_data_sets: int, *, are_the_same: bool) -> list[TwoWay]:
    """Return differences of arms that do not differ, on data sets of the same or other images."""
    generator = np.random.default_rng(61)

    def images() -> Float[np.ndarray, "tables arms images"]:
        return generator.normal(size=(TABLES, COMPARED + 1, IMAGES))

    shared, ways = images(), list[TwoWay]()
    for _ in range(num_data_sets):
        of_images = shared if are_the_same else images()
        logits = -2 + 1.5 * of_images[:, :, None, :]
        logits = logits + 0.3 * generator.normal(size=(TABLES, COMPARED + 1, SEEDS, 1))
        logits = logits + 0.5 * generator.normal(size=(TABLES, COMPARED + 1, SEEDS, IMAGES))
        wrong = (logits > 0).astype(float)
        ways.append(two_way(wrong[:, 1:] - wrong[:, :1]))
    return ways


def share_bold(ways: list[TwoWay]) -> float:
    """Return how many tables have anything bold."""
    return float((holm_rows(overall(ways).p_value) < 0.05).any(axis=1).mean())


def test_what_does_not_differ_is_bold_as_seldom_as_on_images_of_their_own() -> None:
    ways = null_tables(3, are_the_same=True)
    assert share_bold(ways) > 0.1, "as independent ones they are bold far too often"
    assert share_bold(with_shared_images(ways, [DIGITS] * 3)) < 0.055


def test_the_error_of_images_of_one_group_adds_up_and_that_of_groups_in_squares() -> None:
    ways = null_tables(3, are_the_same=False)
    images_of = (DIGITS, ("mnist",), ("digits", "mnist"))
    for names, groups in (((DIGITS, ("mnist",), ()), 3), (images_of, 1), ((DIGITS, (), DIGITS), 2)):
        assert len(linked_places(names)) == groups
    enlarged = with_shared_images(ways, (DIGITS, (), DIGITS))
    first, second, third = (np.sqrt(way.over_images) for way in ways)
    total = sum(way.over_images for way in enlarged)
    assert total == pytest.approx((first + third) ** 2 + second**2)
    assert enlarged[1] is ways[1]
    assert enlarged[0].over_seeds is ways[0].over_seeds


def test_data_sets_whose_images_are_not_known_are_of_their_own() -> None:
    ways = null_tables(2, are_the_same=False)
    for names in (((), ()), (DIGITS, ())):
        for way, enlarged in zip(ways, with_shared_images(ways, names), strict=True):
            assert enlarged.over_images == pytest.approx(way.over_images)
