"""`capsweep plan` of designs that choose: what choosing costs, before anything runs."""

from tests.sweeps.cli.shell import Shell

FILE = """
from search_spaces import Sweep, TunedArms
from search_spaces.quickstart import SWEEP as Q

SWEEP = Sweep(
    name="routing_tuned",
    base=Q.base,
    plan=TunedArms(
        arms={"dynamic": {}, "uniform": {"model.routing": "uniform"}},
        baseline="dynamic",
        nuisance={"optimiser.learning_rate": (0.001, 0.003, 0.01)},
    ),
    seeds=(0, 1, 2, 3, 4),
)
"""


def test_it_says_what_is_tuned_and_what_that_costs_every_arm(shell: Shell) -> None:
    (shell.folder / "tuned.py").write_text(FILE, encoding="utf-8")
    planned = shell("plan", "tuned.py")
    assert (planned.code, planned.err) == (0, "")
    output = " ".join(planned.out.split())
    assert (
        "2 arms, each tuned at the same 3 points x 2 tuning seeds = 12 trainings, then trained as "
        "chosen on 5 fresh seeds = 10 more: 22 in all, 11 an arm."
    ) in output
    assert "optimiser.learning_rate: 0.001, 0.003, 0.01" in output
    assert "dynamic (baseline) 0 6 0 5" in output
    assert "Up to 10 more will be proposed or chosen, and trained." in output


def test_seeds_that_choose_and_compare_are_refused_in_one_sentence(shell: Shell) -> None:
    (shell.folder / "tuned.py").write_text(FILE, encoding="utf-8")
    refused = shell("plan", "tuned.py", "--seeds", "100-102")
    assert refused.code == 2
    assert refused.err.count("\n") <= 1
    assert "The seed 101 is one of those that choose and of those that compare" in refused.err


def test_a_path_says_what_it_costs_in_all(shell: Shell) -> None:
    changes = {"one": {"model.routing.iterations": 1}, "batch": {"batch_size": 16}}
    text = f"""
from search_spaces import Path, Sweep
from search_spaces.quickstart import SWEEP as Q

SWEEP = Sweep(name="way", base=Q.base, plan=Path(changes={changes}), seeds=(0, 1, 2))
"""
    (shell.folder / "way.py").write_text(text, encoding="utf-8")
    planned = shell("plan", "way.py")
    assert (planned.code, planned.err) == (0, "")
    assert "way: 13 trainings at most, those on the seeds 101, 102 only to choose by" in planned.out
