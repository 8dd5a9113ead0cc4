"""No number, list or nesting of a record is larger than its readers can bear."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import define
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.answers import valid_manifest
from tests.sweeps.execution.examples import manifest

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def search() -> str:
    return define("quickstart_search", Changes(), ()).manifest.model_dump_json()


def _deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def _dimension(**changes: Any) -> Change:
    return lambda told: told["search"]["dimensions"][0].update(changes)


def _search(**changes: Any) -> Change:
    return lambda told: told["search"].update(changes)


OF_A_SEARCH: dict[str, Change] = {
    "a low end that is no number": _dimension(low="nan"),
    "an endless high end": _dimension(high="inf"),
    "an end of 400 digits": _dimension(low=10**399),
    "a step of 400 digits": _dimension(step=10**399),
    "a step of none": _dimension(step=0),
    "100,000 choices": _dimension(choices=list(range(100_000))),
    "a choice of a million letters": _dimension(choices=["x" * 10**6]),
    "100,000 conditions": _dimension(conditions={str(n): "" for n in range(100_000)}),
    "a billion proposals to make": _search(num_trials=10**9),
    "proposals of 400 digits": _search(num_trials=10**399),
    "a scheduler without a name": _search(scheduler={}),
    "100,000 dimensions": lambda told: told["search"].update(
        dimensions=told["search"]["dimensions"][:1] * 100_000
    ),
}
OF_A_DESIGN: dict[str, Change] = {
    "a seed of 400 digits": lambda told: told["seeds"].append(10**399),
    "a million seeds": lambda told: told.update(seeds=list(range(10**6))),
    "parameters of 400 digits": lambda told: told["arms"][0].update(num_parameters=10**399),
    "a deep config": lambda told: told["arms"][0].update(config={"a": _deep(100)}),
    "a config of a million values": lambda told: told["arms"][0].update(config={"a": [0] * 10**6}),
    "a number of 400 digits in a config": lambda told: told["arms"][0].update(
        config={"a": {"b": [10**399]}}
    ),
    "a text without end in a config": lambda told: told["arms"][0].update(
        config={"a": "x" * 10**6}
    ),
    "a deep change": lambda told: told["arms"][0].update(changes={"a": _deep(100)}),
    "a deep departure": lambda told: told.update(departures={"a": [_deep(100), 0]}),
    "a baseline without end": lambda told: told.update(baseline="x" * 10**6),
}


@pytest.mark.parametrize("what", OF_A_SEARCH)
def test_a_search_beyond_bounds_is_refused_in_one_sentence(search: str, what: str) -> None:
    _refused(search, OF_A_SEARCH[what])


@pytest.mark.parametrize("what", OF_A_DESIGN)
def test_a_design_beyond_bounds_is_refused_in_one_sentence(what: str) -> None:
    _refused(manifest().model_dump_json(), OF_A_DESIGN[what])


def _refused(text: str, change: Change) -> None:
    told = json.loads(text)
    assert valid_manifest(told["sweep"], text.encode())
    change(told)
    with pytest.raises(BadInput, match=r"is not valid: .{5,300}$"):
        valid_manifest(told["sweep"], json.dumps(told).encode())


def test_what_no_reader_would_take_is_not_written_either() -> None:
    with pytest.raises(BadInput, match="whole number beyond"):
        define("quickstart", Changes(settings={"batch_size": 10**20}), ())


def test_a_manifest_within_bounds_is_as_it_was() -> None:
    told = manifest()
    assert Manifest.model_validate_json(told.model_dump_json()) == told
