"""Imagenette and Imagewoof from folders in their released form."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, Imagenette, Imagewoof, facts_of, load_checked
from capsmodel.data.imagenette import TenOfImageNet
from capsmodel.testing import DataSetContract
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import noise

KINDS = [Imagenette, Imagewoof]
EACH = {"train": 8, "val": 4}


def unpack(kind: type[TenOfImageNet], root: Path) -> Path:
    """Write JPEG files of many sizes under the names of the release; one of them is grey."""
    folder = root / kind.model_fields["path"].default
    for part, number in EACH.items():
        for place, wnid in enumerate(kind.wnids):
            (folder / part / wnid).mkdir(parents=True)
            for index in range(number):
                seed = 100 * place + 10 * len(part) + index
                values = noise(seed, 12 + index, 16, 3) // 4 + np.uint8(16 * place)
                picture = Image.fromarray(values).convert("RGB" if seed else "L")
                picture.save(folder / part / wnid / f"{wnid}_{index}.JPEG")
    (folder / "noisy_imagenette.csv").write_text("path,noisy_labels_0\n")
    return folder


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> type[TenOfImageNet]:
    return request.param


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    return tmp_path


class TestContract(DataSetContract):
    @pytest.fixture
    def data(self, kind: type[TenOfImageNet], root: Path) -> DataSet:
        unpack(kind, root)
        return kind(size=8, validation_fraction=0.5)


def test_the_part_val_is_the_test_and_classes_have_names(root: Path) -> None:
    folder = unpack(Imagenette, root)
    data = Imagenette(size=8)
    splits = load_checked(data, "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [70, 10, 40]
    assert {name.split("/")[0] for name in splits.test.files} == {"val"}
    for name, image, label in zip(
        splits.test.files, splits.test.images, splits.test.labels.tolist(), strict=True
    ):
        assert data.name_of(label) == Imagenette.wnids[name.split("/")[1]]
        middle = ImageOps.fit(Image.open(folder / name), (8, 8), Image.Resampling.BILINEAR)
        assert np.array_equal(np.asarray(middle), image.numpy().transpose(1, 2, 0))
    assert any(name == "train/n01440764/n01440764_0.JPEG" for name in splits.train.files) or any(
        name.endswith("n01440764_0.JPEG") for name in splits.validation.files
    )


def test_fewer_pictures_than_the_release_has_are_noted(root: Path) -> None:
    unpack(Imagewoof, root)
    data = Imagewoof(size=8)
    notes = " ".join(facts_of(data, load_checked(data, "cpu")).notes)
    assert "80 pictures of the training and 40 of the test, and the release of 'imagewoof'" in notes
    assert "has 9,025 and 3,929: unpack it again" in notes
    assert "1 file of data 'imagewoof' is passed over (1 .csv)" in notes


def test_settings_need_no_files_and_loading_says_what_to_fetch(
    root: Path, kind: type[TenOfImageNet]
) -> None:
    data = kind(size=32)
    assert (data.num_classes, data.image_shape) == (10, (3, 32, 32))
    release = kind.model_fields["path"].default
    sentence = f"'{data.kind}': fetch https://.*/{release}.tgz and unpack it in {root}, or name"
    with pytest.raises(ValueError, match=sentence):
        load_checked(data, "cpu")
    with pytest.raises(ValueError, match=sentence):
        data.files()


def test_a_folder_without_its_test_part_or_of_other_classes_is_refused(root: Path) -> None:
    folder = unpack(Imagenette, root)
    (folder / "val/n01440764").rename(folder / "val/tench")
    with pytest.raises(
        ValueError, match=r"val' has the folders .* and 'imagenette' has 'n01440764"
    ):
        load_checked(Imagenette(size=8), "cpu")
    shutil.rmtree(folder / "val")
    with pytest.raises(ValueError, match=r"There is no folder '.*/val' of 'imagenette': fetch"):
        load_checked(Imagenette(size=8), "cpu")
    with pytest.raises(ValueError, match=r"There is no folder '.*/train' of 'imagewoof': fetch"):
        load_checked(Imagewoof(folder.parent, size=8), "cpu")


def test_a_picture_that_is_none_is_named(root: Path) -> None:
    torn = unpack(Imagenette, root) / "train/n03888257/n03888257_1.JPEG"
    torn.write_bytes(torn.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"'{torn}' cannot be read as a picture: "):
        load_checked(Imagenette(size=8), "cpu")


def test_a_key_is_of_the_scaled_pictures_wherever_they_lie(root: Path) -> None:
    folder = unpack(Imagenette, root)
    keys = [trial_key(TrainingConfig(data=Imagenette(size=size)), seed=0) for size in (8, 9)]
    folder.rename(root / "elsewhere")
    moved = trial_key(TrainingConfig(data=Imagenette(root / "elsewhere", size=8)), seed=0)
    assert keys[0] == moved != keys[1]
