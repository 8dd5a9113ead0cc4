"""A filter means what its text says, and whatever else its text holds is refused."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.filters.asked import Asked, chosen
from sweeps.aggregation.filters.grammar import names_in, parse_filter
from sweeps.aggregation.filters.matching import MISSING, matches
from sweeps.records.errors import BadInput

EM = {"model": {"routing": {"kind": "em", "iterations": 3}, "dims": [8, 16]}, "epochs": 5}
DYNAMIC = {"model": {"routing": {"kind": "dynamic", "iterations": 1, "decay": None}}, "epochs": 9}
ROWS = [
    Asked({"arm": "a", "epochs": 4, "test_error": 0.1}, {"health.norm": 2.0}, EM),
    Asked({"arm": "b", "epochs": 9, "test_error": None}, {"own-1": float("nan")}, DYNAMIC),
]


def of(text: str) -> list[str]:
    """Return the arms of the rows above that match."""
    found = chosen(parse_filter(text), ROWS)
    return [row.columns["arm"] for row, is_chosen in zip(ROWS, found, strict=True) if is_chosen]


@pytest.mark.parametrize(
    ("text", "arms"),
    [
        ("model.routing == 'em' and model.routing.iterations >= 2", "a"),
        ("model.routing != 'em'", "b"),
        ("model.routing in ['em', 'dynamic']", "ab"),
        ("model.routing not in ('em', 'uniform')", "b"),
        ("1 <= model.routing.iterations < 3", "b"),
        ("model.dims == [8, 16]", "a"),
        ("16 in model.dims", "a"),
        ("'m' in model.routing", "ab"),
        ("not test_error > 0.5", "a"),
        ("test_error != 0.5", "a"),
        ("test_error == 0.1 or arm == 'b'", "ab"),
        ("model.routing.decay == None", "b"),
        ("epochs == 9", "b"),
        ("setting.epochs == 5", "a"),
        ("health.norm > -1", "a"),
        ("column['health.norm'] == 2", "a"),
        ("column['own-1'] != 3", ""),
        ("not (arm == 'a' or arm == 'b')", ""),
        ("epochs > setting.epochs or epochs < setting.epochs", "a"),
    ],
)
def test_a_filter_chooses_what_it_says(text: str, arms: str) -> None:
    assert "".join(of(text)) == arms


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("model.routing = 'em'", "cannot be read"),
        pytest.param(
            "(" * 3000 + "epochs == 1" + ")" * 3000,
            "cannot be read|nested too deep",
            id="too many brackets",
        ),
        pytest.param(
            "not " * 2400 + "epochs == 1", "cannot be read|nested too deep", id="too many nots"
        ),
        pytest.param("not " * 300 + "epochs == 1", "nested too deep", id="many nots"),
        pytest.param(
            "epochs == 1 or " * 1000 + "epochs == 1", "at most 10,000 characters", id="too long"
        ),
        pytest.param("epochs\0 == 1", "cannot", id="a null character"),
        ("epochs", "says nothing by itself"),
        ("True", "says nothing by itself"),
        ("epochs is 1", "never by is"),
        ("len(arm) == 1", r"'len\(arm\)' cannot stand in a filter"),
        ("__import__('os').system('true') == 0", "cannot stand in a filter"),
        ("().__class__ == 1", "cannot stand in a filter"),
        ("epochs + 1 == 2", r"'epochs \+ 1' cannot stand"),
        ("epochs == 1j", "cannot stand"),
        pytest.param(
            "epochs == 0x" + "f" * 5000, "at most 9223372036854775807", id="too large a number"
        ),
        ("[x for x in y] == 1", "cannot stand"),
        ("(x := 1) == 1", "cannot stand"),
        ("row['arm'] == 'a'", "cannot stand"),
        ("-arm == 1", "cannot stand"),
        ("model.ruting == 'em'", "asks for 'model.ruting'.*Did you mean 'model.routing'"),
        ("setting.arm == 'a'", "asks for 'setting.arm', which no trial has"),
        ("model == 'em'", "asks for 'model', which no trial has"),
        ("epochs == true", "asks for 'true', which no trial has"),
        ("model.routing >= 2", r"model.routing, which is a text, with a number \(2\)"),
        ("epochs == '5'", "epochs, which is a number, with a text"),
        ("2 > arm", "arm, which is a text, with a number"),
        ("arm in [1, 2]", "arm, which is a text, with a number"),
        ("epochs in (1)", r"looks into a list or a text, and 1 is neither: write \[1\]"),
        ("not epochs not in None", "None is neither"),
        ("1 in epochs", "looks into epochs, which is a number"),
    ],
)
def test_what_is_no_filter_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as refusal:
        of(text)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_is_refused(text: str) -> None:
    with suppress(BadInput):
        names_in(parse_filter(text))


@pytest.mark.parametrize("given_where", [5, True, ["epochs == 1"], None])
def test_what_is_no_text_is_refused_as_well(given_where: Any) -> None:
    with pytest.raises(BadInput, match=r"in (the|a) filter"):
        parse_filter(given_where)


def test_without_trials_no_name_is_unknown() -> None:
    assert chosen(parse_filter("no.such == 1"), []) == []


# A literal reference: truth is 1, falsehood 0, and what cannot be said a half; "and" is the least,
# "or" the greatest, "not" what is left to one.
NAMES = ("a", "b.c", "d_1.e.f")
VALUES = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([0.5, -1.5]),
    st.sampled_from(["em", "dynamic", ""]),
    st.booleans(),
    st.none(),
    st.lists(st.integers(0, 2), max_size=2),
)
ROW = st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES | st.just(MISSING)))
INSIDE = ("in", "not in")
SIGNS = ("==", "!=", "<", "<=", ">", ">=", *INSIDE)
TO_LOOK_INTO = VALUES.filter(lambda value: isinstance(value, str | list))


def _leaf(draw: st.DrawFn) -> tuple[str, Any]:
    name, sign = draw(st.sampled_from(NAMES)), draw(st.sampled_from(SIGNS))
    value = draw(TO_LOOK_INTO if sign in INSIDE else VALUES)
    return f"{name} {sign} {value!r}", (name, sign, value)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[str, Any]:
    """Draw a condition: its text, and what the reference is told of it."""
    sort = draw(st.sampled_from(["leaf", "not", "and", "or"])) if depth else "leaf"
    if sort == "leaf":
        return _leaf(draw)
    if sort == "not":
        text, told = draw(conditions(depth - 1))
        return f"not ({text})", ("not", told)
    parts = draw(st.lists(conditions(depth - 1), min_size=2, max_size=3))
    joined = f" {sort} ".join(f"( {text} )" for text, _ in parts)
    return joined, (sort, [told for _, told in parts])


def _sort(value: Any) -> type:
    return float if type(value) is int else type(value)


def _same(left: Any, right: Any) -> bool:
    return _sort(left) is _sort(right) and left == right


def reference(told: Any, row: dict[str, Any]) -> float:
    if told[0] == "not":
        return 1 - reference(told[1], row)
    if told[0] in ("and", "or"):
        return (min if told[0] == "and" else max)(reference(one, row) for one in told[1])
    name, sign, given_value = told
    return 0.5 if row[name] is MISSING else compared(row[name], sign, given_value)


def compared(value: Any, sign: str, other: Any) -> float:
    if sign in ("==", "!="):
        return float(_same(value, other) is (sign == "=="))
    if sign.endswith("in"):
        if isinstance(other, list):
            return float(any(_same(value, one) for one in other) is (sign == "in"))
        both = isinstance(other, str) and isinstance(value, str)
        return float((value in other) is (sign == "in")) if both else 0.5
    if _sort(value) is not _sort(other) or _sort(value) not in (float, str):
        return 0.5
    return float(
        {-1: "<" in sign, 0: "=" in sign, 1: ">" in sign}[(value > other) - (value < other)]
    )


@given(conditions(), ROW)
def test_a_filter_agrees_with_a_literal_reference(drawn: tuple[str, Any], row: Any) -> None:
    text, told = drawn
    assert matches(parse_filter(text), row.__getitem__) is (reference(told, row) == 1)
