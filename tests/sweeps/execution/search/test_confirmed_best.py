"""The best of a search are confirmed by fresh seeds after all have ended."""

import shutil
from collections.abc import Callable

from tests.sweeps.execution.examples import epoch
from tests.sweeps.execution.search.examples import confirm
from tests.sweeps.execution.search.grown import is_growing
from tests.sweeps.execution.search.scores import falling, of, random, verdicts
from tests.sweeps.execution.search.simulated import Launch, World


def test_the_best_are_confirmed_after_all_have_ended_beside_the_base(
    run: Callable[..., Launch],
) -> None:
    definition = random(trials=5, scheduler="none", confirm=confirm(2, (101, 102)))
    launch = run(definition, of(0.5, 0.1, 0.3, 0.4, 0.2))
    confirmations = [(cell.arm, cell.seed) for cell in launch.manifest.cells if cell.seed > 100]
    chosen = ("proposal 1", "proposal 4", "base")
    assert confirmations == [(arm, seed) for arm in chosen for seed in (101, 102)]
    confirmed = {cell.trial_key for cell in launch.manifest.cells if cell.seed > 100}
    assert set(launch.started[6:]) == confirmed
    assert launch.plan.judge(launch.started[-1], epoch(2)) is False, "no scheduler stops them"


def test_a_best_that_turns_out_another_is_chosen_anew(
    world: World, run: Callable[..., Launch]
) -> None:
    definition = random(trials=3, scheduler="none", confirm=confirm(1))
    first = run(definition, of(0.5, 0.1, 0.3))
    assert confirmed_arms(first) == ["proposal 1", "base"]
    shutil.rmtree(world.cells / first.manifest.cells[2].trial_key)  # is lost, and trained anew
    second = run(definition, of(0.2, 0.4, 0.3))
    assert second.started[0] == first.manifest.cells[2].trial_key
    assert confirmed_arms(second) == ["proposal 2", "base"]


def confirmed_arms(launch: Launch) -> list[str]:
    """Return the best, and what they are held against."""
    assert launch.manifest.search
    chosen = launch.manifest.search.confirmation
    assert chosen
    assert chosen.arms is not None
    return [*chosen.arms, chosen.reference or ""]


def test_what_is_confirmed_is_no_rival_and_no_observation(run: Callable[..., Launch]) -> None:
    definition = random(trials=3, confirm=confirm(1))
    launch = run(definition, falling)
    assert len(launch.observations()) == 3
    longer = run(random(trials=4, confirm=confirm(1)), falling)
    assert verdicts(longer)[-1] == (3, False)
    assert longer.proposals()[:3] == launch.proposals()


def test_where_none_ran_to_full_length_none_is_confirmed(run: Callable[..., Launch]) -> None:
    launch = run(random(trials=3, confirm=confirm(1)), of(*[float("nan")] * 3))
    assert set(launch.states()) == {"diverged"}
    assert not any(cell.seed > 100 for cell in launch.manifest.cells), "nor the base for nothing"
    assert confirmed_arms(launch) == [""]
    assert not is_growing(launch.definition)
