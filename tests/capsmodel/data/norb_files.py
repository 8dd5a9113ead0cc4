"""Small files in NORB's format, named as smallNORB's, with an object a class."""

import gzip
import hashlib
from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np

from capsmodel.data import SmallNorb
from capsmodel.data.archive import Archive, Archives

MAGIC = {"u1": 0x1E3D4C55, "<i4": 0x1E3D4C54}
STEMS = {
    "train": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "test": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
AZIMUTHS = range(0, 36, 4)
ELEVATIONS = range(0, 9, 3)


def norb_file(values: np.ndarray) -> bytes:
    """Return values in NORB's format: at least three dimensions are stored."""
    stored = [*values.shape, 1, 1][: max(3, values.ndim)]
    head = np.array([MAGIC[values.dtype.str.replace("|", "")], values.ndim, *stored], "<u4")
    return head.tobytes() + values.tobytes()


def codes(instance: int) -> np.ndarray:
    views = [(label, e, a) for e, a, label in product(ELEVATIONS, AZIMUTHS, range(5))]
    return np.array([(instance, e, a, label) for label, e, a in views], "<i4")


def images(objects: str) -> np.ndarray:
    number = len(codes(0))
    random = np.random.default_rng(len(objects))
    # squares of one grey, so that the file stays small
    small = random.integers(0, 256, (number, 2, 12, 12), np.uint8)
    return small.repeat(8, axis=2).repeat(8, axis=3)


def contents() -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for objects, instance in (("train", 4), ("test", 0)):
        labels = np.arange(len(codes(0)), dtype="<i4") % 5
        for kind, values in (("dat", images(objects)), ("cat", labels), ("info", codes(instance))):
            files[f"{STEMS[objects]}-{kind}.mat"] = norb_file(values)
    return files


UNPACKED = contents()
PACKED = {
    f"{name}.gz": gzip.compress(content, compresslevel=1, mtime=0)
    for name, content in UNPACKED.items()
}


class FewPhotographs(SmallNorb):
    """Noise in smallNORB's format, offered by the mirrors of the test."""

    archives = Archives(
        "smallNORB",
        tuple(
            Archive(
                name,
                hashlib.md5(content).hexdigest(),
                unpacked_md5=hashlib.md5(UNPACKED[name.removesuffix(".gz")]).hexdigest(),
            )
            for name, content in PACKED.items()
        ),
    )
    own_mirrors: ClassVar[list[str]] = []

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        return cls.own_mirrors
