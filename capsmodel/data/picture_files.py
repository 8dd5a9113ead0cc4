"""Pictures as files and as Pillow's images, turned into grey values of one size.

The steps are those of every picture, of a training and of a prediction: turned upright as the
camera noted (EXIF), transparent pixels laid on black, whole numbers scaled from 0 to the data set's
white to 8 bits, grey or colour as the network takes them, and brought to its size by `Fit`.
"""

import os
import struct
import warnings
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
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
_BYTE = 255
_SIXTEEN_BITS = 65535
_SMALL = 16  # no picture of bytes is that dark; scikit-learn's digits have values from 0 to 16
_DEPTHS = (8, 10, 12, 14, 16)  # bits of a value, as cameras and scanners have them
_NO_FILES = {"pipe": Path.is_fifo, "socket": Path.is_socket, "folder": Path.is_dir}
_GREY = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"})
_TRANSPARENT = frozenset({"LA", "La", "PA", "RGBA", "RGBa"})


def picture_paths(folder: Path) -> Iterator[Path]:
    """Yield the pictures in a folder and below it, by name; hidden ones are passed over."""
    for place, names in names_below(folder):
        yield from (Path(place, name) for name in names if ending_of(name) in ENDINGS)


def names_below(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder from one downwards with the names in it that are no folders, by name.

    What is hidden is passed over.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(folder for folder in folders if not is_hidden(folder))
        yield place, sorted(name for name in names if not is_hidden(name))


def ending_of(name: str) -> str:
    """Return the end of a file's name, from its last full stop, in small letters."""
    return os.path.splitext(name)[1].lower()  # noqa: PTH122 - of 60,000 names, without paths


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden, or was made by an archiver."""
    return name.startswith((".", "__MACOSX"))


def is_grey(image: Image.Image) -> bool:
    """Return whether a picture is stored without colours."""
    return image.mode in _GREY


@contextmanager
def open_picture(path: Path) -> Generator[Image.Image]:
    """Open the picture of a file, the first of several in it; whatever fails is one sentence.

    Raises:
        ValueError: If it cannot be read whole, there or in the block, or is no file.
    """
    check_is_file(path)
    with _one_sentence(str(path)), Image.open(path, formats=_FORMATS) as image:
        yield image


@contextmanager
def open_content(content: bytes, name: str) -> Generator[Image.Image]:
    """Open the picture that some bytes are, as `open_picture` does that of a file.

    Args:
        content: What a file of the picture would hold.
        name: Where it is from, for the sentence.

    Raises:
        ValueError: If it cannot be read whole, there or in the block.
    """
    with _one_sentence(name), Image.open(BytesIO(content), formats=_FORMATS) as image:
        yield image


def white_of(largest: int, limit: int) -> int | None:
    """Return the value that is white in images of whole numbers; None for that of their type.

    Up to 16 it is the largest value itself: 1 of truth values, 16 of scikit-learn's digits. Above,
    it is the largest number of 8, 10, 12, 14 or 16 bits, the fewest that hold all values.

    Args:
        largest: The largest value in all splits.
        limit: The largest value of the type, 255 or 65535.
    """
    if largest > _SMALL:
        largest = next(2**bits - 1 for bits in _DEPTHS if largest < 2**bits)
    return max(largest, 1) if largest < limit else None


def grey_and_white(
    pictures: Iterable[AbstractContextManager[Image.Image]], *, is_white_known: bool
) -> tuple[bool, int | None]:
    """Return whether all pictures are grey, and if so `white_of` them.

    Each is opened once, up to the first that is not grey, and decoded while that may change what
    white is.

    Args:
        pictures: What opens them, one by one.
        is_white_known: Whether white is not asked for, so that none is decoded.

    Raises:
        ValueError: If one cannot be read, or is no file.
    """
    largest = limit = 0
    for picture in pictures:
        with picture as image:
            if not is_grey(image):
                return False, None
            most = limit_of(image)
            limit = max(limit, most)
            if not is_white_known and white_of(largest, most) is not None:
                largest = max(largest, largest_value(image))
    return True, None if is_white_known else white_of(min(largest, limit), limit)


def limit_of(image: Image.Image) -> int:
    """Return the largest value that a picture may have; 1 of numbers from 0 to 1."""
    if image.mode == "F":
        return 1
    return _SIXTEEN_BITS if _is_wide(image) else _BYTE


def largest_value(image: Image.Image) -> int:
    """Return the largest value of a picture of whole numbers, 1 of one of numbers from 0 to 1."""
    if image.mode == "F":
        return 1
    values = image if _is_wide(image) else _flattened(image)
    return int(np.asarray(values).max())


def check_is_file(path: Path) -> None:
    """Check that a path that exists leads to a file: to open a pipe may take for ever.

    Raises:
        ValueError: If it leads to something else.
    """
    if not path.is_file() and path.exists():
        kind = next((kind for kind, is_kind in _NO_FILES.items() if is_kind(path)), "device")
        raise ValueError(f"'{path}' is no file, but a {kind}: remove it, or name another picture.")


def read_picture(
    path: Path, shape: tuple[int, int, int], fit: Fit, white: int | None
) -> UInt8[np.ndarray, "channels height width"]:
    """Return the picture of a file as `grey_values`; of several pictures in it the first.

    Raises:
        ValueError: If it cannot be read whole.
    """
    with open_picture(path) as image:
        return grey_values(image, shape, fit, white)


def grey_values(
    image: Image.Image, shape: tuple[int, int, int], fit: Fit, white: int | None
) -> UInt8[np.ndarray, "channels height width"]:
    """Return a picture as grey values of the network's channels and size.

    Args:
        image: Of any size and mode.
        shape: Channels, 1 or 3, height and width.
        fit: What becomes of a picture of another shape.
        white: The whole number that is white, that of the image's type if that is smaller or this
            is None.

    Raises:
        ValueError: If its values are of no known range, or beyond white.
    """
    channels, *size = shape
    upright = ImageOps.exif_transpose(image)
    plain = fitted(_as_bytes(upright, white), (size[0], size[1]), fit)
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


def eight_bits(values: Shaped[np.ndarray, "*any"], white: int | None) -> UInt8[np.ndarray, "*any"]:
    """Return whole numbers from 0 to white scaled to bytes, and truth values as black and white.

    Args:
        values: Of any integer type; those of more than 8 bits are taken for 16.
        white: As in `grey_values`.

    Raises:
        ValueError: If one is not from 0 to white.
    """
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(_BYTE)
    limit = _BYTE if values.dtype == np.uint8 else _SIXTEEN_BITS
    white = min(white or limit, limit)
    if values.dtype == np.uint8 and white == _BYTE:
        return values
    smallest, largest = int(values.min()), int(values.max())
    if smallest < 0 or largest > white:
        raise ValueError(
            f"it has values from {smallest} to {largest}, and white is {white}; declare the bits "
            f"of the largest value, or leave bits out"
        )
    return np.rint(np.arange(white + 1) * (_BYTE / white)).astype(np.uint8)[values]


def _is_wide(image: Image.Image) -> bool:
    """Return whether a picture has whole numbers of more than 8 bits."""
    return image.mode == "I" or image.mode.startswith("I;16")


def _as_bytes(image: Image.Image, white: int | None) -> Image.Image:
    """Return a picture in the mode L or RGB, transparent pixels laid on black."""
    if image.mode == "F":
        return Image.fromarray(_bytes_of_numbers(np.asarray(image)))
    if _is_wide(image):
        return Image.fromarray(eight_bits(np.asarray(image), white))
    flat = _flattened(image)
    if white is None or white >= _BYTE or image.mode == "1":
        return flat
    return Image.fromarray(eight_bits(np.asarray(flat), white))


def _flattened(image: Image.Image) -> Image.Image:
    is_transparent = image.mode in _TRANSPARENT or "transparency" in image.info
    if is_transparent:
        coloured = image.convert("RGBA")
        ground = Image.new("RGBA", coloured.size, (0, 0, 0, 255))
        flat = Image.alpha_composite(ground, coloured)
    else:
        flat = image
    return flat.convert("L" if is_grey(image) else "RGB")


def _bytes_of_numbers(values: np.ndarray) -> UInt8[np.ndarray, "height width"]:
    smallest, largest = values.min(), values.max()
    if not (smallest >= 0 and largest <= 1):
        raise ValueError(
            f"a picture of this kind has values from 0 to 1, got {smallest:g} to {largest:g}"
        )
    return np.rint(values.astype(np.float64) * _BYTE).astype(np.uint8)


@contextmanager
def _one_sentence(name: str) -> Generator[None]:
    """Turn what Pillow raises for a picture into one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged notes in a file whose pixels are whole
        warnings.simplefilter("error", DecompressionBombWarning)
        try:
            yield
        except _OF_DAMAGED_FILES as error:
            raise ValueError(f"'{name}' cannot be read as a picture: {_why(error)}.") from error


def _why(error: BaseException) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is none, or of a format other than PNG, JPEG, BMP, GIF, TIFF, WebP and PPM"
    if isinstance(error, DecompressionBombError | DecompressionBombWarning):
        return "it has more than 89 million pixels"
    return words_of(error) if isinstance(error, OSError) else str(error).rstrip(".")
