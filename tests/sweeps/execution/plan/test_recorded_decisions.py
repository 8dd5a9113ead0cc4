"""A user's plan may decide anything: what cannot be read again is refused before it is written."""

import pytest

from search_spaces.plans.decisions import Cell, Decision, Propose, Stop
from sweeps.execution.plan.plan_runner import check_readable
from sweeps.records.errors import BadInput
from sweeps.records.sweep_log import decided

KEY = "0" * 20


@pytest.mark.parametrize(
    "decision",
    [
        Stop(KEY, 1, None),  # pyright: ignore
        Propose((Cell("a", {"batch_size": (1, 2)}, 0),)),
    ],
    ids=["no value", "a tuple"],
)
def test_values_that_are_not_plain_are_refused_in_one_sentence(decision: Decision) -> None:
    with pytest.raises(BadInput, match="give plain numbers, texts, lists and mappings") as error:
        check_readable(decided(decision))
    assert "\n" not in str(error.value)


def test_plain_values_are_recorded() -> None:
    check_readable(decided(Propose((Cell("a", {"x": 0.1 + 0.2, "y": [1, {"z": None}]}, 0),))))
