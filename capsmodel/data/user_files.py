"""What data sets of a user's own files share: facts found in the files, and a hash of them."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Shaped
from pydantic import BaseModel, Field, ValidationError, model_validator

from capsmodel.data.archive import ROOT_VARIABLE, data_root
from capsmodel.data.base import DataSet, DataSplits, Images, SplitIndices
from capsmodel.data.picture_files import Fit
from capsmodel.data.splits import hold_out
from capsmodel.launch_folder import SENT_SWEEP, from_launch_folder
from capsmodel.settings.parts import later

_TEST_SEED = "test"
_COPIED_AT_ONCE = 256  # images
SPLITS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
    "testing": "test",
}
"""What folders and files of a split may be called -> the split."""
Side = Annotated[int, Field(ge=1, le=4096)]
Bits = Annotated[int, Field(ge=1, le=16)]
TestFraction = Annotated[float, Field(gt=0, lt=1)]


class MissingFilesError(ValueError):
    """There are no files where a data set has them."""


def missing_files_in(error: BaseException | None) -> MissingFilesError | None:
    """Return which files are missing, if that is what an error comes from."""
    while error is not None and not isinstance(error, MissingFilesError):
        details = error.errors() if isinstance(error, ValidationError) else ()
        causes = [detail.get("ctx", {}).get("error") for detail in details]
        missing = next((each for each in causes if isinstance(each, MissingFilesError)), None)
        error = missing or error.__cause__
    return error


class FoundFacts(NamedTuple):
    """What a look at files finds: all that a network is built by.

    Attributes:
        classes: Their names; the place of a name is the number of its class.
        shape: Channels, height and width of all images.
        white: The value that is white in images of whole numbers; None for that of their type.
    """

    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    white: int | None = None


class Labelled(NamedTuple):
    """Images with their classes, before they are tensors.

    Attributes:
        files: The file of each image, below the data's folder; () if they are no files.
    """

    images: Shaped[np.ndarray, "images channels height width"]
    labels: Sequence[int]
    files: Sequence[str] = ()


class UserFiles(DataSet, ABC):
    """Images in files of a user's own.

    Names of classes, the shape of the images and which value is white are found in the files when
    the settings are made, and stand in the settings from then on: a record is read where there are
    no files. Where there are none yet, whatever needs the images is refused. Neither where the
    files lie nor what the classes are called is part of a trial's key, which the images are, as
    they are when they have been scaled.

    Attributes:
        first: The setting that may be given without its name.
        path: Where the files lie: from the current folder, or else from the data root.
        classes: Names of the classes; found in the files.
        shape: Channels, height and width of all images; found in the files.
        white: The value that is white in images of whole numbers, by what all splits hold; None for
            the largest of their type, as in settings of earlier releases, whose networks were
            trained so. Found in the files.
        bits: How many bits a whole number of an image has, so that 2^bits - 1 is white; None to
            find it.
        size: Height and width of all images; None for those of the files.
        fit: What becomes of a picture of another shape: "crop" takes its middle, "stretch" distorts
            it, "pad" lays it on black.
        test_fraction: Share of the images that is held out for the test, by class and for ever,
            where the files have no test images.
        shifted_test: As other data sets declare it in their class.
    """

    not_in_key: ClassVar[frozenset[str]] = frozenset(
        {"path", "classes", "shape", "white", "bits", "shifted_test"}
    )
    first: ClassVar[str] = "path"
    path: str = ""
    classes: tuple[str, ...] = later(())
    shape: tuple[Side, Side, Side] | None = later(None)
    white: Annotated[int, Field(ge=1, le=65535)] | None = later(None)
    bits: Bits | None = later(None)
    size: Side | None = None
    fit: Fit = "crop"
    test_fraction: TestFraction = 0.2
    shifted_test: bool | None = later(None)  # pyright: ignore[reportIncompatibleVariableOverride]

    if not TYPE_CHECKING:

        @wraps(BaseModel.__init__)  # pydantic reads it from JSON as other models
        def __init__(self, first=None, /, **settings):
            if first is not None:
                settings[self.first] = os.fspath(first)
            super().__init__(**settings)

    @property
    def is_of_user(self) -> bool:
        """Its images are known by a hash alone."""
        return True

    @property
    def images_of(self) -> tuple[str, ...]:
        """The place of its files, however it is written, without naming it."""
        place = hashlib.sha256(os.path.realpath(self.path).encode()).hexdigest()[:12]
        return (f"{self.kind} {place}",) if self.path else ()

    @property
    def picture_fit(self) -> Fit:
        """That of the settings."""
        return self.fit

    @property
    def white_value(self) -> int | None:
        """By the declared bits, or as it was found."""
        return 2**self.bits - 1 if self.bits else self.white

    @property
    def reader_versions(self) -> tuple[str, ...]:
        """That of Pillow, whose decoder of JPEG need not give the same values for ever."""
        return (f"pillow {version('pillow')}",)

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Channels, height and width that were found."""
        if self.shape is None:
            self._look()
        assert self.shape is not None
        return self.shape

    @property
    def num_classes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of the classes that were found."""
        if not self.classes:
            self._look()
        return len(self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The names that were found."""
        return self.classes

    @model_validator(mode="after")
    def _find(self) -> "UserFiles":
        if getattr(self, self.first):
            with suppress(MissingFilesError):
                self._look()
        return self

    def _look(self) -> None:
        """Set what is found in the files, if it is not known.

        Raises:
            MissingFilesError: If there are none.
            ValueError: If they cannot be used, or the settings do not say where they are.
        """
        if not getattr(self, self.first):
            raise ValueError(
                f"The data '{self.kind}' need a {self.first}: give it, data.{self.first}=..."
            )
        place = self.place
        settings: dict[str, Any] = {"path": str(place)} if self.path and place.exists() else {}
        if self.shape is None or not self.classes:
            facts = self._scanned(place)
            if len(facts.classes) < 2:
                raise ValueError(
                    f"There must be at least two classes, and '{place}' has "
                    f"{', '.join(facts.classes) or 'none'}: add images of another class."
                )
            name, number = Counter(facts.classes).most_common(1)[0]
            if number > 1:
                raise ValueError(
                    f"{number} classes of '{place}' are called '{name}': give each class a name of "
                    f"its own."
                )
            settings |= {"classes": facts.classes, "shape": facts.shape, "white": facts.white}
        if self.size is not None:
            channels, *_ = settings.get("shape", self.shape)
            settings["shape"] = (channels, self.size, self.size)
        for name, value in settings.items():
            object.__setattr__(self, name, value)  # the only change of frozen settings: no one has
            # seen them yet, or nothing that needs the images could be made

    @property
    def place(self) -> Path:
        """Where the files lie on this machine.

        Raises:
            MissingFilesError: If they are none of this machine's, and their sweep is of another.
        """
        places = self._places
        there = next((place for place in places if place.exists()), None)
        is_named = self.path != type(self).model_fields["path"].default
        if not there and is_named and places[1:] and os.environ.get(SENT_SWEEP):
            raise MissingFilesError(
                f"'{self.path}' is not in the data folder '{data_root()}': a sweep is sent without "
                f"files of your own. Copy them to '{places[-1]}', or name an absolute path on the "
                f"shared folder."
            )
        return there or places[0]

    @property
    def _places(self) -> list[Path]:
        """Where the files are searched, in that order: one place for an absolute path."""
        path = Path(self.path).expanduser()
        places = [Path.cwd() / path, from_launch_folder(path), data_root() / path]
        return [*dict.fromkeys(places)]

    def _scanned(self, place: Path) -> FoundFacts:
        """Return what `scan` does; where a relative path leads nowhere, name the data root too."""
        try:
            return self.scan(place)
        except MissingFilesError as error:
            *_, last = self._places
            if place == last or last.exists():
                raise
            raise MissingFilesError(
                f"{error} Nor is there '{last}', below {ROOT_VARIABLE}."
            ) from error

    @abstractmethod
    def scan(self, place: Path) -> FoundFacts:
        """Return the classes and the image shape of the files, without reading all pixels.

        Raises:
            ValueError: If they are missing, or there is a class or image that cannot be used.
        """

    @abstractmethod
    def read(self) -> Mapping[str, Labelled]:
        """Return "train" and, where the files have them, "validation" and "test".

        Raises:
            ValueError: If they are missing, damaged or not those of the settings.
        """

    def notes_on_files(self) -> Iterator[str]:
        """Yield which value was taken as white, where that is not the largest of its type."""
        if self.white and not self.bits:
            yield (
                f"No value in the images of data '{self.kind}' is above {self.white}, so "
                f"{self.white} is taken as white. If white is another value, declare its bits, "
                f"such as bits=8."
            )

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits on a device, as grey values of one byte.

        Raises:
            ValueError: If the files are missing, damaged or not those of the settings, or a
                fraction leaves a class without an image.
        """
        parts = self.read()
        train = parts["train"]
        if "test" in parts:
            test, of_train, of_test = parts["test"], None, None
        else:
            of_train, of_test = self._split_off(train.labels)
            test = train
        rows = self._rows(_of(train.labels, of_train), _of(test.labels, of_test), parts)
        validation, of_validation = train, of_train
        if "validation" in parts:
            validation, of_validation = parts["validation"], None
        # numbered in the files, so that no image is copied twice
        return DataSplits(
            train=_images(train, _taken(of_train, rows.train), device),
            validation=_images(validation, _taken(of_validation, rows.validation), device),
            test=_images(test, _taken(of_test, rows.test), device),
        )

    def _rows(
        self, labels: Sequence[int], test_labels: Sequence[int], parts: Mapping[str, Labelled]
    ) -> SplitIndices:
        if "validation" not in parts:
            return self.split(labels, test_labels)
        return self.split_as_given(labels, parts["validation"].labels, test_labels)

    def _split_off(self, labels: Sequence[int]) -> tuple[list[int], list[int]]:
        number = max(1, round(self.test_fraction * len(labels)))
        if number >= len(labels):
            raise ValueError(
                f"{len(labels)} images cannot be split into training and test: add images."
            )
        return hold_out(labels, number, f"{self.kind}/{_TEST_SEED}")


def _of(labels: Sequence[int], chosen: Sequence[int] | None) -> Sequence[int]:
    return labels if chosen is None else [labels[index] for index in chosen]


def _taken(chosen: Sequence[int] | None, rows: Sequence[int]) -> Sequence[int]:
    return rows if chosen is None else [chosen[row] for row in rows]


def _images(part: Labelled, indices: Sequence[int], device: str | torch.device) -> Images:
    pixels = np.empty((len(indices), *part.images.shape[1:]), part.images.dtype)
    for start in range(0, len(indices), _COPIED_AT_ONCE):  # else channels last are copied twice
        rows = slice(start, start + _COPIED_AT_ONCE)
        pixels[rows] = part.images[list(indices[rows])]
    classes = torch.tensor([part.labels[index] for index in indices], dtype=torch.long)
    files = tuple(part.files[index] for index in indices) if part.files else ()
    return Images(torch.from_numpy(pixels).to(device), classes.to(device), files=files)


def numbered_classes(largest: int, num_images: int, source: str) -> tuple[str, ...]:
    """Return the names of classes that are called by their numbers, from 0.

    Args:
        largest: The largest label.
        num_images: Number of the training images.
        source: Where the labels are from, for the sentence.

    Raises:
        ValueError: If there cannot be a training image of each.
    """
    if largest >= num_images:
        raise ValueError(
            f"The largest label of {source} is {largest}, and {num_images} training images show at "
            f"most {num_images} classes: number the classes from 0, without gaps."
        )
    return tuple(map(str, range(largest + 1)))


FileState = tuple[Path, int, int, int, int]
"""A file with its size, its inode, and the times of its content and inode in nanoseconds."""


def file_states(paths: Iterable[Path]) -> tuple[FileState, ...]:
    """Return files with what changes where one of them does."""
    states = [(path, path.stat()) for path in paths]
    return tuple(
        (path, state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
        for path, state in states
    )


def check_classes(place: Path, found_classes: Sequence[str], classes: Sequence[str]) -> None:
    """Check that files have the classes that the settings were made with.

    Raises:
        ValueError: If they have others.
    """
    if tuple(found_classes) != tuple(classes):
        raise ValueError(
            f"'{place}' has the classes {', '.join(found_classes)}, and these settings are of "
            f"{', '.join(classes)}: restore the former, or make the settings anew, "
            f"with classes=[]."
        )


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return names for a sentence, the first of many."""
    quoted = ", ".join(f"'{name}'" for name in names[:most])
    return quoted + (f" and {len(names) - most} more" if len(names) > most else "")
