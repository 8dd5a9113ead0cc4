"""Pictures in Parquet files in the form of the Hugging Face hub, and what is refused of them."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, ParquetImages, load_checked
from capsmodel.testing import DataSetContract
from search_spaces.data_fingerprint import forget_loaded_data
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import noise

CLASSES = ["cat", "dog", "owl"]
ENDS = "{number:05}-of-{total:05}.parquet"


def encoded(values: np.ndarray, ending: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.fromarray(values).save(out, ending)
    return out.getvalue()


def rows(number: int, first: int, *, shape: Sequence[int] = (8, 7)) -> dict[str, list[Any]]:
    """Return columns of pictures and classes, in order."""
    places = range(number)
    cells = [{"bytes": encoded(noise(first + place, *shape)), "path": None} for place in places]
    return {"image": cells, "label": [place % 3 for place in places]}


def write(
    path: Path, columns: dict[str, Any], names: Sequence[str] | None = CLASSES, label: str = "label"
) -> None:
    """Write a file as Hugging Face's library does: names of classes are in its metadata."""
    cell = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    known = {"image": cell, "label": pa.int64(), "fine": pa.int64()}
    table = pa.table(
        {
            name: pa.array(values, known.get(name) if isinstance(values, list) else None)
            for name, values in columns.items()
        }
    )
    if names is not None:
        features = {"image": {"_type": "Image"}, label: {"names": names, "_type": "ClassLabel"}}
        text = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": text})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path)


def write_splits(folder: Path, names: Sequence[str] | None = CLASSES, **shape: Any) -> Path:
    """Write two files of the training and one of the test into the folder `data`."""
    for number in range(2):
        name = f"train-{ENDS.format(number=number, total=2)}"
        write(folder / "data" / name, rows(48, 100 * number, **shape), names)
    write(folder / "data" / f"test-{ENDS.format(number=0, total=1)}", rows(24, 500, **shape), names)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_splits(tmp_path / "hub")


class TestContract(DataSetContract):
    @pytest.fixture
    def data(self, folder: Path) -> DataSet:
        return ParquetImages(folder, validation_fraction=0.25)


def test_pictures_classes_and_splits_are_those_of_the_files(folder: Path) -> None:
    data = ParquetImages(folder)
    assert (data.class_names, data.image_shape) == (tuple(CLASSES), (1, 8, 7))
    splits = load_checked(data, "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [84, 12, 24]
    expected = np.stack([noise(500 + place, 8, 7) for place in range(24)])
    assert np.array_equal(splits.test.images[:, 0].numpy(), expected)
    assert splits.test.labels.tolist() == [place % 3 for place in range(24)]
    stored = {noise(first + place, 8, 7).tobytes() for first in (0, 100) for place in range(48)}
    loaded = [*splits.train.images.numpy(), *splits.validation.images.numpy()]
    assert {image.tobytes() for image in loaded} == stored


def test_colour_pictures_turned_by_the_camera_are_upright(tmp_path: Path) -> None:
    columns = rows(12, 0, shape=(8, 7, 3))
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(noise(1, 7, 8, 3)).save(out, "PNG", exif=exif)
    columns["image"][0] = {"bytes": out.getvalue(), "path": "sideways.png"}
    write(tmp_path / "one.parquet", columns)
    data = ParquetImages(tmp_path / "one.parquet", validation_fraction=0.5)
    assert data.image_shape == (3, 8, 7)
    splits = load_checked(data, "cpu")
    upright = np.rot90(noise(1, 7, 8, 3), -1).transpose(2, 0, 1)
    images = [*splits.train.images, *splits.validation.images, *splits.test.images]
    assert [np.array_equal(image.numpy(), upright) for image in images].count(True) == 1
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [5, 5, 2]


@pytest.mark.parametrize(
    ("name", "is_split_by_seed"),
    [
        ("validation-00000-of-00001.parquet", False),
        ("imagenette-val.parquet", False),
        ("train-00000-of-00001-0123456789abcdef.parquet", True),
        ("unsupervised-00000-of-00001.parquet", True),
    ],
)
def test_names_of_files_say_their_splits(tmp_path: Path, name: str, is_split_by_seed: bool) -> None:
    write(tmp_path / name, rows(30, 700))
    if not name.startswith("train"):
        write(tmp_path / "train-00000-of-00001.parquet", rows(30, 0))
    write(tmp_path / "test.parquet", rows(12, 900))
    data = ParquetImages(tmp_path)
    assert data.is_split_by_seed == is_split_by_seed
    splits = load_checked(data, "cpu")
    numbers = [26, 4, 12] if is_split_by_seed else [30, 30, 12]
    assert [len(splits.train), len(splits.validation), len(splits.test)] == numbers
    is_noted = any("say no split" in note and name in note for note in data.notes_on_files())
    assert is_noted == name.startswith("unsupervised")


def test_one_of_several_columns_is_chosen_by_its_names_or_by_a_setting(tmp_path: Path) -> None:
    fine = [place % 6 for place in range(36)]
    write(tmp_path / "a.parquet", {**rows(36, 0), "fine": fine})
    assert ParquetImages(tmp_path / "a.parquet").class_names == tuple(CLASSES)
    by_setting = ParquetImages(tmp_path / "a.parquet", label_column="fine")
    assert by_setting.class_names == ("0", "1", "2", "3", "4", "5")
    assert len(set(load_checked(by_setting, "cpu").train.labels.tolist())) == 6


def test_unlike_sizes_need_one(tmp_path: Path) -> None:
    columns = rows(30, 0)
    columns["image"][4] = {"bytes": encoded(noise(4, 9, 7)), "path": None}
    write(tmp_path / "a.parquet", columns)
    with pytest.raises(ValueError, match=r"row 4' is a picture of another size .*: give one"):
        load_checked(ParquetImages(tmp_path / "a.parquet"), "cpu")
    assert load_checked(ParquetImages(tmp_path / "a.parquet", size=6), "cpu").train.images.shape[
        1:
    ] == (1, 6, 6)


def test_a_key_is_of_the_pictures_however_they_are_stored(folder: Path, tmp_path: Path) -> None:
    def key(place: Path) -> str:
        forget_loaded_data()
        return trial_key(TrainingConfig(data=ParquetImages(place)), seed=0)

    before = key(folder)
    first, second = rows(48, 0), rows(48, 100)
    columns = {name: first[name] + second[name] for name in first}
    write(tmp_path / "train.parquet", columns, ["a", "b", "c"])
    (folder / "data" / "test-00000-of-00001.parquet").rename(tmp_path / "test.parquet")
    write(tmp_path / "test.parquet", rows(24, 500), ["a", "b", "c"])
    assert key(tmp_path) == before
    write(tmp_path / "test.parquet", rows(24, 501), ["a", "b", "c"])
    assert key(tmp_path) != before


def test_a_record_is_read_where_the_files_and_pyarrow_are_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ParquetImages(folder)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert ParquetImages.model_validate_json(data.model_dump_json()) == data
    with pytest.raises(ValueError, match=r'needs pyarrow.*: pip install "capsweep\[sweeps\]"\.'):
        load_checked(data, "cpu")


TEXTS = pa.array(["a"] * 30)
TORN = encoded(noise(1, 8, 7))[:-30]


@pytest.mark.parametrize(
    ("column", "values", "names", "sentence"),
    [
        ("image", TEXTS, CLASSES, "' has no single column of pictures, {bytes, path}, but none: "),
        ("label", TEXTS, CLASSES, "' has no single column of classes, whole numbers, but none: "),
        ("fine", [0] * 30, None, "of classes, whole numbers, but 'label', 'fine': name one of"),
        ("image", {3: {"bytes": None, "path": "/x.png"}}, CLASSES, ", row 3' has no bytes of a"),
        ("image", {3: None}, CLASSES, ", row 3' has no bytes of a picture, and a file that it may"),
        (
            "image",
            {3: {"bytes": b"\x80\x04."}},
            CLASSES,
            ", row 3' cannot be read as a picture: it",
        ),
        ("image", {3: {"bytes": TORN}}, CLASSES, ", row 3' cannot be read as a picture: "),
        (
            "label",
            {5: 3},
            CLASSES,
            ", row 5' has the class 3, and classes are numbers from 0 to 2:",
        ),
        ("label", {5: None}, CLASSES, ", row 5' has the class None, and classes are numbers from"),
        (
            "label",
            {5: -1},
            None,
            ", row 5' has the class -1, and classes are numbers from 0 upwards",
        ),
        ("label", {5: 10**12}, None, " is 1000000000000, and 30 training images show at most 30"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_sentence(
    tmp_path: Path, column: str, values: Any, names: Sequence[str] | None, sentence: str
) -> None:
    columns: dict[str, Any] = rows(30, 0)
    if isinstance(values, dict):
        for place, value in values.items():
            columns[column][place] = value
    else:
        columns[column] = values
    write(tmp_path / "train.parquet", columns, names)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        load_checked(ParquetImages(tmp_path), "cpu")
    assert sentence in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ([], "There is no Parquet file in '{folder}' or '{folder}/data': name the folder of"),
        (["test"], "'{folder}' has no file for the training, such as train-00000-of-00001.parquet"),
        (
            ["train-00001-of-00002"],
            "'{folder}' has 'train-00001-of-00002.parquet' for the split 'train', which are not 2",
        ),
        (
            ["train", "train-00000-of-00001"],
            "for the split 'train', which are not 1 in all, numbered from 0: complete",
        ),
    ],
)
def test_a_folder_of_other_files_is_refused_in_one_sentence(
    tmp_path: Path, files: Sequence[str], sentence: str
) -> None:
    for name in files:
        write(tmp_path / f"{name}.parquet", rows(12, 0))
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        load_checked(ParquetImages(tmp_path), "cpu")
    assert sentence.format(folder=tmp_path) in str(caught.value)


def test_a_file_that_is_none_is_refused_in_one_sentence(folder: Path) -> None:
    path = folder / "data" / "test-00000-of-00001.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(ValueError, match=f"'{path}' cannot be read as a Parquet file: "):
        ParquetImages(folder)
    write(path, rows(12, 0), ["x", "y", "z"])
    with pytest.raises(ValueError, match=f"'{path}' has other columns or classes than '"):
        ParquetImages(folder)
    write(path, {name: [] for name in rows(0, 0)})
    with pytest.raises(ValueError, match=f"There is no row in '{path}': add some, or remove the"):
        load_checked(ParquetImages(folder), "cpu")
    damaged = parquet.read_table(path).replace_schema_metadata({"huggingface": "{"})
    parquet.write_table(damaged, path)
    with pytest.raises(ValueError, match=f"metadata 'huggingface' of '{path}' have no names of"):
        ParquetImages(folder)


def test_a_torn_page_is_one_sentence(folder: Path) -> None:
    path = folder / "data" / "train-00001-of-00002.parquet"
    content = bytearray(path.read_bytes())
    content[100:2000] = b"\xff" * 1900
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"'{path}(, row .*)?' cannot be read as a ") as caught:
        load_checked(ParquetImages(folder), "cpu")
    assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there_is_named_with_those_that_are(folder: Path) -> None:
    sentence = "has no column 'img' of pictures, {bytes, path}, but 'image': name one of these"
    with pytest.raises(ValueError, match=sentence):
        ParquetImages(folder, image_column="img")
