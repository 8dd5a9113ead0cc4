"""`capsweep plan --effect`: from a pilot's records to seeds in the sweep's file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save
from scipy.optimize import brentq

import sweeps
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import (
    POWER,
    Requirement,
    VarianceParts,
    power_of_rule,
)
from sweeps.cli.commands.plan import EFFECTS_MISSED, ENOUGH_SEEDS, SHARE_MISSED
from sweeps.execution.launch import seed_plan
from sweeps.execution.launch.seed_plan import SeedPlan
from sweeps.execution.plan.definition import Changes, define
from sweeps.tracking.opening import open_store
from tests.sweeps.aggregation.known_sweep import IMAGES, finished, put_trial
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import publish_manifest

FILE = """from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SEEDS = [0, 1]
SWEEP = Sweep(
    name="mine",
    base=QUICKSTART.base,
    plan=ListedArms(
        baseline="three",
        arms={"three": {}, "one": {"model.routing.iterations": 1}},
    ),
    seeds=[0, 1],  # as many as there was time for
)
"""
PILOT = {"three": (20, 24, 21), "one": (26, 33, 31)}


@pytest.fixture
def file(shell: Shell) -> Path:
    path = shell.folder / "mine.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def pilot(storage: Path, file: Path) -> Path:
    """A store with three trained seeds of each arm, launched under another name."""
    put_pilot(storage, file, PILOT, name="mine-pilot")
    return file


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[SeedPlan]:
    """The plans that commands print, as each takes seconds."""
    made: list[SeedPlan] = []
    plan_seeds = seed_plan.plan_seeds

    def kept(*arguments: Any, **options: Any) -> SeedPlan:
        made.append(plan_seeds(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(seed_plan, "plan_seeds", kept)
    return made


def put_pilot(
    storage: Path,
    file: Path,
    wrong: Mapping[str, Sequence[int]],
    name: str | None = None,
    *,
    is_steady: bool = False,
) -> None:
    """Record trials of a sweep's file: arm -> for each seed how many images are wrong.

    They are others for each seed, or steadily the first and the last of some, arm by arm.
    """
    num_seeds = len(next(iter(wrong.values())))
    manifest = define(file, Changes(seeds=tuple(range(num_seeds)), name=name), ()).manifest
    store = open_store(None, str(storage))
    publish_manifest(store.writer(), manifest)
    chance = np.random.default_rng(0)
    labels = (np.arange(IMAGES) % 10).astype(np.uint8)
    for cell in manifest.cells:
        if cell.seed >= len(wrong[cell.arm]):
            continue
        number = wrong[cell.arm][cell.seed]
        steady = np.arange(60) if cell.arm == "three" else np.arange(60)[::-1]
        places = (steady if is_steady else chance.permutation(60))[:number]
        classes = labels.copy()
        classes[places] = (classes[places] + 1) % 10
        fields = {"trial_key": cell.trial_key, "sweep": manifest.sweep, "epochs": 1}
        record_id = put_trial(store, finished(cell.arm, cell.seed, number, **fields))
        path = file.with_name("predictions.safetensors")
        path.write_bytes(save({"predictions": classes, "labels": labels}))
        store.writer().upload(record_id, path)
        path.unlink()


def test_without_a_spread_it_says_which_command_gives_one(shell: Shell, file: Path) -> None:
    answer = shell("plan", "mine.py", "--effect", "0.5", "--epochs", "3")
    assert (answer.code, answer.err) == (0, "")
    assert "It is not known how far seeds and images move it" in answer.out
    assert "It takes 6 trainings; nothing like them was trained yet" in answer.out
    assert (
        answer.out.splitlines()[-1]
        == "Pilot: capsweep run mine.py --epochs 3 --seeds 0-2 --name mine-pilot"
    )
    assert "seeds=" not in answer.out


def test_a_pilot_gives_seeds_and_the_lines_that_declare_them(
    shell: Shell, pilot: Path, plans: list[SeedPlan]
) -> None:
    before = shell.files()
    answer = shell("plan", "mine.py", "--effect", "2")
    assert (answer.code, answer.err) == (0, "")
    (planned,) = plans
    assert planned.seeds is not None
    assert planned.needed is not None
    num = planned.needed.all_arms.planned
    assert planned.seeds == tuple(range(3, 3 + (num or 0))), "seeds that the pilot did not have"
    last = planned.seeds[-1]
    assert f"It takes {num} seeds with the 360 existing test images." in answer.out
    assert f"Planned are fresh seeds, 3-{last}: those that the number was" in answer.out
    assert f"It takes {2 * len(planned.seeds)} trainings, about " in answer.out
    assert f"Next: capsweep run mine.py --seeds 3-{last}\n" in answer.out
    assert shell.files() == before, "nothing is written"

    lines = ["margin_points=2.0,", f"seeds=list(range(3, {last + 1})),"]
    assert [line.strip() for line in answer.out.splitlines()[-2:]] == lines
    pilot.write_text(FILE.replace("    seeds=[0, 1],", "\n".join(lines)))
    after = shell("plan", "mine.py", "--effect", "2")
    assert f"The sweep's own seeds are enough: 3-{last}." in after.out
    assert "seeds=" not in after.out


def test_what_was_launched_by_this_name_takes_another_name_or_more_evidence(
    shell: Shell, storage: Path, file: Path, plans: list[SeedPlan]
) -> None:
    put_pilot(storage, file, PILOT)
    answer = shell("plan", "mine.py", "--effect", "2")
    (planned,) = plans
    assert planned.seeds is not None
    assert planned.needed is not None
    num_needed = planned.needed.with_pilot_seeds.planned or 0
    assert num_needed > len(planned.seeds)
    assert f"To keep the 3 that exist takes {num_needed} in all (--add-seeds 3-" in answer.out
    assert f" --seeds 3-{planned.seeds[-1]} --name mine-planned\n" in answer.out
    extended = sweeps.plan_seeds(file, 2.0, seeds=range(len(planned.seeds)))
    assert not extended.is_declared, "whoever adds to what was launched needs more"
    assert sweeps.plan_seeds(file, 2.0, seeds=range(num_needed)).is_declared


def test_an_arm_that_is_planned_by_its_own_seeds_is_named(
    shell: Shell, storage: Path, file: Path
) -> None:
    two = '"two": {"model.routing.iterations": 2}}'
    file.write_text(FILE.replace('iterations": 1}}', f'iterations": 1}}, {two}'))
    wrong = {"three": (30, 31, 29), "one": (28, 30, 29), "two": (5, 55, 30)}
    put_pilot(storage, file, wrong, is_steady=True)
    answer = shell("plan", "mine.py", "--effect", "5")
    assert answer.code == 0
    said = "(Cochran's test, p < 0.01), so it is planned by its own: two."
    assert said in answer.out


def test_where_the_images_cap_it_it_says_so(shell: Shell, storage: Path, file: Path) -> None:
    put_pilot(storage, file, {"three": (30, 31, 29), "one": (29, 30, 32)}, is_steady=True)
    answer = shell("plan", "mine.py", "--effect", "0.5")
    assert answer.code == 0
    assert "No number of seeds suffices: with the 360 existing test images" in answer.out
    assert "It takes about " in answer.out
    assert "seeds=" not in answer.out


@pytest.mark.parametrize(
    ("seeds", "missed"),
    [
        ("1", "With 1 seed no difference can be bold: that takes 3. Plan 5 seeds "),
        ("0-1", "With 2 seeds no difference can be bold: that takes 3. Plan 5 seeds "),
        ("0-2", "With 3 seeds about half of the differences that 5 show in bold stay undecided "),
        ("0-3", "With 4 seeds about a fifth of the differences that 5 show in bold stay undecided"),
        ("0-4", ""),
    ],
)
def test_a_plan_says_what_fewer_than_five_seeds_miss(
    shell: Shell, file: Path, seeds: str, missed: str
) -> None:
    answer = shell("plan", "mine.py", "--seeds", seeds)
    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert missed in said
    assert ("seeds added after looking" in said) == bool(missed)


def test_a_search_is_judged_by_the_seeds_of_its_confirmation(shell: Shell) -> None:
    assert shell("new", "finder", "--search").code == 0
    assert "stay undecided" not in shell("plan", "finder.py").out
    path = shell.folder / "finder.py"
    path.write_text(path.read_text().replace("103, 104, 105)", "103)"))
    assert "With 3 confirmation seeds about half of the " in shell("plan", "finder.py").out


ONLY_SEEDS, ONLY_PAIRS = VarianceParts(1.0, 0.0, 0.0), VarianceParts(0.0, 0.0, float(IMAGES))


def missed(requirement: Requirement, parts: VarianceParts, num_seeds: int) -> float:
    """Return the share of what five seeds find that fewer do not."""

    def excess(effect: float, num_seeds: int = ENOUGH_SEEDS) -> float:
        return power_of_rule(parts, num_seeds, IMAGES, effect, requirement=requirement) - POWER

    effect: Any = brentq(excess, 0, 100)
    return -excess(effect, num_seeds) / POWER


@pytest.mark.parametrize("num_effects", [3, 6, 10])
def test_more_effects_are_missed_as_they_do_not_share_their_spread(num_effects: int) -> None:
    asked = Requirement(SIGNIFICANCE / num_effects, num_contrasts=1)
    shares = {num: missed(asked, ONLY_SEEDS, num) for num in EFFECTS_MISSED}
    assert shares[3] > 0.5, "most of the effects"
    assert shares[4] > 0.14, "a fifth or more"


@pytest.mark.parametrize("num_compared", [1, 4, 11])
@pytest.mark.parametrize("parts", [ONLY_SEEDS, ONLY_PAIRS], ids=["seeds", "pairs"])
def test_as_many_differences_are_missed_as_is_said(num_compared: int, parts: VarianceParts) -> None:
    asked = Requirement(SIGNIFICANCE / num_compared, num_sharing=num_compared)
    shares = {"about half of the differences": 0.5, "about a fifth of the differences": 0.2}
    tolerance = 0.13 if parts is ONLY_SEEDS else 0.2
    for num_seeds, text in SHARE_MISSED.items():
        assert missed(asked, parts, num_seeds) == pytest.approx(shares[text], abs=tolerance)


def test_seeds_of_a_sweep_over_splits_are_not_planned(shell: Shell, file: Path) -> None:
    file.write_text(FILE.replace("    seeds=[0, 1],", "    split_seeds=[0, 1],\n    seeds=[0, 1],"))
    refused = shell.refused("plan", "mine.py", "--effect", "1")
    assert "'mine' runs over splits, and how far these spread is not planned for" in refused


def test_numbers_are_for_arms_that_err_more_and_less_or_less_alone(
    shell: Shell, storage: Path, file: Path, plans: list[SeedPlan]
) -> None:
    put_pilot(storage, file, {"three": (20, 30, 24), "one": (24, 16, 34)})
    both = shell("plan", "mine.py", "--effect", "2").out
    less = shell("plan", "mine.py", "--effect", "-2").out
    of_both, of_less = plans
    assert of_both.if_more is not None
    assert of_both.if_less == of_less.if_less == of_less.needed
    assert of_both.needed is of_both.if_more
    assert of_less.seeds is not None
    assert "differs by 2 points of test error, if it errs more or less:" in both
    assert "differs by 2 points of test error, if it errs less:" in less
    assert "seeds if it errs more" in both
    assert "seeds if it errs more" not in less
    said = f"To find only arms that err less takes {len(of_less.seeds)} seeds: --effect -2 plans"
    assert said in both
    assert "margin_points=2.0," in less


def test_no_arm_errs_less_by_more_than_the_whole_error_of_the_baseline(
    shell: Shell, pilot: Path
) -> None:
    assert pilot.exists()
    both = shell("plan", "mine.py", "--effect", "9").out
    assert "No arm can err 9 points less: 'three' errs on 6.02 % of the test images." in both
    assert "seeds if it errs less" not in both
    refused = shell.refused("plan", "mine.py", "--effect", "-9")
    assert "No arm can err 9 points less than 'three', which errs on 6.02 %" in refused
    assert refused.rstrip().endswith("give a smaller difference, such as -3.")


def test_an_arm_without_a_number_says_why(shell: Shell, storage: Path, file: Path) -> None:
    more = '"two": {"model.routing.iterations": 2}, "four": {"model.routing.iterations": 4}}'
    file.write_text(FILE.replace('iterations": 1}}', f'iterations": 1}}, {more}'))
    wrong = {"three": (20, 24, 21), "one": (26, 33, 31), "two": (59, 60, 60), "four": (20, 22)}
    put_pilot(storage, file, wrong)
    said = " ".join(shell("plan", "mine.py", "--effect", "-2").out.split())
    assert "two no number the images limit it: " in said
    assert "No number of seeds suffices for two: with the 360 existing test images" in said
    assert "The other arms take 9 seeds." in said
    assert "four - taken to be as the others: there are fewer than three seeds" in said
