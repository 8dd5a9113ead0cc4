"""Files, folders, pictures and arrays of any size and depth are predicted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from capsmodel import Trained, Training
from capsmodel.data import ImageFolder, load_checked
from capsmodel.data.base import Images
from capsmodel.training.given_images import taken_images
from tests.capsmodel.data.pictures import noise, write_classes
from tests.capsmodel.small_config import small_config, small_model


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "photos"
    write_classes(folder, ("cat", "dog"), 10, side=12)
    return folder


@pytest.fixture(scope="module")
def trained(photos: Path) -> Trained:
    config = small_config(data=ImageFolder(photos, size=8), model=small_model())
    return Training(config, seed=0).trained()


def test_a_folder_is_predicted_as_it_was_trained_on(trained: Trained, photos: Path) -> None:
    said = trained.predict(photos / "cat")
    assert said.sources == tuple(str(photos / "cat" / f"{number:03}.png") for number in range(10))
    read = Images(torch.from_numpy(trained.config.data.read()["train"].images), torch.zeros(20))
    expected = trained.predict(read.take(slice(10)).images)
    assert torch.equal(said.lengths, expected.lengths)
    assert said.names == tuple(("cat", "dog")[label] for label in said.classes)
    assert said.poses is not None
    assert said.poses.shape[:2] == (10, 2)
    assert said.conversion == (
        "10 images: 12 x 12 to 8 x 8 (the middle of each is scaled); values divided by 255, as in "
        "training."
    )


GREY = noise(1, 30, 20)


@pytest.mark.parametrize(
    ("form", "tolerance"),
    [
        (lambda file: file, 0),
        (str, 0),
        (lambda file: [file], 0),
        (lambda _: Image.fromarray(GREY), 0),
        (lambda _: GREY, 0),
        (lambda _: torch.from_numpy(GREY), 0),
        (lambda _: GREY[None], 0),
        (lambda _: GREY[..., None], 0),
        (lambda _: GREY[None, None], 0),
        (lambda _: np.repeat(GREY[..., None], 3, axis=-1), 0),
        (lambda _: np.repeat(GREY[None], 3, axis=0), 0),
        (
            lambda _: np.concatenate(
                [np.repeat(GREY[..., None], 3, 2), np.full((30, 20, 1), 255)], 2
            ).astype(np.uint8),
            0,
        ),
        (lambda _: GREY / 255, 0.003),
        (lambda _: torch.from_numpy(GREY / 255).to(torch.float64), 0.003),
        (lambda _: np.repeat(GREY[None], 3, axis=0) / 255, 0.003),
        (lambda _: GREY.astype(np.uint16) * 257, 0.003),
        (lambda _: torch.from_numpy(GREY / 255).half(), 0.005),
    ],
)
def test_one_image_in_any_form_gives_the_same_values(
    trained: Trained, tmp_path: Path, form: Any, tolerance: float
) -> None:
    Image.fromarray(GREY).save(tmp_path / "one.png")
    expected = taken_images(trained.config.data, tmp_path / "one.png").images
    taken = taken_images(trained.config.data, form(tmp_path / "one.png"))
    assert taken.images.shape == (1, 1, 8, 8)
    assert torch.allclose(taken.images, expected, rtol=0, atol=tolerance)


def test_many_in_several_forms_are_predicted_together(trained: Trained, photos: Path) -> None:
    said = trained.predict([photos / "dog", Image.fromarray(GREY), np.stack([GREY, GREY])])
    assert len(said.names) == 13
    assert said.sources[-3:] == ("10", "11", "12")
    assert said.conversion.startswith("13 images: 12 x 12, 20 x 30 to 8 x 8")


def test_coloured_and_transparent_pictures_say_what_became_of_them(trained: Trained) -> None:
    colour = np.full((8, 8, 4), [255, 0, 0, 255], np.uint8)
    colour[:4, :, 3] = 0
    taken = taken_images(trained.config.data, Image.fromarray(colour))
    assert taken.images[0, 0, :4].max() == 0
    assert taken.images[0, 0, 4:].min() == pytest.approx(76 / 255)
    assert taken.conversion == ("1 image: colour to grey; values divided by 255, as in training.")


def test_a_truth_value_is_black_or_white(trained: Trained) -> None:
    taken = taken_images(trained.config.data, np.eye(8, dtype=bool))
    assert torch.equal(taken.images[0, 0], torch.eye(8))


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ("no/file.png", "There is no file 'no/file.png': name a picture"),
        ([], "There is no image to predict: hand in at least one."),
        (np.zeros((8, 8), np.int64), "Images must be uint8, uint16, booleans or floating-point"),
        (np.array(["a"]), "An array of shape [1] is no image"),
    ],
)
def test_what_cannot_be_predicted_is_refused_in_one_sentence(
    trained: Trained, image: Any, sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        trained.predict(image)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_an_empty_folder_and_a_torn_file_are_named(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no picture in the folder"):
        trained.predict(tmp_path)
    (tmp_path / "torn.png").write_bytes(b"torn")
    with pytest.raises(ValueError, match=r"torn.png' cannot be read as a picture: it is none"):
        trained.predict(tmp_path)


def test_predictions_of_the_test_split_are_those_of_its_files(trained: Trained) -> None:
    data = load_checked(trained.config.data, "cpu")
    plain = trained.predict(data.test.take(slice(None)).images)
    assert torch.equal(trained.predict(data.test.images).lengths, plain.lengths)
