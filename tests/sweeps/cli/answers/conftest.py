"""What the tests of JSON share: a store with finished and diverged trials, and its shell."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.golden.stores.archive import unpack
from tests.sweeps.cli.answers.page import answers
from tests.sweeps.cli.shell import Shell

STORES = Path(__file__).parents[3] / "golden" / "stores"
SHAPES = {answer.model_fields["format"].default: answer for answer in answers()}
Asking = Callable[..., dict[str, Any]]


@pytest.fixture
def design(shell: Shell) -> Path:
    """The folder of the shell with a finished design, two trials of which diverged."""
    return unpack(STORES / "finished_design.tar.xz", shell.folder)


@pytest.fixture
def ask(shell: Shell) -> Asking:
    """Give a command with --json, hold its object against its shape, and return it."""

    def asked(*words: str, code: int = 0) -> dict[str, Any]:
        told = shell(*words, "--json")
        assert told.code == code, told.err
        answer = json.loads(told.out, parse_constant=pytest.fail)
        assert told.out.isascii()
        assert told.out.isprintable() or set(told.out) - {"\n"} <= set(map(chr, range(32, 127)))
        SHAPES[answer["format"]].model_validate_json(told.out)
        return answer

    return asked
