"""The code that decides what a user's part does: in the sweep's file, and reached from there."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from search_spaces.neighbours import neighbours_in
from search_spaces.reached_code import ReachedCode, code_of_module, reached_code
from search_spaces.source_version import (
    acting_statements,
    part_version,
    plain_statements,
    reached_statements,
)


@dataclass(frozen=True)
class PartCode:
    """The code of one class of a user's.

    Attributes:
        version: Changes with whatever of it may change a result.
        reached: What of it lies outside the sweep's file.
    """

    version: int | str
    reached: ReachedCode


def code_in_file(text: str, class_name: str, filename: str) -> PartCode:
    """Return the code of a class of a sweep's file.

    Where nothing is reached but what capsweep itself requires, its version is `part_version`.

    Args:
        text: The file's source, with the modules of its folder.
        class_name: A class at the top level of the file.
        filename: For messages.

    Raises:
        ValueError: If code that it reaches cannot be read.
    """
    own = reached_code(reached_statements(text, [class_name]), filename, neighbours_in(text).texts)
    for_all, acting = _acting_on_all(text, filename)
    reached = own.joined(for_all)
    return PartCode(_version(part_version(text, class_name), reached, acting), reached)


def _acting_on_all(text: str, filename: str) -> tuple[ReachedCode, list[Any]]:
    """Return the code that statements acting on every class reach, and those statements."""
    reached, acting = ReachedCode(), list[Any]()
    for statements in acting_statements(text):
        code = reached_code(statements, filename, neighbours_in(text).texts)
        if code.identity:
            reached = reached.joined(code)
            acting += plain_statements(statements)
    return reached, acting


def code_of_import(module: str, declared: int | str, text: str, filename: str) -> PartCode:
    """Return the code of a class that a sweep's file imports.

    Args:
        module: Where the class is defined, by the name that the file imports.
        declared: Its own `protocol_version`.
        text: The file's source, with the modules of its folder.
        filename: For messages.

    Raises:
        ValueError: If code that it reaches cannot be read.
    """
    for_all, acting = _acting_on_all(text, filename)
    reached = code_of_module(module, neighbours_in(text).texts).joined(for_all)
    return PartCode(_version(declared, reached, acting), reached)


def _version(version: int | str, reached: ReachedCode, acting: list[Any]) -> int | str:
    if not reached.identity:
        return version
    text = json.dumps([version, reached.identity, acting], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
