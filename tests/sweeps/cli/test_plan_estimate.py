"""`capsweep plan` has an estimate where the same networks were trained at all, and says whence."""

import json

import pytest

from tests.golden.stores.questions import FINISHED_DESIGN
from tests.sweeps.cli.shell import Shell

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
