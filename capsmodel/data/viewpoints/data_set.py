"""Solids drawn from known viewpoints, for where the photographs of smallNORB are not to be had."""

import hashlib
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import UInt8

from capsmodel.data.viewed_objects import Objects, ViewedObjects, Views
from capsmodel.data.viewpoints.cache import PixelFile, ensure
from capsmodel.data.viewpoints.drawing import draw, joined, views_of
from capsmodel.data.viewpoints.renderer import VERSION

_NUM_PAIRS = 24_300
_FILES: dict[Objects, PixelFile] = {
    "train": PixelFile(
        f"train-{VERSION}.pixels",
        _NUM_PAIRS,
        "13038a12d87975d11dee7d1086c10564374dadb5dd34c246f020ea41332b9d9d",
    ),
    "test": PixelFile(
        f"test-{VERSION}.pixels",
        _NUM_PAIRS,
        "169bdcb5ff9b0f0dfccf2d49534fb15ccf1a25acb2a7813bc88368ab50ae6db7",
    ),
}
_FEW = 1_000  # so many are drawn in a few seconds, which is not worth a file

_PROBE = range(0, _NUM_PAIRS, 4_111)
_PROBE_SHA256 = "2ebcdf1674340c19b152286cd122f4b39fed317a2e9d84750b3ee4cb2c2b8c32"


class Viewpoints(ViewedObjects):
    """48,600 stereo pairs of quadrupeds, figures, aeroplanes, trucks and cars, half for the test.

    Grey images of 48 by 48 pixels, drawn by this package and the same to the bit on every machine.
    Ten objects a class, built of boxes, rods and balls in one colour, of like size; five of them
    are for the test. Azimuth 0 shows an object's front. The lamp turns with the cameras.

    The whole takes half a minute to draw and is then kept in two files of 112 MB below the data
    root, in the user's cache where that cannot be written. Of a fraction no more is drawn than is
    asked for, as long as that is at most 1,000 pairs; these are not kept.

    Source: LeCun, Huang and Bottou 2004, Learning methods for generic object recognition with
    invariance to pose and lighting, for what varies, how far, and which instances are tested on.
    Difference: drawn solids instead of photographed toys; the objects, cameras, lamps and ground
    are our own. Results on it say nothing of results on smallNORB.
    """

    kind: Literal["viewpoints"] = "viewpoints"
    fingerprint: ClassVar[str] = hashlib.sha256(
        "\n".join(file.sha256 for file in _FILES.values()).encode()
    ).hexdigest()

    def prepare(self) -> None:
        """Draw the files that loading would read, and see that no class is left empty.

        Raises:
            ValueError: If they can be kept nowhere, or the fraction is too small.
        """
        rows = self.rows()
        num_test = len(rows.test) + sum(len(extra) for extra in rows.extra_tests.values())
        if _is_worth_a_file("train", len(rows.train) + len(rows.validation)):
            _ensure("train")
        if _is_worth_a_file("test", num_test):
            _ensure("test")

    def catalogue(self, objects: Objects) -> Views:
        """Return every combination of class, instance, elevation, azimuth and lighting."""
        return views_of(objects)

    def pixels(self, objects: Objects, rows: Sequence[int]) -> UInt8[np.ndarray, "rows 2 48 48"]:
        """Return those images of the catalogue, drawn where they are few and in no file.

        Raises:
            ValueError: If a file can be kept nowhere, or this machine draws other images.
        """
        if _is_worth_a_file(objects, len(rows)):
            return np.asarray(_FILES[objects].mapped(_ensure(objects))[list(rows)])
        return _drawn(objects, tuple(rows))


def _is_worth_a_file(objects: Objects, num_rows: int) -> bool:
    return num_rows > _FEW or _FILES[objects].is_somewhere()


def _ensure(objects: Objects) -> Path:
    views = views_of(objects)
    return ensure(_FILES[objects], lambda: draw(views, range(len(views.labels))))


@lru_cache(maxsize=4)
def _drawn(objects: Objects, rows: tuple[int, ...]) -> UInt8[np.ndarray, "rows 2 48 48"]:
    """Draw a few pairs, once for all trials of a process that ask for the same."""
    _check_drawing()
    return joined(draw(views_of(objects), rows), len(rows))


@cache
def _check_drawing() -> None:
    """Draw a few pairs whose checksum is known, as those of a fraction's are not."""
    pairs = joined(draw(views_of("train"), _PROBE), len(_PROBE))
    found = hashlib.sha256(pairs.data).hexdigest()
    if found != _PROBE_SHA256:
        raise ValueError(
            f"This machine draws other viewpoints, with the checksum {found} for the first check, "
            f"expected {_PROBE_SHA256}: use the whole data set, with the files of another machine."
        )
