"""`capsweep confirm`: writes a sweep of another's winner and its baseline, on seeds of its own."""

from pathlib import Path

import pytest

from capsmodel.overrides import with_settings
from capsmodel.stopping import TargetMetric
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.sweep_file import sweep_from_file
from sweeps.aggregation.best_configs import best_configs
from sweeps.execution.plan.definition import Changes, define
from sweeps.tracking.opening import open_store
from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN, FINISHED_SEARCH, Store
from tests.sweeps.aggregation.known_sweep import finished, put_trial
from tests.sweeps.cli.shell import Shell
from tests.sweeps.cli.test_ablate_command import WINNER, launched
from tests.sweeps.execution.launch.writing.ruff import assert_nothing_to_do
from tests.sweeps.published import publish_manifest

RATE = "optimiser.learning_rate"
FILE = '''\
"""Which rate is best?"""

from capsmodel import TrainingConfig
from capsmodel.stopping import TargetMetric
from search_spaces import ListedArms, Sweep

SWEEP = Sweep(
    name="mine",
    base=TrainingConfig(data="mnist", stopping=TargetMetric(max_epochs=5)),
    plan=ListedArms(
        arms={"slow": {}, "it's \\\\ fast": {"optimiser.learning_rate": 0.005}}, baseline="slow"
    ),
    seeds=(0, 101),
    split_seeds=(3, 4),
    margin_points=0.5,
)
'''
FAST = "it's \\ fast"


def trained(shell: Shell, wrong: dict[str, int]) -> None:
    """Put the sweep of the file into a store; given are the images that an arm has wrong."""
    (shell.folder / "mine.py").write_text(FILE)
    definition = define(Path("mine.py"), Changes(), ())
    store = open_store(None, str(shell.folder / STORAGE))
    publish_manifest(store.writer(), definition.manifest)
    for cell in definition.manifest.cells:
        if cell.arm in wrong:
            fields = {"trial_key": cell.trial_key, "sweep": "mine", "epochs": 1}
            error = wrong[cell.arm] / 600
            put_trial(store, finished(cell.arm, cell.seed, 9, validation_error=error, **fields))


def written(shell: Shell, name: str) -> tuple[Sweep, str]:
    sweep, text = sweep_from_file(shell.folder / name)
    assert isinstance(sweep.plan, ListedArms)
    return sweep, text


def test_the_best_by_validation_is_trained_longer_beside_the_baseline(shell: Shell) -> None:
    trained(shell, {"slow": 30, FAST: 20})
    answer = shell("confirm", "mine.py", "--epochs", "40", "--seeds", "3", "--storage", STORAGE)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        f"The sweep is in mine_confirm.py. {FAST} is the best of 2 arms by mean validation error, "
        f"over 2 seeds.\n"
    )
    assert "6 are new and will be trained." in answer.out
    assert answer.out.splitlines()[-1].endswith(f" run mine_confirm.py --storage {STORAGE}")

    sweep, text = written(shell, "mine_confirm.py")
    assert sweep.base.stopping == TargetMetric(max_epochs=40), "the length is called otherwise"
    assert [(arm.name, arm.changes) for arm in sweep.arms()] == [
        ("slow", {}),
        (FAST, {RATE: 0.005}),
    ]
    assert sweep.plan.baseline_name(sweep) == "slow"
    assert sweep.seeds == (201, 202, 203), "101 has chosen"
    assert (sweep.split_seeds, sweep.margin_points) == ((3, 4), 0.5)
    assert text.startswith(
        '"""How good is its  fast of mine, beside slow, on fresh seeds, for at most 40 epochs?\n'
    )
    (shell.folder / "formatted").mkdir()
    assert_nothing_to_do(shell.folder / "formatted", {"written": text})

    by_name = shell("confirm", "mine", "--epochs", "40", "--seeds", "3", "--out", "again.py")
    assert by_name.code == 0
    assert (shell.folder / "again.py").read_text() == text


def test_a_winner_that_is_the_baseline_stands_alone(shell: Shell) -> None:
    trained(shell, {"slow": 10, FAST: 20})
    assert shell("confirm", "mine").code == 0
    sweep, text = written(shell, "mine_confirm.py")
    assert [arm.name for arm in sweep.arms()] == ["slow"]
    assert (sweep.base.stopping, sweep.seeds) == (
        TargetMetric(max_epochs=5),
        (201, 202, 203, 204, 205),
    )
    assert "beside" not in text
    other = shell("confirm", "mine", "--arm", FAST, "--name", "other")
    assert "is number 2 of 2 arms by mean validation error" in other.out
    assert len(written(shell, "other.py")[0].arms()) == 2


def test_a_sweep_that_has_not_ended_says_that_another_arm_may_win(shell: Shell) -> None:
    trained(shell, {FAST: 20})
    answer = shell("confirm", "mine")
    assert "2 trainings of that sweep have not ended, so another arm may become its" in answer.out


@pytest.mark.parametrize("kept", [FINISHED_DESIGN, FINISHED_SEARCH], ids=lambda kept: kept.sweep)
def test_parts_of_the_users_own_come_along_in_their_version(shell: Shell, kept: Store) -> None:
    kept.unpacked(shell.folder)
    answer = shell("confirm", f"{kept.sweep}.py", "--seeds", "2")
    assert (answer.code, answer.err) == (0, "")
    sweep, _ = written(shell, f"{kept.sweep}_confirm.py")
    origin, _ = sweep_from_file(shell.folder / f"{kept.sweep}.py")
    (best, *_) = best_configs(kept.sweep, storage=STORAGE)
    config = sweep.arms()[-1].config
    assert config.model_dump(mode="json") == best.config
    store = open_store(None, STORAGE)
    assert not {*sweep.seeds} & {cell.seed for cell in store.manifest(kept.sweep).cells}
    assert {part.__name__ for part in sweep.parts} <= {part.__name__ for part in origin.parts}
    refusal = shell.refused("confirm", kept.sweep, "--out", "x.py")
    assert "has parts of a file's own: give the file of the sweep" in refusal

    file = shell.folder / f"{kept.sweep}.py"
    file.write_text(file.read_text().replace("MarginLoss().loss(l", "2 * MarginLoss().loss(l"))
    refusal = shell.refused("confirm", file.name, "--out", "x.py")
    assert "the code of a part have changed since" in refusal


def test_a_search_of_the_package_by_its_name(shell: Shell, empty_database: Path) -> None:
    definition = launched(shell, empty_database)
    answer = shell("confirm", "capsule_search", "--epochs", "40", "--arm", "proposal 1")
    assert (answer.code, answer.err) == (0, "")
    sweep, text = written(shell, "capsule_search_confirm.py")
    assert "CAPSULE_SEARCH.base" in text
    assert not {*sweep.seeds} & {cell.seed for cell in definition.manifest.cells}
    arms = {arm.name: arm.config for arm in sweep.arms()}
    length = {"stopping.epochs": 40}
    assert arms["base"] == with_settings(definition.sweep.base, length)
    assert arms["proposal 1"].optimiser.model_dump()["learning_rate"] == WINNER[RATE]
    assert arms["proposal 1"].stopping.num_epochs == 40


def test_what_cannot_be_is_refused(shell: Shell) -> None:
    trained(shell, {})
    assert "No arm of 'mine' has finished yet" in shell.refused("confirm", "mine")
    trained(shell, {"slow": 30, FAST: 20})
    refusals = {
        ("--arm", "slo"): "Did you mean 'slow'?",
        ("--seeds", "0-4"): "--seeds of confirm takes how many fresh seeds there are to be",
        ("--seeds", "0"): "seeds must be an integer from 1 to 1000, got 0.",
        ("--seeds", "9" * 5000): "--seeds of confirm takes how many fresh seeds",
        ("--epochs", "0"): "epochs must be an integer from 1 to 100000, got 0.",
        ("--name", "A b"): "name must be a text",
        ("--out", "x.txt"): "--out is to be the path of a Python file",
    }
    for arguments, sentence in refusals.items():
        assert sentence in shell.refused("confirm", "mine", *arguments), arguments
