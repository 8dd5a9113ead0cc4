"""Answers with `--json`: one object on standard output, and nothing else."""

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic_core import to_json

from sweeps.cli.terminal import complain
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.cli.answers import Shape

_FLAG = "--json"
JsonOption = Annotated[
    bool,
    typer.Option(
        _FLAG, help="Print one JSON object; docs/json.md, which --version finds, has its fields."
    ),
]


def is_json_requested() -> bool:
    """Return whether the words of the command ask for JSON, also where they cannot be read."""
    return _FLAG in sys.argv[1:]


def print_json(answer: "Shape") -> None:
    """Print an answer as valid ASCII JSON, which cannot control a terminal."""
    typer.echo(_text(answer))


def print_error(sentence: str, exit_code: int) -> None:
    """Print why a command failed: as a sentence on standard error, or as an object."""
    if is_json_requested():
        typer.echo(_error(sentence, exit_code))
    else:
        complain(sentence)


def write_error_at_once(sentence: str, exit_code: int) -> None:
    """Print the same from a signal's handler, past the buffers of the streams."""
    if is_json_requested():
        text, descriptor = _error(sentence, exit_code), 1
    else:
        text, descriptor = f"capsweep: {one_line(sentence)}", 2
    with suppress(OSError):  # nobody reads it
        os.write(descriptor, f"{text}\n".encode(errors="replace"))


def _error(sentence: str, exit_code: int) -> str:
    from sweeps.cli.answers import ErrorAnswer

    return _text(ErrorAnswer(error=one_line(sentence), exit_code=exit_code))


def _text(answer: "Shape") -> str:
    plain = json.loads(to_json(answer.model_dump(), inf_nan_mode="strings"))
    return json.dumps(plain, indent=1, allow_nan=False)
