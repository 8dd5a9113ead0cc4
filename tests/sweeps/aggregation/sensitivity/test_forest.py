"""A forest's functional ANOVA is that of Optuna, and of sums that are known."""

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from optuna.importance import FanovaImportanceEvaluator
from optuna.study import create_study
from optuna.trial import create_trial
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from sweeps.aggregation.sensitivity.forest import Boxes, leaves, main_shares, pair_surfaces


def test_shares_are_those_that_optuna_gives():
    chance = np.random.default_rng(4)
    table = chance.random((40, 3))
    values = table[:, 0] + table[:, 1] * table[:, 2]
    forest = RandomForestRegressor(8, max_depth=6, random_state=3).fit(table, values)
    shares = np.mean([main_shares(leaves(tree)) for tree in forest.estimators_], axis=0)

    ranges = {name: FloatDistribution(0.0, 1.0) for name in "abc"}
    study = create_study()
    study.add_trials(
        create_trial(params=dict(zip("abc", row, strict=True)), distributions=ranges, value=value)
        for row, value in zip(table.tolist(), values.tolist(), strict=True)
    )
    theirs = FanovaImportanceEvaluator(n_trees=8, max_depth=6, seed=3).evaluate(study)
    assert shares == pytest.approx([theirs[name] for name in "abc"], abs=1e-12)


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


def test_a_sum_of_two_columns_has_their_shares_and_no_pair():
    boxes = box(0, 1, 3, 4)

    assert main_shares(boxes) == pytest.approx([0.9, 0.1])
    assert pair_surfaces([boxes], 2)[0, :, 1, :] == pytest.approx(np.zeros((2, 2)))


def test_a_product_of_signs_is_all_pair_and_trees_are_averaged():
    boxes = box(1, -1, -1, 1)

    assert main_shares(boxes) == pytest.approx([0, 0])
    surface = pair_surfaces([boxes, box(0, 0, 0, 0)], 4)[0, :, 1, :]
    signs = np.array([1.0, 1, -1, -1])
    assert surface == pytest.approx(np.outer(signs, signs) / 2)


def test_a_tree_without_variance_shares_nothing():
    assert main_shares(box(1, 1, 1, 1)).tolist() == [0, 0]
