"""Images in an .npz file are a data set: forms of arrays, names of classes, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from capsmodel.data import Arrays, DataSet, facts_of, load_checked
from capsmodel.testing import DataSetContract
from search_spaces.data_fingerprint import forget_loaded_data
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import noise
from tests.capsmodel.small_config import small_config

LABELS = np.arange(60) % 3
IMAGES = noise(0, 60, 6, 7)


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


class TestArrays(DataSetContract):
    @pytest.fixture
    def data(self, tmp_path: Path) -> DataSet:
        images = noise(0, 120, 6, 7)
        return Arrays(saved(tmp_path, images=images, labels=np.arange(120) % 3))


@pytest.mark.parametrize(
    ("images", "shape"),
    [
        (IMAGES, (1, 6, 7)),
        (IMAGES[:, None], (1, 6, 7)),
        (IMAGES[..., None], (1, 6, 7)),
        (IMAGES.astype(np.uint16) * 257, (1, 6, 7)),
        ((IMAGES / 255).astype(np.float32), (1, 6, 7)),
        (IMAGES / 255, (1, 6, 7)),
        (np.repeat(IMAGES[..., None], 3, axis=3), (3, 6, 7)),
        (np.repeat(IMAGES[:, None], 3, axis=1), (3, 6, 7)),
    ],
)
def test_images_come_in_several_forms(tmp_path: Path, images: Any, shape: Any) -> None:
    data = Arrays(saved(tmp_path, images=images, labels=LABELS))
    assert (data.image_shape, data.class_names) == (shape, ("0", "1", "2"))
    test = load_checked(data, "cpu").test
    expected = load_checked(Arrays(saved(tmp_path, images=IMAGES, labels=LABELS)), "cpu").test
    assert torch.equal(test.labels, expected.labels)
    values = test.take(slice(None)).images
    assert torch.allclose(values, expected.take(slice(None)).images.expand_as(values), atol=1e-7)


def test_truth_values_are_black_and_white(tmp_path: Path) -> None:
    data = Arrays(saved(tmp_path, images=IMAGES > 99, labels=LABELS))
    assert load_checked(data, "cpu").train.images.unique().tolist() == [0, 255]


def test_classes_are_called_as_the_file_says(tmp_path: Path) -> None:
    names = np.array(["cat", "dog", "owl"])
    numbered = Arrays(saved(tmp_path, images=IMAGES, labels=LABELS, class_names=names))
    assert numbered.class_names == ("cat", "dog", "owl")
    texts = Arrays(saved(tmp_path, X=IMAGES, y=names[LABELS]))
    assert texts.class_names == ("cat", "dog", "owl")
    assert torch.equal(
        load_checked(numbered, "cpu").train.labels, load_checked(texts, "cpu").train.labels
    )


@pytest.mark.parametrize("form", ["x_{}/y_{}", "{}_images/{}_labels"])
def test_splits_of_the_file_are_taken_as_they_are(tmp_path: Path, form: str) -> None:
    arrays: dict[str, Any] = {}
    for place, (split, number) in enumerate((("train", 30), ("val", 6), ("test", 9))):
        x, y = form.format(split, split).split("/")
        arrays |= {x: noise(place, number, 6, 7), y: (np.arange(number) % 3)[:, None]}
    splits = load_checked(Arrays(saved(tmp_path, **arrays)), "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [30, 6, 9]


def test_a_size_scales_bytes_and_numbers_alike(tmp_path: Path) -> None:
    of_bytes = Arrays(saved(tmp_path, images=IMAGES, labels=LABELS), size=4, fit="stretch")
    assert of_bytes.image_shape == (1, 4, 4)
    small = load_checked(of_bytes, "cpu").train.take(slice(None)).images
    numbers = Arrays(saved(tmp_path, images=IMAGES / 255, labels=LABELS), size=4, fit="stretch")
    assert torch.allclose(load_checked(numbers, "cpu").train.images, small, atol=0.004)


def test_a_key_is_of_the_arrays_wherever_the_file_lies(tmp_path: Path) -> None:
    def key(path: Path) -> str:
        forget_loaded_data()
        return trial_key(small_config(data=Arrays(path)), seed=0)

    path = saved(tmp_path, images=IMAGES, labels=LABELS)
    before = key(path)
    assert key(path.rename(tmp_path / "other.npz")) == before
    assert key(saved(tmp_path, images=IMAGES[::-1], labels=LABELS)) != before


SPLIT = {"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES[:, 1:], "y_test": LABELS}


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"images": IMAGES}, "has no images with labels for the split 'train', only images"),
        ({"arr_0": IMAGES, "arr_1": LABELS}, "has an array called 'arr_0', whose meaning is not"),
        ({"images": IMAGES, "labels": LABELS[1:]}, "must be one whole number or text for each of"),
        ({"images": IMAGES, "labels": LABELS / 1}, "got float64 of shape [60]"),
        ({"images": IMAGES, "labels": np.eye(3)[LABELS]}, "got float64 of shape [60, 3]"),
        ({"images": IMAGES, "labels": LABELS - 1}, "are -1 to 1, and must be from 0"),
        ({"images": IMAGES, "labels": LABELS + 1}, "No image of class 0 is in the training split"),
        (
            {"images": IMAGES, "labels": LABELS, "class_names": np.array(["a", "b"])},
            "are 0 to 2, and must be 0 to 1, as there are 2 names",
        ),
        ({"images": IMAGES.astype(int), "labels": LABELS}, "got int64 of shape [60, 6, 7]"),
        ({"images": IMAGES[:, 0], "labels": LABELS}, "got uint8 of shape [60, 7]"),
        ({"images": IMAGES * 1.0, "labels": LABELS}, "hand the grey values 0 to 255 as uint8"),
        ({"images": np.array([None] * 60), "labels": LABELS}, "which are never unpickled"),
        ({"images": IMAGES, "labels": LABELS * 0}, "There must be at least two classes"),
        ({"images": IMAGES[:0], "labels": LABELS[:0]}, "There is no image in the split 'train'"),
        (SPLIT, "have images of unlike shapes"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, arrays: Any, sentence: str
) -> None:
    path = saved(tmp_path, **arrays)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        load_checked(Arrays(path), "cpu")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no file "):
        load_checked(Arrays(tmp_path / "no.npz"), "cpu")
    (tmp_path / "text.npz").write_text("x")
    np.save(tmp_path / "one.npy", IMAGES)
    torn = saved(tmp_path, images=IMAGES, labels=LABELS)
    torn.write_bytes(torn.read_bytes()[:900])
    for name in ("text.npz", "one.npy", "mine.npz"):
        with pytest.raises(ValueError, match=rf"{name}' cannot be read as an .npz file: .*\.$"):
            Arrays(tmp_path / name)


def test_a_shifted_test_is_declared_by_a_setting_that_is_in_no_key(tmp_path: Path) -> None:
    images, labels = np.random.default_rng(0).random((80, 8, 8)), np.arange(80) % 2
    path = tmp_path / "mine.npz"
    np.savez(path, x_train=images, y_train=labels, x_test=images[:20] / 9, y_test=labels[:20])
    keys, notes = set[str](), list[str]()
    for data in (Arrays(path), Arrays(path, shifted_test=True)):
        assert ("shifted_test" in data.model_dump()) == bool(data.has_shifted_test)
        keys.add(trial_key(small_config(data=data), seed=0))
        notes.append(" ".join(facts_of(data, load_checked(data, "cpu")).notes))
    assert len(keys) == 1
    assert "the test split" in notes[0]
    assert "the test split" not in notes[1], notes
