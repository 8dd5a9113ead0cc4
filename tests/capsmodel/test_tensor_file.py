import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from capsmodel import tensor_file
from capsmodel.tensor_file import TensorSpec

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1, 2], dtype=torch.uint8)}
LAYOUT = tensor_file.layout_of(TENSORS)


def headed(header: bytes, rest: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + rest


def test_tensors_and_facts_come_back(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(
        tensor_file.encoded(TENSORS, {"schema_version": 1, "more": [0.1]})
    )
    tensors, facts = tensor_file.read(tmp_path / "file", LAYOUT, schema_version=1)
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert facts == {"schema_version": 1, "more": [0.1]}


def test_the_same_content_is_written_as_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(
            tensor_file.encoded(TENSORS, {"schema_version": 1, "more": [0.1]})
        )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_writing_leaves_nothing_but_the_file(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "file").write_bytes(tensor_file.encoded(TENSORS, {"schema_version": 1}))
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(tensor_file.encoded(TENSORS, {"schema_version": 1}))
    with pytest.raises(TypeError):
        (tmp_path / "file").write_bytes(tensor_file.encoded({}, {"schema_version": object()}))
    assert tensor_file.read(tmp_path / "file", LAYOUT, 1)[1] == {"schema_version": 1}


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(tensor_file.encoded(TENSORS, {"schema_version": 2}))
    with pytest.raises(ValueError, match="has schema version 2, expected 1"):
        tensor_file.read(tmp_path / "file", LAYOUT, schema_version=1)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (LAYOUT | {"c": TensorSpec(torch.float32, (1,))}, "c is missing"),
        ({"a": LAYOUT["a"]}, "holds 'b', which the config has not"),
        (LAYOUT | {"a": TensorSpec(torch.float32, (3, 2))}, r"a is .* \[2, 3\], expected .*\[3, 2"),
        (LAYOUT | {"b": TensorSpec(torch.float32, (2,))}, "b is torch.uint8 .* torch.float32"),
    ],
)
def test_another_layout_is_refused_by_what_differs(
    tmp_path: Path, layout: dict[str, TensorSpec], message: str
) -> None:
    (tmp_path / "file").write_bytes(tensor_file.encoded(TENSORS, {"schema_version": 1}))
    with pytest.raises(ValueError, match=message):
        tensor_file.read(tmp_path / "file", layout, schema_version=1)


def with_metadata(metadata: object) -> bytes:
    return headed(json.dumps({"__metadata__": metadata}).encode())


FOREIGN = {
    "empty": b"",
    "too short": b"short",
    "a header beyond the end": (1 << 60).to_bytes(8, "little") + b"{}",
    "a header that is no text": headed(b"\xff\xfe"),
    "a header that is a list": headed(b"[1]"),
    "a header of deep lists": headed(b"[" * 100_000),
    "a header of nothing": headed(b"{}"),
    "facts that are no JSON": with_metadata({"capsmodel": "no json"}),
    "facts that are a list": with_metadata({"capsmodel": "[]"}),
    "metadata that are a number": with_metadata(3),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_file_of_ours_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a safetensors file|was not written by capsmodel"):
        tensor_file.read(tmp_path / "file", LAYOUT, schema_version=1)


def without_data(content: bytes) -> bytes:
    return content[:-4]


def with_strange_offsets(content: bytes) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["a"]["data_offsets"] = [0, 1 << 40]
    return headed(json.dumps(header).encode(), content[8 + size :])


@pytest.mark.parametrize("damage", [without_data, with_strange_offsets])
def test_a_file_whose_data_do_not_match_its_header_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    (tmp_path / "file").write_bytes(tensor_file.encoded(TENSORS, {"schema_version": 1}))
    (tmp_path / "file").write_bytes(damage((tmp_path / "file").read_bytes()))
    with pytest.raises(ValueError, match="is damaged"):
        tensor_file.read(tmp_path / "file", LAYOUT, schema_version=1)
