"""Paths to a winner: files that a person would have written, from its changes one by one."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces.catalogue import module_of, named_sweep
from search_spaces.codegen.changes import changes_between, custom_parts_in, merged, named_changes
from search_spaces.codegen.path_sweep import PathSweep
from search_spaces.codegen.sweep_text import custom_code_of
from search_spaces.plans.search import Search
from search_spaces.sweep_file import module_from_text
from search_spaces.trial_key import trial_key

SEARCH = named_sweep("capsule_search")
ROUTING, RATE = "model.routing", "optimiser.learning_rate"
WINNER = {RATE: 0.0056299, "model.primary_types": 16, f"{ROUTING}.iterations": 4}
FILE = '''\
"""A search with a part of its own."""

from __future__ import annotations

import math
from typing import Literal

from capsmodel.losses import Loss, MarginLoss
from search_spaces import Confirm, Search, Space, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

# of the papers,
# by which all is divided
SCALE = 2.0
UNUSED = 3


@staticmethod
def unused() -> int:
    return UNUSED


def scaled(value: float) -> float:
    return value / SCALE  # never 0


class Mine(Loss):
    """A loss."""

    kind: Literal["mine"] = "mine"
    depth: int = 2

    def loss(self, lengths, labels, progress):
        return scaled(math.pi) * MarginLoss().loss(lengths, labels, progress)


SPACE = Space.of(QUICKSTART.base.optimiser, at="optimiser")
SWEEP = Sweep(
    name="own",
    parts=[Mine],
    base=QUICKSTART.base,
    plan=Search(space=SPACE.only("optimiser.learning_rate"), trials=9),
)
'''


def of(changes: Any = WINNER, **asked: Any) -> PathSweep:
    base = SEARCH.base
    known: dict[str, Any] = {
        "search": "capsule_search",
        "arm": "proposal 38",
        "role": "the first choice of the search, of 40 proposals",
        "base": base,
        "target": with_settings(base, changes),
        "module": module_of("capsule_search"),
        "declared_base": base,
        "search_seeds": (0,),
        "confirmation_seeds": (101, 102, 103, 104, 105),
    }
    return PathSweep(**(known | asked))


def of_custom(**asked: Any) -> PathSweep:
    part = module_from_text(FILE).Mine
    base = module_from_text(FILE).SWEEP.base
    target = with_settings(base, {"loss": part(depth=3), RATE: 0.01, "batch_size": 9}, (part,))
    custom_code = custom_code_of(FILE, custom_parts_in(base, target))
    fields = {
        "base": base,
        "target": target,
        "module": "",
        "declared_base": None,
        "custom_code": custom_code,
    }
    return of(**fields | asked)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_changes_of_any_proposal_give_it_alone_and_are_made_from_its_base(data: Any) -> None:
    assert isinstance(SEARCH.plan, Search)
    space = SEARCH.plan.space
    cube = st.lists(st.floats(0, 1), min_size=(n := len(space.dimensions)), max_size=n)
    one, other = (space.config(SEARCH.base, space.at(data.draw(cube))) for _ in range(2))
    changes = list(changes_between(one, other))
    assert with_settings(one, merged(iter(changes))) == other
    paths = [path for change in changes for path in change]
    assert len(paths) == len(set(paths))
    for change in changes:
        assert with_settings(one, change) != one, "each can be made alone"


def changes_of(settings: Any) -> dict[str, Any]:
    return dict(named_changes(changes_between(SEARCH.base, with_settings(SEARCH.base, settings))))


def test_another_kind_is_one_change_with_its_settings_and_a_setting_is_one_alone() -> None:
    assert changes_of({"loss": "spread", "loss.margin": 0.5, RATE: 0.0012345}) == {
        "loss=spread": {"loss": "spread", "loss.margin": 0.5},
        "learning_rate=0.00123": {RATE: 0.0012345},
    }
    schedule = {"loss.schedule": "sigmoid", "loss.schedule.steepness": 5.0, "loss.down_weight": 1.0}
    assert changes_of(schedule) == {
        "down_weight=1": {"loss.down_weight": 1.0},
        "schedule=sigmoid": {"loss.schedule": "sigmoid", "loss.schedule.steepness": 5.0},
    }
    assert changes_of(
        {"loss": "spread", "loss.schedule": "constant", "model.batch_norm": True}
    ) == {
        "batch_norm=true": {"model.batch_norm": True},
        "loss=spread": {"loss": "spread", "loss.schedule": "constant"},
    }
    assert changes_of({ROUTING: "uniform"}) == {"routing=uniform": {ROUTING: "uniform"}}
    assert changes_of({}) == {}


@pytest.mark.parametrize(
    "path",
    [
        of(),
        of(base=with_settings(SEARCH.base, {"stopping.epochs": 3, "loss": "cross_entropy"})),
        of(module="", declared_base=None, seeds=tuple(range(20, 40)), name="mine"),
        of_custom(),
    ],
    ids=["named", "changed", "written out", "own"],
)
def test_the_sweep_of_the_file_is_the_one_that_was_asked_for(path: PathSweep) -> None:
    written = module_from_text(path.text()).SWEEP
    assert path.keys(written) == path.keys(path.sweep)
    base, target = path.base, path.target
    known = [trial_key(config, s) for config in (base, target) for s in path.sweep.seeds]
    assert path.keys(written) == known, "what the search trained is found again"
    assert written.plan.changes == path.changes
    assert (written.seeds, written.name) == (path.sweep.seeds, path.sweep.name)


def test_parts_of_ones_own_come_along_with_what_they_reach_and_no_more() -> None:
    text = of_custom().text()
    imports = (
        "from __future__ import annotations\n\nimport math\nfrom typing import Literal\n\nfrom"
    )
    assert f'"""\n\n{imports} capsmodel import TrainingConfig\n' in text
    assert "# of the papers,\n# by which all is divided\nSCALE = 2.0\n\n\ndef scaled(" in text
    assert "return value / SCALE  # never 0\n\n\nclass Mine(Loss):\n" in text
    assert "parts=(Mine,)," in text
    for word in ("UNUSED", "unused", "SPACE", "Search", "Confirm", "QUICKSTART"):
        assert word not in text.partition('"""\n\n')[2], word


def test_a_name_of_their_code_that_the_file_needs_otherwise_is_refused() -> None:
    text = FILE.replace("import math", "import math\nfrom pathlib import Path").replace(
        "scaled(math.pi)", "len(str(Path.cwd()))"
    )
    custom_code = custom_code_of(text, [module_from_text(text).Mine])
    with pytest.raises(ValueError, match="has a 'Path' of its own"):
        of_custom(custom_code=custom_code).text()


def test_ruff_has_nothing_to_do_or_to_say(tmp_path: Path) -> None:
    (tmp_path / "named.py").write_text(of().text(), encoding="utf-8")
    (tmp_path / "own.py").write_text(of_custom().text(), encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    for words in (["format", "--check"], ["check", "--select=E,F,I"]):
        done = subprocess.run(
            [ruff, *words, "--isolated", "--line-length=100", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_seeds_are_those_of_the_confirmation_or_fresh_and_none_that_chose() -> None:
    def seeds(**asked: Any) -> tuple[Any, Any]:
        sweep: Any = of(**asked).sweep
        return sweep.seeds, sweep.plan.choosing_seeds

    assert seeds() == ((101, 102, 103, 104, 105), (201, 202))
    assert seeds(confirmation_seeds=(), search_seeds=(101,)) == (
        (201, 202, 203, 204, 205),
        (301, 302),
    )
    assert seeds(seeds=(1, 2)) == ((1, 2), (101, 102))
    with pytest.raises(ValueError, match="The seed 0 has found 'proposal 38'"):
        seeds(seeds=(0, 1))


PATCHES = {"kind": "patches", "standardise": True}
REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": ({}, "'proposal 38' of 'capsule_search' changes nothing of the base."),
    "one thing": ({RATE: 0.01}, r"changes one thing of the base \(learning_rate=0.01\)"),
    "what hangs together": (
        {"model.reconstruction": "none", "augmentation": PATCHES},
        "cannot be changed alone",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_path_that_cannot_be_is_refused(case: str) -> None:
    changes, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        _ = of(changes).sweep


def test_settings_without_a_default_are_told_as_well() -> None:
    base = TrainingConfig()
    changed = with_settings(base, {"optimiser.schedule": {"kind": "cosine"}})
    assert merged(changes_between(base, changed)) == {"optimiser.schedule": "cosine"}
