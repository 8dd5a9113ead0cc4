"""`capsweep plan` has an estimate where the same networks were trained at all, and says whence."""

import json
from pathlib import Path

import pytest

from sweeps.execution.engine.capacity import Capacity
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.survey import survey_of
from sweeps.storage.folder import Folder
from tests.golden.stores.questions import FINISHED_DESIGN
from tests.sweeps.cli.shell import Shell

GPU = Capacity(gpus_per_trial=1.0, num_concurrent=1)
FILE = """\
from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from search_spaces import ListedArms, Sweep

SMALL = CapsNet(conv_channels=4, conv_kernel=3, primary_types=2, primary_kernel=3, class_dim=4)
SWEEP = Sweep(
    name="mine",
    base=TrainingConfig(model=SMALL),
    plan=ListedArms(arms={"only": {}}, baseline="only"),
    seeds=(0,),
)
"""
PLAN = ("plan", "small_design.py", "--set", "batch_size=512", "--name", "longer")


@pytest.fixture
def design(shell: Shell) -> Shell:
    FINISHED_DESIGN.unpacked(shell.folder)
    return shell


def test_the_same_networks_for_another_number_of_epochs_give_hours(design: Shell) -> None:
    """The kept store has 8 trials of 3 epochs, of which one diverged at once."""
    answers = [json.loads(design(*PLAN, "--epochs", n, "--json").out) for n in ("10", "20")]
    once, twice = (answer["estimate_seconds"] for answer in answers)
    assert once > 0
    assert twice == pytest.approx(2 * once)
    assert answers[0]["estimate_source"].startswith("from 8 trials of 1 to 3 epochs")
    said = design(*PLAN, "--epochs", "10").out
    assert ", from 8 trials of 1 to 3 epochs" in said
    other = design("plan", "small_design.py", "--set", "batch_size=100", "--name", "other")
    assert "Estimate: no estimate, as nothing like it was trained yet." in other.out


@pytest.mark.usefixtures("forked_check")
def test_a_check_gives_a_rough_guess_for_trials_on_the_same_processor(
    shell: Shell, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    place = "sweeps.execution.survey.checked_speeds.user_cache"
    monkeypatch.setattr(place, lambda: Folder(cache, "capsweep"))
    (shell.folder / "mine.py").write_text(FILE)
    words = ("plan", "mine.py", "--gpus-per-trial", "0", "--json")
    assert json.loads(shell(*words).out)["estimate_seconds"] is None
    assert shell("check", "mine.py").code == 0
    answers = [json.loads(shell(*words, "--epochs", number).out) for number in ("4", "8")]
    once, twice = (answer["estimate_seconds"] for answer in answers)
    assert once > 0
    assert twice == pytest.approx(2 * once)
    source = "from a few steps of check on this machine's CPU, a rough guess"
    assert {answer["estimate_source"] for answer in answers} == {source}
    other = json.loads(shell(*words, "--set", "model.class_dim=5").out)
    assert other["estimate_seconds"] is None, "another network"
    elsewhere = survey_of(Path("mine.py"), LaunchOptions(), GPU, reads_all_sweeps=True)
    assert elsewhere.estimate_seconds is None, "a GPU is another device"

    for file in cache.rglob("*"):
        if file.is_file():
            file.write_text("{")
    assert json.loads(shell(*words).out)["estimate_seconds"] is None, "a damaged cache is none"
