"""Files in NORB's binary format: read to the last byte, or refused in one sentence."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from capsmodel.data.smallnorb import read_blocks, read_matrix
from tests.capsmodel.data.norb_files import norb_file

MATRIX = np.arange(24, dtype="<i4").reshape(6, 4)
FILE = norb_file(MATRIX)
PACKED = gzip.compress(FILE, mtime=0)
SAMPLE = Path(os.environ.get("CAPSWEEP_DATA", "")) / "smallnorb_sample"


def written(folder: Path, content: bytes, name: str = "a-info.mat") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        read_matrix(path, np.int32, [None, 4])
    message = str(caught.value)
    assert message.startswith(f"{path} ")
    assert message.endswith(": put a whole file in its place.")
    assert "\n" not in message
    return message


def head(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def test_a_file_is_read_as_published(tmp_path: Path) -> None:
    content = bytes.fromhex("544c3d1e 01000000 02000000 01000000 01000000 03000000 fdffffff")
    assert read_matrix(written(tmp_path, content), np.int32, [None]).tolist() == [3, -3]


@given(values=arrays(np.uint8, st.tuples(st.integers(1, 700), st.just(2), st.integers(1, 3))))
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: np.ndarray
) -> None:
    path = written(tmp_path_factory.mktemp("norb"), norb_file(values))
    assert np.array_equal(read_matrix(path, np.uint8, [None, 2, None]), values)


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path, PACKED, "a.mat.gz")
    assert np.array_equal(read_matrix(path, np.int32, [6, 4]), MATRIX)


def test_a_long_file_comes_in_blocks(tmp_path: Path) -> None:
    values = np.arange(600, dtype="<i4")
    blocks = list(read_blocks(written(tmp_path, norb_file(values)), np.int32, [None]))
    assert len(blocks) > 1
    assert np.array_equal(np.concatenate(blocks), values)


NO_HEADER = "ends before the end of its header"
NO_VALUES = "ends before the end of its values"
CORRUPT = {
    "empty": (b"", NO_HEADER),
    "cut off in its dimensions": (FILE[:7], NO_HEADER),
    "cut off in its last dimension": (FILE[:15], NO_HEADER),
    "cut off in its first value": (FILE[:20], NO_VALUES),
    "cut off in its last value": (FILE[:-1], NO_VALUES),
    "too long": (FILE + b"\0", "continues after its last value"),
    "backwards": (FILE[::-1], "is not a matrix file of NORB: it starts with 0x"),
    "packed": (PACKED, "is not a matrix file of NORB: it starts with 0x"),
    "of the other byte order": (
        FILE[:4][::-1] + FILE[4:],
        "is not a matrix file of NORB: it starts with 0x544c3d1e, not",
    ),
    "bytes": (norb_file(np.zeros((6, 4), "u1")), "holds values of the type uint8, not int32"),
    "without dimensions": (head(0x1E3D4C54, 0, 6, 4, 1), "states 0 dimensions, not 1 to 8"),
    "of too many dimensions": (
        head(0x1E3D4C54, 2**32 - 1, 6, 4, 1),
        "states 4294967295 dimensions, not 1 to 8",
    ),
    "transposed": (norb_file(MATRIX.T), "has the dimensions 4 x 6 x 1, not any x 4"),
    "of three dimensions": (
        norb_file(MATRIX.reshape(3, 2, 4)),
        "has the dimensions 3 x 2 x 4, not any x 4",
    ),
    "of a third dimension": (
        head(0x1E3D4C54, 2, 6, 4, 2) + bytes(96),
        "has the dimensions 6 x 4 x 2, not any x 4",
    ),
    "of no rows": (head(0x1E3D4C54, 2, 0, 4, 1), "has the dimensions 0 x 4 x 1, not any x 4"),
    "of less than no rows": (
        head(0x1E3D4C54, 2, 2**32 - 6, 4, 1),
        "has the dimensions -6 x 4 x 1, not any x 4",
    ),
    "of more rows than values": (head(0x1E3D4C54, 2, 2**31 - 1, 4, 1), NO_VALUES),
}


@pytest.mark.parametrize(("content", "message"), CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_file_is_named_with_what_is_wrong(
    tmp_path: Path, content: bytes, message: str
) -> None:
    assert message in refusal(written(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:-10],
        PACKED[:5],
        FILE,
        PACKED[:15] + b"\xff" * 9 + PACKED[24:],
    ],
    ids=["cut off", "cut off in its header", "not packed", "overwritten"],
)
def test_a_file_that_cannot_be_unpacked_is_named(tmp_path: Path, content: bytes) -> None:
    assert "cannot be unpacked (" in refusal(written(tmp_path, content, "a.mat.gz"))


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="CAPSWEEP_DATA has no real photographs of NORB")
class TestRealPhotographs:
    @pytest.mark.parametrize(
        ("objects", "instances"), [("training", {4, 6, 7, 8, 9}), ("testing", {0, 1, 2, 3, 5})]
    )
    def test_they_are_read(self, objects: str, instances: set[int]) -> None:
        dat, cat, info = (
            SAMPLE / f"smallnorb-sample-{objects}-{kind}.mat" for kind in ("dat", "cat", "info")
        )
        photographs = read_matrix(dat, np.uint8, [6, 2, 96, 96])
        assert 150 < photographs.mean() < 220  # toys before a light ground
        left, right = photographs.astype(float).swapaxes(0, 1)
        assert 0 < np.abs(left - right).mean() < 15  # two views of one toy
        assert read_matrix(cat, np.int32, [6]).tolist() == [0, 1, 2, 3, 4, 0]
        codes = read_matrix(info, np.int32, [6, 4])
        assert set(codes[:, 0].tolist()) <= instances
        assert codes[:, 1].max() <= 8
        assert set(codes[:, 2].tolist()) <= set(range(0, 36, 2))
        assert codes[:, 3].max() <= 5
