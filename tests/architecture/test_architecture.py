"""The rules of the code that no other tool checks."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("capsmodel", "search_spaces", "sweeps")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}

MOST_LINES_OF_A_FUNCTION = 40
ALIASES = {
    "sweeps.Plan": "Survey",  # promised before: what a launch would do is a survey today
    "sweeps.status": "sweep_status",  # which says more where it is one name of many
}
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


class Named(NamedTuple):
    """A definition, and where it stands."""

    place: str
    node: Documented


def definitions(tree: ast.AST, place: str) -> Iterator[Named]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Documented):
            inner = f"{place}.{node.name}"
            yield Named(inner, node)
            yield from definitions(node, inner)
        elif not isinstance(node, ast.expr):
            yield from definitions(node, place)


DEFINITIONS = [
    named
    for path, tree in TREES.items()
    for named in definitions(tree, str(path.relative_to(ROOT).with_suffix("")).replace("/", "."))
]
FUNCTIONS = [named for named in DEFINITIONS if isinstance(named.node, Function)]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def own_lines(function: Function) -> int:
    """Return the lines of a function without decorators and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if not body:
        return 0
    spec = function.body[0].lineno - function.lineno
    return spec + (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 60
    assert len(FUNCTIONS) > 300


def test_the_contracts_between_packages_hold() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " kept, 0 broken" in done.stdout


def test_of_search_spaces_aggregation_may_import_the_declarations_of_tables_alone() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    reading = next(
        contract
        for contract in contracts["tool"]["importlinter"]["contracts"]
        if contract["name"] == "aggregation reads records and runs nothing"
    )
    modules = {path.stem for path in (ROOT / "search_spaces").iterdir() if is_module(path)}
    forbidden = {f"search_spaces.{module}" for module in modules - {"looks", "tables"}}
    assert {name for name in reading["forbidden_modules"] if "search_spaces" in name} == forbidden


def is_module(path: Path) -> bool:
    is_package = (path / "__init__.py").is_file()
    return is_package or (path.suffix == ".py" and path.stem != "__init__")


def test_nobody_outside_of_the_tables_imports_a_note() -> None:
    tables = "sweeps.aggregation.tables."
    importing = {
        module_name(path)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        if name.startswith(tables) and name.endswith("notes")
    }
    assert importing
    assert {name for name in importing if not name.startswith(tables)} == set()


def test_functions_keep_to_their_length() -> None:
    long = {
        named.place: own_lines(named.node)
        for named in FUNCTIONS
        if isinstance(named.node, Function)
        if own_lines(named.node) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {part for path in FILES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not names & EMPTY_NAMES


def names_that_other_files_import() -> set[str]:
    """Return the places of all names that one file of the packages imports from another."""
    return {
        f"{node.module}.{alias.name}"
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def test_modules_public_classes_and_functions_that_other_files_call_have_docstrings() -> None:
    silent = [str(path) for path, tree in TREES.items() if not ast.get_docstring(tree)]
    imported = names_that_other_files_import()
    assert len(imported) > 500
    for path, tree in TREES.items():
        for node in tree.body:
            place = f"{module_name(path)}.{getattr(node, 'name', '_')}"
            is_asked = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            is_asked |= isinstance(node, Function) and place in imported
            decorators = getattr(node, "decorator_list", [])
            is_asked &= "overload" not in map(ast.unparse, decorators)
            if is_asked and not ast.get_docstring(node):
                silent.append(place)
    assert silent == []


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.name == "__init__.py"],
    ids=lambda path: path.parent.name,
)
def test_a_packages_file_re_exports_and_does_nothing_else(path: Path) -> None:
    tree = TREES[path]
    is_lazy = any(isinstance(node, Function) and node.name == "__getattr__" for node in tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module not in {"typing", "importlib"}:
            for alias in node.names:
                assert alias.asname == alias.name, f"import {alias.name} as {alias.name}"
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign)
    lazy = (*allowed, ast.If, ast.FunctionDef) if is_lazy else allowed
    assert all(isinstance(node, lazy) for node in tree.body)


def test_a_lazy_package_gives_every_name_it_promises() -> None:
    import capsmodel
    import search_spaces
    import sweeps

    for package in (capsmodel, search_spaces, sweeps):
        path = Path(str(package.__file__))
        promised = {
            alias.name
            for node in ast.walk(TREES[path])
            if isinstance(node, ast.ImportFrom) and node.module not in {"typing", "importlib"}
            for alias in node.names
        }
        assert promised == set(package._HOMES)
        for name in promised:
            resolved, place = getattr(package, name), f"{package.__name__}.{name}"
            assert resolved.__name__ == ALIASES.get(place, name), f"{place} is {resolved!r}"
            assert callable(resolved), f"{place} is a module of the same name"
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            package.nothing  # noqa: B018 - asking is the point


def statements_at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        if isinstance(node, ast.If):
            yield from node.body
        else:
            yield node


def test_modules_do_no_work_when_they_are_imported() -> None:
    working = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in statements_at_import(tree)
        if isinstance(node, ast.For | ast.While | ast.With | ast.Try)
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))
    ]
    assert working == []


def test_nothing_is_postponed_where_shapes_are_checked() -> None:
    postponed = [
        str(path)
        for path, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    assert postponed == []


def test_broad_excepts_stand_at_the_boundaries_alone() -> None:
    broad = {
        str(path.relative_to(ROOT))
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"})
        )
    }
    # the trial records and re-raises, and an engine in the same process reports it; a user's file
    # is run on their word, and so are the exceptions
    # that it defines when they are asked for theirs, the data sets in it when they are loaded,
    # its plan and all else of it when it is planned and checked, and a step of it that has failed
    assert broad <= {
        "sweeps/execution/worker/trial.py",
        "sweeps/execution/engine/inline_engine.py",
        "sweeps/execution/plan/definition.py",
        "sweeps/execution/worker/evaluation.py",
        "sweeps/execution/sweep_check.py",
        "sweeps/execution/culprit.py",
        "search_spaces/data_fingerprint.py",
        "search_spaces/sweep_file.py",
        "capsmodel/spelling.py",
    }


@pytest.mark.parametrize(
    "package",
    [
        *("sweeps", "search_spaces", "search_spaces.tables", "sweeps.cli", "capsmodel.metrics"),
        "sweeps.execution.check_process",
    ],
)
def test_a_package_is_imported_without_torch_ray_and_mlflow(package: str) -> None:
    program = f"import sys, {package}; print({{'torch', 'ray', 'mlflow'}} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "set()"


def texts_outside_docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield each text of the code; in place of each value in it stands a zero."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


def test_only_commands_that_read_no_records_are_suggested_as_text() -> None:
    from sweeps.cli.program import COMMANDS

    command = re.compile(rf"\bcapsweep ({'|'.join(COMMANDS)}|0)\b")
    suggesting = {
        str(path.relative_to(ROOT))
        for path, tree in TREES.items()
        if any(command.search(text) for text in texts_outside_docstrings(tree))
    }
    in_files = {  # which do not depend on where the records are
        "sweeps/aggregation/paper/macros.py",
        "sweeps/aggregation/rendering/renderers.py",
        "sweeps/aggregation/tables/confirmation_notes.py",
        "sweeps/execution/launch/writing/grid.py",
    }
    names_of_commands = {
        "capsmodel/evaluation/transfer_error.py",  # a library that knows no records
        "search_spaces/plans/base.py",  # likewise
        "sweeps/aggregation/verification/checks.py",
        "sweeps/cli/commands/report.py",
        "sweeps/cli/entry.py",
        "sweeps/execution/launch_process/launch_lock.py",  # "capsweep 0.1.0"
        "sweeps/cli/program.py",  # likewise
        "sweeps/remote/agent.py",  # likewise
        "sweeps/remote/jobs.py",  # what a job runs
    }
    assert suggesting == in_files | names_of_commands


def test_nothing_prints_past_the_console() -> None:
    printing = {
        str(path.relative_to(ROOT))
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert printing == set()
