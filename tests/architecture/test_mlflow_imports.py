"""Only `sweeps/tracking/mlflow` imports MLflow."""

import ast
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


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield all modules that are imported, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            yield from (
                str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)
            )


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


@pytest.mark.parametrize(
    "text",
    ["def f():\n    import mlflow.entities", "from mlflow import x", 'import_module("mlflow")'],
)
def test_imports_are_seen_wherever_they_stand(text: str) -> None:
    assert any(name.split(".")[0] == "mlflow" for name in imports(ast.parse(text)))
