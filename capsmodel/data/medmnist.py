"""MedMNIST: small images of medicine, split as they are released."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from pydantic import BaseModel, field_validator, model_validator

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.archived import ArchivedImages, FilePart, PixelsAndClasses
from capsmodel.data.base import SplitIndices, check_split_is_given
from capsmodel.data.matlab import checked_bytes
from capsmodel.spelling import unknown

_SIDE = 28
_PARTS: Mapping[FilePart, str] = {"train": "train", "validation": "val", "test": "test"}
_SEVERAL_LABELS = "chestmnist"
_OF_TORN_FILES = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
_ORGANS = (
    "bladder",
    "femur-left",
    "femur-right",
    "heart",
    "kidney-left",
    "kidney-right",
    "liver",
    "lung-left",
    "lung-right",
    "pancreas",
    "spleen",
)
SetName = Literal[
    "pathmnist",
    "dermamnist",
    "octmnist",
    "pneumoniamnist",
    "retinamnist",
    "breastmnist",
    "bloodmnist",
    "tissuemnist",
    "organamnist",
    "organcmnist",
    "organsmnist",
]


class _Release(NamedTuple):
    """What is published of a set.

    Attributes:
        md5: Checksum of its file.
        channels: 1 for grey images, 3 for colour.
        num_images: Of training, validation and test.
        classes: Their names, by label.
    """

    md5: str
    channels: int
    num_images: tuple[int, int, int]
    classes: tuple[str, ...]


_RELEASES: Mapping[SetName, _Release] = {
    "pathmnist": _Release(
        "a8b06965200029087d5bd730944a56c1",
        3,
        (89_996, 10_004, 7_180),
        (
            "adipose",
            "background",
            "debris",
            "lymphocytes",
            "mucus",
            "smooth muscle",
            "normal colon mucosa",
            "cancer-associated stroma",
            "colorectal adenocarcinoma epithelium",
        ),
    ),
    "dermamnist": _Release(
        "0744692d530f8e62ec473284d019b0c7",
        3,
        (7_007, 1_003, 2_005),
        (
            "actinic keratoses and intraepithelial carcinoma",
            "basal cell carcinoma",
            "benign keratosis-like lesions",
            "dermatofibroma",
            "melanoma",
            "melanocytic nevi",
            "vascular lesions",
        ),
    ),
    "octmnist": _Release(
        "c68d92d5b585d8d81f7112f81e2d0842",
        1,
        (97_477, 10_832, 1_000),
        ("choroidal neovascularization", "diabetic macular edema", "drusen", "normal"),
    ),
    "pneumoniamnist": _Release(
        "28209eda62fecd6e6a2d98b1501bb15f", 1, (4_708, 524, 624), ("normal", "pneumonia")
    ),
    "retinamnist": _Release(
        "bd4c0672f1bba3e3a89f0e4e876791e4", 3, (1_080, 120, 400), ("0", "1", "2", "3", "4")
    ),
    "breastmnist": _Release(
        "750601b1f35ba3300ea97c75c52ff8f6", 1, (546, 78, 156), ("malignant", "normal, benign")
    ),
    "bloodmnist": _Release(
        "7053d0359d879ad8a5505303e11de1dc",
        3,
        (11_959, 1_712, 3_421),
        (
            "basophil",
            "eosinophil",
            "erythroblast",
            "immature granulocytes(myelocytes, metamyelocytes and promyelocytes)",
            "lymphocyte",
            "monocyte",
            "neutrophil",
            "platelet",
        ),
    ),
    "tissuemnist": _Release(
        "ebe78ee8b05294063de985d821c1c34b",
        1,
        (165_466, 23_640, 47_280),
        (
            "Collecting Duct, Connecting Tubule",
            "Distal Convoluted Tubule",
            "Glomerular endothelial cells",
            "Interstitial endothelial cells",
            "Leukocytes",
            "Podocytes",
            "Proximal Tubule Segments",
            "Thick Ascending Limb",
        ),
    ),
    "organamnist": _Release(
        "68e3f8846a6bd62f0c9bf841c0d9eacc", 1, (34_561, 6_491, 17_778), _ORGANS
    ),
    "organcmnist": _Release("b9ceb9546e10131b32923c5bbeaea2b1", 1, (12_975, 2_392, 8_216), _ORGANS),
    "organsmnist": _Release("9ab87b696fb54e2a387ebe992d6ed5f1", 1, (13_932, 2_452, 8_827), _ORGANS),
}


class MedMnist(ArchivedImages):
    """One of MedMNIST's sets of medical images by its name, `MedMnist("pathmnist")`.

    28 by 28 pixels, grey or colour. Training, validation and test are the three parts of the
    released file, so that no seed splits them.

    Source: Yang, Shi, Wei, Liu, Zhao, Ke, Pfister and Ni 2023, MedMNIST v2, arXiv:2110.14795; the
    files of 28 by 28 pixels of Zenodo's record 10519652.
    Difference: ChestMNIST, whose images have any number of 14 labels, and the sets of volumes are
    not read. The grades of RetinaMNIST are classes without an order.

    Attributes:
        name: Name of the set.
    """

    kind: Literal["medmnist"] = "medmnist"
    needs_naming: ClassVar[bool] = True
    is_split_by_seed: ClassVar[bool] = False
    validation_part: ClassVar[FilePart] = "validation"
    name: SetName = "pathmnist"

    if not TYPE_CHECKING:

        @wraps(BaseModel.__init__)  # pydantic reads it from JSON as other models
        def __init__(self, name=None, /, **settings):
            super().__init__(**({} if name is None else {"name": name}) | settings)

    else:

        def __init__(
            self,
            name: SetName = ...,
            *,
            validation_fraction: float = ...,
            split_seed: int = ...,
            fraction: float = ...,
            train_fraction: float = ...,
        ) -> None: ...

    @property
    def images_of(self) -> tuple[str, ...]:
        """Its set; the three of organs show slices of the same scans."""
        return (f"{self.kind} {'organs' if self.name.startswith('organ') else self.name}",)

    @field_validator("name", mode="before")
    @classmethod
    def _check_name(cls, name: object) -> object:
        names = get_args(SetName)
        if name == _SEVERAL_LABELS:
            raise ValueError(
                "The images of chestmnist have any number of 14 labels, more than half none, "
                "and a task here needs at least one class an image: choose another set of "
                f"MedMNIST, {', '.join(names)}."
            )
        if isinstance(name, str) and name.endswith("3d"):
            raise ValueError(
                f"{name} has volumes, and networks here take images: choose another set of "
                f"MedMNIST, {', '.join(names)}."
            )
        if isinstance(name, str) and name not in names:
            raise ValueError(unknown("set of MedMNIST", name, names))
        return name

    @model_validator(mode="after")
    def _check_split(self) -> "MedMnist":
        check_split_is_given(self, "MedMNIST are those of its files")
        return self

    @property
    def release(self) -> _Release:
        """What is published of the set."""
        return _RELEASES[self.name]

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """28 by 28 pixels, grey or colour."""
        return (self.release.channels, _SIDE, _SIDE)

    @property
    def num_classes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of the classes of the set."""
        return len(self.release.classes)

    @property
    def class_names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The names of the release."""
        return self.release.classes

    @property
    def shifted_test(self) -> bool | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """PathMNIST's test images are from another clinical centre."""
        return True if self.name == "pathmnist" else None

    @property
    def num_training_images(self) -> int:
        """Those of the release, or a share of them."""
        return round(self.release.num_images[0] * self.fraction * self.train_fraction)

    @property
    def archives(self) -> Archives:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The released file."""
        return Archives("MedMNIST", (Archive(f"{self.name}.npz", self.release.md5),))

    @property
    def fingerprint(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Hash of the file's checksum."""
        return self.archives.fingerprint

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the address of the release."""
        return ["https://zenodo.org/records/10519652/files/"]

    def read(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part.

        Raises:
            ValueError: If the file is of another form.
        """
        return _read(self.archives.path(f"{self.name}.npz"), part, self.release)

    def _indices(self) -> SplitIndices:
        return self.split_as_given(*(self.stored(part)[1].tolist() for part in _PARTS))


@cache
def _read(path: Path, part: FilePart, release: _Release) -> PixelsAndClasses:
    names = f"{_PARTS[part]}_images", f"{_PARTS[part]}_labels"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, classes = (arrays[name] for name in names)
    except _OF_TORN_FILES as error:
        raise ValueError(
            f"{path} cannot be read as a file of MedMNIST ({error}): put the published file in its "
            f"place."
        ) from error
    number = release.num_images[[*_PARTS].index(part)]
    colours = (3,) if release.channels == 3 else ()
    pixels = checked_bytes(path, names[0], images, (number, _SIDE, _SIDE, *colours))
    labels = checked_bytes(path, names[1], classes, (number, 1))[:, 0]
    if labels.max() >= len(release.classes):
        raise ValueError(
            f"'{names[1]}' of {path} has the label {labels.max()}, and {len(release.classes)} "
            f"classes are numbered from 0: put the published file in its place."
        )
    grey = pixels.reshape(*pixels.shape[:3], release.channels)
    return np.ascontiguousarray(grey.transpose(0, 3, 1, 2)), labels
