"""A user's pictures in Parquet files, as data sets of the Hugging Face hub are stored."""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import ImageOps

from capsmodel.data.picture_files import (
    Fit,
    check_is_file,
    grey_and_white,
    grey_values,
    is_hidden,
    open_content,
)
from capsmodel.data.user_files import (
    SPLITS,
    FileState,
    FoundFacts,
    Labelled,
    MissingFilesError,
    UserFiles,
    check_classes,
    file_states,
    listed,
    numbered_classes,
)
from capsmodel.spelling import words_of

_NAME = re.compile(  # train-00000-of-00002.parquet; the hub's older names end in a hash
    rf"(?:.*-)?(?P<split>{'|'.join(SPLITS)})(?:-(?P<number>\d+)-of-(?P<total>\d+))?"
    r"(?:-[0-9a-f]+)?\.parquet"
)
_ROWS = 256  # read at once
Shards = dict[str, list[Path]]  # split -> its files


class _Columns(NamedTuple):
    """The columns that are read: their names, and those of the classes, () if not given."""

    image: str
    label: str
    classes: tuple[str, ...]


class _Row(NamedTuple):
    content: bytes
    label: int
    place: str


class ParquetImages(UserFiles):
    """Pictures in Parquet files of your own, in the form of the Hugging Face hub.

    `ParquetImages("mnist/", size=28)`: a folder that holds `train-00000-of-00002.parquet` and so
    on, or has them in its folder `data`. Files `test` and `validation` are taken as these splits;
    without a test a share of each class is held out for it, the same for ever. One file alone may
    be named, too. A column has pictures as {bytes, path}, of which only the bytes are read, another
    one whole numbers, the classes; these have the names that Hugging Face's library wrote into the
    file, else their numbers. Pictures are treated as those of `ImageFolder`. Nothing is downloaded
    or unpickled; pyarrow is needed, which comes with `capsweep[sweeps]`.

    Attributes:
        image_column: Name of the column of pictures; "" for the only one.
        label_column: Name of the column of classes; "" for the only one that has names of classes,
            or the only one of whole numbers.
        size: Height and width of all images; None if they are of one size.
    """

    kind: Literal["parquet_images"] = "parquet_images"
    needs_naming: ClassVar[bool] = True
    image_column: str = ""
    label_column: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            path: str | PathLike[str],
            *,
            image_column: str = ...,
            label_column: str = ...,
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
        """Not where there are images for validation."""
        return "validation" not in _shards(self.place)

    def files(self) -> list[Path]:
        """Return the files of all splits.

        Raises:
            ValueError: If there is none, or one is missing.
        """
        return _paths(_shards(self.place))

    def notes_on_files(self) -> Iterator[str]:
        """Yield those of every user's files, and which files are of no split."""
        yield from super().notes_on_files()
        named = {} if self.place.is_file() else _named(self.place)
        if others := [path.name for path, name in named.items() if name is None]:
            yield (
                f"Files of data '{self.kind}' whose names say no split are passed over: "
                f"{listed(others)}."
            )

    def scan(self, place: Path) -> FoundFacts:
        """Return the names of the classes, whether all pictures are grey, the size of the first.

        Raises:
            ValueError: If a file or column is missing or damaged, or a picture up to the first
                colour one cannot be read.
        """
        shards = _shards(place)
        paths, columns = _paths(shards), self._columns(shards)
        first = next(_rows(shards["train"], columns), None)
        if first is None:
            raise ValueError(f"There is no row for the training in '{place}': add some.")
        with open_content(first.content, first.place) as image:
            width, height = ImageOps.exif_transpose(image).size
        are_grey, white = grey_and_white(
            (open_content(row.content, row.place) for row in _rows(paths, columns)),
            is_white_known=self.bits is not None,
        )
        classes = columns.classes
        if not classes:
            labels = {
                split: [row.label for row in _rows(shards[split], columns)] for split in shards
            }
            largest = max(label for of_split in labels.values() for label in of_split)
            classes = numbered_classes(largest, len(labels["train"]), f"'{place}'")
        return FoundFacts(classes, (1 if are_grey else 3, height, width), white)

    def read(self) -> Mapping[str, Labelled]:
        """Return the pictures of each split that there is.

        Raises:
            ValueError: As in `scan`, or if the classes are others now, or pictures have unlike
                sizes and no size was asked for.
        """
        shards = _shards(self.place)
        columns = self._columns(shards)
        if columns.classes:
            check_classes(self.place, columns.classes, self.classes)
        columns = columns._replace(classes=self.classes)
        how = (self.image_shape, self.fit, self.white_value)
        is_size_given = self.size is not None
        return {
            split: Labelled(
                *_decoded(file_states(paths), columns, how, is_size_given=is_size_given)
            )
            for split, paths in shards.items()
        }

    def _columns(self, shards: Shards) -> _Columns:
        """Return the columns, which all files must have."""
        first, *others = _paths(shards)
        columns = _columns(first, self.image_column, self.label_column)
        for path in others:
            if _columns(path, self.image_column, self.label_column) != columns:
                raise ValueError(
                    f"'{path}' has other columns or classes than '{first}': make them alike."
                )
        return columns


def _paths(shards: Shards) -> list[Path]:
    return [path for paths in shards.values() for path in paths]


def _shards(place: Path) -> Shards:
    """Return split -> its files, all of them."""
    if place.is_file():
        return {"train": [place]}
    named = _named(place)
    shards: Shards = {}
    for split in dict.fromkeys(SPLITS.values()):
        found = {p: name for p, name in named.items() if name and SPLITS[name["split"]] == split}
        numbers = sorted(int(name["number"] or 0) for name in found.values())
        total = max((int(name["total"] or 1) for name in found.values()), default=0)
        if len(numbers) != total or numbers != [*range(len(numbers))]:
            raise ValueError(
                f"'{place}' has {listed([path.name for path in found])} for the split '{split}', "
                f"which are not {total} in all, numbered from 0: complete them, and remove others."
            )
        if found:
            shards[split] = [*found]
    if "train" not in shards:
        raise ValueError(
            f"'{place}' has no file for the training, such as train-00000-of-00001.parquet, only "
            f"{listed([path.name for path in named])}: add it."
        )
    return shards


def _named(place: Path) -> dict[Path, re.Match[str] | None]:
    """Return the Parquet files of a folder, or of its folder `data`, with what their names say."""
    for folder in (place, place / "data"):
        paths = sorted(path for path in folder.glob("*.parquet") if not is_hidden(path.name))
        if paths:
            return {path: _NAME.fullmatch(path.name) for path in paths}
    raise MissingFilesError(
        f"There is no Parquet file in '{place}' or '{place / 'data'}': name the folder of files "
        f"such as train-00000-of-00002.parquet, or one file."
    )


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    """Open a Parquet file; what pyarrow raises, there or in the block, is one sentence."""
    try:
        import pyarrow as pa  # it takes long to import, and comes with an extra
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(
            f"ParquetImages needs pyarrow, which cannot be imported ({words_of(error)}): pip "
            f'install "capsweep[sweeps]".'
        ) from error
    check_is_file(path)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = " ".join(words_of(error).split()).rstrip(".")
        raise ValueError(f"'{path}' cannot be read as a Parquet file: {why}.") from error


def _columns(path: Path, image: str, label: str) -> _Columns:
    """Return the columns of pictures and classes: those asked for, else the only ones."""
    with _opened(path) as file:
        from pyarrow import types

        schema = file.schema_arrow
        pictures = [field.name for field in schema if _is_picture(types, field.type)]
        numbers = [field.name for field in schema if types.is_integer(field.type)]
    names = _class_names(path, schema.metadata or {})
    labels = numbers if label else [name for name in numbers if name in names] or numbers
    label = _chosen(path, labels, "of classes, whole numbers", setting="label_column", name=label)
    image = _chosen(
        path, pictures, "of pictures, {bytes, path}", setting="image_column", name=image
    )
    return _Columns(image, label, names.get(label, ()))


def _is_picture(types: Any, column: Any) -> bool:
    fields = {field.name: field.type for field in column} if types.is_struct(column) else {}
    content = fields.get("bytes")
    return content is not None and (types.is_binary(content) or types.is_large_binary(content))


def _chosen(path: Path, columns: Sequence[str], what: str, *, setting: str, name: str) -> str:
    if name in columns:
        return name
    if len(columns) == 1 and not name:
        return columns[0]
    wanted = f"no column '{name}' {what}" if name else f"no single column {what}"
    raise ValueError(
        f"'{path}' has {wanted}, but {listed(columns) or 'none'}: name one of these by "
        f"{setting}=..., or another file."
    )


def _class_names(path: Path, metadata: Mapping[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """Return column -> names of its classes, as Hugging Face's library writes them."""
    try:
        info = json.loads(metadata.get(b"huggingface", b"{}")).get("info") or {}
        return {
            column: tuple(map(str, feature["names"]))
            for column, feature in (info.get("features") or {}).items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"The metadata 'huggingface' of '{path}' have no names of classes that can be read "
            f"({words_of(error)}): write the file again, or without them."
        ) from error


def _rows(paths: Sequence[Path], columns: _Columns) -> Iterator[_Row]:
    """Yield the rows of files.

    Raises:
        ValueError: If a file is damaged, or a row has no bytes of a picture or no class.
    """
    for path in paths:
        with _opened(path) as file:
            batches = file.iter_batches(_ROWS, columns=[columns.image, columns.label])
            cells = (cells for batch in batches for cells in batch.to_pylist())
            for number, row in enumerate(cells):
                place, label = f"{path}, row {number}", row[columns.label]
                content = (row[columns.image] or {}).get("bytes")
                if content is None:
                    raise ValueError(
                        f"'{place}' has no bytes of a picture, and a file that it may name is not "
                        f"opened: write the pictures into the Parquet files."
                    )
                if label is None or label < 0 or label >= (len(columns.classes) or label + 1):
                    allowed = f"to {len(columns.classes) - 1}" if columns.classes else "upwards"
                    raise ValueError(
                        f"'{place}' has the class {label}, and classes are numbers from 0 "
                        f"{allowed}: correct or remove it."
                    )
                yield _Row(content, label, place)


@lru_cache(maxsize=4)  # a process trains one trial after the other, and decoding takes long
def _decoded(
    files: tuple[FileState, ...],
    columns: _Columns,
    reading: tuple[tuple[int, int, int], Fit, int | None],
    *,
    is_size_given: bool,
) -> tuple[UInt8[np.ndarray, "images channels height width"], list[int]]:
    images, labels = list[np.ndarray](), list[int]()
    shape, fit, white = reading
    for row in _rows([path for path, *_ in files], columns):
        with open_content(row.content, row.place) as image:
            upright = ImageOps.exif_transpose(image)
            if is_size_given or upright.size == (shape[2], shape[1]):
                images.append(grey_values(upright, shape, fit, white))
        labels.append(row.label)
        if len(images) < len(labels):
            raise ValueError(
                f"'{row.place}' is a picture of another size than the first: give one, size=32."
            )
    if not images:
        raise ValueError(f"There is no row in '{files[0][0]}': add some, or remove the file.")
    return np.stack(images), labels
