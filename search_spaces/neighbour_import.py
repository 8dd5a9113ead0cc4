"""How the modules of a sweep file's folder are imported: from the text that travels with it.

The sweep's module is `capsweep_sweep_HASH`. Its folder is an empty package of its own, whose
submodules are the neighbours: `capsweep_sweep_HASH_folder.nets`. So two sweeps with a `nets.py`
each have two modules, and none is read from the disk. Where one of the user's files says
`import nets`, its code is compiled as if it said `from capsweep_sweep_HASH_folder import nets`.
Line numbers stay, and so does the text of which digests are made.
"""

import ast
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from search_spaces.neighbours import Neighbours
from search_spaces.reached_code import imported_by_call
from search_spaces.user_code import FOLDER, keep_lines


def make_importable(sweep: ModuleType, neighbours: Neighbours) -> None:
    """Make the package of a sweep's folder."""
    if neighbours.files:
        folder = ModuleType(sweep.__name__ + FOLDER)
        folder.__path__ = []
        sys.modules[folder.__name__] = folder
        _FINDER.folders[folder.__name__] = _Folder(neighbours, str(sweep.__file__))
        if _FINDER not in sys.meta_path:
            sys.meta_path.append(_FINDER)


def forget(sweep: str) -> dict[str, ModuleType]:
    """Take a sweep's module and its neighbours out of those that are imported, and return them."""
    names = [name for name in sys.modules if name.partition(".")[0] in (sweep, sweep + FOLDER)]
    return {name: sys.modules.pop(name) for name in names}


def compiled(text: str, filename: str, sweep: str, neighbours: Neighbours) -> CodeType:
    """Return the code of a sweep's file, whose imports of neighbours lead to its folder."""
    return _compiled(text, filename, sweep + FOLDER, neighbours)


def _compiled(text: str, filename: str, folder: str, neighbours: Neighbours) -> CodeType:
    if not neighbours.files:
        return compile(text, filename, "exec")
    tree = _Imports(folder, neighbours).visit(ast.parse(text, filename))
    return compile(ast.fix_missing_locations(tree), filename, "exec")


def keep_all_lines(sweep_file: str, text: str, neighbours: Neighbours) -> None:
    """Let tracebacks show the lines of the user's files, which a worker does not have."""
    keep_lines(sweep_file, text)
    for file, content in neighbours.files.items():
        keep_lines(_place(sweep_file, file), content)


class _Imports(ast.NodeTransformer):
    """Makes imports of neighbours those of submodules of a sweep's folder."""

    def __init__(self, folder: str, neighbours: Neighbours) -> None:
        self._folder = folder
        self._neighbours = neighbours

    def visit_Import(self, node: ast.Import) -> Sequence[ast.stmt]:
        """Bind what each name of the statement binds: of `lab.nets` that is `lab`."""
        pairs = [pair for alias in node.names for pair in self._bound(alias)]
        return [ast.copy_location(ast.Import([ast.alias(*pair)]), node) for pair in pairs]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        """Import from the submodule."""
        if not node.level and self._neighbours.has(node.module or ""):
            node.module = f"{self._folder}.{node.module}"
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Import the submodule where `import_module` is given the name of a neighbour."""
        name = imported_by_call(node)
        if name and self._neighbours.has(name):
            node.args[0] = ast.copy_location(ast.Constant(f"{self._folder}.{name}"), node.args[0])
        return self.generic_visit(node)

    def _bound(self, alias: ast.alias) -> list[tuple[str, str | None]]:
        if not self._neighbours.has(alias.name):
            return [(alias.name, alias.asname)]
        first = alias.name.partition(".")[0]
        name, top = f"{self._folder}.{alias.name}", f"{self._folder}.{first}"
        if alias.asname or name == top:
            return [(name, alias.asname or first)]
        return [(name, first), (top, first)]


class _Folder(NamedTuple):
    """The folder of a sweep's file.

    Attributes:
        neighbours: What travels of it.
        sweep_file: The name of the sweep's file.
    """

    neighbours: Neighbours
    sweep_file: str


class _Finder(MetaPathFinder, Loader):
    """Finds and runs the neighbours of all sweeps.

    Attributes:
        folders: Name of a folder's package -> the folder.
    """

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a neighbour, None for any other module."""
        package, _, name = fullname.partition(".")
        folder = self.folders.get(package)
        if folder is None or name not in folder.neighbours.modules:
            return None
        return ModuleSpec(fullname, self, is_package=folder.neighbours.is_package(name))

    def exec_module(self, module: ModuleType) -> None:
        """Run a neighbour. A package without an `__init__` has nothing to run."""
        package, _, name = module.__name__.partition(".")
        neighbours, sweep_file = self.folders[package]
        if (file := neighbours.modules[name]) is not None:
            module.__file__ = _place(sweep_file, file)
            code = _compiled(neighbours.files[file], module.__file__, package, neighbours)
            exec(code, module.__dict__)


def _place(sweep_file: str, file: str) -> str:
    """Return the path of a neighbour's file, given the path of the sweep's."""
    return str(Path(sweep_file).parent / file)


_FINDER = _Finder()
