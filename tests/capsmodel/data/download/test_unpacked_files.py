"""A file that the user has unpacked is as good as the packed one."""

import gzip
import hashlib
from pathlib import Path

import pytest

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.download import ensure

PACKED = gzip.compress(b"values", mtime=0)


MAY_BE_UNPACKED = Archives(
    "MNIST",
    (
        Archive(
            "values.mat.gz",
            hashlib.md5(PACKED).hexdigest(),
            unpacked_md5=hashlib.md5(b"values").hexdigest(),
        ),
    ),
)


@pytest.mark.parametrize(
    "files", [{"values.mat": b"values"}, {"values.mat": b"values", "values.mat.gz": b"torn"}]
)
def test_an_unpacked_file_is_as_good_as_a_packed_one(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    ensure(MAY_BE_UNPACKED, lambda: pytest.fail("asked for mirrors"))
    assert MAY_BE_UNPACKED.path("values.mat.gz") == folder / "values.mat"


def test_a_damaged_unpacked_file_is_set_aside_and_the_packed_one_taken(
    folder: Path, nobody: str
) -> None:
    folder.mkdir(parents=True)
    (folder / "values.mat").write_bytes(b"torn")
    (folder / "values.mat.gz").write_bytes(PACKED)
    with pytest.raises(ValueError, match=r"values\.mat \(set aside as values\.mat\.damaged\)"):
        ensure(MAY_BE_UNPACKED, lambda: [nobody])
    ensure(MAY_BE_UNPACKED, lambda: pytest.fail("asked for mirrors"))
    assert MAY_BE_UNPACKED.path("values.mat.gz") == folder / "values.mat.gz"
