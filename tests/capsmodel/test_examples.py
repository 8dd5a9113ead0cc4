"""The examples in docstrings do what they say, and what people call has one."""

import ast
import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import capsmodel
from capsmodel import functional, layers, losses, models
from capsmodel.losses import LOSSES

FOLDER = Path(capsmodel.__file__).parent
PUBLIC = {
    name: value
    for package in (functional, layers, losses, models)
    for name, value in vars(package).items()
    if not name.startswith("_") and not inspect.ismodule(value)
}


def examples() -> Iterator[tuple[str, str, str]]:
    """Yield the module, the name and the docstring of everything that has an example."""
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if ">>> " not in text:
            continue
        module = ".".join((FOLDER.name, *path.relative_to(FOLDER).with_suffix("").parts))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                docstring = ast.get_docstring(node) or ""
                if ">>> " in docstring:
                    yield module, node.name, docstring


EXAMPLES = {f"{module}.{name}": (module, docstring) for module, name, docstring in examples()}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # PyTorch's own use of it
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_says(name: str) -> None:
    module, docstring = EXAMPLES[name]
    names = {**PUBLIC, **vars(importlib.import_module(module))}
    names.pop("torch", None)  # who copies an example has none: it imports torch itself
    test = doctest.DocTestParser().get_doctest(docstring, names, name, module, None)
    said: list[str] = []
    with torch.random.fork_rng(devices=()):
        result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)


def test_every_function_layer_and_loss_has_an_example() -> None:
    called = [
        value
        for name, value in PUBLIC.items()
        if (name in vars(functional) and inspect.isfunction(value))
        or (name in vars(layers) and inspect.isclass(value) and issubclass(value, nn.Module))
        or value in LOSSES
    ]
    assert len(called) > 35
    assert {value.__name__ for value in called} - {
        name.rpartition(".")[2] for name in EXAMPLES
    } == set()
