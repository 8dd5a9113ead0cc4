"""No number, list or nesting of a record is larger than its readers can bear."""

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import define
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.validation import valid_manifest
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.search.examples import confirm, proposed, searched
from tests.sweeps.execution.search.grown import with_confirmation
from tests.sweeps.published import log_with

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
    return lambda content: content["search"]["dimensions"][0].update(changes)


def _search(**changes: Any) -> Change:
    return lambda content: content["search"].update(changes)


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
    "100,000 dimensions": lambda content: content["search"].update(
        dimensions=content["search"]["dimensions"][:1] * 100_000
    ),
}
OF_A_DESIGN: dict[str, Change] = {
    "a seed of 400 digits": lambda content: content["seeds"].append(10**399),
    "a million seeds": lambda content: content.update(seeds=list(range(10**6))),
    "parameters of 400 digits": lambda content: content["arms"][0].update(num_parameters=10**399),
    "a deep config": lambda content: content["arms"][0].update(config={"a": _deep(100)}),
    "a config of a million values": lambda content: content["arms"][0].update(
        config={"a": [0] * 10**6}
    ),
    "a number of 400 digits in a config": lambda content: content["arms"][0].update(
        config={"a": {"b": [10**399]}}
    ),
    "a text without end in a config": lambda content: content["arms"][0].update(
        config={"a": "x" * 10**6}
    ),
    "a deep change": lambda content: content["arms"][0].update(changes={"a": _deep(100)}),
    "a deep departure": lambda content: content.update(departures={"a": [_deep(100), 0]}),
    "a baseline without end": lambda content: content.update(baseline="x" * 10**6),
}


@pytest.mark.parametrize("case", OF_A_SEARCH)
def test_a_search_beyond_bounds_is_refused_in_one_sentence(search: str, case: str) -> None:
    _refused(search, OF_A_SEARCH[case])


@pytest.mark.parametrize("case", OF_A_DESIGN)
def test_a_design_beyond_bounds_is_refused_in_one_sentence(case: str) -> None:
    _refused(manifest().model_dump_json(), OF_A_DESIGN[case])


def _refused(text: str, change: Change) -> None:
    content = json.loads(text)
    assert valid_manifest(content["sweep"], log_with(text))
    change(content)
    with pytest.raises(BadInput, match=r"is not valid: .{5,300}$"):
        valid_manifest(content["sweep"], log_with(json.dumps(content)))


def test_what_no_reader_would_take_is_not_written_either() -> None:
    with pytest.raises(BadInput, match="whole number beyond"):
        define("quickstart", Changes(settings={"batch_size": 10**20}), ())


def test_a_manifest_within_bounds_is_as_it_was() -> None:
    original = manifest()
    assert Manifest.model_validate_json(original.model_dump_json()) == original


def _many_seeds(content: dict[str, Any]) -> None:
    content.update(seeds=list(range(3000)))


def _confirmed(content: dict[str, Any]) -> None:
    """Have the search confirm what it has not proposed."""
    confirmation = {"best": 3, "seeds": list(range(3000)), "arms": [str(arm) for arm in range(300)]}
    content["search"].update(confirmation=confirmation)


def test_arms_and_seeds_are_not_held_each_with_each(search: str) -> None:
    design = manifest(tuple(f"arm {number}" for number in range(300))).model_dump(mode="json")
    chosen = {**design, "plan": {"kind": "own", "definition": "x"}}
    tracemalloc.start()
    try:
        for content, change in (
            (design, _many_seeds),
            (chosen, _many_seeds),
            (json.loads(search), _confirmed),
        ):
            change(content)
            with suppress(BadInput):
                valid_manifest(content["sweep"], log_with(json.dumps(content)))
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def _content() -> dict[str, Any]:
    return manifest().model_dump(mode="json")


def _refuses(content: dict[str, Any]) -> bool:
    try:
        valid_manifest("example", log_with(json.dumps(content)))
    except BadInput as error:
        return "each arm with each seed, once" in str(error)
    return False


def test_the_cells_are_each_arm_with_each_seed_once() -> None:
    content = _content()
    cells = content["cells"]
    assert not _refuses(content)
    assert _refuses({**content, "cells": cells[1:]})
    assert _refuses({**content, "cells": [*cells, cells[0]]})
    assert _refuses({**content, "cells": [*cells[1:], {**cells[0], "arm": "neither"}]})
    assert _refuses({**content, "cells": [*cells[1:], {**cells[0], "seed": 7}]})


def test_a_plan_that_chooses_has_some_of_them() -> None:
    content = {**_content(), "plan": {"kind": "own", "definition": "x"}}
    cells = content["cells"]
    assert not _refuses(content)
    assert not _refuses({**content, "cells": cells[1:]})
    assert _refuses({**content, "cells": [*cells, cells[0]]})
    assert _refuses({**content, "cells": [{**cells[0], "seed": 7}]})


def test_what_a_search_confirms_is_there_whole() -> None:
    definition = proposed(searched(confirm=confirm(seeds=(101, 102))), 6)
    best = definition.manifest.arms[3].name
    content = with_confirmation(definition, [best], None).manifest.model_dump(mode="json")
    cells = content["cells"]
    assert not _refuses(content)
    assert cells[-1]["seed"] == 102
    assert _refuses({**content, "cells": cells[:-1]})
    assert _refuses({**content, "cells": cells[1:]})
    assert _refuses({**content, "cells": [*cells, {**cells[-1], "seed": 103}]})
