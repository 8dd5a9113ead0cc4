"""Options of `capsweep submit --to slurm` that are sbatch's, or another command's."""

import pytest

from tests.sweeps.cli.shell import Shell

SUBMIT = ("submit", "quickstart", "--to", "slurm")
OF_SBATCH = "ive an option of sbatch after --, as in -- "
OPTIONS = {
    "GPUs": ("--gpus 1", f"--gpus. Did you mean --gpus-per-node? G{OF_SBATCH}--gpus=1."),
    "short": ("-p gpu", f"-p. Did you mean --partition? G{OF_SBATCH}-p gpu."),
    "spelling": (
        "--partion=gpu",
        f"--partion. Did you mean --partition? G{OF_SBATCH}--partion=gpu.",
    ),
    "value": ("--account lab", f"--account: g{OF_SBATCH}--account=lab."),
    "equals": ("--account=lab", f"--account: g{OF_SBATCH}--account=lab."),
    "none": ("--exclusive --yes", f"--exclusive: g{OF_SBATCH}--exclusive."),
}


@pytest.mark.parametrize(("words", "sentence"), OPTIONS.values(), ids=OPTIONS)
def test_an_option_of_sbatch_is_given_behind_or_by_ours(
    shell: Shell, words: str, sentence: str
) -> None:
    assert shell.refused(*SUBMIT, *words.split()) == f"capsweep has no option {sentence}"


def test_an_option_in_front_of_the_sweep_has_no_value_that_is_known(shell: Shell) -> None:
    refused = shell.refused("submit", "--exclusive", "quickstart", "--to=slurm")
    assert refused.endswith(" as in -- --exclusive.")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("quickstart --to slurm", "quickstart --to slurm --time 2h"),
        ("quickstart --to=slurm --seeds 0 --time 4h", "quickstart --to=slurm --seeds 0 --time 4h"),
        ("mine.py --nodes 2", "mine.py --nodes 2 --to slurm --time 2h"),
        ("mine.py --on m.txt", "mine.py --on m.txt"),
    ],
)
def test_to_run_elsewhere_is_to_submit(shell: Shell, words: str, command: str) -> None:
    assert shell.refused("run", *words.split()) == (
        f"run trains on this machine. To submit the sweep: capsweep submit {command}."
    )


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("--time=30", "given by --time before --"),
        ("--time", "given by --time before --"),
        ("-t30", "given by --time before --"),
        ("--nodes=4", "given by --nodes before --"),
        ("-N4", "given by --nodes before --"),
        ("-c2", "given by --cpus-per-node before --"),
        ("--partition=debug", "given by --partition before --"),
        ("--output=mine.txt", "set by capsweep, as status and --follow read what a job prints"),
    ],
)
def test_sbatch_is_not_given_what_is_given_before(shell: Shell, word: str, why: str) -> None:
    assert shell.refused(*SUBMIT, "--time=2h", "--", word) == (
        f"What {word} asks for is {why}: leave it out after --."
    )


def test_a_time_without_a_unit_is_in_minutes(shell: Shell) -> None:
    refused = shell.refused(*SUBMIT, "--time=2")
    assert refused.startswith("--time takes at least 5 minutes, got 2 minutes: a job starts Ray")
