"""Parts that cells of a notebook define are sent as the statements that they reach."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from search_spaces.neighbours import neighbours_in
from search_spaces.trial_key import trial_key
from sweeps.execution.plan.definition import Changes, declared_sweep, define
from sweeps.execution.worker.worker_process import training_config
from sweeps.records.errors import BadInput

IMPORTS = """
from typing import Literal
from capsmodel.functional import squash
from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART
import labhelp
"""
PART = """
class Mean(VectorRouting):
    kind: Literal["mean"] = "mean"

    def route(self, votes, *, generator):
        return squash(labhelp.FACTOR * SCALE * votes.mean(dim=1))
"""
SWEEP = """
SWEEP = Sweep(
    name="own",
    base=QUICKSTART.base,
    plan=ListedArms(baseline="mean", arms={"mean": {"model.routing": Mean()}}),
    seeds=(0,),
    parts=(Mean,),
)
"""


class Kernel:
    """A kernel's `__main__`, which keeps the cells that were run as IPython does."""

    def __init__(self) -> None:
        self.main = ModuleType("__main__")
        self.cells = [""]
        vars(self.main)["In"] = self.cells

    def run(self, *cells: str) -> Any:
        for cell in cells:
            self.cells.append(cell)
            exec(cell, vars(self.main))
        return vars(self.main)["SWEEP"]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    before = set(sys.modules)
    (tmp_path / "labhelp.py").write_text("FACTOR = 1.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    made = Kernel()
    monkeypatch.setitem(sys.modules, "__main__", made.main)
    yield made
    for name in set(sys.modules) - before:
        if name.startswith(("capsweep_sweep_", "labhelp")):
            del sys.modules[name]


def key(sweep: Any) -> str:
    declared_sweep(sweep)
    return trial_key(sweep.arms()[0].config, 0)


def test_the_statements_that_parts_reach_are_sent(kernel: Kernel) -> None:
    sweep = kernel.run(IMPORTS, "SCALE = 2.0; unused = 3", PART, "print('x')", SWEEP)
    definition = define(sweep, Changes(), ())
    spec = definition.spec(definition.manifest.cells[0])
    assert spec.source
    assert "class Mean" in spec.source
    assert "SCALE = 2.0" in spec.source
    assert not any(word in spec.source for word in ("unused", "print", "SWEEP", "ListedArms"))
    assert [*neighbours_in(spec.source).files] == ["labhelp.py"]
    assert [*spec.code] == ["labhelp"]
    config = training_config(spec.config, spec.source, spec.source_name)
    assert config.model_dump() == sweep.arms()[0].config.model_dump()


def test_the_cell_that_was_run_last_counts(kernel: Kernel) -> None:
    sweep = kernel.run(IMPORTS, "SCALE = 2.0", PART, SWEEP)
    first = key(sweep)
    assert key(kernel.run("SCALE = 2.0  # the same", PART, SWEEP)) == first
    assert key(kernel.run("SCALE = 3.0", SWEEP)) != first
    assert key(kernel.run("SCALE = 2.0", "y = 1", SWEEP)) == first
    assert key(kernel.run(PART.replace("mean(dim=1)", "sum(dim=1)"), SWEEP)) != first
    assert key(kernel.run(PART, "Mean.other = lambda self: 3", SWEEP)) != first


def test_a_class_that_was_defined_again_is_refused(kernel: Kernel) -> None:
    sweep = kernel.run(IMPORTS, "SCALE = 2.0", PART, SWEEP)
    kernel.run(PART)
    with pytest.raises(BadInput, match="Mean was defined again after the sweep that uses it"):
        declared_sweep(sweep)


def test_where_no_cell_is_known_the_parts_go_into_a_file(kernel: Kernel) -> None:
    sweep = kernel.run(IMPORTS, "SCALE = 2.0", PART, SWEEP)
    kernel.cells.clear()
    with pytest.raises(BadInput, match="put the sweep and its parts into one file"):
        declared_sweep(sweep)
