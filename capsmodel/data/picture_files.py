"""Pictures as files and as Pillow's images, turned into grey values of one size.

The steps are those of every picture, of a training and of a prediction: turned upright as the
camera noted (EXIF), transparent pixels laid on black, 16 bits of a value rounded to 8, grey or
colour as the network takes them, and brought to its size by `Fit`.
"""

import os
import struct
import warnings
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Shaped, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.Image import DecompressionBombError, DecompressionBombWarning, Resampling

from capsmodel.spelling import words_of

Fit = Literal["crop", "stretch", "pad"]
"""What becomes of a picture of another shape: its middle, all of it distorted, or black around."""

FIT_WORDS = {
    "crop": "the middle of each is scaled",
    "stretch": "each is stretched",
    "pad": "each is scaled, with black around it",
}

ENDINGS = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm"}
)
"""Ends of the names of pictures."""

_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_OF_DAMAGED_FILES = (
    *(OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, ArithmeticError),
    *(struct.error, zlib.error, DecompressionBombWarning, DecompressionBombError),
)
_SIXTEEN_BITS = 65535
_GREY = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"})
_TRANSPARENT = frozenset({"LA", "La", "PA", "RGBA", "RGBa"})


def picture_paths(folder: Path) -> Iterator[Path]:
    """Yield the pictures in a folder and below it, by name; hidden ones are passed over."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(folder for folder in folders if not is_hidden(folder))
        for name in sorted(names):
            if not is_hidden(name) and Path(name).suffix.lower() in ENDINGS:
                yield Path(place, name)


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden, or was made by an archiver."""
    return name.startswith((".", "__MACOSX"))


def is_grey_file(path: Path) -> bool:
    """Return whether the picture of a file is grey; only the beginning of the file is read.

    Raises:
        ValueError: If it is no picture.
    """
    with open_picture(path) as image:
        return is_grey(image)


def is_grey(image: Image.Image) -> bool:
    """Return whether a picture is stored without colours."""
    return image.mode in _GREY


@contextmanager
def open_picture(path: Path) -> Generator[Image.Image]:
    """Open the picture of a file, the first of several in it; whatever fails is one sentence.

    Raises:
        ValueError: If it cannot be read whole, there or in the block.
    """
    with _one_sentence(path), Image.open(path, formats=_FORMATS) as image:
        yield image


def read_picture(
    path: Path, shape: tuple[int, int, int], fit: Fit
) -> UInt8[np.ndarray, "channels height width"]:
    """Return the picture of a file as `grey_values`; of several pictures in it the first.

    Raises:
        ValueError: If it cannot be read whole.
    """
    with open_picture(path) as image:
        return grey_values(image, shape, fit)


def grey_values(
    image: Image.Image, shape: tuple[int, int, int], fit: Fit
) -> UInt8[np.ndarray, "channels height width"]:
    """Return a picture as grey values of the network's channels and size.

    Args:
        image: Of any size and mode.
        shape: Channels, 1 or 3, height and width.
        fit: What becomes of a picture of another shape.

    Raises:
        ValueError: If its values are of no known range.
    """
    channels, *size = shape
    upright = ImageOps.exif_transpose(image)
    plain = fitted(_as_bytes(upright), (size[0], size[1]), fit)
    values = np.asarray(plain.convert("L" if channels == 1 else "RGB"))
    return values[None] if channels == 1 else np.moveaxis(values, -1, 0)


def fitted(image: Image.Image, size: tuple[int, int], fit: Fit) -> Image.Image:
    """Return a picture at a size, height and width; one that has it is returned as it is."""
    wanted = (size[1], size[0])
    if image.size == wanted:
        return image
    if fit == "stretch":
        return image.resize(wanted, Resampling.BILINEAR)
    if fit == "pad":
        return ImageOps.pad(image, wanted, Resampling.BILINEAR)
    return ImageOps.fit(image, wanted, Resampling.BILINEAR)


def fitted_array(
    images: Shaped[np.ndarray, "images channels height width"], size: tuple[int, int], fit: Fit
) -> Shaped[np.ndarray, "images channels height_now width_now"]:
    """Return images, bytes or floating-point numbers, at a size, height and width."""
    if images.shape[2:] == size:
        return images
    planes = images.reshape(-1, *images.shape[2:])
    made = [np.asarray(fitted(Image.fromarray(plane), size, fit)) for plane in planes]
    return np.stack(made).reshape(*images.shape[:2], *size)


def eight_bits(values: Shaped[np.ndarray, "*any"]) -> UInt8[np.ndarray, "*any"]:
    """Return bytes as they are, 16-bit whole numbers rounded to them, and truth values as both."""
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype == np.uint16:
        return np.rint(values.astype(np.float32) * (255 / _SIXTEEN_BITS)).astype(np.uint8)
    return values


def _as_bytes(image: Image.Image) -> Image.Image:
    """Return a picture in the mode L or RGB, transparent pixels laid on black."""
    if image.mode in {"I", "F"} or image.mode.startswith("I;16"):
        return Image.fromarray(_bytes_of_wide(np.asarray(image)))
    is_transparent = image.mode in _TRANSPARENT or "transparency" in image.info
    if is_transparent:
        coloured = image.convert("RGBA")
        ground = Image.new("RGBA", coloured.size, (0, 0, 0, 255))
        flat = Image.alpha_composite(ground, coloured)
    else:
        flat = image
    return flat.convert("L" if is_grey(image) else "RGB")


def _bytes_of_wide(values: np.ndarray) -> UInt8[np.ndarray, "height width"]:
    smallest, largest = values.min(), values.max()
    white = 1 if values.dtype.kind == "f" else _SIXTEEN_BITS
    if not (smallest >= 0 and largest <= white):
        raise ValueError(
            f"a picture of this kind has values from 0 to {white}, got {smallest:g} to {largest:g}"
        )
    return np.rint(values.astype(np.float64) * (255 / white)).astype(np.uint8)


@contextmanager
def _one_sentence(path: Path) -> Generator[None]:
    """Turn what Pillow raises for a file into one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged notes in a file whose pixels are whole
        warnings.simplefilter("error", DecompressionBombWarning)
        try:
            yield
        except _OF_DAMAGED_FILES as error:
            raise ValueError(f"'{path}' cannot be read as a picture: {_why(error)}.") from error


def _why(error: BaseException) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is none, or of a format other than PNG, JPEG, BMP, GIF, TIFF, WebP and PPM"
    if isinstance(error, DecompressionBombError | DecompressionBombWarning):
        return "it has more than 89 million pixels"
    return words_of(error) if isinstance(error, OSError) else str(error).rstrip(".")
