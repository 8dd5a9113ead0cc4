"""Values as Python text: read back they are equal, and ruff's formatter leaves them as they are."""

import ast
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.execution.launch.writing.python_text import python_text
from tests.sweeps.execution.launch.writing.ruff import RUFF


def plain_values(letters: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    texts = st.text(letters | st.sampled_from("'\"\\\n"), max_size=12)
    numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: (
            st.lists(inner, max_size=8)
            | st.lists(inner, max_size=8).map(tuple)
            | st.dictionaries(texts, inner, max_size=6)
        ),
        max_leaves=30,
    )


ANY_LETTER = st.characters(codec="utf-8")
NARROW_LETTER = st.characters(min_codepoint=32, max_codepoint=126)  # ruff counts others as two


@settings(max_examples=200, deadline=None)
@given(plain_values(ANY_LETTER), st.integers(0, 40))
def test_what_is_written_is_read_back_and_runs_nothing(value: Any, indent: int) -> None:
    text = python_text(value, indent)
    parsed = ast.literal_eval(text)
    assert parsed == value
    assert repr(parsed) == repr(value), "a tuple stays one, and true is no 1"


def formatted(tmp_path: Path, text: str) -> str:
    done = subprocess.run(
        [RUFF, "format", "--isolated", "-"],
        input=text,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    return done.stdout


LONG = [
    0.001,
    1e-05,
    1e300,
    (1,),
    (),
    [],
    {},
    {"kind": "exponential", "factor": 0.96, "every_steps": 5, "nested": {"a": [1, 2, 3]}},
    tuple(range(40)),
    ["it's", 'say "no"', "both ' and \"", "a\\b", "a\nb", "é\x1b", "'", '"'],
    {"model.routing.initial_logits": ("zero", "learned", "normal", "and another of some length")},
    [["x" * 40, "y" * 40], {"z" * 40: "y" * 40}],
    range(20),
    (Path, range(3, 9), ("c" * 30,) * 3),
]


def in_a_call(values: Sequence[Any]) -> str:
    """Return the values as arguments of calls, on whose lines a comma follows."""
    return "".join(f"f(\n    x={python_text(value, 4, 2)},\n)\n" for value in values)


def test_ruff_leaves_it_as_it_is(tmp_path: Path) -> None:
    text = in_a_call(LONG)
    assert formatted(tmp_path, text) == text


@pytest.mark.parametrize("length", range(76, 82))
def test_ruff_leaves_a_line_that_just_fits_as_it_is(tmp_path: Path, length: int) -> None:
    text = in_a_call(["x" * length, ("x" * length,), [["x" * (length - 4)], 1]])
    assert formatted(tmp_path, text) == text


@settings(max_examples=6, deadline=None)
@given(values=st.lists(plain_values(NARROW_LETTER), min_size=12, max_size=12))
def test_ruff_leaves_any_value_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    text = in_a_call(values)
    assert formatted(tmp_path_factory.getbasetemp(), text) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x"])
def test_what_is_no_plain_value_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="There is no Python text for"):
        python_text([value])
