"""A search with ends proposes no more once one has come, says why, and confirms as ever."""

from collections.abc import Callable
from typing import Any

import pytest

from search_spaces import AfterEpochs, AtTarget, NoImprovement
from search_spaces.plans.decisions import EndSearch
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.records.manifest import Manifest
from tests.sweeps.execution.search.examples import confirm, expect_valid, searched
from tests.sweeps.execution.search.scores import of
from tests.sweeps.execution.search.simulated import Launch, World

SCORES = (0.4, 0.3, 0.2, 0.25, 0.2, 0.3, 0.1, 0.3)
Run = Callable[..., Launch]


def unstopped(**changes: Any) -> SweepDefinition:
    known: dict[str, Any] = {"sampler": "random", "scheduler": "none", "trials": 8}
    return searched(**(known | changes))


def ending(manifest: Manifest) -> str:
    assert manifest.search
    return manifest.search.ending


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (
            AtTarget(value=0.2),
            "ended after 3 of 8 proposals: validation_error 0.2 has reached the target 0.2",
        ),
        (NoImprovement(proposals=2), "ended after 5 of 8 proposals: no improvement for 2"),
        (AfterEpochs(epochs=13), "ended after 4 of 8 proposals: 15 epochs were trained, of 13"),
        ((AtTarget(value=0.15), AfterEpochs(epochs=20)), "21 epochs were"),
        (AtTarget(value=0.01), ""),
    ],
)
def test_a_search_ends_with_the_first_end_that_comes(run: Run, stop: Any, expected: str) -> None:
    launch = run(unstopped(stop=stop), of(*SCORES))
    assert expected in ending(launch.manifest)
    assert bool(ending(launch.manifest)) == bool(expected)
    assert not launch.manifest.is_growing
    assert launch.manifest.num_expected == len(launch.manifest.cells) == len(launch.started)
    assert launch.growing.manifest.num_expected == len(launch.manifest.cells)
    expect_valid(launch.manifest)


def test_what_runs_when_an_end_comes_is_trained_on_and_may_be_confirmed(world: World) -> None:
    definition = unstopped(stop=AtTarget(value=0.4), confirm=confirm(2))
    launch = Launch(world, definition, of(*SCORES)).run(num_concurrent=4)
    search = launch.manifest.search
    assert search
    assert search.confirmation
    assert 3 < len(search.proposals) < 8
    assert set(launch.states()) == {"complete"}
    best = sorted(range(len(search.proposals)), key=SCORES.__getitem__)[:2]
    assert search.confirmation.arms == tuple(f"proposal {number}" for number in best)
    assert len(launch.manifest.cells) == launch.manifest.num_expected


def test_no_end_comes_before_some_are_left_to_be_better_than(run: Run) -> None:
    launch = run(unstopped(stop=AtTarget(value=0.5), confirm=confirm(2)), of(*SCORES))
    assert "ended after 3 of 8" in ending(launch.manifest)


def test_with_other_ends_a_search_goes_on_and_confirms_anew(world: World, run: Run) -> None:
    stop = NoImprovement(proposals=2)
    first = run(unstopped(stop=stop, confirm=confirm(1)), of(*SCORES))
    second = run(unstopped(stop=stop, confirm=confirm(1)), of(*SCORES))
    assert (second.started, second.manifest) == ([], first.manifest)
    longer = run(unstopped(confirm=confirm(1)), of(*SCORES))
    assert longer.manifest.search
    assert longer.manifest.search.confirmation
    assert longer.manifest.search.confirmation.arms == ("proposal 6",)
    assert ending(longer.manifest) == ""
    assert longer.proposals()[:5] == first.proposals()
    back = run(unstopped(stop=stop, confirm=confirm(1)), of(*SCORES))
    assert back.proposals() == longer.proposals(), "what was proposed stays"
    assert set(world.epochs_trained().values()) == {1}


def test_more_trials_do_not_undo_an_end(run: Run) -> None:
    run(unstopped(stop=NoImprovement(proposals=2)), of(*SCORES))
    more = run(unstopped(stop=NoImprovement(proposals=2), trials=20), of(*SCORES))
    assert more.started == []
    assert "ended after 5 of 20" in ending(more.manifest)


def test_an_end_is_noted_and_never_decided_again(world: World, run: Run) -> None:
    run(unstopped(stop=AfterEpochs(epochs=13)), of(*SCORES))
    launch = run(unstopped(stop=AfterEpochs(epochs=13)), of(*SCORES))
    ends = [decision for decision in launch.decisions() if isinstance(decision, EndSearch)]
    assert ends == [EndSearch("15 epochs were trained, of 13", "13 epochs", 4)]
    for file in world.journals.iterdir():
        file.unlink()
    restored = run(unstopped(stop=AfterEpochs(epochs=13)), of(*SCORES))
    assert restored.manifest == launch.manifest, "the store alone is enough"
    assert restored.started == []
