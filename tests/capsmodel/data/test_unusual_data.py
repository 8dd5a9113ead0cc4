"""A user's data that would train without a word, and badly: scaled, noted or refused.

Of each kind the first case was found by a user, the others are of the same kind.
"""

import os
import resource
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch
from PIL import Image

from capsmodel.data import (
    Arrays,
    DataSet,
    DataSplits,
    ImageFolder,
    Images,
    facts_of,
    load_checked,
)
from capsmodel.training.given_images import taken_images
from tests.capsmodel.data.pictures import noise, write_classes

LABELS = np.arange(60) % 3


def numbers(largest: int, dtype: str = "uint16", num: int = 60, first: int = 0) -> np.ndarray:
    """Return images [num, 8, 8] of whole numbers up to the largest, which each has, from 0."""
    images = np.random.default_rng(first).integers(0, largest + 1, (num, 8, 8)).astype(dtype)
    images[:, 0, :2] = 0, largest
    return images


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


def written(folder: Path, images: np.ndarray, ending: str = "png") -> Path:
    """Write pictures of three classes, a folder each."""
    for number, image in enumerate(images):
        place = folder / "photos" / "abc"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number:03}.{ending}")
    return folder / "photos"


def notes_of(data: DataSet) -> str:
    return " ".join(facts_of(data, load_checked(data, "cpu")).notes)


def refusal_of(make: Callable[[], DataSet]) -> str:
    """Return the sentence by which data are refused, when they are made or loaded."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is compared
        load_checked(make(), "cpu")
    assert "\n" not in str(refused.value)
    return str(refused.value)


# Which value is white.

Make = Callable[[Path], DataSet]
WHITE: dict[str, tuple[Make, int]] = {
    "12 bits": (lambda at: Arrays(saved(at, images=numbers(4000), labels=LABELS)), 4095),
    "10 bits": (lambda at: Arrays(saved(at, images=numbers(1000), labels=LABELS)), 1023),
    "pictures of 12 bits": (
        lambda at: ImageFolder(written(at, numbers(4000)), size=8),
        4095,
    ),
    "bytes of 0 and 1": (
        lambda at: Arrays(saved(at, images=numbers(1, "uint8"), labels=LABELS)),
        1,
    ),
    "bytes of 0 to 16": (
        lambda at: Arrays(saved(at, images=numbers(16, "uint8"), labels=LABELS)),
        16,
    ),
    "8 bits in 16": (lambda at: Arrays(saved(at, images=numbers(250), labels=LABELS)), 255),
    "14 bits, of which only the test has all": (
        lambda at: Arrays(
            saved(
                at,
                x_train=numbers(900),
                y_train=LABELS,
                x_test=numbers(16000, num=30, first=1),
                y_test=LABELS[:30],
            )
        ),
        16383,
    ),
    "TIFF of 10 bits": (lambda at: ImageFolder(written(at, numbers(1000), "tif"), size=8), 1023),
    "masks of 0 and 1 as pictures": (
        lambda at: ImageFolder(written(at, numbers(1, "uint8")), size=8),
        1,
    ),
}


@pytest.mark.parametrize(("make", "white"), WHITE.values(), ids=WHITE)
def test_images_are_scaled_by_what_all_splits_hold_and_a_note_says_so(
    tmp_path: Path, make: Callable[[Path], Any], white: int
) -> None:
    data = make(tmp_path)
    notes = notes_of(data)
    assert notes.count(f"{white} is taken as white") == 1
    assert data.kind in notes
    assert type(data).model_validate_json(data.model_dump_json()) == data
    brightest = max(int(part.images.max()) for part in data.read().values())
    largest = {4095: 4000, 1023: 1000, 255: 250, 16383: 16000}.get(white, white)
    assert brightest == round(255 * largest / white)


FOUR_BITS: Any = {"bits": 4}


@pytest.mark.parametrize("dtype", ["uint16", "uint8"])
def test_declared_bits_decide_and_need_no_note(tmp_path: Path, dtype: str) -> None:
    images = numbers(9, dtype)
    path = saved(tmp_path, images=images, labels=LABELS)
    data: Any = Arrays(path, **FOUR_BITS)
    assert not notes_of(data)
    assert (data.read()["train"].images[:, 0] == np.rint(images * (255 / 15))).all()
    folder: Any = ImageFolder(written(tmp_path, images), size=8, **FOUR_BITS)
    assert folder.read()["train"].images.max() == 9 * 17


TEN_BITS: Any = {"bits": 10}
SEVEN_BITS: Any = {"bits": 7}
BEYOND: list[Make] = [
    lambda at: Arrays(saved(at, images=numbers(4000), labels=LABELS), **TEN_BITS),
    lambda at: Arrays(saved(at, images=numbers(200, "uint8"), labels=LABELS), **SEVEN_BITS),
    lambda at: ImageFolder(written(at, numbers(4000)), size=8, **TEN_BITS),
    lambda at: ImageFolder(written(at, numbers(200, "uint8")), size=8, **SEVEN_BITS),
]


@pytest.mark.parametrize(("make", "most"), [*zip(BEYOND, (1023, 127, 1023, 127), strict=True)])
def test_values_beyond_the_declared_bits_are_refused(tmp_path: Path, make: Make, most: int) -> None:
    assert f"white is {most}; declare the bits" in refusal_of(lambda: make(tmp_path))


FULL: list[Make] = [
    lambda at: Arrays(saved(at, images=numbers(255, "uint8"), labels=LABELS)),
    lambda at: Arrays(saved(at, images=numbers(60000), labels=LABELS)),
    lambda at: Arrays(saved(at, images=numbers(1, "bool"), labels=LABELS)),
    lambda at: Arrays(saved(at, images=numbers(90, "uint8") / 90, labels=LABELS)),
    lambda at: ImageFolder(written(at, numbers(60000)), size=8),
    lambda at: ImageFolder(written(at, numbers(255, "uint8")), size=8),
]


@pytest.mark.parametrize("make", FULL)
def test_data_that_use_all_of_their_bits_are_read_as_before(tmp_path: Path, make: Make) -> None:
    data = make(tmp_path)
    assert not notes_of(data)
    assert "white" not in data.model_dump_json()
    assert "bits" not in data.model_dump_json()


@pytest.mark.parametrize(
    ("largest", "dtype", "white"), [(4000, "uint16", 4095), (16, "uint8", 16), (1, "uint8", 1)]
)
def test_what_is_predicted_is_scaled_as_what_was_trained_on(
    tmp_path: Path, largest: int, dtype: str, white: int
) -> None:
    images = numbers(largest, dtype)
    data = Arrays(saved(tmp_path, images=images, labels=LABELS))
    Image.fromarray(images[0]).save(tmp_path / "one.png")
    for given in (images[:1], tmp_path / "one.png", Image.fromarray(images[0])):
        taken = taken_images(data, given)
        assert abs(taken.images[0, 0].numpy() - images[0] / white).max() < 0.002
    ordinary = noise(0, 8, 8)
    assert abs(taken_images(data, ordinary).images[0, 0].numpy() - ordinary / 255).max() < 0.002


# A user's own class.

Change = Callable[[torch.Tensor], torch.Tensor]


def split(first: int, *shape: int) -> Images:
    """Return twelve different images of three classes."""
    generator = torch.Generator().manual_seed(first)
    return Images(torch.rand(12, *(shape or (3, 8, 8)), generator=generator), torch.arange(12) % 3)


def splits_of(*shape: int) -> DataSplits:
    return DataSplits(split(0, *shape), split(1, *shape), split(2, *shape))


class Mine(DataSet):
    kind: Literal["mine"] = "mine"
    image_shape: ClassVar[Any] = (3, 8, 8)
    num_classes: ClassVar[Any] = 3
    class_names: ClassVar[Any] = ()
    loaded: ClassVar[Any] = splits_of()

    def load(self, device: str | torch.device) -> DataSplits:
        return self.loaded


def changed(change: Change) -> DataSplits:
    """Return the splits with images changed alike."""
    train, validation, test = (
        replace(part, images=change(part.images)) for part in map(split, range(3))
    )
    return DataSplits(train, validation, test)


BLACK: list[Change] = [
    lambda images: (images * 16).to(torch.uint8),
    lambda images: (images > 0.5).to(torch.uint8),
    lambda images: images / 255,
    lambda images: images * (4095 / 65535),
]


@pytest.mark.parametrize("change", BLACK)
def test_images_of_an_own_class_that_are_nearly_black_are_noted(
    monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    monkeypatch.setattr(Mine, "loaded", changed(change))
    assert "nearly black" in notes_of(Mine())


def test_images_that_are_not_nearly_black_are_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not notes_of(Mine())
    monkeypatch.setattr(Mine, "loaded", changed(lambda images: images / 3))
    assert not notes_of(Mine())


# Channels.


@pytest.mark.parametrize("shape", [(8, 8, 3), (28, 28, 1), (32, 32, 3), (12, 12, 4)])
def test_a_shape_with_its_channels_last_is_refused(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(Mine, "image_shape", shape)
    monkeypatch.setattr(Mine, "loaded", splits_of(*shape))
    sentence = refusal_of(Mine)
    height, width, channels = shape
    assert sentence.startswith("image_shape of data 'mine' must be channels, height and width")
    assert f"{(channels, height, width)}" in sentence
    assert "permute(0, 3, 1, 2)" in sentence


@pytest.mark.parametrize("shape", [(28, 32, 3), (8, 12, 1), (6, 5, 4), (12, 100, 1)])
def test_a_shape_whose_channels_may_be_last_is_noted(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(Mine, "image_shape", shape)
    monkeypatch.setattr(Mine, "loaded", splits_of(*shape))
    channels, height, width = shape
    assert f"{channels} channels of {height} x {width} pixels" in notes_of(Mine())


@pytest.mark.parametrize("shape", [(2, 48, 48), (3, 8, 8), (1, 5, 3), (3, 3, 3), (12, 9, 9)])
def test_a_shape_with_its_channels_first_passes(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(Mine, "image_shape", shape)
    monkeypatch.setattr(Mine, "loaded", splits_of(*shape))
    assert not notes_of(Mine())


def constant(*channels: int, value: float = 0.0) -> Change:
    def change(images: torch.Tensor) -> torch.Tensor:
        images = images.clone()
        images[:, list(channels)] = value
        return images

    return change


CONSTANT: list[tuple[Change, str]] = [
    (constant(1, 2), "channels 1 and 2 of 3"),
    (constant(0, value=0.5), "channel 0 of 3"),
    (lambda images: constant(2, value=255)((images * 200).to(torch.uint8)), "channel 2 of 3"),
    (constant(0, 2, value=1.0), "channels 0 and 2 of 3"),
]


@pytest.mark.parametrize(("change", "named"), CONSTANT)
def test_channels_of_one_value_are_noted(
    monkeypatch: pytest.MonkeyPatch, change: Change, named: str
) -> None:
    monkeypatch.setattr(Mine, "loaded", changed(change))
    assert named in notes_of(Mine()).lower()


# Labels and classes.


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let this process take at most 300 MB more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + 300 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("largest", [10**12, 2**63, 10**7, 60])
@pytest.mark.usefixtures("little_memory")
def test_a_label_beyond_the_number_of_images_is_refused_in_little_memory(
    tmp_path: Path, largest: int
) -> None:
    labels = LABELS.astype(np.uint64)
    labels[7] = largest
    path = saved(tmp_path, images=noise(0, 60, 8, 8), labels=labels)
    sentence = refusal_of(lambda: Arrays(path))
    assert f"{largest}" in sentence
    assert "number the classes from 0" in sentence


@pytest.mark.parametrize("num_classes", [10**12, 10**9, 2**70, 37])
@pytest.mark.usefixtures("little_memory")
def test_more_classes_than_training_images_are_refused_in_little_memory(
    monkeypatch: pytest.MonkeyPatch, num_classes: int
) -> None:
    monkeypatch.setattr(Mine, "num_classes", num_classes)
    sentence = refusal_of(Mine)
    assert f"declares {num_classes} classes" in sentence
    assert "12 images" in sentence


@pytest.mark.parametrize("names", [["cat", "cat", "owl"], ["a", "b", "b"], [1, 1, 2], ["", "", ""]])
def test_equal_names_of_classes_in_a_file_are_refused(tmp_path: Path, names: list[Any]) -> None:
    images = noise(0, 60, 8, 8)
    path = saved(tmp_path, images=images, labels=LABELS, class_names=np.array(names))
    twice = names[0] if names[0] == names[1] else names[2]
    assert f"'{twice}'" in refusal_of(lambda: Arrays(path))


@pytest.mark.parametrize(
    "names", [("cat", "cat", "owl"), ("cat", "dog"), ["cat", "dog", "owl"], ("cat", "dog", 3)]
)
def test_names_of_an_own_class_that_name_no_class_are_refused(
    monkeypatch: pytest.MonkeyPatch, names: Any
) -> None:
    monkeypatch.setattr(Mine, "class_names", names)
    assert refusal_of(Mine).startswith("class_names of data 'mine' must be ")


# One image.


def counted(train: list[int], test: list[int]) -> dict[str, np.ndarray]:
    """Return arrays with these numbers of images of each class."""
    return {
        "x_train": noise(0, sum(train), 8, 8),
        "y_train": np.repeat(np.arange(len(train)), train),
        "x_test": noise(1, sum(test), 8, 8),
        "y_test": np.repeat(np.arange(len(test)), test),
    }


@pytest.mark.parametrize(
    ("train", "test", "named"),
    [
        ([40, 40], [1], "There is one image in the test split"),
        ([40, 1], [9, 9], "Only one image of class 1 is in the training split"),
        ([40, 40], [9, 1], "Only one image of class 1 is in the test split"),
        ([40, 40, 2, 2], [9, 1, 1, 9], "Only one image each of classes 1, 2 is in the test split"),
    ],
)
def test_a_class_or_a_split_of_one_image_is_noted(
    tmp_path: Path, train: list[int], test: list[int], named: str
) -> None:
    assert named in notes_of(Arrays(saved(tmp_path, **counted(train, test))))


@pytest.mark.parametrize("num", [1, 2])
def test_classes_whose_images_are_all_held_out_are_refused_by_that(
    tmp_path: Path, num: int
) -> None:
    labels = np.arange(10 * num) % 10
    path = saved(tmp_path, images=noise(0, len(labels), 8, 8), labels=labels)
    sentence = refusal_of(lambda: Arrays(path, test_fraction=0.5, validation_fraction=0.5))
    assert "held out" in sentence
    assert "number the classes" not in sentence


# Files.


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    write_classes(tmp_path / "photos", ("cat", "dog"), 24)
    return tmp_path / "photos"


def pipe(place: Path) -> None:
    os.mkfifo(place)


def link_to_pipe(place: Path) -> None:
    os.mkfifo(place.with_name(".pipe"))
    place.symlink_to(place.with_name(".pipe"))


def device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def listening(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(place))


@pytest.mark.parametrize("make", [pipe, link_to_pipe, device, listening])
@pytest.mark.timeout(5)  # a pipe that nobody writes to is waited for
def test_what_is_no_file_is_refused_and_not_waited_for(
    photos: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(photos / "dog")  # a socket's path is short
    make(Path("z.png"))
    sentence = f"'{photos / 'dog' / 'z.png'}' is no file, but a "
    assert sentence in refusal_of(lambda: ImageFolder(photos, size=8))
    (photos / "dog" / "z.png").rename(photos.parent / "z.png")
    data = ImageFolder(photos, size=8)
    (photos.parent / "z.png").rename(photos / "dog" / "z.png")
    for given in (photos / "dog" / "z.png", photos / "dog"):
        with pytest.raises(ValueError, match="is no file, but a "):
            taken_images(data, given)


@pytest.mark.parametrize(
    ("names", "counted"),
    [
        (["cat/1.heic", "dog/2.HEIC"], "2 .heic"),
        (["cat/photo", "dog/photo"], "2 without an ending"),
        (["cat/1.heic", "cat/x.csv", "cat/y.csv", "dog/raw/z"], "2 .csv, 1 .heic, 1 without"),
        (["loose.png", "dog/notes.txt"], "1 .png, 1 .txt"),
    ],
)
def test_files_that_are_passed_over_are_counted_by_their_endings(
    photos: Path, names: list[str], counted: str
) -> None:
    data = ImageFolder(photos, size=8)
    assert not notes_of(data)
    before = data.files()
    for name in (*names, "cat/.hidden.csv", ".DS_Store"):
        (photos / name).parent.mkdir(exist_ok=True)
        (photos / name).write_text("x")
    assert counted in notes_of(data)
    assert {*data.files()} - {*before} == {photos / name for name in names}
