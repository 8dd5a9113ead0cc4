"""A trial key changes with the code that a part reaches by imports, wherever that code lies."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from search_spaces import reached_code
from search_spaces.sweep_file import code_outside, sweep_from_file
from search_spaces.trial_key import trial_key
from sweeps.execution.worker.worker_process import refuse_other_code

LOSS = '''
from typing import Literal
from capsmodel.losses import Loss


class LabLoss(Loss):
    """How far lengths are from what they should be."""

    kind: Literal["lab"] = "lab"

    def loss(self, outputs, labels, progress=1.0):
        return {LOSS}
'''
SWEEP = """
from capsmodel import TrainingConfig
from search_spaces import ListedArms, Sweep

SWEEP = Sweep(
    name="own",
    base=TrainingConfig(loss=LabLoss()),
    plan=ListedArms(baseline="one", arms={"one": {}}),
    seeds=(0,),
    parts=(LabLoss,),
)
"""
SCALE = "def scale(x):\n    return x\n"


def loss_by(expression: str, *lines: str) -> str:
    """Return a sweep's file whose loss is an expression, after some lines."""
    return "\n".join(lines) + LOSS.replace("{LOSS}", expression) + SWEEP


class Edit(NamedTuple):
    """Files beside a sweep's file, of which one is edited."""

    sweep: str
    files: Mapping[str, str]
    edited: str
    old: str = "return x"
    new: str = "return -x"


IN_PACKAGE = {"labpkg/__init__.py": "", "labpkg/scales.py": SCALE}
CALLED = "scale(outputs.lengths.sum())"
EDITS = {
    "a function of an own package": Edit(
        loss_by(CALLED, "from labpkg import scale"),
        {"labpkg/__init__.py": SCALE},
        "labpkg/__init__.py",
    ),
    "a part that is imported whole": Edit(
        "from labpkg.losses import LabLoss\n" + SWEEP,
        {
            "labpkg/__init__.py": "",
            "labpkg/losses.py": LOSS.replace("{LOSS}", "outputs.lengths.sum()"),
        },
        "labpkg/losses.py",
        "outputs.lengths.sum()",
        "-outputs.lengths.sum()",
    ),
    "what an own module imports in a function, relatively": Edit(
        loss_by("labpkg.scale(outputs.lengths.sum())", "import labpkg"),
        IN_PACKAGE
        | {
            "labpkg/__init__.py": "def scale(x):\n"
            "    from .scales import scale as of\n    return of(x)\n"
        },
        "labpkg/scales.py",
    ),
    "all that a module holds": Edit(
        loss_by(CALLED, "from labpkg.scales import *"), IN_PACKAGE, "labpkg/scales.py"
    ),
    "a module imported for what it does": Edit(
        loss_by("outputs.lengths.sum()", "import labpatch"),
        {"labpatch.py": "import torch\ntorch.Tensor.margin = lambda x: 1\n"},
        "labpatch.py",
        "x: 1",
        "x: 2",
    ),
    "a call that stands alone": Edit(
        loss_by("outputs.lengths.sum()", "from labpkg import scales", "scales.scale(1)"),
        IN_PACKAGE,
        "labpkg/scales.py",
    ),
    "a package without an __init__": Edit(
        loss_by(CALLED, "from labspace.scales import scale"),
        {"labspace/scales.py": SCALE},
        "labspace/scales.py",
    ),
    "a parent's __init__": Edit(
        loss_by(CALLED, "from labpkg.scales import scale"),
        IN_PACKAGE | {"labpkg/__init__.py": "FACTOR = 1\n"},
        "labpkg/__init__.py",
        "1",
        "2",
    ),
    "a module imported by a literal name": Edit(
        loss_by(
            "import_module('labpkg.scales').scale(outputs.lengths.sum())",
            "from importlib import import_module",
        ),
        IN_PACKAGE,
        "labpkg/scales.py",
    ),
    "the base of a part": Edit(
        loss_by("self.of(outputs)", "from labpkg.losses import LabBase").replace(
            "(Loss)", "(LabBase)"
        ),
        {
            "labpkg/__init__.py": "",
            "labpkg/losses.py": "from capsmodel.losses import Loss\n\n\nclass LabBase(Loss):\n"
            "    def of(self, outputs):\n        return outputs.lengths.sum()\n",
        },
        "labpkg/losses.py",
        "return outputs",
        "return -outputs",
    ),
    "the version of another's distribution": Edit(
        loss_by(CALLED, "from labdist import scale"),
        {
            "site-packages/labdist.py": SCALE,
            "site-packages/labdist-1.dist-info/METADATA": "Name: labdist\nVersion: 1.0\n",
            "site-packages/labdist-1.dist-info/RECORD": "labdist.py,,\n",
        },
        "site-packages/labdist-1.dist-info/METADATA",
        "1.0",
        "1.1",
    ),
}
ACTING = {
    "a loop": "for name in ('a', 'b'):\n    labpkg.scale(name)",
    "a condition": "if 1:\n    labpkg.scale(1)",
    "an import in a condition": "try:\n    import labpkg as lab; lab.scale(1)\n"
    "except ImportError:\n    pass",
    "a value that nothing reads": "_ = labpkg.scale(1)",
    "a function of torch that is replaced": "import torch\ntorch.nn.functional.lab = labpkg.scale",
    "a decorated function": "@labpkg.scale\ndef hook(x):\n    return x",
}
EDITS |= {
    f"{name} that acts": Edit(
        loss_by("outputs.lengths.sum()", "import labpkg", line),
        {"labpkg/__init__.py": SCALE},
        "labpkg/__init__.py",
        new="return x or 0",
    )
    for name, line in ACTING.items()
}
EDITS |= {
    "a statement beside a part that is imported": Edit(
        "from labpkg.losses import LabLoss\nimport labpatch\nlabpatch.scale(1)\n" + SWEEP,
        {
            "labpkg/__init__.py": "",
            "labpkg/losses.py": LOSS.replace("{LOSS}", "outputs.lengths.sum()"),
            "labpatch.py": SCALE,
        },
        "labpatch.py",
    ),
    "a submodule that a package lists": Edit(
        loss_by("scales.scale(outputs.lengths.sum())", "from labpkg import *"),
        IN_PACKAGE | {"labpkg/__init__.py": "__all__ = ['scales']\n"},
        "labpkg/scales.py",
    ),
    "a part of a package that another distribution is of too": Edit(
        loss_by(CALLED, "from labspace.mine import scale"),
        {
            "site-packages/labspace/core.py": SCALE,
            "site-packages/labspace_core-1.dist-info/METADATA": "Name: labspace-core\nVersion: 1\n",
            "site-packages/labspace_core-1.dist-info/RECORD": "labspace/core.py,,\n",
            "labspace/mine.py": SCALE,
        },
        "labspace/mine.py",
    ),
    "a folder without an __init__ in one that was not imported": Edit(
        loss_by("self.of(outputs)").replace(
            "    def loss(",
            "    def of(self, outputs):\n        from labpkg.sub.scales import scale\n"
            "        return scale(outputs.lengths.sum())\n\n    def loss(",
        ),
        {"labpkg/__init__.py": "", "labpkg/sub/scales.py": SCALE},
        "labpkg/sub/scales.py",
    ),
}
NOT_EDITED = {
    "comments and docstrings": EDITS["a function of an own package"]._replace(
        old=SCALE, new='"""New."""\n\n\ndef scale(x):\n    """As it is."""\n    return x  # yes\n'
    ),
    "a module that nothing reaches": EDITS["all that a module holds"]._replace(
        files=IN_PACKAGE | {"labpkg/other.py": SCALE}, edited="labpkg/other.py"
    ),
    "a module that only another statement reaches": Edit(
        loss_by(CALLED, "from labpkg import scale", "import labplot")
        + "\n\ndef draw(x):\n    return labplot.scale(x)\n",
        {"labpkg/__init__.py": SCALE, "labplot.py": SCALE},
        "labplot.py",
    ),
    "code of another's distribution": EDITS["the version of another's distribution"]._replace(
        edited="site-packages/labdist.py", old="return x", new="return -x"
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that modules are imported from, as PYTHONPATH names it."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path / "lab"))
    monkeypatch.syspath_prepend(str(tmp_path / "lab" / "site-packages"))
    yield tmp_path / "lab"
    forget(before)


def forget(before: set[str]) -> None:
    reached_code._distributions.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith(("capsweep_sweep_", "lab")):
            del sys.modules[name]


def key_of(sweep: str, folder: Path) -> str:
    """Return the key of a trial as a process that starts now would."""
    before = set(sys.modules)
    file = folder.parent / "own.py"
    file.write_text(sweep)
    try:
        (arm,) = sweep_from_file(file)[0].arms()
        return trial_key(arm.config, 0)
    finally:
        forget(before)


def keys(edit: Edit, folder: Path) -> tuple[str, str]:
    """Return the key of a trial before and after an edit."""
    write_files(edit, folder)
    first = key_of(edit.sweep, folder)
    edited = folder / edit.edited
    assert edit.old in edited.read_text()
    edited.write_text(edited.read_text().replace(edit.old, edit.new))
    return first, key_of(edit.sweep, folder)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_what_a_part_reaches_changes_the_key(name: str, folder: Path) -> None:
    first, second = keys(EDITS[name], folder)
    assert first != second


@pytest.mark.parametrize("name", NOT_EDITED)
def test_what_changes_no_result_changes_no_key(name: str, folder: Path) -> None:
    first, second = keys(NOT_EDITED[name], folder)
    assert first == second


def write_files(edit: Edit, folder: Path) -> None:
    for name, text in edit.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


NOT_FOLLOWED = {
    "import_module(name)": "import_module(...) imports a name that is computed",
    "eval(name)": "eval(...) runs other code",
    "open(name).read()": "open(...) reads a file",
    "np.load(name)": "np.load(...) reads a file",
    "subprocess.run(name)": "subprocess.run(...) runs other code",
    "import_module('.scales', 'labpkg')": "import_module(...) imports a name that is computed",
    "spec_from_file_location(name)": "spec_from_file_location(...) imports a name that is computed",
}


@pytest.mark.parametrize("call", NOT_FOLLOWED)
def test_what_cannot_be_followed_is_named_with_its_line(call: str, folder: Path) -> None:
    module = (
        "from importlib import import_module\nimport numpy as np\n\n"
        f"def scale(x, name):\n    {call}\n"
    )
    edit = Edit(loss_by(CALLED, "from labpkg import scale"), {"labpkg/__init__.py": module}, "")
    write_files(edit, folder)
    key_of(edit.sweep, folder)
    assert [*code_outside(edit.sweep).not_covered] == [f"labpkg, line 5: {NOT_FOLLOWED[call]}"]


def test_a_module_that_was_edited_after_it_was_imported_is_refused(folder: Path) -> None:
    edit = EDITS["a function of an own package"]
    write_files(edit, folder)
    (folder.parent / "own.py").write_text(edit.sweep)
    sweep_from_file(folder.parent / "own.py")
    (folder / edit.edited).write_text(SCALE.replace("return x", "return -x"))
    (folder.parent / "own.py").write_text(edit.sweep + "\n# more\n")
    with pytest.raises(ValueError, match="was edited after this process had imported it"):
        sweep_from_file(folder.parent / "own.py")


def test_a_worker_with_other_code_refuses_by_the_modules_name(folder: Path) -> None:
    edit = EDITS["all that a module holds"]
    write_files(edit, folder)
    key_of(edit.sweep, folder)
    launched = code_outside(edit.sweep).by_name
    assert [*launched] == ["labpkg", "labpkg.scales"]
    refuse_other_code(edit.sweep, launched)
    with pytest.raises(ValueError, match=r"launched with \(labpkg\.scales\)") as error:
        refuse_other_code(edit.sweep, launched | {"labpkg.scales": "another"})
    assert "\n" not in str(error.value)


def test_a_module_that_is_no_python_is_refused_by_its_path(folder: Path) -> None:
    edit = Edit(
        loss_by("import_module('labpkg.scales').scale(1)", "from importlib import import_module"),
        IN_PACKAGE | {"labpkg/scales.py": "def scale(:\n"},
        "",
    )
    write_files(edit, folder)
    with pytest.raises(ValueError, match=r"labpkg/scales\.py, which the sweep's file imports"):
        key_of(edit.sweep, folder)


def test_what_a_file_prints_of_its_sweep_is_in_no_key(folder: Path) -> None:
    edit = EDITS["a function of an own package"]
    write_files(edit, folder)
    sweep = edit.sweep + "\nprint(SWEEP.name, [SWEEP.base])\n"
    assert key_of(sweep, folder) == key_of(sweep.replace("seeds=(0,)", "seeds=(0, 1)"), folder)


def test_a_network_that_is_set_to_evaluate_runs_no_other_code(folder: Path) -> None:
    edit = Edit(
        loss_by(CALLED, "from labpkg import scale"),
        {"labpkg/__init__.py": "def scale(x, net=None):\n    net.eval()\n    return x\n"},
        "",
    )
    write_files(edit, folder)
    key_of(edit.sweep, folder)
    assert not code_outside(edit.sweep).not_covered


@pytest.mark.parametrize("parts", ["LabLoss, Child", "Child, LabLoss", "Child"])
def test_a_class_that_inherits_from_a_part_keeps_its_key_beside_it(
    parts: str, folder: Path
) -> None:
    """The version that is set on a class is not what those below it declare."""
    child = (
        '\n\nclass Child(LabLoss):\n    """Another."""\n\n    kind: Literal["child"] = "child"\n'
    )
    losses = LOSS.replace("{LOSS}", "outputs.lengths.sum()") + child
    sweep = "from labpkg.losses import LabLoss, Child\n" + SWEEP.replace("LabLoss()", "Child()")
    write_files(Edit("", {"labpkg/__init__.py": "", "labpkg/losses.py": losses}, ""), folder)
    alone = key_of(sweep.replace("parts=(LabLoss,)", "parts=(Child,)"), folder)
    assert key_of(sweep.replace("parts=(LabLoss,)", f"parts=({parts},)"), folder) == alone
