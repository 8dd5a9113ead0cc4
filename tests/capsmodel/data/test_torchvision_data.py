"""A data set of torchvision is one by its name, read by its public class alone."""

import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torchvision.datasets
from PIL import Image

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, TorchvisionData, load_checked
from capsmodel.data.torchvision_data import _opened
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.pictures import noise


class Leaves(torchvision.datasets.VisionDataset):
    """60 and 30 pictures of three classes, where a file says that they are there."""

    classes: ClassVar[list[str]] = ["ash", "oak", "elm"]
    asked: ClassVar[list[bool]] = []

    def __init__(self, root: str, train: bool = True, download: bool = False) -> None:
        super().__init__(root)
        self.asked.append(download)
        self._file = Path(root) / "Leaves" / "data"
        if download:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text("x")
        if not self._file.exists():
            raise RuntimeError("Dataset not found.\nYou can use download=True to download it")
        self._number, self._first = (120, 0) if train else (30, 1000)

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, number: int) -> Any:
        if number >= self._number:
            raise IndexError(number)
        return Image.fromarray(noise(self._first + number, 6, 7)), np.int64(number % 3)


class Odd(Leaves):
    """Pictures of unlike sizes."""

    def __getitem__(self, number: int) -> Any:
        return Image.fromarray(noise(self._first + number, 6, 7 + number % 2)), number % 3


class Captions(Leaves):
    """Pictures with texts."""

    def __getitem__(self, number: int) -> Any:
        return Image.fromarray(noise(number, 6, 7)), "a leaf"


class Unsplit(torchvision.datasets.VisionDataset):
    """Pictures without a test split."""

    def __init__(self, root: str) -> None:
        super().__init__(root)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in (Leaves, Odd, Captions, Unsplit):
        monkeypatch.setattr(torchvision.datasets, kind.__name__, kind, raising=False)
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    _opened.cache_clear()
    (tmp_path / "Leaves").mkdir()
    (tmp_path / "Leaves" / "data").write_text("x")
    Leaves.asked.clear()
    return tmp_path


class TestTorchvisionData(DataSetContract):
    @pytest.fixture
    def data(self) -> DataSet:
        return TorchvisionData("Leaves")


def test_its_class_names_and_splits_are_torchvisions() -> None:
    data = TorchvisionData("Leaves", validation_fraction=0.25)
    assert (data.class_names, data.image_shape) == (("ash", "oak", "elm"), (1, 6, 7))
    splits = load_checked(data, "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [90, 30, 30]
    assert (splits.test.images[0, 0].numpy() == noise(1000, 6, 7)).all()
    assert Leaves.asked == [False, False]


def test_nothing_is_downloaded_unless_it_is_asked_for(root: Path) -> None:
    (root / "Leaves" / "data").unlink()
    with pytest.raises(ValueError, match="Dataset not found") as caught:
        TorchvisionData("Leaves")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("Set download=True, or put its files there.")
    assert TorchvisionData("Leaves", download=True).num_classes == 3


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Leafs", "Unknown data set 'Leafs' of torchvision. Did you mean 'Leaves'?"),
        ("os", "Unknown data set 'os' of torchvision"),
        (
            "CIFAR10",
            "torchvision unpickles the files of CIFAR10, which capsweep does not: take data=",
        ),
        ("Odd", "The images of torchvision's Odd have unlike sizes: give one, size=32."),
        (
            "Captions",
            "An item of torchvision's Captions is no picture with the number",
        ),
        ("Unsplit", "torchvision's Unsplit has neither `train` nor `split`"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        load_checked(TorchvisionData(name), "cpu")
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_relative_root_is_found_from_elsewhere_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSWEEP_DATA", str(root / "nowhere"))
    monkeypatch.chdir(root.parent)
    assert TorchvisionData("Leaves", path=root.name).path == str(root)


def test_unlike_sizes_are_made_alike_by_a_size() -> None:
    assert load_checked(TorchvisionData("Odd", size=6), "cpu").test.images.shape[1:] == (1, 6, 6)


def test_without_torchvision_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)
    with pytest.raises(ValueError, match="TorchvisionData needs torchvision, which cannot"):
        TorchvisionData("Leaves")


def test_without_a_name_a_training_asks_for_it() -> None:
    with pytest.raises(ValueError, match="The data 'torchvision' need a name: give it"):
        TrainingConfig(data="torchvision")
