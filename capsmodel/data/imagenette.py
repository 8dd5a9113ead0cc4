"""Imagenette and Imagewoof: ten classes of ImageNet each, as folders of photographs."""

from abc import ABC
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from capsmodel.data.archive import data_root
from capsmodel.data.image_folder import PictureFolder, Pictures, pictures_of_classes
from capsmodel.data.picture_files import Fit
from capsmodel.data.user_files import FoundFacts, MissingFilesError, Side, listed

_ADDRESS = "https://s3.amazonaws.com/fast-ai-imageclas/"
_FOLDERS = {"train": "train", "test": "val"}


class TenOfImageNet(PictureFolder, ABC):
    """Colour photographs of ten classes of ImageNet, from the unpacked folder of the release.

    Its part `train` is split by seed for validation, its part `val` is the test. They are known by
    a hash of the scaled pictures, as those of your own are: releases of three sizes are three data
    sets.

    Attributes:
        wnids: Folder of a class, its number in WordNet -> its name.
        num_pictures: Of the training part and the test part of the release.
        path: The folder that holds `train` and `val`.
        size: Height and width of all images.
    """

    needs_naming: ClassVar[bool] = True
    wnids: ClassVar[Mapping[str, str]]
    num_pictures: ClassVar[tuple[int, int]]
    size: Side = 64  # pyright: ignore[reportIncompatibleVariableOverride]

    if TYPE_CHECKING:

        def __init__(
            self,
            path: str | PathLike[str] = ...,
            *,
            size: int = ...,
            fit: Fit = ...,
            validation_fraction: float = ...,
            split_seed: int = ...,
            fraction: float = ...,
            train_fraction: float = ...,
        ) -> None: ...

    @property
    def images_of(self) -> tuple[str, ...]:
        """Its release, wherever it lies and however large its pictures are made."""
        return (self.kind,)

    def scan(self, place: Path) -> FoundFacts:
        """Return the released classes and the shape, which need no file."""
        return FoundFacts(tuple(self.wnids.values()), (3, self.size, self.size))

    def pictures(self, place: Path) -> dict[str, Pictures]:
        """Return the pictures of the training part and of the test part.

        Raises:
            ValueError: If a folder is missing, or there are others than those of the release.
        """
        return {split: self._of_part(place / folder) for split, folder in _FOLDERS.items()}

    def notes_on_files(self) -> Iterator[str]:
        """Yield those of every folder, and whether there are as many pictures as in the release."""
        yield from super().notes_on_files()
        parts = self.pictures(self.place).values()
        numbers = tuple(sum(map(len, part.values())) for part in parts)
        if numbers != self.num_pictures:
            yield (
                f"'{self.place}' has {numbers[0]:,} pictures of the training and {numbers[1]:,} of "
                f"the test, and the release of '{self.kind}' has {self.num_pictures[0]:,} and "
                f"{self.num_pictures[1]:,}: unpack it again."
            )

    def _of_part(self, folder: Path) -> Pictures:
        release = type(self).model_fields["path"].default
        if not folder.is_dir():
            raise MissingFilesError(
                f"There is no folder '{folder}' of '{self.kind}': fetch {_ADDRESS}{release}.tgz "
                f"and unpack it in {data_root()}, or name the unpacked folder, data.path=..."
            )
        found = pictures_of_classes(folder)
        if found.keys() != self.wnids.keys():
            raise ValueError(
                f"'{folder}' has the folders {listed([*found])}, and '{self.kind}' has "
                f"{listed([*self.wnids], most=10)}: unpack {release}.tgz again."
            )
        return {name: found[wnid] for wnid, name in self.wnids.items()}


class Imagenette(TenOfImageNet):
    """13,394 colour photographs of ten unlike things from ImageNet: 3,925 for the test.

    `Imagenette(size=64)` reads `imagenette2-160`, unpacked in `CAPSWEEP_DATA`; a path names
    another folder, such as that of `imagenette2-320`.

    Source: Howard 2019, Imagenette, https://github.com/fastai/imagenette; its second release.
    Difference: its validation images are the test; a part of the 9,469 training images is held out
    for validation. All are brought to one size.

    Attributes:
        path: The folder that holds `train` and `val`.
        size: Height and width of all images.
    """

    kind: Literal["imagenette"] = "imagenette"
    num_pictures: ClassVar[tuple[int, int]] = (9_469, 3_925)
    wnids: ClassVar[Mapping[str, str]] = {
        "n01440764": "tench",
        "n02102040": "English springer",
        "n02979186": "cassette player",
        "n03000684": "chain saw",
        "n03028079": "church",
        "n03394916": "French horn",
        "n03417042": "garbage truck",
        "n03425413": "gas pump",
        "n03445777": "golf ball",
        "n03888257": "parachute",
    }
    path: str = "imagenette2-160"

    if TYPE_CHECKING:
        __init__ = TenOfImageNet.__init__


class Imagewoof(TenOfImageNet):
    """12,954 colour photographs of ten breeds of dogs from ImageNet: 3,929 for the test.

    `Imagewoof(size=64)` reads `imagewoof2-160`, unpacked in `CAPSWEEP_DATA`; a path names another
    folder, such as that of `imagewoof2-320`.

    Source: Howard 2019, Imagewoof, https://github.com/fastai/imagenette; its second release.
    Difference: its validation images are the test; a part of the 9,025 training images is held out
    for validation. All are brought to one size.

    Attributes:
        path: The folder that holds `train` and `val`.
        size: Height and width of all images.
    """

    kind: Literal["imagewoof"] = "imagewoof"
    num_pictures: ClassVar[tuple[int, int]] = (9_025, 3_929)
    wnids: ClassVar[Mapping[str, str]] = {
        "n02086240": "Shih-Tzu",
        "n02087394": "Rhodesian ridgeback",
        "n02088364": "beagle",
        "n02089973": "English foxhound",
        "n02093754": "Border terrier",
        "n02096294": "Australian terrier",
        "n02099601": "golden retriever",
        "n02105641": "Old English sheepdog",
        "n02111889": "Samoyed",
        "n02115641": "dingo",
    }
    path: str = "imagewoof2-160"

    if TYPE_CHECKING:
        __init__ = TenOfImageNet.__init__
