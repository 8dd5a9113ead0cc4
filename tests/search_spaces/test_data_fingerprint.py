"""The fingerprint of a user's own data: computed from what they load, remembered by their files."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from capsmodel.data import Arrays, DataSet, ImageFolder
from search_spaces import data_fingerprint
from search_spaces.data_fingerprint import check_unchanged, facts_of_own_data, forget_loaded_data
from search_spaces.sweep_file import sweep_from_file
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import noise, write_classes
from tests.capsmodel.small_config import small_config

TEXT = """
from typing import ClassVar, Literal

import numpy as np
import torch

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, DataSplits, Images
from capsmodel.models import CapsNet
from search_spaces import ListedArms, Sweep

PATH = "{path}"
LOADED = []


class Mine(DataSet):
    kind: Literal["mine"] = "mine"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10
{files}
    def load(self, device):
        LOADED.append(1)
        file = np.load(PATH)
        whole = Images(torch.from_numpy(file["images"]), torch.from_numpy(file["labels"]))
        split = self.split(whole.labels[:300].tolist(), whole.labels[300:].tolist())
        test = [300 + index for index in split.test]
        return DataSplits(*(whole.take(torch.tensor(rows)) for rows in (split.train,
                                                                       split.validation, test)))


SWEEP = Sweep(
    name="mine",
    description="Images of my own.",
    parts=(Mine,),
    base=TrainingConfig(data=Mine(), model=CapsNet(conv_kernel=3, primary_kernel=3)),
    plan=ListedArms(baseline="base", arms={{"base": {{}}, "leaky": {{"model.routing": "leaky"}}}}),
    seeds=(0,),
)
"""
FILES = """
    def files(self):
        return [PATH]
"""


class Folder:
    """A folder with a data file and a sweep file that loads it."""

    def __init__(self, path: Path, *, has_files: bool) -> None:
        self.data = path / "mine.npz"
        self.images, self.labels = load_digits(return_X_y=True)
        self.images = self.images[:400].reshape(-1, 1, 8, 8).astype(np.float32) / 16
        self.labels = self.labels[:400]
        self.write()
        text = TEXT.format(path=self.data, files=FILES if has_files else "")
        (path / "mine.py").write_text(text)
        self.sweep, _ = sweep_from_file(path / "mine.py")
        self.loaded = vars(sys.modules[self.sweep.parts[0].__module__])["LOADED"]

    def write(self) -> None:
        np.savez(self.data, images=self.images, labels=self.labels)

    def key(self) -> str:
        """Return the key of a trial, as a new launch finds it."""
        forget_loaded_data()
        return trial_key(self.sweep.base, 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    return folder_of(tmp_path, monkeypatch, has_files=True)


def folder_of(path: Path, monkeypatch: pytest.MonkeyPatch, *, has_files: bool) -> Folder:
    monkeypatch.setenv("XDG_CACHE_HOME", str(path / "cache"))
    return Folder(path, has_files=has_files)


@pytest.mark.parametrize("has_files", [True, False])
def test_changed_labels_give_another_key_and_the_same_ones_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_files: bool
) -> None:
    folder = folder_of(tmp_path, monkeypatch, has_files=has_files)
    before, labels = folder.key(), folder.labels
    folder.labels = np.random.default_rng(1).permutation(labels)
    folder.write()
    assert folder.key() != before
    folder.labels = labels
    folder.write()
    assert folder.key() == before


def test_a_file_that_is_replaced_gives_another_key(folder: Folder) -> None:
    """Its size and time are as before."""
    before, state = folder.key(), folder.data.stat()
    folder.images[0, 0, 3, 3] = 1 - folder.images[0, 0, 3, 3]
    other = folder.data.with_name("other.npz")
    np.savez(other, images=folder.images, labels=folder.labels)
    other.replace(folder.data)
    os.utime(folder.data, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert folder.data.stat().st_size == state.st_size
    assert folder.key() != before


def test_data_that_list_their_files_are_loaded_once(folder: Folder) -> None:
    assert folder.key() == folder.key()
    assert len(folder.loaded) == 1
    folder.data.touch()
    folder.key()
    assert len(folder.loaded) == 2


def test_data_that_list_none_are_loaded_at_each_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, monkeypatch, has_files=False)
    assert folder.key() == folder.key()
    assert len(folder.loaded) == 2


def test_a_damaged_cache_costs_a_load(folder: Folder, tmp_path: Path) -> None:
    before = folder.key()
    (remembered,) = (tmp_path / "cache" / "capsweep" / "fingerprints").iterdir()
    remembered.write_text('{"schema_version": 1, "files": 3}')
    assert folder.key() == before
    assert len(folder.loaded) == 2


def test_the_facts_are_remembered_too(folder: Folder) -> None:
    data = folder.sweep.base.data
    first = facts_of_own_data(data)
    forget_loaded_data()
    assert facts_of_own_data(data) == first
    assert first.num_images == {"training": 262, "validation": 38, "test": 100}


def test_all_splits_have_one_fingerprint(folder: Folder) -> None:
    data = folder.sweep.base.data
    other = data.model_copy(update={"split_seed": 3})
    assert facts_of_own_data(other) == facts_of_own_data(data)
    assert len(folder.loaded) == 1


@pytest.mark.parametrize("split_seed", [0, 3])
def test_a_worker_refuses_changed_data(folder: Folder, split_seed: int) -> None:
    data = folder.sweep.base.data.model_copy(update={"split_seed": split_seed})
    fingerprint = facts_of_own_data(data).fingerprint
    check_unchanged(data, data.load("cpu"), fingerprint)
    folder.labels = np.roll(folder.labels, 1)
    folder.write()
    with pytest.raises(ValueError, match=r"^The data 'mine' have changed: this trial is of data"):
        check_unchanged(data, data.load("cpu"), fingerprint)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ("'mine.npz'", "must list the paths of files, got 'mine.npz'."),
        ("3", "must list the paths of files, got 3."),
        ("[3]", "must list the paths of files, got 3 among them."),
        ("['nowhere.npz']", "nowhere.npz', which is no file: list each file that load() reads."),
    ],
)
def test_files_that_are_no_files_are_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, files: str, sentence: str
) -> None:
    data = folder.sweep.base.data
    monkeypatch.setattr(type(data), "files", lambda _: eval(files))  # a literal of this test
    with pytest.raises(ValueError, match=r"^files\(\) of data 'mine'") as caught:
        facts_of_own_data(data)
    assert str(caught.value).endswith(sentence)


def in_place(path: Path, content: bytes) -> None:
    """Write a file in place, with its size, time and inode as before."""
    state = path.stat()
    assert state.st_size == len(content)
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ino) == (state.st_mtime_ns, state.st_ino)


def key_of(data: DataSet) -> str:
    forget_loaded_data()
    return trial_key(small_config(data=data), seed=0)


@pytest.mark.parametrize("changes", ["images", "labels"])
def test_a_file_changed_in_place_with_its_old_time_gives_another_key(
    folder: Folder, changes: str
) -> None:
    before = folder.key()
    getattr(folder, changes)[:2] = getattr(folder, changes)[:2][::-1].copy()
    other = folder.data.with_name("other.npz")
    np.savez(other, images=folder.images, labels=folder.labels)
    in_place(folder.data, other.read_bytes())
    assert folder.key() != before


def test_a_picture_changed_in_place_with_its_old_time_gives_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_classes(tmp_path / "photos", ["cat", "dog"], 20)
    path = tmp_path / "photos/cat/grey.pgm"
    path.write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    data = ImageFolder(tmp_path / "photos", size=8)
    before = key_of(data)
    in_place(path, b"P5 8 8 255\n" + bytes(reversed(range(64))))
    assert key_of(data) != before


def test_an_array_changed_in_place_with_its_old_time_gives_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, images = tmp_path / "mine.npz", noise(0, 60, 6, 7)
    np.savez(path, images=images, labels=np.arange(60) % 3)
    data = Arrays(path)
    before = key_of(data)
    images[3] = 255 - images[3]
    np.savez(tmp_path / "other.npz", images=images, labels=np.arange(60) % 3)
    in_place(path, (tmp_path / "other.npz").read_bytes())
    assert key_of(data) != before


def test_a_worker_that_finds_other_data_forgets_what_was_remembered(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the next launch looks at the data, where no time or size tells of the change."""
    monkeypatch.setattr(data_fingerprint, "_state", lambda *_: (str(folder.data), 1, 1, 1, 1))
    data = folder.sweep.base.data
    before = folder.key()
    fingerprint = facts_of_own_data(data).fingerprint
    folder.images[3] = 1 - folder.images[3]
    folder.write()
    assert folder.key() == before
    with pytest.raises(ValueError, match="have changed"):
        check_unchanged(data, data.load("cpu"), fingerprint)
    assert folder.key() != before
