"""Solids drawn from known viewpoints, for use where smallNORB is not available."""

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
_PROBE = range(0, _NUM_PAIRS, 4_111)
_PROBE_SHA256 = "2ebcdf1674340c19b152286cd122f4b39fed317a2e9d84750b3ee4cb2c2b8c32"


class Viewpoints(ViewedObjects):
    """48,600 stereo pairs of quadrupeds, figures, aeroplanes, trucks and cars, half for the test.

    Grey images of 48 by 48 pixels, drawn by this package and the same to the bit on every machine.
    Each class has ten objects of similar size, built of boxes, rods and balls in one colour; five
    of them are for the test. Azimuth 0 shows an object's front. The lamp turns with the cameras.

    Drawing all of them takes half a minute. They are then stored in two files of 112 MB below the
    data root, or in the user's cache if that cannot be written. For a fraction of at most 1,000
    pairs only those are drawn, and they are not stored.

    Source: LeCun, Huang and Bottou 2004, Learning methods for generic object recognition with
    invariance to pose and lighting, for what varies, how far, and which instances are tested on.
    Difference: drawn solids instead of photographed toys; the objects, cameras, lamps and ground
    are our own. Results on it say nothing of results on smallNORB.

    Attributes:
        pixel_files: Where the pairs of each half are kept; changed pictures need another version.
        few: So many pairs are drawn in a few seconds, which is not worth a file.
    """

    kind: Literal["viewpoints"] = "viewpoints"
    pixel_files: ClassVar[dict[Objects, PixelFile]] = {
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
    fingerprint: ClassVar[str] = hashlib.sha256(
        f"{pixel_files['train'].sha256}\n{pixel_files['test'].sha256}".encode()
    ).hexdigest()
    few: ClassVar[int] = 1_000

    def prepare(self) -> None:
        """Draw the files that loading reads, and check that no class is empty.

        Raises:
            ValueError: If they can be stored nowhere, or the fraction is too small.
        """
        rows = self.rows()
        num_test = len(rows.test) + sum(len(extra) for extra in rows.extra_tests.values())
        if self._is_worth_a_file("train", len(rows.train) + len(rows.validation)):
            self._ensure("train")
        if self._is_worth_a_file("test", num_test):
            self._ensure("test")

    def catalogue(self, objects: Objects) -> Views:
        """Return every combination of class, instance, elevation, azimuth and lighting."""
        return views_of(objects)

    def pixels(self, objects: Objects, rows: Sequence[int]) -> UInt8[np.ndarray, "rows 2 48 48"]:
        """Return the selected images; a few that no file holds are drawn.

        Raises:
            ValueError: If a file can be stored nowhere, or this machine draws other images.
        """
        if self._is_worth_a_file(objects, len(rows)):
            return np.asarray(self.pixel_files[objects].mapped(self._ensure(objects))[list(rows)])
        return _drawn(objects, tuple(rows))

    def _is_worth_a_file(self, objects: Objects, num_rows: int) -> bool:
        return num_rows > self.few or self.pixel_files[objects].is_somewhere()

    def _ensure(self, objects: Objects) -> Path:
        file, views = self.pixel_files[objects], self.catalogue(objects)
        return ensure(file, lambda: draw(views, range(file.num_pairs)))


@lru_cache(maxsize=4)
def _drawn(objects: Objects, rows: tuple[int, ...]) -> UInt8[np.ndarray, "rows 2 48 48"]:
    """Draw a few pairs, once per process for all trials that need the same ones."""
    _check_drawing()
    return joined(draw(views_of(objects), rows), len(rows))


@cache
def _check_drawing() -> None:
    """Draw a few pairs with a known checksum, since a fraction of the data has none."""
    pairs = joined(draw(views_of("train"), _PROBE), len(_PROBE))
    checksum = hashlib.sha256(pairs.data).hexdigest()
    if checksum != _PROBE_SHA256:
        raise ValueError(
            f"This machine draws other viewpoints, with the checksum {checksum} for the first "
            f"check, expected {_PROBE_SHA256}: use the whole data set, with the files "
            f"of another machine."
        )
