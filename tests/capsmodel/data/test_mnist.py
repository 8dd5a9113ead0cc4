import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from capsmodel import TrainingConfig
from capsmodel.config import num_parameters
from capsmodel.data import DATA_SETS, DataSplits, FashionMnist, KMnist, Mnist, SplitIndices
from capsmodel.data.archive import Archives
from capsmodel.data.idx import IdxImages
from capsmodel.data.user_files import UserFiles
from tests.capsmodel.data.idx_files import (
    CONTENTS,
    NUM_TEST,
    NUM_TRAIN,
    SmallMnist,
    mirror,
    write_files,
)

needs_images = pytest.mark.skipif(
    "CAPSWEEP_DATA" not in os.environ, reason="CAPSWEEP_DATA names no folder with real images"
)
BOTH = pytest.mark.parametrize("kind", [Mnist, FashionMnist])
NAMES_OF_SPLITS = ("train", "validation", "test")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "MNIST" / "raw"


@pytest.fixture
def splits(folder: Path) -> DataSplits:
    write_files(folder)
    return SmallMnist().load("cpu")


def bytes_of(images: torch.Tensor) -> set[bytes]:
    return {(255 * image).round().byte().numpy().tobytes() for image in images}


def split_of(data: IdxImages) -> tuple[SplitIndices, torch.Tensor, torch.Tensor]:
    labels, test_labels = (
        torch.from_numpy(np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8)[8:].copy())
        for path in (data.archives.folder / data.archives.files[place].name for place in (1, 3))
    )
    return data.split(labels.tolist(), test_labels.tolist()), labels, test_labels


def test_the_training_images_are_split_in_two(splits: DataSplits) -> None:
    assert [len(getattr(splits, name)) for name in NAMES_OF_SPLITS] == [175, 25, 50]
    train, validation = bytes_of(splits.train.images), bytes_of(splits.validation.images)
    assert len(train | validation) == NUM_TRAIN
    assert not train & validation


def test_images_are_single_precision_from_zero_to_one(splits: DataSplits) -> None:
    images = splits.train.images
    assert images.shape[1:] == Mnist.image_shape
    assert images.dtype == torch.float32
    assert (images.min(), images.max()) == (0, 1)


def test_the_test_split_is_the_whole_file_in_its_order(splits: DataSplits) -> None:
    pixels = gzip.decompress(CONTENTS["t10k-images-idx3-ubyte.gz"])[16:]
    assert (255 * splits.test.images).round().byte().numpy().tobytes() == pixels
    assert splits.test.labels.tolist() == [index % 10 for index in range(NUM_TEST)]


def test_images_keep_their_labels(folder: Path, splits: DataSplits) -> None:
    all_images = SmallMnist(validation_fraction=0.5).load("cpu")
    labels = {
        image.numpy().tobytes(): int(label)
        for split in (all_images.train, all_images.validation)
        for image, label in zip(split.images, split.labels, strict=True)
    }
    assert [labels[image.numpy().tobytes()] for image in splits.train.images] == (
        splits.train.labels.tolist()
    )


def test_a_folder_with_all_files_is_not_written(folder: Path, splits: DataSplits) -> None:
    assert {path.name for path in folder.iterdir()} == set(CONTENTS)
    assert len(splits.test) == NUM_TEST


def test_the_images_of_one_load_are_not_those_of_the_next(splits: DataSplits) -> None:
    before = splits.train.images.clone()
    splits.train.images.zero_()
    assert torch.equal(SmallMnist().load("cpu").train.images, before)


@pytest.mark.parametrize("asking", [SmallMnist.prepare, lambda data: data.load("cpu")])
def test_preparing_and_loading_download_what_is_lacking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, asking: Callable[[SmallMnist], object]
) -> None:
    with mirror() as (address, asked):
        monkeypatch.setattr(SmallMnist, "own_mirrors", [address])
        asking(SmallMnist())
    assert set(asked) == set(CONTENTS)


def test_preparing_refuses_a_fraction_that_leaves_a_class_empty(folder: Path) -> None:
    write_files(folder)
    with pytest.raises(ValueError, match=r"leaves no image of class 5 in the validation split"):
        SmallMnist(fraction=0.1).prepare()


@BOTH
def test_planning_needs_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[IdxImages]
) -> None:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    assert num_parameters(TrainingConfig(data=kind())) == 8_215_568
    assert len(kind.fingerprint) == 64
    assert list(tmp_path.iterdir()) == []


def test_data_sets_have_fingerprints_of_their_own() -> None:
    published = [data for data in DATA_SETS if not issubclass(data, UserFiles)]
    assert len({data.fingerprint for data in published}) == len(published)


def test_fingerprints_are_those_that_records_were_made_with() -> None:
    assert {data.__name__: data.fingerprint for data in (Mnist, FashionMnist)} == {
        "Mnist": "af09e3459d270ed5823840cd77e40143db7b9972759fcbbff31acf4e8e7e2e23",
        "FashionMnist": "45989d5fa2a25229cd8307b37c2cc7e86784af7fab725122c693c7cd762c33cf",
    }


@pytest.mark.parametrize("kind", [Mnist, FashionMnist, KMnist])
def test_files_and_mirrors_are_torchvisions(kind: type[IdxImages]) -> None:
    import torchvision.datasets

    theirs = getattr(torchvision.datasets, kind.archives.title)
    assert [(file.name, file.md5) for file in kind.archives.files] == theirs.resources
    assert list(kind.mirrors()) == theirs.mirrors


def test_kmnist_is_read_from_the_same_form_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SmallKMnist(KMnist):
        archives = Archives("KMNIST", SmallMnist.archives.files)

    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    write_files(tmp_path / "KMNIST" / "raw")
    splits = SmallKMnist().load("cpu")
    assert [len(getattr(splits, name)) for name in NAMES_OF_SPLITS] == [175, 25, 50]


@needs_images
@BOTH
class TestRealImages:
    def test_they_have_the_published_numbers(self, kind: type[IdxImages]) -> None:
        splits = kind().load("cpu")
        assert [len(getattr(splits, name)) for name in NAMES_OF_SPLITS] == [52_500, 7_500, 10_000]
        assert (splits.train.images.min(), splits.train.images.max()) == (0, 1)

    def test_no_image_is_in_two_splits_and_classes_keep_their_share(
        self, kind: type[IdxImages]
    ) -> None:
        indices, labels, _ = split_of(kind())
        assert sorted(indices.train + indices.validation) == list(range(60_000))
        assert indices.test == list(range(10_000))
        share = torch.bincount(labels) / 8
        held_out = torch.bincount(labels[indices.validation])
        assert (held_out - share).abs().max() < 1

    def test_a_fraction_keeps_the_share_of_each_class(self, kind: type[IdxImages]) -> None:
        whole, labels, test_labels = split_of(kind())
        part, _, _ = split_of(kind(fraction=0.05))
        for name, labels_of_split in (
            ("train", labels),
            ("validation", labels),
            ("test", test_labels),
        ):
            expected = 0.05 * torch.bincount(labels_of_split[getattr(whole, name)])
            counts = torch.bincount(labels_of_split[getattr(part, name)])
            assert (counts - expected).abs().max() <= 0.5
            assert set(getattr(part, name)) <= set(getattr(whole, name))

    def test_a_fraction_is_what_is_loaded(self, kind: type[IdxImages]) -> None:
        splits = kind(fraction=0.01).load("cpu")
        assert [len(getattr(splits, name)) for name in NAMES_OF_SPLITS] == pytest.approx(
            [525, 75, 100], abs=5
        )
