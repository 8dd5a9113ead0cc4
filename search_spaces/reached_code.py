"""A user's code that some statements reach by imports, found without running any of it.

A result depends on all code that its parts call. The statements of a sweep's file enter the version
of a part by `source_version`; this module follows their imports, from file to file, by syntax tree:

- Modules outside site-packages and the standard library count whole, with each parent's
  `__init__`: packages installed with `pip install -e`, folders on PYTHONPATH. Comments, docstrings
  and formatting do not count.
- Of an installed distribution the name and the version count, unless capsweep itself requires it:
  its version stands in each record. Its code is not read.
- Modules of the sweep file's own folder travel with it, and count as those do that lie outside
  site-packages: by the text that travels.
- capsweep's own packages say by `protocol_version` what they give, and are not followed.

What cannot be followed this way is named, see `ReachedCode.not_covered`.
"""

import ast
import hashlib
import json
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path
from typing import Any

from search_spaces.source_version import plain_statements, without_docstring

MOST_MODULES = 2000
_STAR = ".*"
_OWN_PACKAGES = {"capsmodel", "search_spaces", "sweeps"}
_SITE_FOLDERS = {"site-packages", "dist-packages"}
_IMPORTING_CALLS = {"import_module", "__import__"}
_COMPUTED_IMPORTS = {
    *("entry_points", "iter_modules", "walk_packages", "resolve_name", "attach", "LazyLoader"),
    *("spec_from_file_location", "SourceFileLoader", "load_module"),
}
_LAZY = {"lazy_loader", "lazy"}
READS_FILE = "reads a file"
_WEIGHTS = "PretrainedWeights"  # the annotation of an argument that takes such a file
_RUNNING_CALLS = {"run_path", "run_module", "CDLL", "load_library", "load_inline"}
_RUNNING_FUNCTIONS = {"eval", "exec"}  # no methods: net.eval() runs nothing
_READING_CALLS = {
    *("open", "read_text", "read_bytes", "load_file", "safe_open", "loadtxt", "genfromtxt"),
    *("fromfile", "memmap", "read_csv", "read_parquet", "imread", "read_image"),
}
_READING_BY_LOAD = {"np", "numpy", "torch", "joblib"}  # modules whose `load` takes a file's path


@dataclass
class ReachedCode:
    """The code that some statements reach.

    Attributes:
        modules: Digest of each module's syntax tree, by the module's name.
        distributions: Version of each installed distribution that capsweep does not require.
        not_covered: What may decide a result and is in no digest, each with its line
            and the reason: "labpkg.loss, line 3: import_module(...) imports a name that is
            computed".
    """

    modules: dict[str, str] = field(default_factory=dict)
    distributions: dict[str, str] = field(default_factory=dict)
    not_covered: dict[str, None] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, dict[str, str]]:
        """What enters a version, empty where nothing but capsweep's own requirements is reached."""
        both = {"modules": self.modules, "distributions": self.distributions}
        return {name: dict(sorted(entries.items())) for name, entries in both.items() if entries}

    @property
    def by_name(self) -> dict[str, str]:
        """The digest of each module and the version of each distribution."""
        versions = {name: f"version {number}" for name, number in self.distributions.items()}
        return dict(sorted((self.modules | versions).items()))

    def joined(self, other: "ReachedCode") -> "ReachedCode":
        """Return all that this code or the other reaches."""
        return ReachedCode(
            self.modules | other.modules,
            self.distributions | other.distributions,
            self.not_covered | other.not_covered,
        )


@dataclass(frozen=True)
class _Module:
    """A module of the user's, as it lies on the disk.

    Attributes:
        digest: Of its syntax tree, "" for compiled code.
        imports: Absolute names that it imports, in any of its functions too.
        not_covered: See `ReachedCode`.
        exports: What `from module import *` imports, where it says so.
    """

    digest: str
    imports: tuple[str, ...]
    not_covered: tuple[str, ...]
    exports: tuple[str, ...] = ()


Texts = Mapping[str, tuple[str, bool]]
"""Text of each module that travels with a sweep's file, and whether it is a package, by its name
as the file imports it; "" for a package without an `__init__`."""
_NO_TEXTS: Texts = {}


def reached_code(
    statements: Sequence[ast.stmt], filename: str = "<sweep>", texts: Texts = _NO_TEXTS
) -> ReachedCode:
    """Return the code that some statements of a sweep's file reach by imports.

    Args:
        statements: As `source_version.reached_statements` returns them.
        filename: Where they stand, for messages.
        texts: Modules that travel with the file.

    Raises:
        ValueError: If a module cannot be read, or more than `MOST_MODULES` are reached.
    """
    reached = ReachedCode()
    module = _looked_through(statements, "", filename)
    reached.not_covered |= dict.fromkeys(module.not_covered)
    _follow(module.imports, reached, texts)
    return reached


def code_of_module(name: str, texts: Texts = _NO_TEXTS) -> ReachedCode:
    """Return a module of the user's, or its distribution, with all that it reaches.

    Raises:
        ValueError: As in `reached_code`.
    """
    reached = ReachedCode()
    _follow([name], reached, texts)
    return reached


def _follow(names: Iterable[str], reached: ReachedCode, texts: Texts) -> None:
    waiting, entered = [*names], dict[str, _Module | None]()
    while waiting:
        name = waiting.pop()
        package = name.removesuffix(_STAR)
        for module in _with_parents(package):
            if module not in entered:
                travels = module.partition(".")[0] in texts
                entered[module] = (
                    _enter_text(module, reached, texts) if travels else _enter(module, reached)
                )
                waiting += getattr(entered[module], "imports", ())
            if entered[module] is None:
                break
        if name != package and (code := entered.get(package)):
            waiting += [f"{package}.{exported}" for exported in code.exports]


def _enter(module: str, reached: ReachedCode) -> _Module | None:
    """Record a user's module and return it, or None if the walk ends here."""
    top, is_top = module.partition(".")[0], "." not in module
    located = None if top in _OWN_PACKAGES else located_without_import(module)
    if located is None:  # capsweep's, a name in a module, or a package that is not installed here
        if is_top and top not in _OWN_PACKAGES:
            reached.not_covered[f"the module {module} is not found here"] = None
        return None
    if located.is_of_python or (located.is_in_site and _enter_distribution(module, reached)):
        return None
    code = _code_of(located)
    reached.not_covered |= dict.fromkeys(code.not_covered)
    if code.digest:
        _refuse_edited(located, code.digest)
        reached.modules[module] = code.digest
        _refuse_too_many(reached.modules)
    return code


def _enter_text(module: str, reached: ReachedCode, texts: Texts) -> _Module | None:
    """Record a module that travels and return it, or None for a name in a module."""
    if module not in texts:
        return None
    text, is_package = texts[module]
    package = module if is_package else module.rpartition(".")[0]
    try:
        code = _parsed(text.encode(), package, module)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ValueError(f"The module {module} of the sweep cannot be read: {error}.") from error
    reached.not_covered |= dict.fromkeys(code.not_covered)
    reached.modules[module] = code.digest
    return code


def _with_parents(name: str) -> list[str]:
    steps = name.split(".")
    return [".".join(steps[:num]) for num in range(1, len(steps) + 1)]


def _refuse_too_many(modules: dict[str, str]) -> None:
    if len(modules) > MOST_MODULES:
        raise ValueError(
            f"The sweep's parts reach more than {MOST_MODULES} modules outside site-packages, "
            f"{next(iter(modules))} first: install what is not your own into site-packages."
        )


_FIRST_SEEN: dict[str, tuple[ModuleSpec | None, str]] = {}


def _refuse_edited(module: "LocatedModule", digest: str) -> None:
    """Refuse a module whose file was edited after this process had imported and seen it."""
    if (loaded := sys.modules.get(module.name)) is None:
        return
    spec, seen = getattr(loaded, "__spec__", None), _FIRST_SEEN.get(module.name)
    if seen is None or seen[0] is not spec:  # reloading makes another spec
        _FIRST_SEEN[module.name] = spec, digest
    elif seen[1] != digest:
        raise ValueError(
            f"{module.file} was edited after this process had imported it: restart Python."
        )


# Where a module is.


@dataclass(frozen=True)
class LocatedModule:
    """Where a module is.

    Attributes:
        name: Absolute.
        file: Its file, None for a package without an `__init__` and for what has no file.
        folders: Where its submodules are looked for, None for a module that is no package.
        loader: What reads its file, as one in an archive.
    """

    name: str
    file: Path | None
    folders: tuple[str, ...] | None
    loader: Any = None

    @property
    def is_of_python(self) -> bool:
        """Whether it is built in, frozen or of the standard library."""
        if self.file is None:
            return self.folders is None
        folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
        return not self.is_in_site and any(folder in self.file.parents for folder in folders)

    @property
    def is_in_site(self) -> bool:
        """Whether its file is in a folder of installed distributions."""
        return self.file is not None and not _SITE_FOLDERS.isdisjoint(self.file.parts)


def located_without_import(name: str) -> LocatedModule | None:
    """Return where a module is, or None if it does not exist.

    `importlib.util.find_spec("a.b")` would import `a`. The finders are asked for each step of the
    name, as an import would, so that those of editable installs answer too.
    """
    located: LocatedModule | None = None
    for step in _with_parents(name):
        if located is not None and located.folders is None:  # a module that is no package
            return None
        folders = None if located is None else list(located.folders or ())
        if (spec := _spec_of(step, folders)) is None:
            return None
        file = Path(spec.origin) if spec.has_location and spec.origin else None
        located = LocatedModule(step, file, _folders_of(spec), spec.loader)
    return located


def _spec_of(step: str, folders: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            spec = None if find is None else find(step, folders, None)
        except KeyError:  # of a package without an `__init__` in one that was not imported
            spec = ModuleSpec(step, None, is_package=True)
            below = [Path(folder) / step.rpartition(".")[2] for folder in folders or ()]
            spec.submodule_search_locations = [str(folder) for folder in below if folder.is_dir()]
        if spec is not None:
            return spec
    return None


def _folders_of(spec: ModuleSpec) -> tuple[str, ...] | None:
    if spec.submodule_search_locations is None:
        return None
    loaded = getattr(sys.modules.get(spec.name), "__path__", None)  # it may have been extended
    return tuple(loaded or spec.submodule_search_locations)


def _enter_distribution(module: str, reached: ReachedCode) -> bool:
    """Note the distribution that a module is of; return whether there is one."""
    top = module.partition(".")[0]
    if _canonical(top) in _required():  # mostly: spares the look at all that is installed
        return True
    names = _distributions().get(top, ())
    for name in names:
        if _canonical(name) not in _required():
            reached.distributions[_canonical(name)] = version(name)
    return bool(names)


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(packages_distributions())


@cache
def _required() -> frozenset[str]:
    """Return the distributions that capsweep names, with all of its extras."""
    try:
        lines = requires("capsweep") or ()
    except PackageNotFoundError:
        lines = ()
    names = (re.match(r"[\w.-]+", line) for line in lines)
    return frozenset(_canonical(name[0]) for name in names if name)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# What stands in a module.


def _code_of(module: LocatedModule) -> _Module:
    """Return the contents of a user's module. A package without an `__init__` is empty.

    Raises:
        ValueError: If it is no Python that can be read.
    """
    if module.file is None:
        return _Module("", (), ())
    if module.file.name.endswith((*EXTENSION_SUFFIXES, ".pyc")):
        return _Module("", (), (f"{module.name} is compiled code",))
    package = module.name if module.folders is not None else module.name.rpartition(".")[0]
    try:
        content = module.loader.get_data(str(module.file))
        return _parsed(content, package, module.name)
    except (OSError, SyntaxError, ValueError, RecursionError, AttributeError) as error:
        raise ValueError(
            f"{module.file}, which the sweep's file imports, cannot be read: {error}."
        ) from error


@cache
def _parsed(content: bytes, package: str, name: str) -> _Module:
    body = without_docstring(ast.parse(content).body)
    module = _looked_through(body, package, name)
    text = json.dumps(plain_statements(body), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return _Module(digest, module.imports, module.not_covered, exports(body))


def exports(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the names of a module's literal `__all__`, some of which may be submodules."""
    values = (
        statement.value
        for statement in body
        if isinstance(statement, ast.Assign)
        and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets
        )
    )
    constants = (node for value in values for node in ast.walk(value))
    return tuple(
        node.value
        for node in constants
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _looked_through(statements: Sequence[ast.stmt], package: str, place: str) -> _Module:
    """Return the imports of statements and those that cannot be followed, without a digest.

    Args:
        statements: Of one file.
        package: Where relative imports begin.
        place: The file, as messages name it.
    """
    imports, not_covered = list[str](), list[str]()
    for statement in statements:
        covered = _reads_of_weights(statement)
        for node in ast.walk(statement):
            if id(node) in covered:
                continue
            imports += imported_names(node, package)
            if not imported_by_call(node) and (reason := _why_not_covered(node)):
                line = getattr(node, "lineno", 0)
                not_covered.append(f"{place}, line {line}: {reason}")
    return _Module("", tuple(dict.fromkeys(imports)), tuple(dict.fromkeys(not_covered)))


def imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the absolute names that an import may load; of `from p import n` also p.n.

    Args:
        node: Any; a call may import, too.
        package: Where relative imports begin.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if literal := imported_by_call(node):
        yield literal
    if not isinstance(node, ast.ImportFrom):
        return
    base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    start = ".".join([*base, *([node.module] if node.module else [])])
    if start:
        yield start
        yield from (f"{start}.{alias.name}" for alias in node.names)


def _called(node: ast.Call) -> tuple[str, str]:
    """Return the object's name ("" for a function) and the name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return getattr(node.func.value, "id", ""), node.func.attr
    return "", getattr(node.func, "id", "")


def imported_by_call(node: ast.AST) -> str | None:
    """Return the absolute name that a call imports, or None if it is not a literal."""
    if not isinstance(node, ast.Call) or _called(node)[1] not in _IMPORTING_CALLS:
        return None
    name = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    return None if name.value.startswith(".") else name.value


def _reads_of_weights(statement: ast.stmt) -> set[int]:
    """Return the ids of a constructor's calls with a file of weights, whose hash is in the key."""
    calls: set[int] = set()
    for function in ast.walk(statement):
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            arguments = [*function.args.args, *function.args.kwonlyargs]
            weights = {
                argument.arg
                for argument in arguments
                if argument.annotation and _WEIGHTS in ast.unparse(argument.annotation)
            }
            calls |= {
                id(call)
                for call in ast.walk(function)
                if isinstance(call, ast.Call) and call.args
                if isinstance(call.args[0], ast.Name) and call.args[0].id in weights
            }
    return calls


def _why_not_covered(node: ast.AST) -> str:
    """Return a sentence on what a node does that no digest covers, or ""."""
    if isinstance(node, ast.ImportFrom):
        renamed = (alias for alias in node.names if alias.name in _IMPORTING_CALLS)
        names = (alias.asname for alias in renamed if alias.asname)
        return "".join(f"import_module as {name} is not followed" for name in names)
    if not isinstance(node, ast.Call):
        return ""
    reason = _why_call_is_not_covered(node)
    return f"{ast.unparse(node.func)}(...) {reason}" if reason else ""


def _why_call_is_not_covered(node: ast.Call) -> str:
    owner, name = _called(node)
    is_lazy = name == "load" and owner in _LAZY
    if name in _IMPORTING_CALLS | _COMPUTED_IMPORTS or is_lazy:
        return "imports a name that is computed"
    is_running = isinstance(node.func, ast.Name) and name in _RUNNING_FUNCTIONS
    is_running |= owner == "subprocess" or (owner, name) == ("os", "system")
    if name in _RUNNING_CALLS or is_running:
        return "runs other code"
    is_load = name == "load" and owner in _READING_BY_LOAD
    return READS_FILE if name in _READING_CALLS or is_load else ""
