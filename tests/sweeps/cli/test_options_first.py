"""Options of a search are applied before anything weighs them against each other."""

import pytest

import sweeps
from capsmodel.search_range import Floats
from search_spaces import FrontTable, Search, Space, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART
from sweeps.records.errors import BadInput
from tests.sweeps.cli.shell import Shell

FILE = """\
from capsmodel.search_range import Choices, Floats
from search_spaces import Confirm, FrontTable, Search, SensitivityTable, Space, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SPACE = Space({{"optimiser.learning_rate": Floats(1e-4, 1e-2, log=True),
               "model.class_dim": Choices(8, 16)}})
SWEEP = Sweep(name="mine", base=QUICKSTART.base, {tables}
              plan=Search(space=SPACE, confirm=None, **{fields}))
"""
RATES = Space({"optimiser.learning_rate": Floats(1e-4, 1e-2, log=True)})
WEIGHED = {"trials": 6, "cost": "num_parameters", "scheduler": "asha"}
FRONT = "tables=(FrontTable(), SensitivityTable()),"


def write(shell: Shell, fields: dict[str, object], tables: str = "") -> None:
    (shell.folder / "mine.py").write_text(FILE.format(fields=fields, tables=tables))


@pytest.mark.parametrize(
    ("fields", "tables", "sentence", "options"),
    [
        (WEIGHED, "", "cannot have the scheduler", [["--scheduler=none"], ["--cost=none"]]),
        ({"trials": 6}, FRONT, "so there is no FrontTable", [["--cost=num_parameters"]]),
        ({"trials": 6, "sampler": "grid"}, "", "values that can be counted", [["--sampler=qmc"]]),
    ],
)
def test_a_file_whose_fields_do_not_go_together_is_mended_by_options_and_else_refused(
    shell: Shell, fields: dict[str, object], tables: str, sentence: str, options: list[list[str]]
) -> None:
    write(shell, fields, tables)
    for command in ("plan", "run"):
        assert sentence in shell.refused(command, "mine.py")
    assert sentence in shell("check", "mine.py").err
    for words in options:
        answer = shell("plan", "mine.py", *words)
        assert (answer.code, answer.err) == (0, "")


def test_fewer_trials_than_random_ones_and_a_sampler_that_does_not_learn_are_allowed(
    shell: Shell,
) -> None:
    for words in (["--trials=6"], ["--sampler=random"], ["--sampler=random", "--trials=6"]):
        answer = shell("plan", "capsule_search", *words)
        assert (answer.code, answer.err) == (0, ""), words


def test_options_that_do_not_go_together_are_refused_however_the_file_is(shell: Shell) -> None:
    write(shell, {"trials": 6})
    words = ["--cost=num_parameters", "--scheduler=asha"]
    assert "cannot have the scheduler" in shell.refused("run", "mine.py", *words)
    assert "Unknown cost 'size' of a search" in shell.refused("plan", "mine.py", "--cost=size")
    assert "only a search has cost" in shell.refused("plan", "quickstart", "--cost=num_parameters")
    answer = shell("plan", "mine.py", "--cost=num_parameters")
    assert "two objectives, validation_error and num_parameters" in answer.out


def test_python_refuses_it_before_anything_is_written(shell: Shell) -> None:
    plan = Search(space=RATES, confirm=None, trials=6, scheduler="asha", cost="num_parameters")  # pyright: ignore[reportArgumentType]
    sweep = Sweep(name="mine", base=QUICKSTART.base, plan=plan, tables=(FrontTable(),))
    for function in (sweeps.run, sweeps.plan):
        with pytest.raises(BadInput, match="cannot have the scheduler"):
            function(sweep)
    assert not list(shell.folder.iterdir())
    with pytest.raises(BadInput, match="nothing to weigh against the objective"):
        sweeps.plan(sweep, scheduler="none")
