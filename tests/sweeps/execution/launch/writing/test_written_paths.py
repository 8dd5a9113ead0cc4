"""Paths to a winner: files that a person would have written, from its changes one by one."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces.catalogue import module_of, named_sweep
from search_spaces.neighbours import Neighbours, neighbours_in, with_neighbours
from search_spaces.plans.path import Path as PathPlan
from search_spaces.sweep import Sweep
from search_spaces.sweep_file import module_from_text
from search_spaces.trial_key import trial_key
from sweeps.execution.launch.writing.ablate import path_to_arm
from sweeps.execution.launch.writing.launched_sweep import LaunchedSearch, Winner
from sweeps.execution.launch.writing.options import AblateOptions
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import Confirmation
from tests.sweeps.execution.launch.writing.ruff import assert_nothing_to_do

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


@cache
def manifest() -> Manifest:
    """Return the manifest of a search of which nothing has run."""
    return define("capsule_search", Changes(), ()).manifest


def searched(
    confirmation_seeds: tuple[int, ...] = (101, 102, 103, 104, 105),
    search_seeds: tuple[int, ...] = (0,),
) -> Manifest:
    """Return the manifest of a search whose seeds have chosen."""
    search = manifest().search
    assert search
    confirmation = Confirmation.model_construct(
        seeds=confirmation_seeds, arms=("proposal 38",) if confirmation_seeds else None
    )
    changed = search.model_copy(update={"confirmation": confirmation})
    return manifest().model_copy(update={"search": changed, "seeds": search_seeds})


def path(
    changes: Any = WINNER,
    *,
    base: TrainingConfig = SEARCH.base,
    launched: LaunchedSearch | None = None,
    arm: str = "proposal 38",
    parts: Any = (),
    **options: Any,
) -> tuple[Sweep, str]:
    """Return a path to an arm that changes a base, and the text of its file."""
    known = LaunchedSearch(searched(), SEARCH, module=module_of("capsule_search"))
    target = ManifestArm.model_construct(name=arm)
    return path_to_arm(
        launched or known,
        Winner(target, "the first choice of the search, of 40 proposals"),
        AblateOptions(**options),
        base=base,
        target=with_settings(base, changes, parts),
    )


def custom_path(file: str = FILE) -> tuple[Sweep, str]:
    """Return a path to an arm with a part of the user's own."""
    module = module_from_text(file)
    changes = {"loss": module.Mine(depth=3), RATE: 0.01, "batch_size": 9}
    launched = LaunchedSearch(searched(), module.SWEEP, file)
    return path(changes, base=module.SWEEP.base, launched=launched, parts=(module.Mine,))


def neighbouring_path() -> tuple[Sweep, str]:
    """Return a path to an arm with a part that a search's file imports of its folder."""
    before, part, after = FILE.partition("class Mine(Loss)")
    head, search = before.partition("# of the papers")[0], after.partition("SPACE = ")[2]
    text = f"{head}from lab.losses import Mine\n\nSPACE = {search}"
    files = {"lab/losses.py": before + part + after.partition("SPACE = ")[0], "other.py": ""}
    return custom_path(with_neighbours(text, Neighbours(files)))


CHANGED = with_settings(SEARCH.base, {"stopping.epochs": 3, "loss": "cross_entropy"})
CASES: dict[str, Callable[[], tuple[Sweep, str]]] = {
    "named": path,
    "changed": lambda: path(base=CHANGED),
    "written out": lambda: path(
        launched=LaunchedSearch(searched()), seeds=tuple(range(20, 40)), name="mine"
    ),
    "own": custom_path,
    "neighbours": neighbouring_path,
}


@pytest.mark.parametrize("case", CASES)
def test_the_sweep_of_the_file_is_the_one_that_was_asked_for(case: str) -> None:
    sweep, text = CASES[case]()
    assert isinstance(sweep.plan, PathPlan)
    written = module_from_text(text).SWEEP
    assert written.plan == sweep.plan
    assert (written.seeds, written.name) == (sweep.seeds, sweep.name)
    target = {path: value for each in sweep.plan.changes.values() for path, value in each.items()}
    for settings in ({}, target):
        old, new = (with_settings(each.base, settings, each.parts) for each in (sweep, written))
        for seed in sweep.seeds:
            assert trial_key(new, seed) == trial_key(old, seed), "what is trained is found again"


def test_parts_of_ones_own_come_along_with_what_they_reach_and_no_more() -> None:
    text = custom_path()[1]
    imports = (
        "from __future__ import annotations\n\nimport math\nfrom typing import Literal\n\nfrom"
    )
    assert f'"""\n\n{imports} capsmodel import TrainingConfig\n' in text
    assert "# of the papers,\n# by which all is divided\nSCALE = 2.0\n\n\ndef scaled(" in text
    assert "return value / SCALE  # never 0\n\n\nclass Mine(Loss):\n" in text
    assert "parts=(Mine,)," in text
    for word in ("UNUSED", "unused", "SPACE", "Search", "Confirm", "QUICKSTART"):
        assert word not in text.partition('"""\n\n')[2], word


def test_the_modules_of_the_searchs_folder_come_along() -> None:
    text = neighbouring_path()[1]
    assert "\nfrom lab.losses import Mine\n" in text
    assert [*neighbours_in(text).files] == ["lab/losses.py", "other.py"]
    assert not neighbours_in(custom_path()[1]).files


def test_a_name_of_their_code_that_the_file_needs_otherwise_is_refused() -> None:
    text = FILE.replace("import math", "import math\nfrom pathlib import Path as with_settings")
    text = text.replace("scaled(math.pi)", "len(str(with_settings.cwd()))")
    with pytest.raises(ValueError, match="has a 'with_settings' of its own"):
        custom_path(text)


def test_ruff_has_nothing_to_do_or_to_say(tmp_path: Path) -> None:
    assert_nothing_to_do(
        tmp_path, {"named": path()[1], "own": custom_path()[1]}, "--ignore=D102,D103"
    )


def test_seeds_are_those_of_the_confirmation_or_fresh_and_none_that_chose() -> None:
    def seeds(manifest: Manifest, **options: Any) -> tuple[Any, Any]:
        sweep: Any = path(launched=LaunchedSearch(manifest), **options)[0]
        return sweep.seeds, sweep.plan.choosing_seeds

    assert seeds(searched()) == ((101, 102, 103, 104, 105), (201, 202))
    assert seeds(searched((), (101,))) == ((201, 202, 203, 204, 205), (301, 302))
    assert seeds(searched(), seeds=(1, 2)) == ((1, 2), (101, 102))
    with pytest.raises(ValueError, match="The seed 0 has found 'proposal 38'"):
        seeds(searched(), seeds=(0, 1))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "'proposal 38' of 'capsule_search' changes nothing of the base."),
        ({RATE: 0.01}, r"changes one thing of the base \(learning_rate=0.01\)"),
    ],
)
def test_a_path_of_fewer_than_two_changes_is_refused(changes: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        path(changes)
