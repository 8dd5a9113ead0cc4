"""A user's folder of pictures, a folder for each class."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import UInt8

from capsmodel.data.picture_files import (
    ENDINGS,
    Fit,
    check_is_file,
    ending_of,
    grey_and_white,
    is_hidden,
    names_below,
    open_picture,
    picture_paths,
    read_picture,
)
from capsmodel.data.user_files import (
    SPLITS,
    FileState,
    FoundFacts,
    Labelled,
    MissingFilesError,
    Side,
    UserFiles,
    check_classes,
    file_states,
    listed,
)

_ENDINGS_WORDS = "PNG, JPEG, BMP, GIF, TIFF, WebP or PPM"
Pictures = dict[str, list[Path]]  # class -> its pictures


class PictureFolder(UserFiles, ABC):
    """Pictures in folders of classes, brought to one size.

    Attributes:
        size: Height and width of all images.
    """

    size: Side = 32  # pyright: ignore[reportIncompatibleVariableOverride]

    @abstractmethod
    def pictures(self, place: Path) -> dict[str, Pictures]:
        """Return split -> class -> pictures; of a folder without splits all are of "train".

        Raises:
            ValueError: If the folder is missing, has no class, a class has no picture, or a class
                of validation or test is missing from training.
        """

    def files(self) -> list[Path]:
        """Return all pictures, and the files that are passed over, which the notes count.

        Raises:
            ValueError: As in `pictures`.
        """
        place = self.place
        return [*_all_paths(self.pictures(place)), *filter(Path.is_file, _passed_over(place))]

    def notes_on_files(self) -> Iterator[str]:
        """Yield those of every user's files, and how many files of each ending are passed over."""
        yield from super().notes_on_files()
        paths = _passed_over(self.place)
        if number := len(paths):
            endings = sorted(ending_of(path.name) or "without an ending" for path in paths)
            counts = ", ".join(f"{num} {ending}" for ending, num in Counter(endings).most_common())
            yield (
                f"{number} file{'s' * (number > 1)} of data '{self.kind}' "
                f"{'are' if number > 1 else 'is'} passed over ({counts}): only {_ENDINGS_WORDS} in "
                f"the folders of the classes are read."
            )

    def read(self) -> Mapping[str, Labelled]:
        """Return the pictures of each split that the folder has.

        Raises:
            ValueError: If a picture cannot be read, or the folder has other classes now.
        """
        place = self.place
        parts = self.pictures(place)
        check_classes(place, tuple(parts["train"]), self.classes)
        number = {name: place for place, name in enumerate(self.classes)}
        return {
            split: Labelled(
                _decoded(file_states(_paths(part)), self.image_shape, self.fit, self.white_value),
                [number[name] for name, paths in part.items() for _ in paths],
                [path.relative_to(place).as_posix() for path in _paths(part)],
            )
            for split, part in parts.items()
        }


class ImageFolder(PictureFolder):
    """Pictures in a folder of your own that has a folder for each class.

    `ImageFolder("photos/", size=32)`: folders `train`, `test` and, if you like, `validation` with
    the folders of the classes in them are taken as the splits; without them a share of each class
    is held out for the test, the same for ever. Pictures are turned upright, transparent pixels
    become black, and all are brought to one size; they are grey if all of them are, else all are
    colour. Whole numbers of grey pictures are scaled to 8 bits from 0 to white: the largest number
    of the fewest of 8, 10, 12, 14 or 16 bits that hold all pictures, or the largest value itself if
    that is at most 16; `bits=12` declares it, and saves the search for it. Hidden files and those
    of other kinds are passed over, and the latter counted.

    Attributes:
        size: Height and width of all images.
    """

    kind: Literal["image_folder"] = "image_folder"

    if TYPE_CHECKING:

        def __init__(
            self,
            path: str | PathLike[str],
            *,
            size: int = ...,
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
        """Not where the folder has images for validation."""
        return "validation" not in _pictures(self.place)

    def pictures(self, place: Path) -> dict[str, Pictures]:
        """Return the pictures of each split, or of "train" alone.

        Raises:
            ValueError: As in `PictureFolder.pictures`, or if there is a folder of the training or
                of the test without the other one.
        """
        return _pictures(place)

    def scan(self, place: Path) -> FoundFacts:
        """Return the names of the folders, whether all pictures are grey, and their white.

        Raises:
            ValueError: If the folder is missing, has no class, a class has no picture, a class of
                validation or test is missing from training, or a file is no picture or no file.
        """
        parts = _pictures(place)
        classes, paths = tuple(parts["train"]), _all_paths(parts)
        _check_depth(place, classes)
        are_grey, white = grey_and_white(
            map(open_picture, paths), is_white_known=self.bits is not None
        )
        if not are_grey:
            for path in paths:
                check_is_file(path)  # those behind the first colour picture were not opened
        return FoundFacts(classes, (1 if are_grey else 3, self.size, self.size), white)


def _paths(part: Pictures) -> list[Path]:
    return [path for paths in part.values() for path in paths]


def _all_paths(parts: Mapping[str, Pictures]) -> list[Path]:
    return [path for part in parts.values() for path in _paths(part)]


def _passed_over(place: Path) -> list[Path]:
    """Return the files that are no picture of a class; no path is made of the many that are."""
    around_classes = {str(place), *map(str, _split_folders(place).values())}
    return [
        Path(folder, name)
        for folder, names in names_below(place)
        for name in names
        if folder in around_classes or ending_of(name) not in ENDINGS
    ]


def _check_depth(place: Path, classes: Sequence[str]) -> None:
    """Check that a folder's only class is none that holds the folders of the classes.

    Raises:
        ValueError: If it is.
    """
    if len(classes) == 1 and len(inner := _folders(place / classes[0])) > 1:
        raise ValueError(
            f"'{place}' has one folder, '{classes[0]}', and in it {listed([f.name for f in inner])}"
            f": if these are the classes or splits, name '{place / classes[0]}'."
        )


@lru_cache(maxsize=4)  # a process trains one trial after the other, and decoding takes long
def _decoded(
    files: tuple[FileState, ...], shape: tuple[int, int, int], fit: Fit, white: int | None
) -> UInt8[np.ndarray, "images channels height width"]:
    return np.stack([read_picture(path, shape, fit, white) for path, *_ in files])


def _pictures(place: Path) -> dict[str, Pictures]:
    """Return split -> class -> pictures; of a folder without splits all are of "train".

    Raises:
        ValueError: As in `ImageFolder.pictures`.
    """
    if not place.is_dir():
        raise MissingFilesError(
            f"There is no folder '{place}': name one with a folder of pictures for each class."
        )
    if not (named := _split_folders(place)):
        return {"train": pictures_of_classes(place)}
    if missing := {"train", "test"} - named.keys():
        (split,) = missing
        raise ValueError(
            f"'{place}' has the folder '{next(iter(named.values())).name}', but none called "
            f"'{split}': add it, or put the folders of the classes into '{place}' itself."
        )
    if others := [folder.name for folder in _folders(place) if folder not in named.values()]:
        raise ValueError(
            f"Next to the folders of the splits '{place}' has {listed(others)}: move classes into "
            f"'{named['train'].name}' and '{named['test'].name}'."
        )
    parts = {split: pictures_of_classes(folder) for split, folder in named.items()}
    for split, part in parts.items():
        if unknown := [name for name in part if name not in parts["train"]]:
            raise ValueError(
                f"The class {listed(unknown)} is in '{named[split]}', but not in "
                f"'{named['train']}': add training images of it, or remove it."
            )
    return {split: parts[split] for split in ("train", "validation", "test") if split in parts}


def _split_folders(place: Path) -> dict[str, Path]:
    """Return split -> its folder; none if the folders are those of classes."""
    splits = {folder: SPLITS.get(folder.name.lower()) for folder in _folders(place)}
    named = {split: folder for folder, split in splits.items() if split}
    return named if {"train", "test"} & named.keys() else {}


def pictures_of_classes(place: Path) -> Pictures:
    """Return folder -> the pictures in it, for all folders in one.

    Raises:
        ValueError: If there is no folder, or one has no picture.
    """
    pictures = {folder.name: [*picture_paths(folder)] for folder in _folders(place)}
    if not pictures:
        loose = "pictures, but " if next(picture_paths(place), None) else ""
        raise ValueError(
            f"'{place}' has {loose}no folder of a class: put the pictures of each class into a "
            f"folder that has its name."
        )
    if empty := [name for name, paths in pictures.items() if not paths]:
        raise ValueError(
            f"The class {listed(empty)} in '{place}' has no picture ({_ENDINGS_WORDS}): add some, "
            f"or remove the folder."
        )
    return pictures


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir() and not is_hidden(path.name))
