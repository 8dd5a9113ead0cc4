"""PyTorch's settings for the whole process, which no sweep file may change while it is run.

They would change the results of all parts, those of capsmodel too, and no trial key would show it.
"""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple


class _Setting(NamedTuple):
    """A setting, PyTorch's functions that read and write it, and its value in a new process.

    Attributes:
        also: Other functions that write it.
    """

    name: str
    read: str
    write: str
    default: str
    also: tuple[str, ...] = ()


_SETTINGS = (
    _Setting(
        "default type",
        "get_default_dtype",
        "set_default_dtype",
        "torch.float32",
        also=("set_default_tensor_type",),
    ),
    _Setting("gradients", "is_grad_enabled", "set_grad_enabled", "True"),
    _Setting("default device", "get_default_device", "set_default_device", "cpu"),
    _Setting(
        "deterministic algorithms",
        "are_deterministic_algorithms_enabled",
        "use_deterministic_algorithms",
        "False",
        also=("set_deterministic_debug_mode",),
    ),
)


def torch_state() -> Mapping[str, Any]:
    """Return PyTorch's settings by name, {} where it is not loaded."""
    torch = sys.modules.get("torch")
    return {each.name: getattr(torch, each.read)() for each in _SETTINGS} if torch else {}


def refuse_changes(before: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """Set back PyTorch's settings, and refuse the files that have changed one.

    Args:
        before: What `torch_state` returned before the files were run.
        texts: Of the sweep's file, which is called "", and of each that travels with it.

    Raises:
        ValueError: Naming the setting, and the line if it is one of the files'.
    """
    torch = sys.modules.get("torch")
    for setting in _SETTINGS if torch else ():
        now, earlier = getattr(torch, setting.read)(), before.get(setting.name)
        if str(now) == (setting.default if earlier is None else str(earlier)):
            continue
        if earlier is not None:
            getattr(torch, setting.write)(earlier)
        raise ValueError(
            f"it sets PyTorch's {setting.name} to {str(now).removeprefix('torch.')} for all that "
            f"runs after it, and no trial key shows that: set it for single tensors, or in a "
            f"`with` block{_place(texts, {setting.write, *setting.also})}"
        )


def _place(texts: Mapping[str, str], setters: Collection[str]) -> str:
    """Return the first line, outside of functions if any is, with one of the setters."""
    named = sorted(
        (is_inside, file, line)
        for file, text in texts.items()
        for is_inside, line in _lines(ast.parse(text), setters)
    )
    return f" ({named[0][1]}{', ' * bool(named[0][1])}line {named[0][2]})" if named else ""


def _lines(tree: ast.Module, setters: Collection[str]) -> Iterator[tuple[bool, int]]:
    """Yield the lines with one of the setters, each with whether it is in a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", ""))
        if isinstance(node, (ast.Attribute, ast.Name)) and name in setters:
            yield id(node) in inside, node.lineno
