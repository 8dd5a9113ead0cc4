"""Drawn objects: what there is of them, and that it is drawn the same everywhere."""

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from capsmodel.data import Viewpoints
from capsmodel.data.viewed_objects import Objects, Views
from capsmodel.data.viewpoints import data_set
from capsmodel.data.viewpoints.drawing import draw, joined, views_of
from capsmodel.data.viewpoints.scene import camera

NUM_PAIRS = 24_300
BOTH = pytest.mark.parametrize("objects", ["train", "test"])
GOLDEN = {
    "train": "c735daa97b1515a71b76df1a19e38c58fc9c6dc47dde9a0687dfad6ce27f6a61",
    "test": "c5b826eed84318955ea6b2e21a2d53e0cb14e567de771b95e56e4f3b1776abd7",
}
DRAWS_A_HALF = """
from capsmodel.data import Viewpoints
Viewpoints().pixels("test", range(Viewpoints.few + 1))  # refuses a file with another checksum
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def pairs_of(objects: Objects, rows: list[int]) -> np.ndarray:
    return joined(draw(views_of(objects), rows), len(rows))


def row_of(views: Views, label: int, *codes: int) -> int:
    (row,) = np.flatnonzero((views.labels == label) & (views.codes == codes).all(axis=1))
    return int(row)


def pair(label: int, *codes: int) -> np.ndarray:
    return pairs_of("train", [row_of(views_of("train"), label, *codes)])[0].astype(int)


def difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the share of pixels that differ by more than a sixteenth of the range."""
    return float((abs(first - second) > 16).mean())


@BOTH
def test_every_combination_is_there_once(objects: Objects) -> None:
    views = views_of(objects)
    combinations = {
        (label, *codes) for label, codes in zip(views.labels, map(tuple, views.codes), strict=True)
    }
    assert len(views.labels) == len(combinations) == NUM_PAIRS
    assert [sorted(set(column)) for column in views.codes.T.tolist()[1:]] == [
        list(range(9)),
        list(range(0, 36, 2)),
        list(range(6)),
    ]


def test_objects_of_the_test_are_not_trained_on() -> None:
    assert set(views_of("train").codes[:, 0].tolist()) == {4, 6, 7, 8, 9}
    assert set(views_of("test").codes[:, 0].tolist()) == {0, 1, 2, 3, 5}


def test_a_catalogue_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Viewpoints().catalogue("train").labels[0] = 1


@pytest.mark.parametrize("views", ["azimuth", "elevation"])
def test_a_third_of_the_viewpoints_is_familiar(views: str) -> None:
    rows = Viewpoints.model_validate({"views": views}).rows()
    assert len(rows.train) + len(rows.validation) == 8_100
    assert len(rows.test) == 16_200
    assert len(rows.extra_tests["familiar"]) == 8_100


def test_all_viewpoints_are_trained_on_by_default() -> None:
    rows = Viewpoints().rows()
    assert len(rows.train) + len(rows.validation) == len(rows.test) == NUM_PAIRS


def test_a_fraction_draws_only_what_is_asked_for_and_keeps_no_file(root: Path) -> None:
    splits = Viewpoints(fraction=0.002).load("cpu")
    assert [len(split) for split in (splits.train, splits.validation, splits.test)] == [45, 5, 50]
    assert splits.train.images.dtype == torch.uint8
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("objects", ["train", "test"])
def test_pictures_are_those_of_this_version(objects: Objects) -> None:
    """A changed picture needs a new version and new checksums, of the files too."""
    pairs = pairs_of(objects, list(range(7, NUM_PAIRS, 1_217)))
    assert hashlib.sha256(pairs.data).hexdigest() == GOLDEN[objects]


@pytest.mark.nightly  # every 1,217th of these pictures is compared in .ci/run
@pytest.mark.timeout(3600)
def test_a_whole_half_is_that_of_this_version(root: Path) -> None:
    subprocess.run([sys.executable, "-c", DRAWS_A_HALF], check=True)  # unchecked shapes: in a third
    (path,) = root.rglob("*.pixels")
    assert path.stat().st_size == NUM_PAIRS * 2 * 48 * 48
    rows = [0, 12_345, NUM_PAIRS - 1]
    assert np.array_equal(Viewpoints().pixels("test", rows), pairs_of("test", rows))


def test_a_pair_looks_the_same_whatever_else_is_drawn() -> None:
    views = views_of("test")
    many = [
        row_of(views, label, 3, elevation, 8, lighting)
        for label in (1, 4)
        for elevation in (2, 7)
        for lighting in range(6)
    ]
    together = pairs_of("test", many)
    for place in (0, 5, 8, 13, 23):
        assert np.array_equal(pairs_of("test", [many[place]])[0], together[place])


def test_pairs_come_in_the_order_in_which_they_are_asked_for() -> None:
    rows = [24_000, 3, 12_000, 2]
    backward = pairs_of("train", rows[::-1])
    assert np.array_equal(pairs_of("train", rows), backward[::-1])


def test_a_machine_that_draws_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_set, "_PROBE_SHA256", "0" * 64)
    data_set._check_drawing.cache_clear()
    data_set._drawn.cache_clear()
    with pytest.raises(ValueError, match=r"^This machine draws other viewpoints, .*expected 000"):
        Viewpoints(fraction=0.002).load("cpu")


def test_the_two_cameras_see_an_object_from_two_sides() -> None:
    for label in range(5):
        left, right = pair(label, 7, 3, 4, 0)
        assert 0.02 < difference(left, right) < 0.5


@pytest.mark.parametrize(
    "codes", [(8, 3, 4, 0), (7, 6, 4, 0), (7, 3, 10, 0), (7, 3, 4, 2)],
    ids=["instance", "elevation", "azimuth", "lighting"],
)  # fmt: skip
def test_each_factor_changes_what_is_seen(codes: tuple[int, int, int, int]) -> None:
    for label in range(5):
        assert difference(pair(label, 7, 3, 4, 0), pair(label, *codes)) > 0.03


def test_classes_look_different() -> None:
    pairs = [pair(label, 7, 3, 4, 0) for label in range(5)]
    for place, picture in enumerate(pairs):
        assert all(difference(picture, other) > 0.1 for other in pairs[:place])


def test_an_object_is_in_the_middle_and_leaves_ground_around_it() -> None:
    for label in range(5):
        left, _ = pair(label, 7, 4, 4, 4)
        ground = Counter(left.ravel().tolist()).most_common(1)[0][0]
        assert (left[:, [0, -1]] == ground).mean() > 0.8
        assert (left[16:32, 16:32] != ground).mean() > 0.4


def test_cameras_are_in_front_of_an_object_at_azimuth_0_and_left_is_left() -> None:
    left, right = (camera(0.0, 0.0, 30.0, eye).origin for eye in (0, 1))
    assert left[0] == right[0] > 5
    assert left[1] < 0 < right[1]  # an object's left is where y is above 0, and it looks at us


def test_cameras_walk_around_an_object_counterclockwise() -> None:
    left, right = (camera(0.0, 90.0, 30.0, eye).origin for eye in (0, 1))
    assert left[1] == right[1] > 5
    assert right[0] < 0 < left[0]


def test_lamps_throw_shadows() -> None:
    shadow, no_shadow = (pair(1, 7, 0, 4, lighting)[0] for lighting in (2, 4))
    assert (shadow < shadow[0, 0] - 20).mean() > (no_shadow < no_shadow[0, 0] - 20).mean()
