"""Seeds until it is decided, while it runs: looks, kills, arms that are added, refusals."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from search_spaces import ListedArms, Sweep, UntilDecided
from search_spaces.looks import Look, Looked, LookVerdict
from search_spaces.plans.decisions import Propose
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.plan.preregistration import check_looks_kept, keeps_looks
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import expect_valid
from tests.sweeps.execution.search.simulated import Launch, World

RATE = "optimiser.learning_rate"
ARMS: Mapping[str, dict[str, Any]] = {
    "base": {},
    "fast": {RATE: 0.03},
    "slow": {RATE: 0.0001},
    "uniform": {"model.routing": "uniform"},
}
LOOKS = UntilDecided(first=3, most=6, looks=(3, 4, 6))
DECIDED_AT: Mapping[str, tuple[int, LookVerdict]] = {
    "fast": (3, "different"),
    "uniform": (4, "equivalent"),
    "added": (4, "different"),
}


@pytest.fixture(autouse=True)
def _models_are_taken_for_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", lambda config: 7)


def until_decided(
    seeds: UntilDecided | tuple[int, ...] = LOOKS, **arms: dict[str, Any]
) -> SweepDefinition:
    plan = ListedArms(baseline="base", arms={**ARMS, **arms})
    sweep = Sweep(name="example", base=small_config(), plan=plan, seeds=seeds)
    return define(sweep, Changes(), ())


def score(spec: TrialSpec, epoch: int) -> float:
    return 0.1 + spec.seed / 1e5 + 0.01 / epoch


def look(asked: Look, manifest: Manifest) -> Looked:
    """Return verdicts that are known beforehand."""
    verdicts: dict[str, LookVerdict] = {}
    for arm in asked.arms:
        number, verdict = DECIDED_AT.get(arm, (99, "undecided"))
        verdicts[arm] = verdict if asked.num_seeds >= number else "undecided"
    return Looked(
        asked.num_seeds,
        verdicts,
        is_last=asked.num_seeds == 6,
        num_compared=len(manifest.arms) - 1,
    )


def seeds_of(manifest: Manifest) -> dict[str, int]:
    """Return how many cells each arm has."""
    counts = dict.fromkeys([arm.name for arm in manifest.arms], 0)
    for cell in manifest.cells:
        counts[cell.arm] += 1
    return counts


def looks_in(world: World, definition: SweepDefinition) -> list[Looked]:
    return [entry for entry in world.decisions(definition) if isinstance(entry, Looked)]


def test_decided_arms_get_no_more_seeds_and_the_baseline_goes_on(tmp_path: Path) -> None:
    world, definition = World(tmp_path / "world"), until_decided()
    assert seeds_of(definition.manifest) == {"base": 3, "fast": 3, "slow": 3, "uniform": 3}
    assert definition.manifest.num_expected == 4 * 6
    launch = Launch(world, definition, score, look=look).run()
    assert seeds_of(launch.manifest) == {"base": 6, "fast": 3, "slow": 6, "uniform": 4}
    assert not launch.manifest.is_growing
    assert launch.manifest.num_expected == len(launch.manifest.cells) == 19
    expect_valid(launch.manifest)
    kinds = [type(decision) for decision in world.decisions(definition)]
    assert kinds == [Looked, Propose, Looked, Propose, Looked]
    again = Launch(world, definition, score)
    assert again.run().started == [], "nothing is looked at twice"


# `every` is 1 in the nightly run alone, as copying a world takes most of the time
@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.nightly)])
def test_killed_at_any_event_of_three_looks_it_comes_to_the_same(
    tmp_path: Path, every: int
) -> None:
    definition = until_decided()
    world, copies = World(tmp_path / "unbroken"), list[World]()
    steps = count()

    def snapshot() -> None:
        if next(steps) % every == 0:
            copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    unbroken = Launch(world, definition, score, step=snapshot, look=look).run()
    assert len(copies) > 60 / every
    for number, copy in enumerate(copies):
        resumed = copy if number % 2 else World(copy.root, has_store=False)
        known = [looked.num_seeds for looked in looks_in(resumed, definition)]

        def look_once(asked: Look, manifest: Manifest, known: list[int] = known) -> Looked:
            assert asked.num_seeds not in known, "it is in the log"
            known.append(asked.num_seeds)
            return look(asked, manifest)

        launch = Launch(resumed, definition, score, look=look_once).run()
        assert launch.manifest == unbroken.manifest
        assert world.decisions(definition) == resumed.decisions(definition)
        assert set(resumed.epochs_trained().values()) == {1}


def test_an_arm_added_between_looks_starts_at_the_first(tmp_path: Path) -> None:
    world, definition = World(tmp_path / "world"), until_decided()

    class StoppedError(Exception):
        """The launch ends here."""

    def first_look_alone(asked: Look, manifest: Manifest) -> Looked:
        if asked.num_seeds > 3:
            raise StoppedError
        return look(asked, manifest)

    with pytest.raises(StoppedError):
        Launch(world, definition, score, look=first_look_alone).run()
    more = until_decided(added={RATE: 0.02})
    assert more.decided_by == definition.decided_by
    check_looks_kept(definition.manifest, more.manifest)
    launch = Launch(world, more, score, look=look).run()
    assert seeds_of(launch.manifest) == {"base": 6, "fast": 3, "slow": 6, "uniform": 4, "added": 4}
    seen = [(looked.num_seeds, *looked.verdicts) for looked in looks_in(world, more)]
    assert seen[:3] == [(3, "fast", "slow", "uniform"), (3, "added"), (4, "slow", "uniform")]
    expect_valid(launch.manifest)


def test_an_arm_added_at_the_end_is_looked_at_alone(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    Launch(world, until_decided(), score, look=look).run()
    more = until_decided(added={RATE: 0.02})
    launch = Launch(world, more, score, look=look).run()
    assert seeds_of(launch.manifest)["added"] == 4
    assert set(seeds_of(launch.manifest).values()) == {3, 4, 6}
    assert not launch.manifest.is_growing


def test_an_arm_of_which_a_trial_failed_waits_for_the_next_launch(tmp_path: Path) -> None:
    def failing(spec: TrialSpec, epoch: int) -> float:
        if (spec.arm, spec.seed) == ("slow", 1):
            raise ValueError("no memory")
        return score(spec, epoch)

    world, definition = World(tmp_path / "world"), until_decided()
    first = Launch(world, definition, failing, look=look).run().manifest
    assert seeds_of(first) == {"base": 4, "fast": 3, "slow": 3, "uniform": 4}
    assert first.is_growing
    second = Launch(world, definition, score, look=look).run().manifest
    assert seeds_of(second) == {"base": 6, "fast": 3, "slow": 6, "uniform": 4}
    last = [(looked.num_seeds, *looked.verdicts) for looked in looks_in(world, definition)]
    assert last[-3:] == [(3, "slow"), (4, "slow"), (6, "slow")]


def test_where_an_arm_was_changed_or_taken_out_all_looks_start_over(tmp_path: Path) -> None:
    launch = Launch(World(tmp_path / "world"), until_decided(), score, look=look).run()
    changed = until_decided(fast={RATE: 0.02})
    assert not keeps_looks(changed, launch.manifest)
    with pytest.raises(BadInput, match=r"other settings: optimiser\.learning_rate"):
        check_dropped_cells(launch.manifest, changed.manifest)
    assert not keeps_looks(until_decided(), _with_arm(launch.manifest, "gone"))
    assert keeps_looks(until_decided(), launch.manifest)
    assert keeps_looks(until_decided(added={RATE: 0.02}), launch.manifest)


def _with_arm(manifest: Manifest, name: str) -> Manifest:
    """Return a manifest with a cell of one more arm."""
    cell = manifest.cells[0].model_copy(update={"arm": name})
    return manifest.model_copy(update={"cells": (*manifest.cells, cell)})


def test_another_margin_is_another_plan() -> None:
    margins = (None, 0.5, 1.0)
    plans = {
        until_decided(UntilDecided(most=6, looks=(3, 4, 6), margin_points=margin)).decided_by
        for margin in margins
    }
    assert len(plans) == len(margins)


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (UntilDecided(first=3, most=9), "looks at 3, 5, 9 seeds"),
        (UntilDecided(first=3, most=6, looks=(3, 5, 6)), "looks at 3, 5, 6 seeds"),
        ((0, 1, 2, 3, 4, 5), "a list of seeds"),
    ],
    ids=["another most", "other looks", "a list"],
)
def test_after_a_look_other_looks_are_another_sweep(
    tmp_path: Path, seeds: UntilDecided | tuple[int, ...], said: str
) -> None:
    launch = Launch(World(tmp_path / "world"), until_decided(), score, look=look).run()
    other = until_decided(seeds)
    with pytest.raises(BadInput, match=f"looks at 3, 4, 6 seeds and is given {said}.*--name NEW"):
        check_looks_kept(launch.manifest, other.manifest)


def test_before_the_first_look_another_most_may_be_set() -> None:
    first, other = until_decided(), until_decided(UntilDecided(first=3, most=9))
    check_looks_kept(first.manifest, other.manifest)
    check_dropped_cells(first.manifest, other.manifest)


def test_a_list_of_seeds_does_not_become_a_plan_of_looks() -> None:
    with pytest.raises(BadInput, match="launched with a list of seeds and is given looks at"):
        check_looks_kept(until_decided((0, 1, 2)).manifest, until_decided().manifest)


def test_no_seeds_are_added_by_hand_but_a_list_may_replace_the_looks() -> None:
    with pytest.raises(BadInput, match=r"until its verdicts are decided, 6 at most.*--add-seeds"):
        define(until_decided().sweep, Changes(add_seeds=(7,)), ())
    listed = define(until_decided().sweep, Changes(seeds=(0, 1, 2)), ())
    assert listed.decided_by is None
    assert listed.manifest.departures["seeds"] == ([0, 1, 2, 3, 4, 5], [0, 1, 2])
