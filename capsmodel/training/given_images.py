"""Images as a user has them - files, folders, Pillow's pictures, arrays - made those of a network.

They take the way of the training's images (`capsmodel.data.picture_files`): upright, transparent
pixels on black, grey or colour as the network has it, its size by the data set's `picture_fit`,
whole numbers divided by the data set's white, values from 0 to 1. What was changed is said in one
line.
"""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from capsmodel.data import DataSet
from capsmodel.data.base import WHITE
from capsmodel.data.picture_files import (
    FIT_WORDS,
    Fit,
    fitted,
    grey_values,
    is_grey,
    largest_value,
    limit_of,
    open_picture,
    picture_paths,
)

ImagesGiven = (
    Tensor
    | np.ndarray
    | Image.Image
    | str
    | PathLike[str]
    | Sequence[Tensor | np.ndarray | Image.Image | str | PathLike[str]]
)
"""One image or many, in any of these forms."""

_CHANNELS = (1, 3, 4)
_LUMA = (0.299, 0.587, 0.114)  # ITU-R 601, as Pillow has it
_TYPES = ("uint8", "uint16", "bool")
_MOST_SIZES = 3


class TakenImages(NamedTuple):
    """Images as a network takes them.

    Attributes:
        images: Values from 0 to 1.
        sources: Where each comes from: the path of its file, or its number from 0.
        conversion: What was changed of them, a sentence.
    """

    images: Float[Tensor, "batch channels height width"]
    sources: tuple[str, ...]
    conversion: str


class _Taken(NamedTuple):
    """One image, and what it was."""

    values: Float[np.ndarray, "channels height width"]
    source: str
    size: tuple[int, int]
    is_grey: bool
    white: int


def taken_images(data: DataSet, images: ImagesGiven) -> TakenImages:
    """Return images as a network of a data set takes them.

    Arrays of floating-point numbers in the data set's own shape are taken as they are.

    Args:
        data: The data set that the network was trained on.
        images: Paths of files or folders, pictures of Pillow, or arrays: [height width], [channels
            height width], [height width channels] or many of these, as bytes, 16-bit whole numbers,
            booleans or floating-point numbers from 0 to 1.

    Raises:
        ValueError: If there is none, or one cannot be read or is of no known form.
    """
    if (batch := _as_they_are(images, data.image_shape)) is not None:
        sources = tuple(map(str, range(len(batch))))
        return TakenImages(batch, sources, f"{_number(batch)} taken as they are.")
    if data.image_shape[0] not in {1, 3}:
        raise ValueError(
            f"This network takes images of {data.image_shape[0]} channels, which no picture has: "
            f"hand in an array [batch, {', '.join(map(str, data.image_shape))}] of numbers from 0 "
            f"to 1."
        )
    taken = [*_each(images, data)]
    if not taken:
        raise ValueError("There is no image to predict: hand in at least one.")
    batch = torch.from_numpy(np.stack([image.values for image in taken]))
    return TakenImages(batch, tuple(image.source for image in taken), _conversion(taken, data))


def _as_they_are(
    images: Any, shape: tuple[int, int, int]
) -> Float[Tensor, "batch channels height width"] | None:
    """Return floating-point images if they have the network's shape, on their device, else None."""
    if isinstance(images, np.ndarray) and images.dtype.kind == "f":
        images = torch.from_numpy(np.asarray(images, np.float32))
    if not (isinstance(images, Tensor) and images.is_floating_point() and images.numel() > 0):
        return None
    if shape[0] == 1 and tuple(images.shape[-2:]) == shape[1:] and images.ndim in {2, 3}:
        images = images.reshape(-1, *shape)
    elif images.ndim == 3:
        images = images.unsqueeze(0)
    if images.ndim != 4 or tuple(images.shape[1:]) != shape:
        return None
    if not bool(((images >= 0) & (images <= 1)).all()):
        raise _out_of_range(images.min().item(), images.max().item())
    return images.float()


def _each(images: Any, data: DataSet) -> Iterator[_Taken]:
    number = 0
    for image in images if isinstance(images, list | tuple) else [images]:
        if isinstance(image, str | PathLike):
            decoded = _of_paths(_paths(Path(image).expanduser()), data)
        elif isinstance(image, Image.Image):
            decoded = [_of_picture(image, str(number), data)]
        elif isinstance(image, Tensor | np.ndarray):
            decoded = [
                _of_array(values, str(place), data)
                for place, values in enumerate(_split(image), start=number)
            ]
        else:
            raise ValueError(
                f"An image is a path, a picture of Pillow, an array or a tensor, got "
                f"{type(image).__name__}: hand in one of these, or a list of them."
            )
        for taken in decoded:
            yield taken
            number += 1


def _of_paths(paths: Sequence[Path], data: DataSet) -> Iterator[_Taken]:
    for path in paths:
        with open_picture(path) as picture:
            taken = _of_picture(picture, str(path), data)
        yield taken


def _paths(place: Path) -> list[Path]:
    if not place.exists():
        raise ValueError(f"There is no file '{place}': name a picture, or a folder of pictures.")
    if not place.is_dir():
        return [place]
    paths = [*picture_paths(place)]
    if not paths:
        raise ValueError(f"There is no picture in the folder '{place}': name another one.")
    return paths


def _of_picture(picture: Image.Image, source: str, data: DataSet) -> _Taken:
    white = _white(data, largest_value(picture), limit_of(picture))
    values = grey_values(picture, data.image_shape, data.picture_fit, white)
    numbers = values.astype(np.float32) / np.float32(WHITE)
    return _Taken(numbers, source, (picture.height, picture.width), is_grey(picture), white)


def _white(data: DataSet, largest: int, limit: int) -> int:
    """Return the value that is white in an image of whole numbers.

    It is that of the training's images. Bytes beyond it are an ordinary picture's, whose white is
    255; of 16-bit numbers beyond it nobody knows.

    Args:
        data: The data set.
        largest: The largest value of the image.
        limit: The largest value of its type.

    Raises:
        ValueError: If 16-bit numbers are beyond it.
    """
    white = min(data.white_value or limit, limit)
    if largest <= white:
        return white
    if limit == WHITE:
        return limit
    raise ValueError(
        f"An image has a value of {largest}, and in the images of the training {white} is white: "
        f"scale it as those."
    )


def _split(array: Tensor | np.ndarray) -> Iterable[np.ndarray]:
    """Yield images [height width channels] of an array of any form.

    Raises:
        ValueError: If it has another number of axes.
    """
    if isinstance(array, Tensor):
        array = array.detach().cpu()
        array = array.float() if array.is_floating_point() else array
    values = np.asarray(array)
    shape = values.shape
    if 0 not in shape and values.ndim == 2:
        return [values[..., None]]
    if 0 not in shape and values.ndim == 3:
        if shape[-1] in _CHANNELS:
            return [values]
        return [np.moveaxis(values, 0, -1)] if shape[0] in _CHANNELS else values[..., None]
    if 0 not in shape and values.ndim == 4 and {shape[1], shape[3]} & {*_CHANNELS}:
        return np.moveaxis(values, 1, -1) if shape[1] in _CHANNELS else values
    raise ValueError(
        f"An array of shape {list(shape)} is no image: hand in [height, width], [channels, height, "
        f"width], [height, width, channels] with 1, 3 or 4 channels, or a batch of these."
    )


def _of_array(values: np.ndarray, source: str, data: DataSet) -> _Taken:
    shape, fit = data.image_shape, data.picture_fit
    size, channels = (values.shape[0], values.shape[1]), values.shape[2]
    _check_values(values)
    if values.dtype == np.uint8:
        plain = np.ascontiguousarray(values[..., 0] if channels == 1 else values)
        return _of_picture(Image.fromarray(plain), source, data)
    white = 1
    if values.dtype == np.uint16:
        white = _white(data, int(values.max()), int(np.iinfo(values.dtype).max))
    scaled = values.astype(np.float32) / np.float32(white)
    if channels == 4:  # transparent pixels on black
        scaled = scaled[..., :3] * scaled[..., 3:]
    if shape[0] == 1 and channels > 1:
        scaled = (scaled @ np.array(_LUMA, np.float32))[..., None]
    planes = np.moveaxis(scaled, -1, 0)
    fits = np.stack([_plane(plane, (shape[1], shape[2]), fit) for plane in planes])
    fits = np.repeat(fits, shape[0], axis=0) if len(fits) < shape[0] else fits
    return _Taken(fits, source, size, channels == 1, white)


def _plane(
    values: Float[np.ndarray, "height width"], size: tuple[int, int], fit: Fit
) -> np.ndarray:
    return np.asarray(fitted(Image.fromarray(np.ascontiguousarray(values)), size, fit)).clip(0, 1)


def _check_values(values: np.ndarray) -> None:
    if values.dtype.name in _TYPES:
        return
    if values.dtype.kind != "f":
        raise ValueError(
            f"Images must be uint8, uint16, booleans or floating-point numbers from 0 to 1, got "
            f"{values.dtype}: turn grey values from 0 to 255 into uint8."
        )
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise _out_of_range(values.min(), values.max())


def _out_of_range(smallest: float, largest: float) -> ValueError:
    return ValueError(
        f"Images of floating-point numbers must be from 0 to 1, got {smallest:g} to {largest:g}: "
        f"divide by the largest grey value there can be."
    )


def _conversion(taken: Sequence[_Taken], data: DataSet) -> str:
    channels, *wanted = data.image_shape
    changes: list[str] = []
    sizes = dict.fromkeys(f"{image.size[1]} x {image.size[0]}" for image in taken)
    if {image.size for image in taken} != {tuple(wanted)}:
        sizes_text = ", ".join(sizes) if len(sizes) <= _MOST_SIZES else "several sizes"
        changes.append(f"{sizes_text} to {wanted[1]} x {wanted[0]} ({FIT_WORDS[data.picture_fit]})")
    if any(image.is_grey != (channels == 1) for image in taken):
        changes.append("colour to grey" if channels == 1 else "grey to three channels")
    largest = sorted({image.white for image in taken} - {1.0})
    if largest:
        changes.append(f"values divided by {' or '.join(f'{divisor:g}' for divisor in largest)}")
    as_trained = ", as in training" * data.is_of_user
    return f"{_number(taken)} {'; '.join(changes) or 'taken as they are'}{as_trained}."


def _number(images: Sequence[Any] | Tensor) -> str:
    return f"{len(images)} image{'s' * (len(images) != 1)}:"
