"""MedMNIST from files in its released form, and what is refused of them."""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from capsmodel import TrainingConfig, num_parameters
from capsmodel.data import DataSet, MedMnist, load_checked, medmnist
from capsmodel.data.medmnist import SetName
from capsmodel.testing import DataSetContract
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.idx_files import give_part, mirror
from tests.capsmodel.data.pictures import noise

NUMBERS = {"train": 54, "val": 36, "test": 45}
COLOUR, GREY = "pathmnist", "octmnist"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


def images(part: str, channels: int) -> np.ndarray:
    shape = (NUMBERS[part], 28, 28, *([3] if channels == 3 else []))
    return noise([*NUMBERS].index(part), *shape)


def released(name: SetName) -> dict[str, np.ndarray]:
    """Return arrays of the released names and shapes, of few images."""
    release, arrays = MedMnist(name).release, dict[str, np.ndarray]()
    for part, number in NUMBERS.items():
        arrays[f"{part}_images"] = images(part, release.channels)
        labels = np.arange(number, dtype=np.uint8) % len(release.classes)
        arrays[f"{part}_labels"] = labels[:, None]
    return arrays


def as_published(
    monkeypatch: pytest.MonkeyPatch,
    name: SetName,
    arrays: dict[str, Any],
    keep: slice = slice(None),
) -> bytes:
    """Return a file of arrays, and let the package take it for the released one."""
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    content = out.getvalue()[keep]
    facts = MedMnist(name).release._replace(
        md5=hashlib.md5(content).hexdigest(), num_images=(54, 36, 45)
    )
    monkeypatch.setitem(medmnist._RELEASES, name, facts)  # pyright: ignore[reportPrivateUsage, reportArgumentType]
    return content


def write(content: bytes, name: SetName) -> Path:
    folder = MedMnist(name).archives.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.npz").write_bytes(content)
    return folder / f"{name}.npz"


@pytest.mark.parametrize("name", [COLOUR, GREY])
def test_the_three_parts_of_the_file_are_the_splits(
    monkeypatch: pytest.MonkeyPatch, name: SetName
) -> None:
    write(as_published(monkeypatch, name, released(name)), name)
    data = MedMnist(name)
    channels, _, _ = data.image_shape
    splits = load_checked(data, "cpu")
    for part, split in zip(NUMBERS, (splits.train, splits.validation, splits.test), strict=True):
        loaded = split.images.numpy().transpose(0, 2, 3, 1).reshape(images(part, channels).shape)
        assert np.array_equal(loaded, images(part, channels))
        assert split.labels.tolist() == [i % data.num_classes for i in range(NUMBERS[part])]
    assert data.num_training_images == 54


def test_what_is_missing_is_downloaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    content = as_published(monkeypatch, GREY, released(GREY))
    with mirror(give_part, {"octmnist.npz": content}) as (address, asked):
        monkeypatch.setattr(MedMnist, "mirrors", classmethod(lambda cls: [address]))
        MedMnist(GREY).prepare()
        MedMnist(GREY).prepare()
    assert asked == ["octmnist.npz"]


def test_a_file_with_another_checksum_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write(as_published(monkeypatch, GREY, released(GREY))[:-1], GREY)
    with pytest.raises(ValueError, match=r"with a wrong checksum of octmnist\.npz"):
        MedMnist(GREY).load("cpu")


@pytest.mark.parametrize(
    ("changes", "keep", "sentence"),
    [
        ({}, slice(-200), "cannot be read as a file of MedMNIST (File is not a zip file): put"),
        ({"train_images": None}, slice(None), "'train_images is not a file in the archive'"),
        ({"val_labels": np.array([{}])}, slice(None), "Object arrays cannot be loaded when"),
        (
            {"test_images": noise(1, 45, 28, 27)},
            slice(None),
            "has the dimensions 45 x 28 x 27, not 45 x 28 x 28: put the published file in",
        ),
        ({"val_labels": np.zeros(36)}, slice(None), "has the dimensions 36, not 36 x 1: put"),
        (
            {"val_labels": np.full((36, 1), 4)},
            slice(None),
            "has the label 4, and 4 classes are numbered from 0: put the published file in",
        ),
        ({"val_labels": np.full((36, 1), -1)}, slice(None), "grey values or labels from 0 to 255"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], keep: slice, sentence: str
) -> None:
    arrays = {**released(GREY), **changes}
    arrays = {name: values for name, values in arrays.items() if values is not None}
    path = write(as_published(monkeypatch, GREY, arrays, keep), GREY)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        MedMnist(GREY).prepare()
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["pathmnst"], "Unknown set 'pathmnst' of MedMNIST. Did you mean 'pathmnist'? Known: "),
        (["organmnist3d"], "organmnist3d has volumes, and networks here take images: choose"),
        (["chestmnist"], "any number of 14 labels, more than half none, and a task here"),
    ],
)
def test_what_is_no_set_of_images_with_one_class_is_refused(
    settings: Sequence[Any], sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        MedMnist(*settings)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("settings", [{"split_seed": 1}, {"validation_fraction": 0.2}])
def test_the_released_validation_images_are_the_only_ones(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"those of its files: leave {next(iter(settings))} at 0"):
        MedMnist(**settings)


def test_sets_have_keys_of_their_own_and_need_no_files_to_plan(root: Path) -> None:
    names: tuple[SetName, ...] = get_args(SetName)
    configs = [TrainingConfig(data=MedMnist(name), model="cnn") for name in names]
    assert len({trial_key(config, seed=0) for config in configs}) == len(names) == 11
    assert len({config.data.fingerprint for config in configs}) == len(names)
    assert all(num_parameters(config) > 100_000 for config in configs)
    assert list(root.iterdir()) == []


class TestContract(DataSetContract):
    @pytest.fixture(params=[COLOUR, GREY])
    def data(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> DataSet:
        write(as_published(monkeypatch, request.param, released(request.param)), request.param)
        return MedMnist(request.param)
