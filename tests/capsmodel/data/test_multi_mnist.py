"""Pairs of overlapping digits: their laws, their rounds, and the fixed test pairs."""

import hashlib
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import torch
from torch.testing import assert_close

from capsmodel import TrainingConfig
from capsmodel.config import num_parameters
from capsmodel.data import DataSplits, MultiMnist
from capsmodel.data.idx import IdxImages
from capsmodel.data.multi_mnist import OverlaidImages
from capsmodel.functional.images import moved_by
from capsmodel.models import CapsNet
from tests.capsmodel.data.idx_files import SmallMnist, write_files
from tests.capsmodel.data.test_mnist import needs_images

# Of the 10,000 test pairs and their shifts: a change of them needs another protocol_version.
DIGESTS = {4: "c583ba936f0300e3", 6: "bdc8afa2cc4042eb"}


class SmallPairs(MultiMnist):
    """Of 250 digits that a test writes."""

    source: ClassVar[type[IdxImages]] = SmallMnist
    kind: Literal["small_pairs"] = "small_pairs"


@pytest.fixture
def splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSplits:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    write_files(tmp_path / "MNIST" / "raw")
    return SmallPairs().load("cpu")


def overlaid(images: object) -> OverlaidImages:
    assert isinstance(images, OverlaidImages)
    return images


def test_a_pixel_is_the_sum_of_both_digits_and_at_most_white(splits: DataSplits) -> None:
    for split in (splits.train, splits.validation, splits.test):
        taken = split.take(slice(None))
        assert taken.parts is not None
        assert_close(taken.images, taken.parts.sum(dim=1).clamp(max=1))
        assert taken.images.shape[1:] == (1, 36, 36)


def test_the_two_digits_are_of_unlike_classes_and_no_ink_is_lost(splits: DataSplits) -> None:
    for split in map(overlaid, (splits.train, splits.validation, splits.test)):
        assert torch.equal(split.labels.sum(dim=1), torch.full((len(split),), 2))
        taken = split.take(slice(None))
        assert taken.parts is not None
        ink = split.images[split.pairs.originals].sum(dim=(2, 3, 4))
        assert_close(taken.parts.sum(dim=(2, 3, 4)).sum(dim=1), ink.sum(dim=1))


def test_parts_are_in_the_order_of_their_classes(splits: DataSplits) -> None:
    split = overlaid(splits.test)
    taken = split.take(slice(0, 8))
    assert taken.parts is not None
    for pair in range(8):
        originals = split.pairs.originals[pair]
        lower = int(split.classes[originals].argmin())
        padded = torch.nn.functional.pad(split.images[originals[lower : lower + 1]], [4] * 4)
        alone = moved_by(padded, split.pairs.shifts[pair, lower : lower + 1], 4)
        assert torch.equal(taken.parts[pair, 0], alone[0])


def test_every_original_is_twice_in_the_test_pairs_and_groups_share_none(
    splits: DataSplits,
) -> None:
    split = overlaid(splits.test)
    counts = split.pairs.originals.flatten().bincount()
    assert set(counts[counts > 0].tolist()) == {2}
    assert split.objects is not None
    for group in split.objects.unique():
        members = split.pairs.originals[split.objects == group]
        assert members.shape == (4, 2)
        assert len(members.unique()) == 4


def test_each_epoch_draws_other_pairs_and_the_same_seed_the_same(splits: DataSplits) -> None:
    train = overlaid(splits.train)
    first, repeated, other = (overlaid(train.of_epoch(*of)) for of in ((3, 1), (3, 1), (4, 1)))
    assert torch.equal(first.take(slice(None)).images, repeated.take(slice(None)).images)
    assert not torch.equal(first.pairs.originals, other.pairs.originals)
    assert torch.equal(first.pairs.originals[:, 0], torch.arange(len(train)))
    assert overlaid(splits.test).of_epoch(3, 1) is splits.test


def test_images_are_moved_down_and_to_the_right() -> None:
    image = torch.zeros(2, 1, 4, 4)
    image[:, 0, 1, 2] = 1
    moved = moved_by(image, torch.tensor([[2, 1], [-1, -2]]), 2)
    assert moved.nonzero().tolist() == [[0, 0, 3, 3], [1, 0, 0, 0]]


def test_the_network_of_the_paper_has_its_number_of_parameters() -> None:
    assert num_parameters(TrainingConfig(data=MultiMnist(), model=CapsNet())) == 11_361_808


@needs_images
class TestRealDigits:
    def test_there_are_ten_thousand_test_pairs_whose_chance_is_known(self) -> None:
        splits = MultiMnist().load("cpu")
        sizes = [len(split) for split in (splits.train, splits.validation, splits.test)]
        assert sizes == [52_500, 7_500, 10_000]
        labels = splits.test.labels.float()
        pairs = [
            (1 - (1 - labels[:, a]) * (1 - labels[:, b])).mean()
            for a in range(10)
            for b in range(a)
        ]
        # With MNIST's class shares 97.4 %, 40.3 % and 21.5 %; the best of 45 is a little luckier.
        assert MultiMnist().task.chance(splits.test.labels) == pytest.approx(0.974, abs=0.004)
        assert max(pairs).item() == pytest.approx(0.403, abs=0.01)
        assert labels.mean(dim=0).topk(2).values.mean().item() == pytest.approx(0.215, abs=0.005)

    @pytest.mark.parametrize("shift", [4, 6])
    def test_the_test_pairs_are_those_of_ever(self, shift: int) -> None:
        pairs = overlaid(MultiMnist(shift=shift).load("cpu").test).pairs
        hashed = hashlib.sha256(pairs.originals.numpy().tobytes() + pairs.shifts.numpy().tobytes())
        assert hashed.hexdigest()[:16] == DIGESTS[shift]

    def test_halved_digits_have_eighteen_pixels(self) -> None:
        taken = MultiMnist(halved=True, shift=2, fraction=0.05).load("cpu").test.take(slice(0, 2))
        assert taken.images.shape == (2, 1, 18, 18)
