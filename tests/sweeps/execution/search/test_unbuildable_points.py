"""Points whose network cannot be built are never proposed; the sampler learns that of them."""

from typing import Any

import pytest

from capsmodel.search_range import Choices, Ints
from search_spaces import Limit, Search
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import study_of
from sweeps.execution.search.within_limits import WithinLimits
from sweeps.records.errors import BadInput
from tests.sweeps.execution.search.examples import (
    RATE,
    WHOLE,
    complete,
    expect_valid,
    searched,
)
from tests.sweeps.execution.search.scores import falling
from tests.sweeps.execution.search.simulated import Launch, World

KERNEL = "model.conv_kernel"
LARGEST = 6  # of 8 pixels it leaves 3, all that the kernel of the next layer takes
SPACE = WHOLE.varied({"model": ("capsnet",), KERNEL: Ints(2, 12)}).only(RATE, KERNEL)
FEW = SPACE.varied({RATE: Choices(1e-3, 2e-3), KERNEL: Choices(3, 4, 9, 20)})


def half_buildable(**changes: Any) -> SweepDefinition:
    return searched(**{"space": SPACE, "trials": 8, "startup": 4, **changes})


def proposals(definition: SweepDefinition, count: int) -> list[dict[str, Any]]:
    """Return what is proposed where the error falls with the kernel."""
    plan = definition.sweep.plan
    assert isinstance(plan, Search)
    proposer, params, went = WithinLimits(plan, definition.sweep), [], list[Observation]()
    while len(params) < count and (point := proposer.propose(params, went)):
        params.append(point)
        went.append(complete(1.0 - 0.01 * int(point[KERNEL])))
    return params


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2", "random", "qmc"])
def test_no_proposal_is_a_network_that_cannot_be_built(sampler: str) -> None:
    changes = {"startup": 10} if sampler in {"random", "qmc"} else {}
    definition = half_buildable(sampler=sampler, **changes)
    points = proposals(definition, 8)
    assert len(points) == 8
    assert max(point[KERNEL] for point in points) <= LARGEST
    assert proposals(definition, 8) == points, "they are a function of the results"


@pytest.mark.parametrize("sampler", ["tpe", "grid"])
def test_a_small_space_ends_a_search_without_the_points_that_cannot_be_built(
    world: World, sampler: str
) -> None:
    definition = searched(space=FEW, sampler=sampler, trials=8, scheduler="none")
    launch = Launch(world, definition, falling).run()
    assert sorted((point[RATE], point[KERNEL]) for point in launch.proposals()) == [
        (rate, kernel) for rate in (1e-3, 2e-3) for kernel in (3, 4)
    ]
    search = launch.manifest.search
    assert search
    assert search.ending == (
        "ended after 4 of 8 proposals: no other point was found whose network can be built"
    )
    assert not launch.manifest.is_growing, "so that a launch ends with exit code 0"
    expect_valid(launch.manifest)
    second = Launch(world, definition, falling).run()
    assert (second.started, second.manifest) == ([], launch.manifest)


def test_a_manifest_counts_them_and_says_why() -> None:
    few, many = searched(space=FEW).manifest.search, half_buildable().manifest.search
    assert few
    assert many
    assert few.unbuildable_note == (
        "Of 8 points of the space, 4 have a network that cannot be built; such points are never "
        "proposed. The first reason: A kernel of 9 pixels does not fit 8 pixels padded by 0 on "
        "both sides: choose a kernel of at most 8, more padding, or larger images."
    )
    assert many.unbuildable
    assert many.unbuildable.num_tried == 64
    assert 30 < many.unbuildable.number < 50
    declared = searched().manifest.search
    assert declared
    assert "unbuildable" not in declared.model_dump_json()


def test_a_sampler_learns_of_them_as_infeasible() -> None:
    tpe, gp = (half_buildable(sampler=sampler) for sampler in ("tpe", "gp"))
    for definition, rejected in ((tpe, []), (gp, [{RATE: 1e-3, KERNEL: 9}])):
        plan = definition.sweep.plan
        assert isinstance(plan, Search)
        measures = Measures(plan, definition.sweep)
        history = [({RATE: 1e-3, KERNEL: 3}, complete(0.1))]
        *broken, built = study_of(plan, history, measures=measures, rejected=rejected).trials
        assert broken
        assert all(trial.params[KERNEL] > LARGEST for trial in broken)
        assert {max(trial.constraints.values()) for trial in broken} == {1.0}
        assert max(built.constraints.values()) == -1.0


def test_a_limit_does_not_count_them_as_small() -> None:
    definition = half_buildable(limits=Limit("num_parameters", at_most=1_000_000))
    assert max(point[KERNEL] for point in proposals(definition, 8)) <= LARGEST
    with pytest.raises(BadInput, match=r"No point of the space keeps the limits.* the least is \d"):
        half_buildable(limits=Limit("num_parameters", at_most=1))


def test_a_space_of_nothing_else_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput) as caught:
        searched(space=SPACE.varied({KERNEL: Ints(9, 12)}))
    sentence = str(caught.value)
    assert sentence.startswith(
        "The network of no point of the space can be built, of 64 that were tried: A kernel of "
    )
    assert "\n" not in sentence
