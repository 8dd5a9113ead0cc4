"""An answer with `--json` on its way to standard output: one object, and nothing else."""

import json
import os
import sys
from typing import Annotated

import typer

from sweeps.cli.answers.shapes.shape import ErrorAnswer, Shape
from sweeps.cli.terminal import complain
from sweeps.records.plain_text import one_line

_FLAG = "--json"
JsonOption = Annotated[
    bool, typer.Option(_FLAG, help="Answer with one JSON object, as docs/json.md says.")
]


def answer(value: Shape) -> None:
    """Print an answer: valid JSON, of which no letter commands a terminal."""
    typer.echo(_text(value))


def refuse(sentence: str, exit_code: int) -> None:
    """Say why a command could not be run, as it was asked: in a sentence, or in an object."""
    if is_asked():
        answer(ErrorAnswer(error=one_line(sentence), exit_code=exit_code))
    else:
        complain(sentence)


def tell_at_once(sentence: str, exit_code: int) -> None:
    """Say the same from a signal's handler, past streams whose buffers may be held."""
    if is_asked():
        told, descriptor = _text(ErrorAnswer(error=one_line(sentence), exit_code=exit_code)), 1
    else:
        told, descriptor = f"capsweep: {one_line(sentence)}", 2
    os.write(descriptor, f"{told}\n".encode(errors="replace"))


def _text(value: Shape) -> str:
    plain = json.loads(value.model_dump_json())  # NaN and infinities are texts now
    return json.dumps(plain, indent=1, allow_nan=False)


def is_asked() -> bool:
    """Return whether the words of the command ask for JSON, also where they cannot be read."""
    return _FLAG in sys.argv[1:]
