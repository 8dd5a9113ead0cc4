"""A folder of pictures is a data set: its splits, its conversions, and what it refuses."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, ImageFolder, data_root, facts_of, load_checked
from capsmodel.data.archive import ROOT_VARIABLE
from capsmodel.data.user_files import MissingFilesError
from capsmodel.stopping import FixedEpochs
from capsmodel.testing import DataSetContract
from capsmodel.training.training import Training
from search_spaces.data_fingerprint import check_unchanged, forget_loaded_data
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import noise, write_classes
from tests.capsmodel.small_config import small_config


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    write_classes(tmp_path / "photos", ("cat", "dog", "owl"), 40)
    return tmp_path / "photos"


class TestImageFolder(DataSetContract):
    @pytest.fixture
    def data(self, photos: Path) -> DataSet:
        return ImageFolder(photos, size=8)


def key(folder: Path, **settings: Any) -> str:
    forget_loaded_data()
    return trial_key(TrainingConfig(data=ImageFolder(folder, size=8, **settings)), seed=0)


def test_classes_are_named_by_their_folders(photos: Path) -> None:
    data = ImageFolder(photos, size=8)
    assert data.class_names == ("cat", "dog", "owl")
    assert [data.name_of(label) for label in range(3)] == ["cat", "dog", "owl"]
    assert (data.num_classes, data.image_shape) == (3, (1, 8, 8))


@pytest.mark.parametrize("inner", ["", "train"])
def test_a_folder_above_that_of_the_classes_is_refused_with_the_right_one(
    tmp_path: Path, inner: str
) -> None:
    write_classes(tmp_path / "all" / "photos" / inner, ("cat", "dog"), 2)
    sentence = f"'{tmp_path / 'all'}' has one folder, 'photos', and in it "
    if inner:
        write_classes(tmp_path / "all" / "photos" / "test", ("cat", "dog"), 2)
    with pytest.raises(ValueError, match=f"{sentence}.*, name '{tmp_path}/all/photos'"):
        ImageFolder(tmp_path / "all", size=8)


def test_without_folders_of_splits_a_share_of_each_class_is_held_out(photos: Path) -> None:
    splits = load_checked(ImageFolder(photos, size=8), "cpu")
    counts = [
        torch.bincount(split.labels).tolist()
        for split in (splits.train, splits.validation, splits.test)
    ]
    assert counts == [[28] * 3, [4] * 3, [8] * 3]


def test_each_image_has_the_name_of_its_file(photos: Path) -> None:
    (photos / "cat" / "000.png").rename(photos / "cat" / "a\nb.png")
    data = ImageFolder(photos, size=8, fraction=0.5, train_fraction=0.5)
    splits = load_checked(data, "cpu")
    names = [splits.train.files, splits.validation.files, splits.test.files]
    assert [len(files) for files in names] == [21, 6, 12]
    assert len({name for files in names for name in files}) == 39
    for split in (splits.train, splits.validation, splits.test):
        for name, image, label in zip(split.files, split.images, split.labels, strict=True):
            assert name.split("/")[0] == data.class_names[label]
            assert np.array_equal(np.asarray(Image.open(photos / name)), image[0].numpy())
    tensors = Training(small_config(data=data), seed=0).test().tensors()
    assert len(bytes(tensors["files"].tolist()).decode().split("\n")) == len(splits.test)


def test_folders_of_splits_are_taken_as_they_are(tmp_path: Path) -> None:
    for place, (split, each) in enumerate((("train", 6), ("val", 2), ("test", 3))):
        write_classes(tmp_path / split, ("cat", "dog"), each, first=100 * place)
    splits = load_checked(ImageFolder(tmp_path, size=8), "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [12, 4, 6]
    assert not ImageFolder(tmp_path, size=8).is_split_by_seed
    shutil.rmtree(tmp_path / "val")
    assert ImageFolder(tmp_path, size=8).is_split_by_seed
    splits = load_checked(ImageFolder(tmp_path, size=8, validation_fraction=0.5), "cpu")
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [6, 6, 6]


def test_a_key_is_of_the_pictures_wherever_they_lie_and_whatever_their_classes_are_called(
    photos: Path, tmp_path: Path
) -> None:
    before = key(photos)
    shutil.copytree(photos, tmp_path / "elsewhere" / "pictures")
    assert key(tmp_path / "elsewhere" / "pictures") == before
    (tmp_path / "elsewhere/pictures/cat").rename(tmp_path / "elsewhere/pictures/a cat")
    assert key(tmp_path / "elsewhere" / "pictures") == before
    Image.fromarray(noise(7, 8, 8)).save(tmp_path / "elsewhere/pictures/dog/000.png")
    assert key(tmp_path / "elsewhere" / "pictures") != before
    assert key(photos, fit="pad") != before


def test_a_record_is_read_where_the_pictures_are_not(photos: Path) -> None:
    config = TrainingConfig(data=ImageFolder(photos, size=8))
    shutil.rmtree(photos)
    assert TrainingConfig.model_validate_json(config.model_dump_json()) == config


def test_a_relative_folder_is_looked_for_here_then_below_the_data_root(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    monkeypatch.chdir(photos)
    assert ImageFolder("photos/", size=8).path == str(photos)
    write_classes(photos / "photos", ("here", "there"), 1)
    assert ImageFolder("photos/", size=8).class_names == ("here", "there")


def test_a_relative_data_root_is_in_the_folder_of_the_launch_where_a_trial_runs_in_another(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAPSWEEP_LAUNCH_FOLDER", str(photos.parent.parent))
    monkeypatch.setenv("CAPSWEEP_DATA", photos.parent.name)
    assert data_root() == photos.parent
    monkeypatch.setenv("CAPSWEEP_LAUNCH_FOLDER", "")
    assert data_root() == tmp_path / photos.parent.name


def test_another_size_is_that_of_the_same_pictures(photos: Path) -> None:
    data = ImageFolder(photos, size=8)
    larger = ImageFolder.model_validate({**data.model_dump(), "size": 16})
    assert larger.image_shape == (1, 16, 16)


def test_a_changed_folder_is_not_trained_on_under_an_old_key(photos: Path) -> None:
    data = ImageFolder(photos, size=8)
    fingerprint = facts_of(data, load_checked(data, "cpu")).fingerprint
    check_unchanged(data, load_checked(data, "cpu"), fingerprint)
    Image.fromarray(noise(7, 8, 8)).save(photos / "dog/000.png")
    with pytest.raises(ValueError, match="The data 'image_folder' have changed"):
        check_unchanged(data, load_checked(data, "cpu"), fingerprint)
    (photos / "dog").rename(photos / "wolf")
    with pytest.raises(ValueError, match="has the classes cat, owl, wolf, and these settings are"):
        load_checked(data, "cpu")


# Conversions.


def only(photos: Path, image: Image.Image, **settings: Any) -> np.ndarray:
    """Return one picture as a data set has it, among grey ones."""
    image.save(photos / "cat" / "only.png")
    for other in photos.glob("*/*.png"):
        if other.name != "only.png" and other.parent.name == "cat":
            other.unlink()
    data = ImageFolder(photos, size=4, test_fraction=0.1, **settings)
    parts = data.read()
    return parts["train"].images[0]


def test_grey_pictures_among_coloured_ones_get_three_channels(photos: Path) -> None:
    colour = noise(1, 4, 4, 3)
    assert (only(photos, Image.fromarray(colour)) == np.moveaxis(colour, -1, 0)).all()
    grey = ImageFolder(photos, size=8).read()["train"].images[-1]
    assert (grey[0] == grey[1]).all()
    assert (grey[0] == grey[2]).all()


def test_transparent_pixels_become_black(photos: Path) -> None:
    values = np.full((4, 4, 4), [200, 200, 200, 255], np.uint8)
    values[0, :, 3] = 0
    made = only(photos, Image.fromarray(values))
    assert (made[:, 0] == 0).all()
    assert (made[:, 1:] == 200).all()
    shown = Image.fromarray(np.full((4, 4, 2), [200, 0], np.uint8), "LA")
    assert only(photos, shown).tolist() == np.zeros((1, 4, 4)).tolist()


def test_sixteen_bits_are_rounded_to_eight(photos: Path) -> None:
    values = np.array([[0, 257, 128 * 257 + 100, 65535]] * 4, np.uint16)
    assert only(photos, Image.fromarray(values)).tolist() == [[[0, 1, 128, 255]] * 4]


def test_pictures_are_turned_as_the_camera_noted(photos: Path) -> None:
    values = noise(3, 4, 4)
    image = Image.fromarray(values)
    exif = image.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    image.save(photos / "cat" / "turned.png", exif=exif)
    for other in (photos / "cat").glob("0*.png"):
        other.unlink()
    made = ImageFolder(photos, size=4).read()["train"].images[0]
    assert (made[0] == np.rot90(values, -1)).all()


@pytest.mark.parametrize(
    ("fit", "left", "middle"), [("crop", 255, 255), ("stretch", 0, 255), ("pad", 0, 255)]
)
def test_uneven_pictures_are_cut_stretched_or_laid_on_black(
    photos: Path, fit: Any, left: int, middle: int
) -> None:
    values = np.zeros((4, 12), np.uint8)
    values[:, 4:8] = 255  # white in the middle third
    made = only(photos, Image.fromarray(values), fit=fit)
    assert made.shape == (1, 4, 4)
    row = made[0, 2] if fit != "pad" else made[0, :, 2]
    assert row[0] == left or fit == "pad"
    assert made[0, 2, 2] >= middle - 90
    if fit == "pad":
        assert (made[0, 0] == 0).all()


def test_hidden_files_and_those_of_other_kinds_are_passed_over(photos: Path) -> None:
    before = key(photos)
    (photos / ".DS_Store").write_text("x")
    (photos / "cat" / ".hidden.png").write_text("x")
    (photos / "cat" / "labels.csv").write_text("x")
    (photos / "__MACOSX").mkdir()
    assert key(photos) == before


# What is refused.


def emptied(photos: Path) -> None:
    for path in (photos / "dog").iterdir():
        path.unlink()


def torn(photos: Path) -> None:
    path = photos / "dog" / "003.png"
    path.write_bytes(path.read_bytes()[:60])


def no_picture(photos: Path) -> None:
    (photos / "dog" / "003.png").write_text("no picture")


def moved_to(*splits: str) -> Any:
    def move(photos: Path) -> None:
        for split in splits:
            shutil.copytree(photos / "cat", photos / split / "cat")
            shutil.copytree(photos / "dog", photos / split / "dog")
        for name in ("cat", "dog", "owl"):
            shutil.rmtree(photos / name)

    return move


def only_in_test(photos: Path) -> None:
    moved_to("train", "test")(photos)
    (photos / "test/cat").rename(photos / "test/wolf")


def alone(photos: Path) -> None:
    shutil.rmtree(photos / "cat")
    shutil.rmtree(photos / "dog")


def next_to_the_splits(photos: Path) -> None:
    shutil.copytree(photos / "cat", photos / "train" / "cat")
    shutil.copytree(photos / "dog", photos / "test" / "cat")


def loose(photos: Path) -> None:
    for name in ("dog", "owl", "cat"):
        shutil.move(photos / name / "000.png", photos / f"{name}.png")
        shutil.rmtree(photos / name)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (shutil.rmtree, "There is no folder '{}': name one with a folder of pictures"),
        (emptied, "The class 'dog' in '{}' has no picture (PNG, JPEG,"),
        (torn, "'{}/dog/003.png' cannot be read as a picture:"),
        (no_picture, "'{}/dog/003.png' cannot be read as a picture: it is none, or of a format"),
        (moved_to("train"), "'{}' has the folder 'train', but none called 'test': add it"),
        (moved_to("test"), "'{}' has the folder 'test', but none called 'train': add it"),
        (only_in_test, "The class 'wolf' is in '{0}/test', but not in '{0}/train': add training"),
        (
            next_to_the_splits,
            "Next to the folders of the splits '{}' has 'cat', 'dog', 'owl': move classes",
        ),
        (loose, "'{}' has pictures, but no folder of a class: put the pictures of each class"),
        (moved_to(), "'{}' has no folder of a class: put the pictures of each class"),
        (
            lambda photos: [shutil.rmtree(photos / folder) for folder in ("cat", "dog")],
            "There must be at",
        ),
        (
            moved_to("train", "val", "valid", "test"),
            "Next to the folders of the splits '{}' has 'val': move classes",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    photos: Path, change: Any, sentence: str
) -> None:
    change(photos)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        load_checked(ImageFolder(photos, size=8), "cpu")
    assert str(caught.value).startswith(sentence.format(photos))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_the_same_picture_in_two_splits_is_refused(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_classes(tmp_path / split, ("cat", "dog"), 4)
    data = ImageFolder(tmp_path, size=8)
    with pytest.raises(ValueError, match="occur in both the training split of data 'image_folder'"):
        facts_of(data, load_checked(data, "cpu"))


def test_a_small_share_of_the_training_images_leaves_the_test_as_it_is(photos: Path) -> None:
    all_splits = load_checked(ImageFolder(photos, size=8), "cpu")
    tenth = load_checked(ImageFolder(photos, size=8, train_fraction=0.25), "cpu")
    assert (len(tenth.train), len(all_splits.train)) == (21, 84)
    for split in ("validation", "test"):
        assert torch.equal(getattr(all_splits, split).images, getattr(tenth, split).images)
    full, few = (ImageFolder(photos, size=8, train_fraction=fraction) for fraction in (1.0, 0.25))
    facts = facts_of(full, all_splits)
    trained_on = check_unchanged(few, tenth, facts.fingerprint).num_images
    assert trained_on == {"training": 21, "validation": 12, "test": 24}


def test_without_a_path_a_training_asks_for_it() -> None:
    with pytest.raises(ValueError, match="The data 'image_folder' need a path: give it"):
        TrainingConfig(data="image_folder")


def test_an_interrupted_training_goes_on_when_the_folder_has_moved(
    photos: Path, tmp_path: Path
) -> None:
    def config(folder: Path) -> TrainingConfig:
        data = ImageFolder(folder, size=8)
        return small_config(data=data, stopping=FixedEpochs(epochs=2))

    full_training = Training(config(photos), seed=0)
    unbroken = [metrics.validation_loss for metrics in full_training]
    begun = Training(config(photos), seed=0)
    next(iter(begun))
    begun.save(tmp_path / "checkpoint.safetensors")
    moved = config(photos.rename(tmp_path / "elsewhere"))
    resumed = Training.restore(tmp_path / "checkpoint.safetensors", moved, seed=0)
    assert [metrics.validation_loss for metrics in resumed] == unbroken[1:]


def test_a_process_decodes_pictures_once_until_one_changes(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ImageFolder(photos, size=8)
    first = data.load("cpu")
    monkeypatch.setattr("capsmodel.data.image_folder.read_picture", decoded_again)
    assert torch.equal(data.load("cpu").train.images, first.train.images)
    Image.fromarray(noise(7, 8, 8)).save(photos / "dog/000.png")
    with pytest.raises(AssertionError, match="decoded"):
        data.load("cpu")


def decoded_again(*_: Any) -> np.ndarray:
    raise AssertionError("decoded")


def test_where_a_relative_path_leads_nowhere_both_places_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "data"))
    with pytest.raises(MissingFilesError) as caught:
        _ = ImageFolder("photos").image_shape
    assert str(caught.value) == (
        f"There is no folder '{tmp_path}/photos': name one with a folder of pictures for each "
        f"class. Nor is there '{tmp_path}/data/photos', below {ROOT_VARIABLE}."
    )
    with pytest.raises(MissingFilesError, match=r"each class\.$"):
        _ = ImageFolder(tmp_path / "photos").image_shape
