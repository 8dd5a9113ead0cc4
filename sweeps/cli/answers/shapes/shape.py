"""What all shapes have in common, and that of an error."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A frozen value that JSON can hold."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="strings", use_attribute_docstrings=True
    )


class ErrorAnswer(Shape):
    """Any command that could not do what it was asked: the sentence that is told without `--json`.

    It stands on standard output, and the exit code is the same as without `--json`.
    """

    format: Literal["capsweep.error/1"] = "capsweep.error/1"
    error: str
    """What is wrong, what was given, what is allowed, what to do."""
    exit_code: int
    """2 for bad input, 3 where a store or a disk failed, 130 where it was interrupted."""
