"""Seeds and margin: what was settled before anybody could look, and what was added since."""

import pytest

from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.definition import define
from sweeps.execution.plan.preregistration import (
    check_margin,
    with_first_rule,
    with_planned_seeds,
)
from sweeps.records.errors import BadInput
from sweeps.records.manifest import VERDICT_RULE

Seeds = tuple[int, ...]


def launched(seeds: Seeds, before: Seeds = (), planned: Seeds = ()) -> Seeds:
    """Return the planned seeds of a launch after another."""
    earlier = None
    if before:
        manifest = define("quickstart", LaunchOptions(seeds=before), ()).manifest
        earlier = manifest.model_copy(update={"planned_seeds": planned})
    definition = define("quickstart", LaunchOptions(seeds=seeds), ())
    return with_planned_seeds(definition, earlier).manifest.planned_seeds


@pytest.mark.parametrize(
    ("seeds", "before", "planned", "expected"),
    [
        ((0, 1, 2), (), (), ()),
        ((0, 1, 2), (0, 1, 2), (), ()),
        ((0, 1, 2, 3, 4), (0, 1, 2), (), (0, 1, 2)),
        ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (0, 1, 2), (0, 1, 2)),
        ((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4), (0, 1, 2), (0, 1, 2)),
        ((7, 8, 9), (0, 1, 2), (), ()),
        ((0, 1, 2), (0, 1, 2, 3), (0, 1, 2), ()),
    ],
    ids=["first", "again", "more", "more, again", "yet more", "others", "back"],
)
def test_the_first_seeds_stay_those_that_were_planned(
    seeds: Seeds, before: Seeds, planned: Seeds, expected: Seeds
) -> None:
    assert launched(seeds, before, planned) == expected


def test_a_margin_is_declared_before_the_results() -> None:
    manifest = define("quickstart", LaunchOptions(), ()).manifest
    with_margin = manifest.model_copy(update={"margin_points": 0.5})
    check_margin(with_margin, with_margin)
    with pytest.raises(BadInput, match=r"with no margin and is given a margin of 0\.5 poi"):
        check_margin(manifest, with_margin)
    with pytest.raises(BadInput, match="is given no margin: what counts as equivalent"):
        check_margin(with_margin, manifest)


def test_a_sweep_keeps_the_rule_of_verdicts_that_it_was_launched_under():
    new = define("quickstart", LaunchOptions(), ())
    assert with_first_rule(new, None).manifest.verdict_rule == VERDICT_RULE
    earlier = new.manifest.model_copy(update={"verdict_rule": "own seeds"})
    assert with_first_rule(new, earlier).manifest.verdict_rule == "own seeds"
