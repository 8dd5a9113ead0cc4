"""Safetensors files that are checked by their header before anything is read, and never unpickled.

The header's metadata holds one JSON object under one key, with a `schema_version`.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import safetensors
import safetensors.torch
import torch
from jaxtyping import UInt8
from torch import Tensor

_METADATA_KEY = "capsmodel"
_MAX_HEADER_BYTES = 1 << 26
_DTYPES = {
    "F32": torch.float32,
    "U8": torch.uint8,
    # of the buffers of others' networks
    "BOOL": torch.bool,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "I64": torch.int64,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F64": torch.float64,
}


class TensorSpec(NamedTuple):
    """The type and shape that a tensor must have."""

    dtype: torch.dtype
    shape: tuple[int, ...]


def layout_of(tensors: Mapping[str, Tensor]) -> dict[str, TensorSpec]:
    """Return type and shape of each tensor, which may lie on the meta device."""
    return {name: TensorSpec(value.dtype, tuple(value.shape)) for name, value in tensors.items()}


def encoded_texts(texts: Iterable[str]) -> UInt8[Tensor, " bytes"]:
    """Return texts as bytes with line breaks between them; one in a text becomes a space."""
    lines = "\n".join(" ".join(text.splitlines()) for text in texts)
    content = lines.encode(errors="backslashreplace")  # file names may hold lone surrogates
    return torch.tensor(list(content), dtype=torch.uint8)


def encoded(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
    """Return a file of tensors and JSON facts."""
    on_cpu = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    return safetensors.torch.save(on_cpu, metadata={_METADATA_KEY: json.dumps(dict(facts))})


def read(
    path: Path, layout: Mapping[str, TensorSpec], schema_version: int
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and JSON facts of a file that must have the given layout.

    Raises:
        ValueError: If the file is not a safetensors file, has another schema version, or holds
            other tensors; found in the header, before any tensor is allocated.
        OSError: If the file cannot be read.
    """
    header = _header(path)
    facts = _facts(path, header)
    if facts.get("schema_version") != schema_version:
        raise ValueError(
            f"{path} has schema version {facts.get('schema_version')!r}, expected "
            f"{schema_version}: read it with the release that wrote it."
        )
    _check(path, header, layout)
    try:
        return safetensors.torch.load_file(path), facts
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}.") from error


def read_facts(path: Path) -> dict[str, Any]:
    """Return the JSON facts of a file from its header alone.

    Raises:
        ValueError: If the file is not one that `encoded` made.
        OSError: If the file cannot be read.
    """
    return _facts(path, _header(path))


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= _MAX_HEADER_BYTES:
            raise ValueError(
                f"{path} is not a safetensors file: its header would have {size} bytes."
            )
        text = file.read(size)
    try:
        header = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is not a safetensors file: its header is no JSON.") from error
    except RecursionError as error:
        raise ValueError(f"{path} is not a safetensors file: its header nests too deep.") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path} is not a safetensors file: its header is no JSON object.")
    return cast(dict[str, Any], header)


def _facts(path: Path, header: Mapping[str, Any]) -> dict[str, Any]:
    try:
        facts = json.loads(header["__metadata__"][_METADATA_KEY])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} was not written by capsmodel: its metadata is not.") from error
    if not isinstance(facts, dict):
        raise ValueError(f"{path} was not written by capsmodel: its metadata is no JSON object.")
    return cast(dict[str, Any], facts)


def _check(path: Path, header: Mapping[str, Any], layout: Mapping[str, TensorSpec]) -> None:
    present = header.keys() - {"__metadata__"}
    if missing := sorted(layout.keys() - present):
        raise ValueError(f"{path} does not fit the config: {missing[0]} is missing.")
    if unknown := sorted(present - layout.keys()):
        raise ValueError(
            f"{path} does not fit the config: it holds {unknown[0]!r}, which the config has not."
        )
    for name, expected in layout.items():
        spec = _spec(header[name])
        if spec != expected:
            raise ValueError(
                f"{path} does not fit the config: {name} is {_spec_text(spec)}, expected "
                f"{_spec_text(expected)}."
            )


def _spec(entry: Any) -> TensorSpec | None:
    try:
        return TensorSpec(_DTYPES[entry["dtype"]], tuple(entry["shape"]))
    except (KeyError, TypeError):
        return None


def _spec_text(spec: TensorSpec | None) -> str:
    return f"{spec.dtype} of shape {list(spec.shape)}" if spec else "of a type that is not used"
