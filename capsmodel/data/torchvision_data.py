"""Any of torchvision's data sets of pictures with one class each."""

import inspect
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from PIL import Image

from capsmodel.data.archive import data_root
from capsmodel.data.picture_files import Fit, grey_values, is_grey
from capsmodel.data.user_files import (
    FoundFacts,
    Labelled,
    UserFiles,
    check_classes,
    numbered_classes,
)
from capsmodel.spelling import unknown, words_of

_UNPICKLED = {"CIFAR10": "cifar10", "CIFAR100": "cifar100"}
_SAME_HERE = _UNPICKLED | {
    "MNIST": "mnist",
    "FashionMNIST": "fashion_mnist",
    "KMNIST": "kmnist",
    "SVHN": "svhn",
    "Imagenette": "imagenette",
}


class TorchvisionData(UserFiles):
    """A data set of torchvision by the name of its class, `TorchvisionData("KMNIST")`.

    Its training images are split by seed for validation; its test images are those for which its
    class takes `train=False` or `split="test"`. It is known by a hash of its images, as those of
    your own are.

    Attributes:
        name: Name of the class in `torchvision.datasets`.
        path: The root that the class is given; by default the data root.
        download: Whether the class may download what is missing.
    """

    kind: Literal["torchvision"] = "torchvision"
    first: ClassVar[str] = "name"
    not_in_key: ClassVar[frozenset[str]] = UserFiles.not_in_key | {"download"}
    name: str = ""
    download: bool = False

    @property
    def images_of(self) -> tuple[str, ...]:
        """The data set of the library here that has the same images, or its name."""
        return (_SAME_HERE.get(self.name, f"{self.kind} {self.name}"),)

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            *,
            download: bool = ...,
            path: str = ...,
            size: int | None = ...,
            fit: Fit = ...,
            validation_fraction: float = ...,
            split_seed: int = ...,
            fraction: float = ...,
            train_fraction: float = ...,
            shifted_test: bool | None = ...,
        ) -> None: ...

    @property
    def place(self) -> Path:
        """The root."""
        return super().place if self.path else data_root()

    def files(self) -> list[Path]:
        """Return the files in the folder of the data set's name, where there is one."""
        folder = self.place / self.name
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def scan(self, place: Path) -> FoundFacts:
        """Return the names of the classes, and channels and size of the first image.

        Raises:
            ValueError: If torchvision has no such data set, its files are missing, or its items are
                not a picture and the number of a class.
        """
        data = self._opened(place, is_train=True)
        picture, label = _item(self.name, data, 0)
        names = getattr(data, "classes", None)
        if not names:
            largest = max(label, *(_item(self.name, data, index)[1] for index in range(len(data))))
            names = numbered_classes(largest, len(data), f"torchvision's {self.name}")
        channels = 1 if is_grey(picture) else 3
        return FoundFacts(tuple(map(_name, names)), (channels, picture.height, picture.width))

    def read(self) -> Mapping[str, Labelled]:
        """Return the training and the test images.

        Raises:
            ValueError: As in `scan`, or if the images have unlike sizes and no size was asked for.
        """
        facts = self.scan(self.place)
        check_classes(self.place, facts.classes, self.classes)
        return {
            split: self._labelled(self._opened(self.place, is_train=split == "train"))
            for split in ("train", "test")
        }

    def _labelled(self, data: Any) -> Labelled:
        images, labels = list[np.ndarray](), list[int]()
        _, height, width = self.image_shape
        for number in range(len(data)):
            picture, label = _item(self.name, data, number)
            if self.size is None and picture.size != (width, height):
                raise ValueError(
                    f"The images of torchvision's {self.name} have unlike sizes: give one, size=32."
                )
            images.append(grey_values(picture, self.image_shape, self.fit, self.white_value))
            labels.append(label)
        return Labelled(np.stack(images), labels)

    def _opened(self, place: Path, *, is_train: bool) -> Any:
        return _opened(self.name, place, is_train, self.download)


def _name(class_name: Any) -> str:
    return str(class_name[0]) if isinstance(class_name, tuple) else str(class_name)


def _item(name: str, data: Any, number: int) -> tuple[Image.Image, int]:
    item = data[number]
    if isinstance(item, tuple) and len(item) == 2:
        picture, label = item
        is_number = isinstance(label, int | np.integer) and not isinstance(label, bool)
        if isinstance(picture, Image.Image) and is_number:
            return picture, int(label)
    raise ValueError(
        f"An item of torchvision's {name} is no picture with the number of its class: choose "
        f"another data set, or write a class of your own."
    )


@lru_cache(maxsize=2)
def _opened(name: str, place: Path, is_train: bool, may_download: bool) -> Any:
    """Return an object of torchvision's class."""
    kind = _kind(_datasets(), name)
    takes = inspect.signature(kind).parameters
    if "train" in takes:
        split: dict[str, Any] = {"train": is_train}
    elif "split" in takes:
        split = {"split": "train" if is_train else "test"}
    else:
        raise ValueError(
            f"torchvision's {name} has neither `train` nor `split`, so that its test images are "
            f"not known: write a class of your own that splits it."
        )
    more = {"download": may_download} if "download" in takes else {}
    try:
        return kind(str(place), **split, **more)
    except (RuntimeError, OSError, ValueError) as error:
        why = " ".join(words_of(error).split()).rstrip(".")
        raise ValueError(
            f"torchvision's {name} cannot be read in '{place}': {why}. Set download=True, or put "
            f"its files there."
        ) from error


def _kind(datasets: ModuleType, name: str) -> Any:
    names = [
        attribute for attribute, value in vars(datasets).items() if _is_data_set(datasets, value)
    ]
    if name in _UNPICKLED:
        raise ValueError(
            f"torchvision unpickles the files of {name}, which capsweep does not: take "
            f'data="{_UNPICKLED[name]}", the same images.'
        )
    if name not in names:
        raise ValueError(unknown("data set of torchvision", name, names))
    return getattr(datasets, name)


def _is_data_set(datasets: Any, value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, datasets.VisionDataset)


def _datasets() -> ModuleType:
    try:
        import torchvision.datasets  # a second to import
    except ImportError as error:
        raise ValueError(
            f"TorchvisionData needs torchvision, which cannot be imported ({words_of(error)}): "
            f"install it."
        ) from error
    return torchvision.datasets
