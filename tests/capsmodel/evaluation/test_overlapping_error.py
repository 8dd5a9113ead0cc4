"""Pairs at several distances: where they lie, how much they overlap, and who is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from capsmodel import Trained
from capsmodel.data import DataSplits
from capsmodel.data.multi_mnist import OverlaidImages
from capsmodel.evaluation import OverlappingError, findings_of
from capsmodel.evaluation.overlapping_error import overlap
from tests.capsmodel.data.test_multi_mnist import overlaid
from tests.capsmodel.evaluation.pairs_network import pairs_network


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trained:
    return pairs_network(tmp_path, monkeypatch)


@pytest.fixture
def pairs(network: Trained) -> OverlaidImages:
    return overlaid(splits_of(network).test)


def splits_of(network: Trained) -> DataSplits:
    return network.config.data.load("cpu")


def test_ink_of_both_is_counted_in_shares_of_the_smaller() -> None:
    parts = torch.zeros(4, 2, 1, 4, 4)
    parts[:, 0, 0, :2, :2] = 1
    for pair, (row, column) in enumerate([(0, 0), (0, 1), (1, 1), (2, 0)]):
        parts[pair, 1, 0, row : row + 2, column : column + 2] = 0.5
    torch.testing.assert_close(overlap(parts), torch.tensor([1, 0.5, 0.25, 0]).double())


@pytest.mark.parametrize("distance", [0, 1, 4, 5])
def test_centres_are_as_far_apart_as_said_along_one_axis(
    pairs: OverlaidImages, distance: int
) -> None:
    apart = pairs.apart(distance)
    difference = apart.pairs.shifts[:, 1] - apart.pairs.shifts[:, 0]
    assert set(difference.abs().sum(dim=1).tolist()) == {distance}
    assert set(difference.abs().amax(dim=1).tolist()) == {distance}
    assert torch.equal(apart.pairs.originals, pairs.pairs.originals)
    assert apart.objects is pairs.objects
    directions = {(int(a), int(b)) for a, b in difference.sign()}
    assert len(directions) == (4 if distance else 1)


def test_pixels_move_as_the_shifts_say(pairs: OverlaidImages) -> None:
    """Of originals of one pixel each, at 5 pixels."""
    dots = torch.zeros_like(pairs.images)
    dots[..., 7, 7] = 1
    apart = replace(pairs, images=dots).apart(5)
    parts = apart.take(slice(0, 10)).parts
    assert parts is not None
    for pair in parts:
        (_, row, column), (_, other_row, other_column) = (
            image.nonzero()[0].tolist() for image in pair
        )
        assert sorted((abs(row - other_row), abs(column - other_column))) == [0, 5]


def test_pairs_lie_the_same_way_at_all_distances(pairs: OverlaidImages) -> None:
    near, far = (pairs.apart(distance).pairs.shifts for distance in (2, 8))
    assert torch.equal(4 * near, far)


def test_pairs_of_one_class_have_each_original_once(pairs: OverlaidImages) -> None:
    alike = pairs.of_one_class()
    originals = alike.pairs.originals
    assert (
        len(originals.unique())
        == originals.numel()
        == 2 * sum(len(pairs.classes[pairs.classes == label]) // 2 for label in range(10))
    )
    assert torch.equal(pairs.classes[originals[:, 0]], pairs.classes[originals[:, 1]])
    assert torch.equal(alike.labels.sum(dim=1), torch.ones(len(alike), dtype=torch.long))
    assert len(alike.take(slice(None)).images) == len(alike)


def test_the_error_at_a_distance_is_that_of_the_pairs_there(
    network: Trained, pairs: OverlaidImages
) -> None:
    evaluation = OverlappingError(distances=(0, 3))
    findings = evaluation.evaluate(network, splits_of(network))
    for distance in (0, 3):
        there = pairs.apart(distance)
        said = network.predict(there.take(slice(None)).images).classes
        sets = torch.zeros_like(there.labels).scatter(1, said, True)
        is_wrong = (sets != there.labels).any(dim=1)
        name = f"error.distance_{distance}"
        assert torch.equal(findings.images[name].bool(), is_wrong)
        assert findings.metrics[name] == is_wrong.double().mean().item()
    assert findings.metrics["overlap.distance_0"] > findings.metrics["overlap.distance_3"] > 0
    assert evaluation.primary == "error"


def test_ink_outside_the_images_is_named(network: Trained) -> None:
    findings = OverlappingError(distances=(0, 2, 12)).evaluate(network, splits_of(network))
    (note,) = findings.left_out  # at 6 pixels 4 of 14 columns or rows
    assert note == "At 12 pixels 28.4 % of the ink lies outside the images."


def test_of_two_of_one_class_it_is_judged_whether_the_class_is_right(network: Trained) -> None:
    evaluation = OverlappingError(distances=(0, 2), same_class=True)
    findings = evaluation.evaluate(network, splits_of(network))
    alike = overlaid(splits_of(network).test).of_one_class().apart(2)
    first = network.predict(alike.take(slice(None)).images).lengths.argmax(dim=1)
    right = alike.labels[torch.arange(len(first)), first]
    expected = 1 - right.double().mean().item()
    assert findings.metrics["class_error.distance_2"] == pytest.approx(expected)
    assert not findings.images
    assert evaluation.primary == "class_error"


def test_pairs_that_cannot_be_moved_have_no_figures_but_a_reason(network: Trained) -> None:
    splits = splits_of(network)
    fixed = DataSplits(splits.train, splits.validation, splits.test.take(slice(0, 9)))
    findings = findings_of(OverlappingError(), network, fixed)
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith("overlapping_error is for data of pairs that are laid over each")
