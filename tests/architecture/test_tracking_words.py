"""All of MLflow is in one room: no other imports it, or says its words."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKING = ROOT / "sweeps" / "tracking"
MODULES = [
    path
    for package in ("capsmodel", "search_spaces", "sweeps")
    for path in sorted((ROOT / package).rglob("*.py"))
    if TRACKING / "mlflow" not in path.parents
]
# their docstrings are the help that users read, and one command serves MLflow's own UI
SPEAK_TO_USERS = {ROOT / "sweeps" / "cli" / f"{name}_commands.py" for name in ("launch", "record")}
WORDS = re.compile(
    r"mlflow|\brun_?ids?\b|parent_?(run|id)s?\b|\bexperiments?\b|experiment_?ids?\b", re.IGNORECASE
)


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield all modules that are imported, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


def said(text: str) -> Iterator[str]:
    """Yield what a module says to who reads it: its names, comments and docstrings.

    Other texts are what users, files of earlier versions and other programs are told.
    """
    docstrings = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    yield from (docstring for docstring in docstrings if docstring)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in {tokenize.NAME, tokenize.COMMENT}:
            yield token.string


def words_in(text: str) -> set[str]:
    return {match[0] for part in said(text) for match in WORDS.finditer(part)}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_is_something_to_look_at() -> None:
    assert len(list((TRACKING / "mlflow").glob("*.py"))) > 5
    assert len(MODULES) > 200


def test_mlflow_is_imported_in_its_room_alone() -> None:
    importing = {
        name_of(path)
        for path in MODULES
        for module in imports(ast.parse(path.read_text(encoding="utf-8")))
        if module.split(".")[0] == "mlflow"
    }
    assert importing == set()


def test_no_module_outside_says_mlflows_words() -> None:
    outside = [
        path for path in MODULES if TRACKING not in path.parents and path not in SPEAK_TO_USERS
    ]
    heard = {name_of(path): words_in(path.read_text(encoding="utf-8")) for path in outside}
    assert {place: words for place, words in heard.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import mlflow", {"mlflow"}),
        ("def f():\n    run_id = 1", {"run_id"}),
        ("x.parent_id", {"parent_id"}),
        ("# its MLflow run", {"MLflow"}),
        ('"""Of an experiment."""', {"experiment"}),
        ('print("in MLflow")', set[str]()),
    ],
)
def test_the_words_are_heard_where_they_are_said(text: str, words: set[str]) -> None:
    assert words_in(text) == words


@pytest.mark.parametrize(
    "text",
    ["def f():\n    import mlflow.entities", "from mlflow import x", 'import_module("mlflow")'],
)
def test_imports_are_seen_wherever_they_stand(text: str) -> None:
    assert any(name.split(".")[0] == "mlflow" for name in imports(ast.parse(text)))
