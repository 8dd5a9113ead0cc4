"""A user's images as arrays in one file of NumPy."""

import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from capsmodel.data.picture_files import Fit, eight_bits, fitted_array, white_of
from capsmodel.data.user_files import (
    FoundFacts,
    Labelled,
    MissingFilesError,
    UserFiles,
    check_classes,
    numbered_classes,
)

_SPLITS = {
    "": "train",
    "train": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}
_ROLES = {
    **dict.fromkeys(("x", "images", "image", "data"), "images"),
    **dict.fromkeys(("y", "labels", "label", "targets"), "labels"),
}
_NAMES = "class_names"
_HEADERS: Any = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LENGTHS_AT = 26  # bytes after the start of a member's local header
_CHUNK = 2**20
_LARGE = 10**9  # bytes
_TYPES = ("uint8", "uint16", "bool")
_EXPECTED = "`images` and `labels`, or `x_train`, `y_train`, `x_test` and `y_test`"


class _Read(NamedTuple):
    """What a file holds: split -> its arrays, the names of classes, the value that is white."""

    splits: Mapping[str, tuple[np.ndarray, list[int]]]
    classes: tuple[str, ...]
    white: int | None


class Arrays(UserFiles):
    """Images and labels in one `.npz` file of your own, `Arrays("x.npz")`.

    It holds `images` and `labels`, of which a share is held out for the test, or `x_train`,
    `y_train`, `x_test`, `y_test` and, if you like, `x_val`, `y_val` (`train_images`, `train_labels`
    and so on too). Images are [images height width], with channels, 1 or 3, last or second;
    numbers from 0 to 1, truth values, or whole numbers, uint8 or uint16. Whole numbers are scaled
    to 8 bits from 0 to white: the largest number of the fewest of 8, 10, 12, 14 or 16 bits that
    hold all splits, or the largest value itself if that is at most 16; `bits=12` declares it.
    Labels are whole numbers from 0, called as `class_names` says if that is there, or texts, which
    are the names. Nothing is unpickled.
    """

    kind: Literal["arrays"] = "arrays"

    if TYPE_CHECKING:

        def __init__(
            self,
            path: str | PathLike[str],
            *,
            size: int | None = ...,
            fit: Fit = ...,
            bits: int | None = ...,
            test_fraction: float = ...,
            validation_fraction: float = ...,
            split_seed: int = ...,
            fraction: float = ...,
            train_fraction: float = ...,
            shifted_test: bool | None = ...,
        ) -> None: ...

    @property
    def is_split_by_seed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Not where the file has images for validation."""
        return "validation" not in _read(self.place).splits

    def files(self) -> list[Path]:
        """Return the file."""
        return [self.place]

    def notes_on_files(self) -> Iterator[str]:
        """Yield those of every user's files, and how much memory a large file takes."""
        yield from super().notes_on_files()
        images = [images for images, _ in _read(self.place).splits.values()]
        size = sum(part.nbytes for part in images if not _is_mapped(part))
        if size >= _LARGE:
            yield (
                f"{size / 1e9:.1f} GB of images of data '{self.kind}' are read whole, and loading "
                f"them takes two to four times as much memory in each trial: save them by "
                f"numpy.savez, as uint8 or float32, which is mapped into memory."
            )

    def scan(self, place: Path) -> FoundFacts:
        """Return the names of the classes, the shape of the images and their white.

        Raises:
            ValueError: If the file is missing, or its arrays are not as the class says.
        """
        read = _read(place)
        images, _ = read.splits["train"]
        channels, height, width = images.shape[1:]
        return FoundFacts(read.classes, (channels, height, width), read.white)

    def read(self) -> Mapping[str, Labelled]:
        """Return the images of each split that the file has.

        Raises:
            ValueError: As in `scan`, or if the file has other classes now.
        """
        read = _read(self.place)
        check_classes(self.place, read.classes, self.classes)
        _, *size = self.image_shape
        return {
            split: Labelled(
                fitted_array(self._scaled(split, images), (size[0], size[1]), self.fit), labels
            )
            for split, (images, labels) in read.splits.items()
        }

    def _scaled(self, split: str, images: np.ndarray) -> np.ndarray:
        """Return images as bytes, or as the numbers from 0 to 1 that they are."""
        if images.dtype.kind == "f":
            if self.bits:
                raise ValueError(
                    f"The images of the split '{split}' of '{self.place}' are numbers from 0 to 1, "
                    f"of which bits={self.bits} says nothing: leave it out."
                )
            return images
        try:
            return eight_bits(images, self.white_value)
        except ValueError as error:
            raise ValueError(
                f"The images of the split '{split}' of '{self.place}' cannot be scaled: {error}."
            ) from error


def _read(place: Path) -> _Read:
    if not place.is_file():
        raise MissingFilesError(f"There is no file '{place}': name an .npz file with {_EXPECTED}.")
    state = place.stat()
    return _read_once(place, state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=2)  # the settings look at a file, then load reads it
def _read_once(place: Path, *state: int) -> _Read:
    del state
    try:
        with place.open("rb") as file:
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                raise ValueError("it holds one array")
            arrays = {str(name): _array(loaded, name) for name in loaded}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            why = "it holds Python objects, which are never unpickled: save plain arrays"
        else:
            why = f"{str(error).rstrip('.')}: save it by numpy.savez"
        raise ValueError(f"'{place}' cannot be read as an .npz file: {why}.") from error
    return _sorted_out(place, arrays)


def _array(file: Any, name: str) -> np.ndarray:
    """Return an array of a file: mapped into memory where it is stored as it is, else read."""
    member = next((i for i in file.zip.infolist() if i.filename == f"{name}.npy"), None)
    if member is None or member.compress_type != zipfile.ZIP_STORED:
        return np.asarray(file[name])
    with file.zip.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            return np.asarray(file[name])
        shape, is_fortran, dtype = _HEADERS[version](stream)
        header_size = stream.tell()
        if dtype.hasobject or 0 in shape or not shape:
            return np.asarray(file[name])
        while stream.read(_CHUNK):  # compares the checksum
            pass
    raw = file.zip.fp
    raw.seek(member.header_offset + _LENGTHS_AT)
    lengths = struct.unpack("<HH", raw.read(4))  # of name and extra field
    offset = member.header_offset + _LENGTHS_AT + 4 + sum(lengths) + header_size
    order = "F" if is_fortran else "C"
    return np.memmap(raw, dtype, "r", offset, shape, order)


def _is_mapped(images: np.ndarray) -> bool:
    is_of_file = isinstance(images, np.memmap) and images.filename is not None  # no converted copy
    return is_of_file and images.dtype.name in {"uint8", "float32"}


def _sorted_out(place: Path, arrays: Mapping[str, np.ndarray]) -> _Read:
    splits = _splits(place, arrays)
    names = _names([contents["labels"] for contents in splits.values()], arrays.get(_NAMES))
    labels = {split: _labels(place, split, contents, names) for split, contents in splits.items()}
    images = {
        split: _images(place, split, contents["images"]) for split, contents in splits.items()
    }
    if not names:
        largest = max(map(max, labels.values()))
        names = numbered_classes(largest, len(labels["train"]), f"'{place}'")
    if len({array.shape[1:] for array in images.values()}) > 1:
        raise ValueError(f"The splits of '{place}' have images of unlike shapes: make them alike.")
    parts = {split: (images[split], labels[split]) for split in splits}
    return _Read(parts, tuple(names), _white(images.values()))


def _white(splits: Iterable[np.ndarray]) -> int | None:
    """Return the value that is white in all splits, None for that of their type."""
    whole = [images for images in splits if images.dtype.kind == "u"]
    if not whole:
        return None
    limit = max(int(np.iinfo(images.dtype).max) for images in whole)
    return white_of(max(int(images.max()) for images in whole), limit)


def _splits(place: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    splits: dict[str, dict[str, np.ndarray]] = {}
    for name, values in arrays.items():
        if name != _NAMES:
            splits.setdefault(_split_of(place, name), {})[_role_of(place, name)] = values
    for split in ("train", *splits):
        if splits.get(split, {}).keys() != {"images", "labels"}:
            raise ValueError(
                f"'{place}' has no images with labels for the split '{split}', only "
                f"{', '.join(arrays) or 'nothing'}: it must hold {_EXPECTED}."
            )
    if "validation" in splits and "test" not in splits:
        raise ValueError(f"'{place}' has images for validation, but none for the test: add them.")
    return {split: splits[split] for split in ("train", "validation", "test") if split in splits}


def _names(labels: Sequence[np.ndarray], class_names: np.ndarray | None) -> list[str]:
    """Return the names of the classes, or [] if they are called by their numbers."""
    texts = {str(label) for array in labels if array.dtype.kind == "U" for label in array.ravel()}
    return sorted(texts) or [
        str(name) for name in ([] if class_names is None else class_names.ravel())
    ]


def _split_of(place: Path, name: str) -> str:
    parts = [word for word in name.lower().split("_") if word not in _ROLES]
    return _SPLITS.get("_".join(parts)) or _unknown(place, name)


def _role_of(place: Path, name: str) -> str:
    roles = [_ROLES[word] for word in name.lower().split("_") if word in _ROLES]
    return roles[0] if len(roles) == 1 else _unknown(place, name)


def _unknown(place: Path, name: str) -> str:
    raise ValueError(
        f"'{place}' has an array called '{name}', whose meaning is not known: it must hold "
        f"{_EXPECTED}, and perhaps `{_NAMES}`."
    )


def _labels(
    place: Path, split: str, arrays: Mapping[str, np.ndarray], names: list[str]
) -> list[int]:
    labels, images = arrays["labels"], arrays["images"]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "iuU" or len(labels) != len(images):
        raise ValueError(
            f"The labels of the split '{split}' of '{place}' must be one whole number or text for "
            f"each of {len(images)} images, got {labels.dtype} of shape {list(labels.shape)}."
        )
    if len(labels) == 0:
        raise ValueError(f"There is no image in the split '{split}' of '{place}': add some.")
    if labels.dtype.kind == "U":
        number = {name: place for place, name in enumerate(names)}
        return [number[str(label)] for label in labels]
    smallest, largest = int(labels.min()), int(labels.max())
    if smallest < 0 or (names and largest >= len(names)):
        allowed = f"0 to {len(names) - 1}, as there are {len(names)} names" if names else "from 0"
        raise ValueError(
            f"The labels of the split '{split}' of '{place}' are {smallest} to {largest}, and "
            f"must be {allowed}."
        )
    return [int(label) for label in labels]


def _images(place: Path, split: str, images: np.ndarray) -> np.ndarray:
    """Return images [images channels height width], floating-point ones in single precision."""
    shape = list(images.shape)
    if images.ndim == 3:
        images = images[:, None]
    elif images.ndim == 4 and images.shape[3] in {1, 3} and images.shape[1] not in {1, 3}:
        images = np.moveaxis(images, 3, 1)
    is_float, is_known = images.dtype.kind == "f", images.dtype.name in _TYPES
    if images.ndim != 4 or images.shape[1] not in {1, 3} or not (is_float or is_known):
        raise ValueError(
            f"The images of the split '{split}' of '{place}' must be [images, height, width] or "
            f"have 1 or 3 channels last or second, as uint8, uint16, truth values or numbers from "
            f"0 to 1, got {images.dtype} of shape {shape}."
        )
    return images.astype(np.float32, copy=False) if is_float else images
