"""Words become values, or one sentence says what is wanted."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.cli.arguments import read_duration, read_factors, read_seeds, read_settings
from sweeps.records.errors import BadInput


def refusal(read: Callable[..., Any], *texts: Any) -> str:
    with pytest.raises(BadInput) as caught:
        read(*texts)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0,1,2", (0, 1, 2)),
        ("0-4", (0, 1, 2, 3, 4)),
        ("5", (5,)),
        ("0", (0,)),
        ("7-7", (7,)),
        ("3,0-1", (3, 0, 1)),
        (" 1 , 2 ,", (1, 2)),
        ("007", (7,)),
        ("999999999999999999", (10**18 - 1,)),
    ],
)
def test_seeds_are_a_list_with_ranges(text: str, seeds: tuple[int, ...]) -> None:
    assert read_seeds("--seeds", text) == seeds


def test_no_option_is_no_seeds() -> None:
    assert read_seeds("--seeds", None) is None


@pytest.mark.parametrize("text", ["", ",", "  ", ", ,"])
def test_an_option_without_a_seed_is_refused(text: str) -> None:
    assert refusal(read_seeds, "--add-seeds", text) == (
        f"--add-seeds needs at least one seed, such as 0,1,2 or 0-4, got '{text}'."
    )


@pytest.mark.parametrize(
    "word", ["x", "-1", "1-", "-", "3-1", "0-4-6", "1.5", "1e3", "0..4", "1 2", "9" * 19]
)
def test_a_word_that_is_neither_a_number_nor_a_range_is_named(word: str) -> None:
    assert refusal(read_seeds, "--seeds", f"0,{word}") == (
        f"--seeds takes a list and ranges of seeds, such as 0,1,2 or 0-4, got '{word}'."
    )


@pytest.mark.parametrize("text", ["0-10000", "0-999999999999999999"])
def test_a_range_without_measure_is_refused(text: str) -> None:
    assert "at most 10000 seeds" in refusal(read_seeds, "--seeds", text)


def test_a_seed_listed_twice_is_refused() -> None:
    assert refusal(read_seeds, "--seeds", "0-3,2") == "--seeds lists a seed twice: '0-3,2'."


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20, unique=True))
def test_every_list_of_seeds_is_read_back(seeds: list[int]) -> None:
    assert read_seeds("--seeds", ",".join(map(str, seeds))) == tuple(seeds)


@given(st.text(max_size=20))
def test_any_text_is_seeds_or_one_sentence(text: str) -> None:
    with suppress(BadInput):
        assert read_seeds("--seeds", text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("90", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("30d", 2_592_000),
        ("1d12h", 129_600),
        ("1h2m3s", 3723),
        ("1h5s", 3605),
        (" 5m ", 300),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert read_duration("--time-limit", text) == seconds


def test_no_option_is_no_duration() -> None:
    assert read_duration("--time-limit", None) is None


@pytest.mark.parametrize(
    "text", ["", "x", "0", "0s", "-5m", "1.5h", "30 m", "1w", "m", "30m1h", "1h30", "9" * 22 + "h"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    assert refusal(read_duration, "--time-limit", text) == (
        f"--time-limit takes a time such as 90s, 30m, 2h, 1h30m or 30d, got '{text}'."
    )


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a.b=3", 3),
        ("a.b=1e-3", 1e-3),
        ("a.b=uniform", "uniform"),
        ("a.b=[4, 5]", [4, 5]),
        ('a.b={"kind": "x"}', {"kind": "x"}),
        ('a.b="3"', "3"),
        ("a.b=true", True),
        ("a.b=True", "True"),
        ("a.b=null", None),
        ("a.b=", ""),
        ("a.b=x=y", "x=y"),
        (" a.b =3", 3),
    ],
)
def test_a_setting_is_json_or_else_a_text(word: str, value: Any) -> None:
    assert read_settings([word]) == {"a.b": value}


def test_no_settings_are_none() -> None:
    assert read_settings(None) == read_settings([]) == {}


@pytest.mark.parametrize("word", ["a", "", "=3", " =3", "a:3"])
def test_what_is_no_assignment_is_refused(word: str) -> None:
    assert refusal(read_settings, [word]) == (
        f"--set takes path=value, such as batch_size=64, got '{word}'."
    )


def test_a_path_set_twice_is_refused() -> None:
    assert refusal(read_settings, ["a=1", "a =2"]) == "--set sets 'a' twice: give it once."


@given(st.text(max_size=30))
def test_any_text_is_a_value(text: str) -> None:
    assert "a" in read_settings([f"a={text}"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.lists(json_values, min_size=1, max_size=5))
def test_levels_in_json_are_read_back_whatever_stands_in_them(levels: list[Any]) -> None:
    for separator in (",", " , "):
        text = separator.join(map(json.dumps, levels))
        assert read_factors([f"a.b={text}"]) == {"a.b": tuple(levels)}


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1,2,3", (1, 2, 3)),
        ("none,fully_connected", ("none", "fully_connected")),
        ("none, 1 ,true", ("none", 1, True)),
        ('{"kind":"x","a":[1,2]},y', ({"kind": "x", "a": [1, 2]}, "y")),
        ('"a,b",c', ("a,b", "c")),
        ("a=b,c", ("a=b", "c")),
        ("]],1", ("]]", 1)),
        ("[1,2", ("[1,2",)),
    ],
)
def test_levels_stand_between_commas(text: str, levels: tuple[Any, ...]) -> None:
    assert read_factors([f"path={text}"]) == {"path": levels}


@pytest.mark.parametrize("word", ["", "=", "a", "a=", "=1", "a=,", "a=1,", "a=,1", " =1", "a= ,1"])
def test_a_factor_without_a_path_or_a_level_is_refused(word: str) -> None:
    assert refusal(read_factors, [word]) == (
        f"A factor is path=level,level, such as model.routing.iterations=1,2,3, got '{word}'."
    )


@given(st.text(max_size=20))
def test_any_text_is_levels_or_one_sentence(text: str) -> None:
    with suppress(BadInput):
        assert read_factors([f"a={text}"])
