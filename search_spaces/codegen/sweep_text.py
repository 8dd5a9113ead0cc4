"""The text of a sweep's file: a docstring, imports, copied code of custom parts, and the sweep."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capsmodel.settings.parts import Part
from search_spaces.codegen.python_text import Call, Imported, import_lines, imports_of, python_text
from search_spaces.source_version import reached_statements


@dataclass(frozen=True)
class CustomCode:
    """The code of a user's parts that a generated file needs.

    Attributes:
        parts: Class of a part -> how the file refers to it.
        imports: The imports of the copied code, as in the original file.
        code: The copied code, which has the same part versions; "" if all parts are imported.
    """

    parts: Mapping[type[Part], Imported] = field(default_factory=dict[type[Part], Imported])
    imports: tuple[ast.Import | ast.ImportFrom, ...] = ()
    code: str = ""

    def with_imports(self, names: Iterator[Imported]) -> list[str]:
        """Return the lines that import names and whatever the copied code imports.

        Each name is imported once: a second import would change the version of the code.

        Raises:
            ValueError: If the code uses one of the names for something else.
        """
        bound = {
            (alias.asname or alias.name): getattr(statement, "module", None)
            for statement in self.imports
            for alias in statement.names
        }
        imported = {name.alias or name.name: name for name in names if name.module}
        for alias, name in imported.items():
            if bound.get(alias, name.module) != name.module:
                raise ValueError(
                    f"The code of its own parts has a '{alias}' of its own, and the file needs "
                    f"that of {name.module}: import it there under another name."
                )
        lines = [ast.unparse(statement) for statement in self.imports]
        lines += import_lines(name for alias, name in imported.items() if alias not in bound)
        return _in_blocks(lines)


NO_CODE = CustomCode()


def custom_code_of(text: str | None, parts: Sequence[type[Part]]) -> CustomCode:
    """Return the code that a file needs to have a user's parts in the same version.

    Args:
        text: The sweep file that declares them; None if there is none.
        parts: The parts that are needed.

    Raises:
        ValueError: If a part is neither a class at the top level of that file nor importable.
    """
    classes = {node.name for node in ast.parse(text or "").body if isinstance(node, ast.ClassDef)}
    named: dict[type[Part], Imported] = {}
    for part in parts:
        is_here = part.__name__ in classes
        if not is_here and sys.modules[part.__module__].__spec__ is None:
            raise ValueError(
                f"The part {part.__name__} is no class at the top level of its file, so that it "
                f"cannot be written into another: define it there, or in a package."
            )
        named[part] = Imported("" if is_here else part.__module__, part.__name__)
    here = [name.name for name in named.values() if not name.module]
    statements = reached_statements(text, here) if text and here else []
    imports = [one for one in statements if isinstance(one, ast.Import | ast.ImportFrom)]
    if text and statements:
        top = (one for one in ast.parse(text).body if isinstance(one, ast.ImportFrom))
        imports += [one for one in top if one.module == "__future__"]
    code = _code(text or "", [one for one in statements if one not in imports])
    return CustomCode(named, tuple(imports), code)


def _code(text: str, statements: Sequence[ast.stmt]) -> str:
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


def _in_blocks(lines: Sequence[str]) -> list[str]:
    """Return import lines sorted, those of the standard library first."""
    blocks: dict[int, list[str]] = {}
    for line in sorted(lines, key=lambda line: (line.startswith("from"), line.split()[1])):
        top = line.split()[1].partition(".")[0]
        place = 0 if top == "__future__" else 2 - (top in sys.stdlib_module_names)
        blocks.setdefault(place, []).append(line)
    ordered = [blocks[place] for place in sorted(blocks)]
    return [line for block in ordered for line in ("", *block)][1:]


_LEAD = "SWEEP = "
_MOST_SEEDS_LISTED = 10


def sweep_text(question: str, sweep: Call, custom_code: CustomCode = NO_CODE) -> str:
    """Return the text of a sweep's file.

    Args:
        question: The docstring: plain words without a backslash or a quote.
        sweep: The call that makes the sweep.
        custom_code: The user's parts that the file contains.
    """
    assert not set(question) & set("\\\"'")
    docstring = f'"""{question}\n"""' if "\n" in question else f'"""{question}"""'
    imports = "\n".join(custom_code.with_imports(imports_of(sweep)))
    gap = "\n" * (1 + custom_code.code.startswith(("class ", "def ", "@")))
    code = f"{gap}{custom_code.code}\n\n" if custom_code.code else ""
    return f"{docstring}\n\n{imports}\n{code}\n{_LEAD}{python_text(sweep, before=len(_LEAD))}\n"


def base_call(module: str, settings: Mapping[str, Any]) -> Call | Imported | None:
    """Return the base of a named sweep with settings changed; None if no module has the sweep."""
    if not module:
        return None
    base = Imported(module, "SWEEP", alias=module.rpartition(".")[2].upper(), rest=".base")
    if not settings:
        return base
    change = Imported("capsmodel.overrides", "with_settings")
    return Call(change, arguments=(base, dict(settings)))


def seeds_call(seeds: Sequence[int]) -> Call | tuple[int, ...]:
    """Return seeds as they are, or as a range if there are many."""
    first, end = seeds[0], seeds[-1] + 1
    is_range = end - first == len(seeds) and tuple(seeds) == tuple(range(first, end))
    if len(seeds) > _MOST_SEEDS_LISTED and is_range:
        ends = (first, end) if first else (end,)
        return Call(Imported("", "tuple"), (Call(Imported("", "range"), ends),))
    return tuple(seeds)
