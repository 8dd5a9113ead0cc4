"""What is pinned of definitions and imports, each as one function from the code to plain values.

`write.py` writes them with the commit that they are pinned at; the tests hold today's against that.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from search_spaces.data_fingerprint import data_fingerprint
from tests.golden import access

FOLDER = Path(__file__).parent
USER_FILES = sorted((FOLDER / "user_files").glob("*.py"))
PACKAGES = ("capsmodel", "search_spaces", "sweeps")
# Where users take from what they build parts and sweeps of, besides what README and docs show.
BUILT_FROM = (
    "capsmodel",
    "capsmodel.augmentation",
    "capsmodel.data",
    "capsmodel.functional",
    "capsmodel.losses",
    "capsmodel.models",
    "capsmodel.optimisers",
    "capsmodel.overrides",
    "capsmodel.reconstruction",
    "capsmodel.routing",
    "capsmodel.search_range",
    "capsmodel.stopping",
    "capsmodel.testing",
    "search_spaces",
    "sweeps",
)


def manifest_texts() -> dict[str, str]:
    """Return the manifest of every named sweep and every user file, as a first launch writes it."""
    named = {name: access.text_of(access.definition_of(name)) for name in access.names()}
    mine = {own_name(path): access.text_of(access.definition_of(path)) for path in USER_FILES}
    return named | mine


def summary(texts: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the hash of each manifest, and what a search's own hash is."""
    result: dict[str, dict[str, str]] = {}
    for name, text in texts.items():
        result[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest()}
        if search := json.loads(text).get("search"):
            result[name]["definition"] = search["definition"]
    return result


def own_name(path: Path) -> str:
    """Return what a user's file is called in golden files."""
    return f"user_files/{path.name}"


def of_user_file(path: Path) -> dict[str, Any]:
    """Return what decides the trial keys of a user's file, and the keys.

    Those of a search are the keys of both corners of its space, which are exact numbers.
    """
    definition = access.definition_of(path)
    sweep = definition.sweep
    if definition.manifest.search:
        space = sweep.plan.space
        corners = {f"at {unit}": space.at([unit] * len(space.dimensions)) for unit in (0, 1)}
        arms = [sweep.proposed(name, params) for name, params in corners.items()]
        keys = {arm.name: access.keys_of(arm.config, sweep.plan.seeds) for arm in arms}
    else:
        arms = sweep.arms()
        keys = {arm.name: access.keys_of(arm.config, sweep.seeds) for arm in arms}
    return {
        "versions": {part.__name__: part.protocol_version for part in sweep.parts},
        "fingerprints": {arm.name: data_fingerprint(arm.config.data) for arm in arms},
        "keys": keys,
    }


def public_names() -> dict[str, list[str]]:
    """Return the public names of the modules that users build from."""
    result: dict[str, list[str]] = {}
    for module in BUILT_FROM:
        path = Path(str(import_module(module).__file__))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {name for node in tree.body for name in _defined(node)}
        # what a package's own file imports it offers; what a module imports is its own affair
        offered = _offered(tree) if path.name == "__init__.py" else set[str]()
        result[module] = sorted(name for name in defined | offered if not name.startswith("_"))
    return result


def _defined(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _offered(tree: ast.Module) -> set[str]:
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }


def shown_imports(paths: Iterable[Path]) -> list[str]:
    """Return the statements that import from this project, one a name, in Markdown or Python."""
    result: set[str] = set()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        for block in blocks if path.suffix == ".md" else [text]:
            result.update(_imports(block))
    return sorted(result)


def _imports(code: str) -> Iterable[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            yield from (f"from {node.module} import {alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            ours = (alias.name for alias in node.names if _is_ours(alias.name))
            yield from (f"import {name}" for name in ours)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def documents(root: Path) -> list[Path]:
    """Return what shows people how to import: README, docs, and the user files."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md")), *USER_FILES]
