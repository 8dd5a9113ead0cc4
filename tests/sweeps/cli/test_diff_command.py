"""Two trials, or two sweeps, are held against each other; what cannot be is refused."""

import json
from pathlib import Path

import pytest

from tests.golden.stores.archive import unpack
from tests.sweeps.cli.shell import Shell

STORES = Path(__file__).parents[2] / "golden" / "stores"


@pytest.fixture
def design(shell: Shell) -> list[str]:
    """The keys of one arm's trials, of a finished design in the folder of the shell."""
    unpack(STORES / "finished_design.tar.xz", shell.folder)
    answer = json.loads(shell("status", "small_design", "--json").out)
    cells = [each["cell"] for each in answer["cells"]]
    return [cell["trial_key"] for cell in cells if cell["arm"] == cells[0]["arm"]]


def test_two_trials_are_told_by_the_settings_that_differ_and_their_results(
    shell: Shell, design: list[str]
) -> None:
    answer = shell("diff", design[0][:8], design[1])
    assert (answer.code, answer.err) == (0, "")
    assert design[0][:8] in answer.out
    (seed,) = [line.split() for line in answer.out.splitlines() if " seed " in line]
    assert seed == ["setting", "seed", "0", "1"]
    assert "validation_error" in answer.out
    assert "batch_size" not in answer.out


def test_what_cannot_be_held_against_each_other_is_refused(shell: Shell, design: list[str]) -> None:
    key = design[0]
    refusals = {
        ("small_design", "smal_design"): "Did you mean 'small_design'?",
        (key, "ffff"): "There is no trial 'ffff'",
        (key, "small_design"): f"'small_design' is a sweep and '{key}' a trial",
        (key, key[:8]): "compared with itself",
        (key,): "Missing argument 'B'",
        (key, design[1], key): "unexpected extra argument",
        (key, design[1], "--tracking-uri", "x"): "is not a tracking store",
    }
    for arguments, message in refusals.items():
        assert message in shell.refused("diff", *arguments)
