"""Code of a user's own that some statements reach by imports, found without running any of it.

A result depends on all code that its parts call. The statements of a sweep's file enter the version
of a part by `source_version`; this module follows their imports, from file to file, by syntax tree:

- Modules outside site-packages and the standard library count whole, with each parent's
  `__init__`: packages installed with `pip install -e`, folders on PYTHONPATH. Comments, docstrings
  and formatting do not count.
- Of an installed distribution the name and the version count, unless capsweep itself requires it:
  its version stands in each record. Its code is not read.
- capsweep's own packages say by `protocol_version` what they give, and are not followed.

What cannot be followed this way is named, see `ReachedCode.not_covered`.
"""

import ast
import hashlib
import json
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path

from search_spaces.source_version import plain_statements, without_docstring

MOST_MODULES = 2000
_OWN_PACKAGES = {"capsmodel", "search_spaces", "sweeps"}
_SITE_FOLDERS = {"site-packages", "dist-packages"}
_IMPORTING_CALLS = {"import_module", "__import__"}
_COMPUTED_IMPORTS = {"entry_points", "iter_modules", "walk_packages", "spec_from_file_location"}
_COMPUTED_IMPORTS |= {"SourceFileLoader", "load_module"}
READS_FILE = "reads a file"
_RUNNING_CALLS = {"eval", "exec", "run_path", "run_module", "CDLL", "load_library", "load_inline"}
_READING_CALLS = {
    *("open", "read_text", "read_bytes", "load_file", "safe_open", "loadtxt", "genfromtxt"),
    *("fromfile", "memmap", "read_csv", "read_parquet", "imread", "read_image"),
}
_READING_BY_LOAD = {"np", "numpy", "torch", "joblib"}  # modules whose `load` takes a file's path


@dataclass
class ReachedCode:
    """What some statements reach.

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
        return {name: dict(sorted(found.items())) for name, found in both.items() if found}

    @property
    def by_name(self) -> dict[str, str]:
        """The digest of each module and the version of each distribution."""
        versions = {name: f"version {number}" for name, number in self.distributions.items()}
        return dict(sorted((self.modules | versions).items()))

    def joined(self, other: "ReachedCode") -> "ReachedCode":
        """Return what either reaches."""
        return ReachedCode(
            self.modules | other.modules,
            self.distributions | other.distributions,
            self.not_covered | other.not_covered,
        )


@dataclass(frozen=True)
class _Module:
    """A module of a user's own, as it lies on the disk.

    Attributes:
        digest: Of its syntax tree, "" for compiled code.
        imports: Absolute names that it imports, in any of its functions too.
        not_covered: See `ReachedCode`.
    """

    digest: str
    imports: tuple[str, ...]
    not_covered: tuple[str, ...]


def reached_code(statements: Sequence[ast.stmt], filename: str = "<sweep>") -> ReachedCode:
    """Return the code that some statements of a sweep's file reach by imports.

    Args:
        statements: As `source_version.reached_statements` returns them.
        filename: Where they stand, for messages.

    Raises:
        ValueError: If a module cannot be read, or more than `MOST_MODULES` are reached.
    """
    reached = ReachedCode()
    found = _looked_through(statements, "", filename)
    reached.not_covered |= dict.fromkeys(found.not_covered)
    _follow(found.imports, reached)
    return reached


def code_of_module(name: str) -> ReachedCode:
    """Return a module of a user's own, or its distribution, with all that it reaches.

    Raises:
        ValueError: As in `reached_code`.
    """
    reached = ReachedCode()
    _follow([name], reached)
    return reached


def _follow(names: Iterable[str], reached: ReachedCode) -> None:
    waiting, seen = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        for module in _with_parents(name):
            if module in seen or module.partition(".")[0] in _OWN_PACKAGES:
                continue
            seen.add(module)
            spec = found_without_import(module)
            if spec is None:  # a name in a module, or a package that is not installed here
                break
            if _is_of_python(spec) or (_is_in_site(spec) and _enter_distribution(module, reached)):
                break
            if (code := _code_of(spec)) is None:
                continue
            reached.not_covered |= dict.fromkeys(code.not_covered)
            if code.digest:
                _refuse_edited(spec, code.digest)
                reached.modules[module] = code.digest
                _refuse_too_many(reached.modules)
            waiting += code.imports


def _with_parents(name: str) -> list[str]:
    steps = name.split(".")
    return [".".join(steps[:num]) for num in range(1, len(steps) + 1)]


def _refuse_too_many(modules: dict[str, str]) -> None:
    if len(modules) > MOST_MODULES:
        raise ValueError(
            f"The sweep's parts reach more than {MOST_MODULES} modules outside site-packages, "
            f"{next(iter(modules))} first: install what is not your own without -e."
        )


_FIRST_SEEN: dict[str, tuple[ModuleSpec | None, str]] = {}


def _refuse_edited(spec: ModuleSpec, digest: str) -> None:
    """Refuse a module whose file was edited after this process had imported it."""
    loaded = sys.modules.get(spec.name)
    if loaded is None:
        return
    seen = _FIRST_SEEN.get(spec.name)
    if seen is None or seen[0] is not loaded.__spec__:  # reloading makes another spec
        _FIRST_SEEN[spec.name] = loaded.__spec__, digest
    elif seen[1] != digest:
        raise ValueError(
            f"{spec.origin} was edited after this process had imported it: start Python anew."
        )


# Where a module is.


def found_without_import(name: str) -> ModuleSpec | None:
    """Return where a module is, None if there is none.

    `importlib.util.find_spec("a.b")` would import `a`. The finders are asked for each step of the
    name, as an import would, so that those of editable installs answer too.
    """
    places: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for step in _with_parents(name):
        if spec is not None and places is None:  # a module that is no package
            return None
        answers = (finder.find_spec(step, places) for finder in sys.meta_path)
        spec = next((answer for answer in answers if answer is not None), None)
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return spec


def _place(spec: ModuleSpec) -> Path | None:
    """Return the file of a module, or the folder of a package without an `__init__`."""
    if spec.has_location and spec.origin:
        return Path(spec.origin)
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]) if places else None


def _is_of_python(spec: ModuleSpec) -> bool:
    """Return whether a module is built in, frozen or of the standard library."""
    place = _place(spec)
    if place is None:
        return True
    folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    return not _is_in_site(spec) and any(folder in place.parents for folder in folders)


def _is_in_site(spec: ModuleSpec) -> bool:
    place = _place(spec)
    return place is not None and not _SITE_FOLDERS.isdisjoint(place.parts)


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


def _code_of(spec: ModuleSpec) -> _Module | None:
    """Return what a module of a user's own holds, None for a package without an `__init__`.

    Raises:
        ValueError: If it is no Python that can be read.
    """
    place = _place(spec)
    if place is None or place.is_dir():
        return None
    if place.name.endswith((*EXTENSION_SUFFIXES, ".pyc")):
        return _Module("", (), (f"{spec.name} is compiled code",))
    package = spec.name if spec.submodule_search_locations is not None else spec.parent or ""
    try:
        return _parsed(place.read_bytes(), package, spec.name)
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"{place}, which the sweep's file imports, cannot be read: {error}."
        ) from error


@cache
def _parsed(content: bytes, package: str, name: str) -> _Module:
    body = without_docstring(ast.parse(content).body)
    found = _looked_through(body, package, name)
    text = json.dumps(plain_statements(body), sort_keys=True)
    return _Module(hashlib.sha256(text.encode()).hexdigest()[:16], found.imports, found.not_covered)


def _looked_through(statements: Sequence[ast.stmt], package: str, place: str) -> _Module:
    """Return what statements import, and what cannot be followed; without a digest.

    Args:
        statements: Of one file.
        package: Where relative imports begin.
        place: The file, as messages name it.
    """
    imports, not_covered = list[str](), list[str]()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports += _imported(node, package)
            elif isinstance(node, ast.Call):
                literal = _imported_by_call(node)
                imports += [literal] if literal else []
                if not literal and (reason := _why_not_covered(node)):
                    call = f"{ast.unparse(node.func)}(...)"
                    not_covered.append(f"{place}, line {node.lineno}: {call} {reason}")
    return _Module("", tuple(dict.fromkeys(imports)), tuple(dict.fromkeys(not_covered)))


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """Yield the absolute names that an import may load; of `from p import n` also p.n."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    start = ".".join([*base, *([node.module] if node.module else [])])
    if start:
        yield start
        yield from (f"{start}.{alias.name}" for alias in node.names if alias.name != "*")


def _called(node: ast.Call) -> tuple[str, str]:
    """Return the name of the object whose method is called, "" for a function; and the function."""
    if isinstance(node.func, ast.Attribute):
        return getattr(node.func.value, "id", ""), node.func.attr
    return "", getattr(node.func, "id", "")


def _imported_by_call(node: ast.Call) -> str | None:
    """Return the absolute name that a call imports, None where it is no literal."""
    if _called(node)[1] not in _IMPORTING_CALLS or len(node.args) != 1:
        return None
    name = node.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _why_not_covered(node: ast.Call) -> str:
    owner, name = _called(node)
    if name in _IMPORTING_CALLS | _COMPUTED_IMPORTS:
        return "imports a name that is computed"
    if name in _RUNNING_CALLS or owner == "subprocess" or (owner, name) == ("os", "system"):
        return "runs other code"
    if name == "getenv" or ast.unparse(node.func).startswith("os.environ."):
        return "reads the environment"
    is_load = name == "load" and owner in _READING_BY_LOAD
    return READS_FILE if name in _READING_CALLS or is_load else ""
