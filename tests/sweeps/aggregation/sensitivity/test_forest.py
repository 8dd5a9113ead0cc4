"""A forest's functional ANOVA is that of sums that are known."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from sweeps.aggregation.sensitivity.forest import Boxes, leaves, pair_surfaces


def test_the_boxes_of_a_tree_fill_the_cube_and_say_what_it_says():
    chance = np.random.default_rng(5)
    table, values = chance.random((30, 4)), chance.random(30)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(table, values)
    boxes = leaves(tree)

    assert boxes.volumes.sum() == pytest.approx(1)
    points = chance.random((50, 1, 4))
    inside = ((points >= boxes.low) & (points < boxes.high)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert inside @ boxes.values == pytest.approx(tree.predict(points[:, 0]))


CORNERS = np.array([[0, 0], [0, 0.5], [0.5, 0], [0.5, 0.5]])


def box(*values: float) -> Boxes:
    return Boxes(CORNERS, CORNERS + 0.5, np.array(values, dtype=np.float64))


def test_a_sum_of_two_columns_has_no_pair():
    boxes = box(0, 1, 3, 4)

    assert pair_surfaces([boxes], 2)[0, :, 1, :] == pytest.approx(np.zeros((2, 2)))


def test_a_product_of_signs_is_all_pair_and_trees_are_averaged():
    boxes = box(1, -1, -1, 1)

    surface = pair_surfaces([boxes, box(0, 0, 0, 0)], 4)[0, :, 1, :]
    signs = np.array([1.0, 1, -1, -1])
    assert surface == pytest.approx(np.outer(signs, signs) / 2)
