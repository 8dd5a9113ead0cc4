"""affNIST, MNIST's digits under affine maps, read from its MATLAB files."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import UInt8
from pydantic import Field, model_validator

from capsmodel.data.archive import ROOT_VARIABLE, data_root, md5_of
from capsmodel.data.base import DataSet, DataSplits, Images, SplitIndices, check_split_is_given
from capsmodel.data.matlab import checked_bytes, of_field, read_variables
from capsmodel.data.mnist import Mnist
from capsmodel.settings.parts import kind_of

_SIDE = 40
_MARGIN = 6  # of black around MNIST's 28 by 28 pixels
_NUM_FILES = 32
_NUM_CLASSES = 10
_HELD_OUT = 6  # one original in so many: 10,000 of 60,000
_ADDRESS = "https://www.cs.toronto.edu/~tijmen/affNIST/32x/"


class AffNist(DataSet):
    """MNIST's digits on 40 by 40 pixels, tested on affine maps of them: 32 of each original.

    The MATLAB files of its page have to be put into `CAPSWEEP_DATA/affNIST/raw` by hand, unpacked:
    `transformed/test_batches/1.mat` to `32.mat`, `just_centered/training_and_validation.mat` and
    `just_centered/test.mat`. As no checksums of them are published, the fingerprint is made from
    the files, so that they have to be where a sweep is planned, too.

    Training images are of the first 50,000 originals, validation images of the last 10,000. The
    extra test "centred" has the test originals unmapped. Intervals of tables are over originals,
    each of which has an image in every test file, at the same place. A test file takes 16 MB of
    memory, a transformed training file 96 MB.

    Source: Tieleman 2013, the affNIST page of the University of Toronto; trained on centred images,
    and tested on mapped ones, as Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.1.
    Difference: theirs are trained on digits at random places, `augmentation=shift` with
    `augmentation.pixels=6`.

    Attributes:
        trained_on: "centred" for the files of untransformed images, "mnist" for MNIST's own files
            with 6 pixels of black added, which are the same images, "transformed" for
            `transformed/training_and_validation_batches/1.mat` to `32.mat`.
        num_files: How many of the 32 transformed files are read, for the test and for training.
    """

    kind: Literal["affnist"] = "affnist"
    image_shape: ClassVar[tuple[int, int, int]] = (1, _SIDE, _SIDE)
    num_classes: ClassVar[int] = _NUM_CLASSES
    is_split_by_seed: ClassVar[bool] = False
    digits: ClassVar[type[Mnist]] = Mnist
    trained_on: Literal["centred", "mnist", "transformed"] = "centred"
    num_files: Annotated[int, Field(ge=1, le=_NUM_FILES)] = _NUM_FILES

    @property
    def images_of(self) -> tuple[str, ...]:
        """The kind of the originals."""
        return (kind_of(self.digits),)

    @model_validator(mode="after")
    def _check_split(self) -> "AffNist":
        check_split_is_given(self, "affNIST are those of its last 10,000 originals")
        return self

    @property
    def fingerprint(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Hash of the files that are read.

        Raises:
            ValueError: If one is missing.
        """
        self._check_present()
        hashes = [md5_of(path) or "" for path in self.files()]
        hashes += [self.digits.fingerprint] if self.trained_on == "mnist" else []
        return hashlib.sha256("\n".join(hashes).encode()).hexdigest()

    def files(self) -> list[Path]:
        """Return the MATLAB files that are read."""
        extra = [] if self.trained_on == "mnist" else [self._centred("test")]
        return [*self._training_files(), *self._test_files(), *extra]

    def prepare(self) -> None:
        """Check that all files are whole and show the same originals.

        Raises:
            ValueError: If one is missing, damaged or of other images, or the fraction is too small.
        """
        self._check_present()
        self._rows()

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits on a device, as grey values of one byte.

        Raises:
            ValueError: If a file is missing, damaged or of other images, or the fraction is too
                small.
        """
        self.prepare()
        rows = self._rows()
        train, validation = _images(self._training(), [rows.train, rows.validation], device)
        (test,) = _images(_readers(self._test_files()), [rows.test], device)
        centred = _readers([self._centred("test")])
        if self.trained_on == "mnist":
            centred = [partial(_padded, self.digits(), "test")]
        (extra,) = _images(centred, [rows.test], device)
        return DataSplits(train, validation, test, extra_tests={"centred": extra})

    def split(
        self,
        labels: Sequence[int],
        test_labels: Sequence[int],
        extra_labels: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> SplitIndices:
        """Return which originals belong to which split: the last sixth is for validation.

        Args:
            labels: The class of each training original.
            test_labels: The class of each test original.
            extra_labels: Not used: the extra test has the test originals.

        Raises:
            ValueError: If the fraction leaves a class without an image.
        """
        del extra_labels
        num_train = len(labels) - len(labels) // _HELD_OUT
        train, validation = list(range(num_train)), list(range(num_train, len(labels)))
        self._check_fraction({"training": train, "validation": validation}, labels)
        return SplitIndices(
            train=self._train_share(train, labels),
            validation=self._share(validation, labels),
            test=self._test_share("test", test_labels),
        )

    def _rows(self) -> SplitIndices:
        """Return which originals belong to which split, once all files have the same labels."""
        if self.trained_on == "mnist":
            train, test = (self.digits().stored(images)[1] for images in ("train", "test"))
        else:
            train, test = _labels(self._training_files()[0]), _labels(self._centred("test"))
        for files, labels in ((self._training_files(), train), (self._test_files(), test)):
            _check_labels(files, labels)
        return self.split(train.tolist(), test.tolist())

    def _training(self) -> "list[_Read]":
        if self.trained_on == "mnist":
            return [partial(_padded, self.digits(), "train")]
        return _readers(self._training_files())

    def _training_files(self) -> list[Path]:
        if self.trained_on == "mnist":
            return []
        if self.trained_on == "centred":
            return [self._centred("training_and_validation")]
        return self._transformed("training_and_validation_batches")

    def _test_files(self) -> list[Path]:
        return self._transformed("test_batches")

    def _transformed(self, folder: str) -> list[Path]:
        numbers = range(1, self.num_files + 1)
        return [_folder() / "transformed" / folder / f"{number}.mat" for number in numbers]

    @staticmethod
    def _centred(images: str) -> Path:
        return _folder() / "just_centered" / f"{images}.mat"

    def _check_present(self) -> None:
        missing = [path for path in self.files() if not path.is_file()]
        if missing:
            raise ValueError(
                f"affNIST lacks {len(missing)} of {len(self.files())} files in {_folder()}, the "
                f"first is {missing[0].relative_to(_folder())}: take them from {_ADDRESS} and "
                f"unpack them there, or let {ROOT_VARIABLE} name a folder with affNIST/raw in it."
            )


class _Stored(NamedTuple):
    """All images of a file, in its order, and their classes."""

    pixels: UInt8[np.ndarray, "images 1 40 40"]
    labels: UInt8[np.ndarray, " images"]


_Read = Callable[[], _Stored]


def _folder() -> Path:
    return data_root() / "affNIST" / "raw"


def _readers(paths: Sequence[Path]) -> list[_Read]:
    return [partial(_stored, path) for path in paths]


def _stored(path: Path) -> _Stored:
    """Return the values of a file. Each of its columns is an image, row after row."""
    (fields,) = read_variables(path, "affNISTdata")
    columns = checked_bytes(path, "image", of_field(path, fields, "image"), (_SIDE**2, None))
    size = (1, columns.shape[1])
    labels = checked_bytes(path, "label_int", of_field(path, fields, "label_int"), size)
    if labels.max() >= _NUM_CLASSES:
        raise ValueError(
            f"{path} has a label of {labels.max()}, and the labels of affNIST are 0 to 9: put the "
            f"published file in its place."
        )
    return _Stored(np.ascontiguousarray(columns.T).reshape(-1, 1, _SIDE, _SIDE), labels[0])


def _padded(digits: Mnist, images: Literal["train", "test"]) -> _Stored:
    pixels, labels = digits.stored(images)
    return _Stored(np.pad(pixels, [(0, 0), (0, 0), *[(_MARGIN, _MARGIN)] * 2]), labels)


def _labels(path: Path) -> UInt8[np.ndarray, " images"]:
    facts = path.stat()
    return _labels_as_of(path, facts.st_size, facts.st_mtime_ns)


@cache
def _labels_as_of(path: Path, size: int, changed: int) -> UInt8[np.ndarray, " images"]:
    """Read a file once per process while it does not change."""
    return _stored(path).labels


def _check_labels(paths: Sequence[Path], labels: UInt8[np.ndarray, " images"]) -> None:
    for path in paths:
        if not np.array_equal(_labels(path), labels):
            raise ValueError(
                f"The labels of {path} are not those of the other files, and an original has one "
                f"class in all of them: put the published file in its place."
            )


def _images(
    sources: Sequence[_Read], splits: Sequence[list[int]], device: str | torch.device
) -> list[Images]:
    """Return the images of several splits, source after source; each is read once.

    Args:
        sources: Each gives an image of every original.
        splits: Places of originals.
        device: Where the images are to be.
    """
    num = len(sources)
    pixels = [np.empty((num, len(columns), 1, _SIDE, _SIDE), np.uint8) for columns in splits]
    labels = [np.empty((num, len(columns)), np.int64) for columns in splits]
    for place, read in enumerate(sources):
        stored = read()
        for of_split, of_labels, columns in zip(pixels, labels, splits, strict=True):
            of_split[place], of_labels[place] = stored.pixels[columns], stored.labels[columns]
    return [
        Images(
            torch.from_numpy(of_split.reshape(-1, 1, _SIDE, _SIDE)).to(device),
            torch.from_numpy(of_labels.reshape(-1)).to(device),
            None if num == 1 else torch.tensor(columns).repeat(num).to(device),
        )
        for of_split, of_labels, columns in zip(pixels, labels, splits, strict=True)
    ]
