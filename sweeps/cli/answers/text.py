"""An answer with `--json` on its way to standard output: one object, and nothing else."""

import json
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
    plain = json.loads(value.model_dump_json())  # NaN and infinities are texts now
    typer.echo(json.dumps(plain, indent=1, allow_nan=False))


def refuse(sentence: str, exit_code: int) -> None:
    """Say why a command could not be run, as it was asked: in a sentence, or in an object."""
    if is_asked():
        answer(ErrorAnswer(error=one_line(sentence), exit_code=exit_code))
    else:
        complain(sentence)


def is_asked() -> bool:
    """Return whether the words of the command ask for JSON, also where they cannot be read."""
    return _FLAG in sys.argv[1:]
