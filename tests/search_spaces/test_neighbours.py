"""The modules of a sweep file's folder that it imports travel in its text, and run from there."""

import importlib.machinery
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from capsmodel.functional import squash
from search_spaces.neighbours import (
    MOST_BYTES,
    Neighbours,
    neighbours_in,
    sendable_text,
    with_neighbours,
)
from search_spaces.sweep_file import code_outside, custom_parts, module_from_text, sweep_from_file
from search_spaces.trial_key import trial_key
from search_spaces.user_code import line_in_sweep_file, user_files
from sweeps.execution.worker.worker_process import refuse_other_code, training_config

ROUTING = '''
"""A routing."""

from typing import Literal

from capsmodel.functional import squash
from capsmodel.routing import VectorRouting


class Mean(VectorRouting):
    kind: Literal["mean"] = "mean"

    def route(self, votes, *, generator):
        from lab.blocks import scaled  # found when a network runs

        return squash(scaled(votes).mean(dim=1))
'''
SWEEP = """
from capsmodel import TrainingConfig
from search_spaces import ListedArms, Sweep
from nets import Mean

SWEEP = Sweep(
    name="own",
    base=TrainingConfig(),
    plan=ListedArms(baseline="dynamic", arms={"dynamic": {}, "mean": {"model.routing": Mean()}}),
    seeds=(0,),
    parts=(Mean,),
)
"""
FILES = {
    "mine.py": SWEEP,
    "nets.py": ROUTING,
    "lab/__init__.py": "",
    "lab/blocks.py": "from . import sizes\n\n\ndef scaled(x):\n    return sizes.FACTOR * x\n",
    "lab/sizes.py": "FACTOR = 2.0  # of poses\n",
}
TRAVELLING = ["lab/__init__.py", "lab/blocks.py", "lab/sizes.py", "nets.py"]


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    forget(before)


def forget(before: set[str]) -> None:
    for name in set(sys.modules) - before:
        if name.startswith(("capsweep_sweep_", "nets", "lab")):
            del sys.modules[name]


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write files, and return the path of the sweep's."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "mine.py"


def refusal(path: Path) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is looked at
        sendable_text(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def keys(path: Path) -> list[str]:
    """Return the keys of the arms as a process that starts now would."""
    before = set(sys.modules)
    try:
        return [trial_key(arm.config, 0) for arm in sweep_from_file(path)[0].arms()]
    finally:
        forget(before)


# Which files travel.


def test_the_closure_of_the_imports_travels_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path, {**FILES, "other.py": "1 / 0", "lab/unused.py": "1 / 0"})
    assert sorted(neighbours_in(sendable_text(path)).files) == TRAVELLING
    assert "nets" not in sys.modules, "nothing is run to look"


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        ("import a", {"a.py": "import b", "b.py": "import a"}, ["a.py", "b.py"]),
        ("def f():\n    import a", {"a.py": ""}, ["a.py"]),
        ("import importlib\nimportlib.import_module('a')", {"a.py": ""}, ["a.py"]),
        ("from a.b import x", {"a/b.py": "x = 1", "a/c.py": ""}, ["a/b.py"]),
        ("from a import b", {"a/b.py": "", "a/c.py": ""}, ["a/b.py"]),
        ("from a import b", {"a/__init__.py": "", "a/b.py": ""}, ["a/__init__.py", "a/b.py"]),
        (
            "import a.b.c",
            {"a/b/c.py": "from ..d import x", "a/d.py": "x = 1"},
            ["a/b/c.py", "a/d.py"],
        ),
        (
            "from a import *",
            {"a/__init__.py": "__all__ = ['b']", "a/b.py": ""},
            ["a/__init__.py", "a/b.py"],
        ),
        ("import os, sys, numpy", {"os/x.py": "", "data/x.py": ""}, []),
        ("import data", {"data/x.py": ""}, []),
        ("x = 1", {"a.py": ""}, []),
    ],
)
def test_an_import_is_looked_for_as_python_does(
    tmp_path: Path, text: str, files: dict[str, str], expected: list[str]
) -> None:
    path = written(tmp_path, {"mine.py": text, **files})
    assert sorted(neighbours_in(sendable_text(path)).files) == expected


def test_a_file_without_neighbours_is_sent_as_it_is(tmp_path: Path) -> None:
    text = "import numpy\r\nx = 'a\f'"
    path = written(tmp_path, {"mine.py": text})
    assert sendable_text(path) == text.replace("\r\n", "\n")


def test_a_text_gives_back_the_files_that_it_holds() -> None:
    files = {"a.py": "x = 1\n\n\n", "b/__init__.py": "", "c.py": "s = '''\n#> a.py\n\f\x1c\n'''"}
    text = with_neighbours("import a, b, c  # no end of line", Neighbours(files))
    assert neighbours_in(text).files == files
    assert with_neighbours(text, Neighbours({"d.py": ""})) == text
    assert neighbours_in(text.replace("#| \n", "#|\n")).files == files, "an editor strips spaces"
    assert not neighbours_in(f'{text}"""').files


def test_a_sent_text_needs_no_folder(tmp_path: Path) -> None:
    text = sendable_text(written(tmp_path / "lab", FILES))
    alone = tmp_path / "there" / "mine.py"
    alone.parent.mkdir()
    alone.write_text(text)
    assert sendable_text(alone) == text
    written(tmp_path / "there", {"nets.py": "1 / 0", "lab/blocks.py": "1 / 0"})
    assert sweep_from_file(alone)[1] == text


def test_a_package_installed_for_development_beside_the_file_does_not_travel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {"METADATA": "Name: labdev\nVersion: 1.0", "top_level.txt": "labdev"}
    written(tmp_path / "site" / "labdev-1.0.dist-info", installed)
    path = written(tmp_path / "in", {"mine.py": "import labdev", "labdev/__init__.py": ""})
    assert [*neighbours_in(sendable_text(path)).files] == ["labdev/__init__.py"]
    monkeypatch.syspath_prepend(str(path.parent))
    assert [*neighbours_in(sendable_text(path)).files] == ["labdev/__init__.py"]
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert sendable_text(path) == "import labdev"


def test_an_environment_below_the_folder_is_none_of_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = ".venv/site-packages"
    path = written(tmp_path, {"mine.py": "import labdev", f"{site}/labdev/__init__.py": ""})
    monkeypatch.syspath_prepend(str(tmp_path / site))
    assert sendable_text(path) == "import labdev"
    written(tmp_path, {"labdev/x.py": ""})
    assert sendable_text(path) == "import labdev"
    written(tmp_path, {"labdev.py": ""})
    assert "'labdev' is" in refusal(path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "'labdev' is" in refusal(path)


# What cannot travel.


def test_more_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    half = "#" * (MOST_BYTES // 2)
    path = written(tmp_path, {"mine.py": "import a, b", "a.py": half, "b.py": half})
    assert "mine.py and the files that it imports of its folder have 1,000,011 bytes" in refusal(
        path
    )
    (tmp_path / "a.py").write_text("#" * (MOST_BYTES + 1))
    assert "a.py has 1,000,001 bytes" in refusal(path)
    (tmp_path / "mine.py").write_text(2 * half + "\n")
    assert sendable_text(path), "a file alone may be larger, as ever"


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.py").write_text("x = 1")
    path = written(tmp_path / "in", {"mine.py": "\nimport a"})
    (tmp_path / "in" / "a.py").symlink_to(tmp_path / "out.py")
    assert refusal(path) == (
        f"{path}, line 2: {path.parent / 'a.py'} leads out of the sweep's folder, to "
        f"{tmp_path / 'out.py'}: copy it into the folder, or install it as a package."
    )


def test_a_linked_sweep_has_the_folder_that_it_lies_in(tmp_path: Path) -> None:
    written(tmp_path / "in", {"mine.py": "import a", "a.py": ""})
    (tmp_path / "link.py").symlink_to(tmp_path / "in" / "mine.py")
    assert [*neighbours_in(sendable_text(tmp_path / "link.py")).files] == ["a.py"]


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"mine.py": "from . import x"}, "mine.py, line 1: the import begins with . and leads"),
        ({"a.py": "\nfrom .b import x"}, "a.py, line 2: the import begins with . and leads above"),
        ({"a/__init__.py": "from .. import x"}, "__init__.py, line 1: the import begins with .. "),
        ({"a.py": "x = 1\nclass :"}, "a.py is not valid Python: line 2: invalid syntax."),
        ({"b.py": "", "a.py": "__import__('b')"}, "write importlib.import_module('b')."),
        ({"a.py": "import mine"}, "a.py, line 1 imports"),
        ({"numpy.py": "", "a.py": "import numpy"}, "a.py, line 1: 'numpy' is"),
        ({"wave.py": "", "a.py": "import wave"}, "wave.py, so that it is not clear which is meant"),
    ],
)
def test_what_cannot_be_imported_is_refused(
    tmp_path: Path, files: dict[str, str], sentence: str
) -> None:
    assert sentence in refusal(written(tmp_path, {"mine.py": "import a", **files}))


@pytest.mark.parametrize("name", ["a", "b/__init__", "b/c"])
def test_compiled_code_is_refused(tmp_path: Path, name: str) -> None:
    path = written(
        tmp_path, {"mine.py": f"import {name.removesuffix('/__init__')}".replace("/", ".")}
    )
    compiled = tmp_path / f"{name}{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    written(tmp_path, {f"{name}.py": ""})
    compiled.write_bytes(b"\x7fELF")
    assert f"{compiled} is compiled, and only text travels" in refusal(path)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"mine.py": "import a"})
    (tmp_path / "a.py").write_bytes(b"x = '\xe9'")
    assert refusal(path) == f"{tmp_path / 'a.py'} is not UTF-8 text, so not a Python file."


# How they run.


def test_the_modules_run_from_the_text_in_each_process(tmp_path: Path) -> None:
    sweep, text = sweep_from_file(written(tmp_path, FILES))
    shutil.rmtree(tmp_path)
    config = training_config(sweep.arms()[1].config.model_dump(mode="json"), text, "mine.py")
    assert config == sweep.arms()[1].config
    assert {"nets", "lab"}.isdisjoint(sys.modules)


def test_an_import_in_a_function_is_found_when_it_runs(tmp_path: Path) -> None:
    import torch

    _, text = sweep_from_file(written(tmp_path, FILES))
    shutil.rmtree(tmp_path)
    (part,) = custom_parts(module_from_text(text))
    votes = torch.rand(2, 3, 4, 5)
    routed = part().route(votes, generator=torch.Generator())  # pyright: ignore
    assert torch.equal(routed, squash((2 * votes).mean(dim=1)))


IMPORTS = """
import a, os.path as p, lab.deep.blocks
import lab.deep.sizes as sizes
import importlib
from lab import deep
from a import *
import a as b

VALUES = [a.X, lab.deep.blocks.X, sizes.X, deep.blocks.X, X, b.X]
MODULE = importlib.import_module("lab.deep.blocks")


class Inner:
    import a as of_class


def later():
    import lab.late
    return lab.late.X
"""


def test_each_form_of_import_binds_what_python_would(tmp_path: Path) -> None:
    files = {
        "a.py": "X = 1\nimport lab.deep.blocks\nassert lab.deep.blocks.X == 2\n",
        "lab/__init__.py": "",
        "lab/deep/blocks.py": "from ..deep import sizes\nfrom . import sizes as same\nX = 2",
        "lab/deep/sizes.py": "X = 3",
        "lab/late.py": "X = 4",
    }
    module = module_from_text(sendable_text(written(tmp_path, {"mine.py": IMPORTS, **files})))
    names = vars(module)
    assert names["VALUES"] == [1, 2, 3, 2, 1, 1]
    assert names["MODULE"] is names["lab"].deep.blocks
    assert names["Inner"].of_class is names["a"]
    assert names["later"]() == 4


def test_modules_may_import_each_other_where_python_can(tmp_path: Path) -> None:
    files = {
        "mine.py": "import a\nX = a.f()",
        "a.py": "import b\ny = 2\ndef f():\n    return b.x",
        "b.py": "import a\nx = 1\ndef g():\n    return a.y",
    }
    assert vars(module_from_text(sendable_text(written(tmp_path, files))))["X"] == 1


def test_a_circle_that_python_cannot_import_is_one_sentence(tmp_path: Path) -> None:
    files = {"mine.py": "import a", "a.py": "from b import y\nx = 1", "b.py": "\nfrom a import x"}
    path, before = written(tmp_path, files), set(sys.modules)
    with pytest.raises(ValueError, match="circular import") as caught:
        sweep_from_file(path)
    sentence = str(caught.value)
    assert "cannot import name 'x' from partially initialized module 'a'" in sentence
    assert sentence.endswith(f"({tmp_path / 'b.py'}, line 2).")
    left = {name for name in set(sys.modules) - before if name.startswith("capsweep_sweep_")}
    assert not left, "a file that failed is run anew"


def test_two_sweeps_with_files_of_equal_names_do_not_meet(tmp_path: Path) -> None:
    text = "import a\nX = a.X"
    paths = [
        written(tmp_path / str(n), {"mine.py": text, "a.py": f"X = {n}\ndef f():\n    1 / 0"})
        for n in range(2)
    ]
    modules = [module_from_text(sendable_text(path), str(path)) for path in paths]
    assert [vars(module)["X"] for module in modules] == [0, 1]
    written(tmp_path / "0", {"a.py": "X = 7"})
    again = module_from_text(sendable_text(paths[0]), str(paths[0]))
    assert vars(again)["X"] == 7, "an edit is another module"


def test_an_error_names_its_line_in_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, {"mine.py": "import a", "a.py": "def f():\n    return 1 / 0\n"})
    text = sendable_text(path)
    shutil.rmtree(tmp_path)
    module = module_from_text(text, "mine.py")
    with pytest.raises(ZeroDivisionError) as caught:
        vars(module)["a"].f()
    assert str(line_in_sweep_file(caught.value)) == "a.py, line 2: return 1 / 0"
    assert {"mine.py", "a.py"} <= user_files()


def test_a_change_of_torch_for_all_is_refused_with_its_file(tmp_path: Path) -> None:
    files = {"mine.py": "import a", "a.py": "import torch\ntorch.set_grad_enabled(False)"}
    with pytest.raises(ValueError, match=r"gradients to False .* \(a\.py, line 2\)\.$"):
        sweep_from_file(written(tmp_path, files))


# What enters a key.


@pytest.mark.parametrize(
    ("file", "old", "new", "changes"),
    [
        ("nets.py", "mean(dim=1)", "sum(dim=1)", True),
        ("lab/sizes.py", "2.0", "3.0", True),
        ("lab/__init__.py", "", "import os", True),
        ("lab/sizes.py", "# of poses", "# of all poses", False),
        ("nets.py", '"""A routing."""', '"""Another."""', False),
        ("mine.py", "seeds=(0,)", "seeds=(0, 1)", False),
        ("other.py", "", "x = 1", False),
    ],
)
def test_a_key_changes_with_the_code_that_its_part_reaches(
    tmp_path: Path, *, file: str, old: str, new: str, changes: bool
) -> None:
    path = written(tmp_path, {"other.py": "", **FILES})
    first = keys(path)
    edited = (path.parent / file).read_text().replace(old, new)
    (path.parent / file).write_text(edited)
    second = keys(path)
    assert first[0] == second[0], "the arm of capsmodel's own routing"
    assert (first[1] != second[1]) == changes


def test_a_part_of_a_neighbour_has_one_key_however_it_is_imported(tmp_path: Path) -> None:
    path = written(tmp_path, FILES)
    first = keys(path)
    edited = SWEEP.replace("from nets import Mean", "import nets").replace("Mean", "nets.Mean")
    path.write_text(edited)
    assert keys(path) == first


def test_a_part_of_the_file_that_imports_no_neighbour_keeps_its_key(tmp_path: Path) -> None:
    alone = ROUTING.replace(
        "        from lab.blocks import scaled  # found when a network runs\n", ""
    )
    alone = alone.replace("scaled(votes)", "votes") + SWEEP.replace("from nets import Mean", "")
    path = written(tmp_path, {**FILES, "mine.py": alone})
    first = keys(path)
    path.write_text(alone + "\nimport nets\n\ndef later():\n    return nets.Mean\n")
    written(tmp_path, {"nets.py": "class Mean: ...\n"})
    assert keys(path) == first
    path.write_text(alone.replace("return squash", "import nets\n        return squash"))
    assert keys(path)[1] != first[1]


def test_a_worker_with_the_same_text_has_the_same_code(tmp_path: Path) -> None:
    _, text = sweep_from_file(written(tmp_path, FILES))
    code = code_outside(text).by_name
    assert [*code] == ["lab", "lab.blocks", "lab.sizes", "nets"]
    refuse_other_code(text, code)
    with pytest.raises(ValueError, match=r"not what the sweep was launched with \(lab\.sizes\)"):
        refuse_other_code(text, code | {"lab.sizes": "another"})


def test_a_part_that_the_file_imports_of_its_folder_is_one_of_its_parts(tmp_path: Path) -> None:
    path = written(tmp_path, {**FILES, "mine.py": "from nets import Mean as M, VectorRouting"})
    assert [part.__name__ for part in custom_parts(module_from_text(sendable_text(path)))] == [
        "Mean"
    ]


def test_a_part_that_a_function_made_is_known_by_the_name_it_is_bound_to(tmp_path: Path) -> None:
    made = "\n\ndef made(cls):\n    return type('Made', (cls,), {'__module__': __name__})\n"
    text = (
        f"{ROUTING}{made}\nHalf = made(Mean)\nX = 1\n{SWEEP.replace('from nets import Mean', '')}"
    )
    path = written(
        tmp_path,
        {**FILES, "mine.py": text.replace("Mean()", "Half()").replace("(Mean,)", "(Half,)")},
    )
    first = keys(path)
    edited = path.read_text().replace("X = 1", "X = 2")
    path.write_text(edited)
    assert keys(path) == first, "what it does not use does not count"
    path.write_text(edited.replace("(cls,)", "(cls, object)"))
    assert keys(path)[1] != first[1]
