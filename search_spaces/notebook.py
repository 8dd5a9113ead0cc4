"""The code of parts that are defined in a notebook's cells, as a text that can be sent."""

import ast
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from capsmodel.settings.parts import Part
from search_spaces.neighbours import sendable
from search_spaces.source_version import names_assigned, names_bound, reached_statements
from search_spaces.sweep_file import module_from_text

FILE = "notebook.py"
"""What the text is called in messages and records."""


def text_of_cells(parts: Sequence[type[Part]]) -> str | None:
    """Return the statements that parts of a notebook reach in its cells, and set their versions.

    Of a name that several cells define, the cell counts that was run last.

    Args:
        parts: Classes that cells define.

    Returns:
        None if one is not a class of a cell, or nothing keeps the cells' texts.

    Raises:
        ValueError: If the text cannot be run, or a class was defined again after the sweep.
    """
    names = vars(sys.modules["__main__"])
    cells: Sequence[str] = names.get("In", ())  # of IPython
    if not cells or any(part.__module__ != "__main__" for part in parts):
        return None
    if old := next((part for part in parts if names.get(part.__name__) is not part), None):
        raise ValueError(
            f"{old.__name__} was defined again after the sweep that uses it: run the sweep's cell "
            f"once more."
        )
    all_cells = ast.unparse(ast.Module([*_latest(cells)], []))
    reached = reached_statements(all_cells, [part.__name__ for part in parts])
    text = sendable(ast.unparse(ast.Module(reached, [])) + "\n", Path(FILE))
    module = module_from_text(text, FILE)
    for part in parts:
        part.protocol_version = vars(module)[part.__name__].protocol_version
    return text


def _latest(cells: Sequence[str]) -> Iterator[ast.stmt]:
    """Yield the statements that bind a name which no later cell assigns again."""
    bodies = [_body(cell) for cell in cells]
    last = {
        name: number
        for number, body in enumerate(bodies)
        for statement in body
        for name in names_assigned(statement)
    }
    for number, body in enumerate(bodies):
        for statement in body:
            if any(last.get(name, number) <= number for name in names_bound(statement)):
                yield statement


def _body(cell: str) -> list[ast.stmt]:
    """Return the statements of a cell, none if it was not valid Python and so did not run."""
    try:
        with warnings.catch_warnings(action="ignore"):  # shown when the cell was run
            return ast.parse(cell).body
    except (SyntaxError, ValueError):
        return []
