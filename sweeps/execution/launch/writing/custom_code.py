"""The code of a user's parts, copied from their sweep file into another."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from capsmodel.settings.parts import Part, Settings, is_built_in
from search_spaces.source_version import reached_statements
from search_spaces.user_code import name_in_files


@dataclass(frozen=True)
class CustomCode:
    """The code of a user's parts that a written file needs.

    Attributes:
        parts: The classes of the parts.
        packages: Name -> module of the parts that the file imports.
        imports: The imports of the copied code, as in the original file.
        text: The copied code, which has the same part versions; "" if all parts are imported.
    """

    parts: tuple[type[Part], ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    imports: tuple[ast.Import | ast.ImportFrom, ...] = ()
    text: str = ""


def custom_code_of(text: str | None, *trees: Settings) -> CustomCode:
    """Return the code that a file needs to have the user's parts of settings in the same version.

    Args:
        text: The sweep file that declares them; None if there is none.
        trees: The settings.

    Raises:
        ValueError: If a part is neither a class at the top level of that file nor importable.
    """
    parts = _custom_parts_in(*trees)
    classes = {node.name for node in ast.parse(text or "").body if isinstance(node, ast.ClassDef)}
    for part in parts:
        if part.__name__ not in classes and sys.modules[part.__module__].__spec__ is None:
            raise ValueError(
                f"The part {part.__name__} is no class at the top level of its file, so that it "
                f"cannot be written into another: define it there, or in a package."
            )
    names = {part.__name__: name_in_files(part.__module__) for part in parts}
    packages = tuple((name, module) for name, module in names.items() if name not in classes)
    copied = [name for name in names if name in classes]
    if not text or not copied:
        return CustomCode(parts, packages)
    statements = reached_statements(text, copied)
    imports = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    top = (each for each in ast.parse(text).body if isinstance(each, ast.ImportFrom))
    futures = [each for each in top if each.module == "__future__"]
    code = _source(text, [each for each in statements if each not in imports])
    return CustomCode(parts, packages, (*imports, *futures), code)


def _custom_parts_in(*trees: Settings) -> tuple[type[Part], ...]:
    """Return the classes of the parts in settings that are not built in, each once."""
    values = (getattr(tree, name) for tree in trees for name in type(tree).model_fields)
    classes: dict[type[Part], None] = {}
    for part in values:
        if isinstance(part, Part):
            custom = () if is_built_in(type(part)) else (type(part),)
            classes |= dict.fromkeys((*custom, *_custom_parts_in(part)))
    return tuple(classes)


def _source(text: str, statements: Sequence[ast.stmt]) -> str:
    """Return the source of statements, with the comments above them."""
    lines, code, end = text.splitlines(), "", 0
    for statement in statements:
        decorators = getattr(statement, "decorator_list", [])
        first = min(node.lineno for node in (statement, *decorators)) - 1
        while first > end and lines[first - 1].startswith("#"):
            first -= 1
        gap = "\n" if end == first else "\n\n\n"
        first, end = max(first, end), statement.end_lineno or 0
        code += gap * bool(code) + "\n".join(lines[first:end])
    return code
