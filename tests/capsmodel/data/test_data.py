import hashlib

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.data import DataSplits, Digits, Images
from capsmodel.data.splits import fraction_of, hold_out

DIGEST_OF_TEST_IMAGES = "ef046fa2de412fcb2734e136d495b7bf72e085bfed7a6fe1a8383c270690f44b"
LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=60)


@pytest.fixture(scope="module")
def splits() -> DataSplits:
    return Digits().load("cpu")


def images_of(split: Images) -> set[bytes]:
    return {image.numpy().tobytes() for image in split.images}


def test_digits_have_the_declared_sizes(splits: DataSplits) -> None:
    assert [len(split) for split in (splits.train, splits.validation, splits.test)] == [
        1257,
        180,
        360,
    ]
    assert splits.train.images.shape[1:] == Digits().image_shape == (1, 8, 8)
    assert splits.train.labels.unique().tolist() == list(range(Digits.num_classes))


def test_padding_is_black_around_the_same_digits(splits: DataSplits) -> None:
    padded = Digits(padding=2)
    images = padded.load("cpu").test.images
    assert images.shape[1:] == padded.image_shape == (1, 12, 12)
    assert torch.equal(images[:, :, 2:-2, 2:-2], splits.test.images)
    assert images.sum() == splits.test.images.sum()


def test_digits_are_single_precision_from_zero_to_one(splits: DataSplits) -> None:
    assert splits.train.images.dtype == torch.float32
    assert splits.train.images.min() == 0
    assert splits.train.images.max() == 1


def test_splits_share_no_image(splits: DataSplits) -> None:
    train, validation, test = (
        images_of(split) for split in (splits.train, splits.validation, splits.test)
    )
    assert len(train) + len(validation) + len(test) == 1797  # the digits have no duplicates
    assert not train & validation
    assert not (train | validation) & test


@pytest.mark.parametrize("name", ["validation", "test"])
def test_each_class_has_its_share_of_a_split(splits: DataSplits, name: str) -> None:
    held_out: Images = getattr(splits, name)
    everything = torch.cat([splits.train.labels, splits.validation.labels, splits.test.labels])
    expected = torch.bincount(everything) * len(held_out) / 1797
    assert (torch.bincount(held_out.labels) - expected).abs().max() <= 1


def test_the_split_seed_moves_the_validation_split_and_never_the_test_split(
    splits: DataSplits,
) -> None:
    other = Digits(split_seed=1).load("cpu")
    assert torch.equal(other.test.images, splits.test.images)
    assert images_of(other.validation) != images_of(splits.validation)


def test_the_validation_fraction_is_taken_from_the_training_images() -> None:
    splits = Digits(validation_fraction=0.5).load("cpu")
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (719, 718, 360)


def test_the_test_split_is_the_one_that_records_were_made_with(splits: DataSplits) -> None:
    digest = hashlib.sha256(splits.test.images.numpy().tobytes()).hexdigest()
    assert digest == DIGEST_OF_TEST_IMAGES


def test_other_digits_than_those_expected_are_refused() -> None:
    class OtherDigits(Digits):
        fingerprint = "0" * 64

    with pytest.raises(ValueError, match=r"have the fingerprint 87ff0c9e.*expected 0000"):
        OtherDigits().load("cpu")


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_a_validation_fraction_leaves_images_on_both_sides(fraction: float) -> None:
    with pytest.raises(ValueError, match="validation_fraction must be a number"):
        Digits(validation_fraction=fraction)


def test_a_fraction_takes_its_share_of_every_split(splits: DataSplits) -> None:
    part = Digits(fraction=0.5).load("cpu")
    for name in ("train", "validation", "test"):
        counts = torch.bincount(getattr(splits, name).labels)
        taken = torch.bincount(getattr(part, name).labels)
        assert (taken - counts / 2).abs().max() <= 0.5
        assert images_of(getattr(part, name)) < images_of(getattr(splits, name))


def test_a_fraction_without_an_image_of_a_class_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"^A fraction of 0\.01 leaves no image of class 0 in the validation split of "
        r"digits, which has 18 of it: choose at least 0\.056\.$",
    ):
        Digits(fraction=0.01).load("cpu")


def test_the_fraction_that_a_refusal_names_is_enough() -> None:
    assert torch.bincount(Digits(fraction=0.056).load("cpu").validation.labels).min() == 1


@pytest.mark.parametrize("fraction", [0.0, 1.5])
def test_a_fraction_is_a_share(fraction: float) -> None:
    with pytest.raises(ValueError, match="fraction must be a number"):
        Digits(fraction=fraction)


@given(LABELS, st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_smaller_fraction_is_a_part_of_a_larger_one(
    labels: list[int], first: float, second: float
) -> None:
    small, large = sorted((first, second))
    indices = range(0, len(labels), 2)
    part = fraction_of(indices, labels, small, "seed")
    assert set(part) <= set(fraction_of(indices, labels, large, "seed")) <= set(indices)


@given(LABELS, st.floats(0.01, 1))
def test_a_fraction_keeps_the_share_of_each_class(labels: list[int], fraction: float) -> None:
    part = fraction_of(range(len(labels)), labels, fraction, "seed")
    assert part == sorted(part)
    for label in set(labels):
        taken = sum(labels[index] == label for index in part)
        assert abs(taken - fraction * labels.count(label)) <= 0.5


def test_a_fraction_is_the_same_with_every_version_of_every_library() -> None:
    assert fraction_of(range(20), [0] * 20, 0.2, "seed") == [4, 6, 7, 17]


@given(LABELS, st.data())
def test_holding_out_splits_the_indices_in_two(labels: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(labels) - 1))
    remaining, held_out = hold_out(labels, number, "seed")
    assert len(held_out) == number
    assert sorted(remaining + held_out) == list(range(len(labels)))


@given(LABELS, st.data())
def test_holding_out_takes_each_class_in_proportion(labels: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(labels) - 1))
    _, held_out = hold_out(labels, number, "seed")
    for label in set(labels):
        share = labels.count(label) * number / len(labels)
        assert abs(sum(labels[index] == label for index in held_out) - share) < 1
