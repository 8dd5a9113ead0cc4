"""What a mutant changes: one expression or statement of the packages.

It is named by module, function and the text of its lines, not by their numbers.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("capsmodel", "search_spaces", "sweeps")
TURNED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
AT_THE_EDGE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
}
OTHER: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "*",
}
OPPOSITE: dict[type[ast.boolop], str] = {ast.And: "or", ast.Or: "and"}
SAME_WHEN_SWAPPED = {"max", "min", "maximum", "minimum"}
NEVER_CALLED_SO = {"isinstance", "issubclass", "getattr", "hasattr", "partial"}
Expression = ast.expr | ast.stmt


class Change(NamedTuple):
    """Lines as they are and as a mutant has them; `number` counts equal ones in a function."""

    module: str
    function: str
    kind: str
    text: str
    mutated: str
    number: int


class Replacement(NamedTuple):
    """What a mutant has in place of all that stands from one expression to another."""

    kind: str
    first: Expression
    last: Expression
    new: str


class Source:
    """A module's text, in the bytes that its syntax tree counts."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        self.starts = [0, *accumulate(map(len, self.content.splitlines(keepends=True)))]

    def begin(self, node: Expression) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: Expression) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: Expression) -> str:
        return self.content[self.begin(node) : self.end(node)].decode()

    def mutated_text(self, made: Replacement) -> str:
        begin, end = self.begin(made.first), self.end(made.last)
        return (self.content[:begin] + made.new.encode() + self.content[end:]).decode()

    def lines(self, made: Replacement) -> tuple[str, str]:
        """Return the lines that are touched, before and after."""
        assert made.last.end_lineno is not None
        first, last = self.starts[made.first.lineno - 1], self.starts[made.last.end_lineno]
        begin, end = self.begin(made.first), self.end(made.last)
        mutated = self.content[first:begin] + made.new.encode() + self.content[end:last]
        return self.content[first:last].decode().strip(), mutated.decode().strip()


def replacements(node: ast.AST, source: Source) -> Iterator[Replacement]:
    """Yield what mutants have in place of an expression or statement."""
    match node:
        case ast.Compare() | ast.BinOp() | ast.BoolOp():
            yield from other_operators(node, source)
        case ast.Constant(value=int() | float() as value):
            for moved in moved_from(value):
                yield Replacement("constant", node, node, moved)
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield Replacement("condition", test, test, f"(not ({source.text(test)}))")
        case ast.Return(value=value) if value is not None and not is_none(value):
            yield Replacement("result", node, node, "return None")
        case ast.Expr(value=ast.Call()):
            yield Replacement("call", node, node, "None")
        case ast.Call():
            yield from swapped_arguments(node, source)
        case _:
            return


def other_operators(
    node: ast.Compare | ast.BinOp | ast.BoolOp, source: Source
) -> Iterator[Replacement]:
    """Yield the same operands with other operators between them."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            replacements = {
                "comparison": TURNED[type(operator)],
                "edge": AT_THE_EDGE.get(type(operator)),
            }
            operands = [left, right]
        case ast.BinOp(left=left, op=operator, right=right):
            replacements, operands = {"operator": OTHER.get(type(operator))}, [left, right]
        case ast.BoolOp(op=operator, values=operands):
            replacements = {"boolean": OPPOSITE[type(operator)]}
        case _:
            return
    for kind, word in replacements.items():
        if word is not None:
            new = f" {word} ".join(f"({source.text(operand)})" for operand in operands)
            yield Replacement(kind, node, node, f"({new})")


def moved_from(value: float) -> list[str]:
    """Return the texts of other constants: one more, one less or twice as much, and negated."""
    if isinstance(value, bool):
        return [str(not value)]
    near = value - 1 if isinstance(value, int) else 2 * value
    others = dict.fromkeys((value + 1, near, -value))
    return [f"({other!r})" for other in others if other != value]


def swapped_arguments(call: ast.Call, source: Source) -> Iterator[Replacement]:
    """Yield calls with two positional arguments exchanged that are neighbours, or two values."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else source.text(call.func)
    if called in SAME_WHEN_SWAPPED | NEVER_CALLED_SO:
        return
    values = [keyword.value for keyword in call.keywords if keyword.arg is not None]
    for argument, following in [*pairwise(call.args), *pairwise(values)]:
        if isinstance(argument, ast.Starred) or isinstance(following, ast.Starred):
            continue
        first, second = source.text(argument), source.text(following)
        if first != second:
            middle = source.content[source.end(argument) : source.begin(following)].decode()
            yield Replacement("arguments", argument, following, f"{second}{middle}{first}")


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class Scope(NamedTuple):
    """What of a function, constant or field may change; a function's defaults stand apart."""

    name: str
    constants: str
    parts: Iterable[ast.AST]


def scopes_of(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[Scope]:
    """Yield each function, method, constant and field, functions inside others as part of them."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield Scope(prefix + name, "constant", node.body)
                defaults = [*node.args.defaults, *node.args.kw_defaults]
                yield Scope(prefix + name, "default", filter(None, defaults))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield Scope(prefix + name, "default", [node])
            case ast.ClassDef(name=name, body=inner):
                yield from scopes_of(inner, f"{prefix}{name}.")
            case _:
                continue


def walked(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it but what stands in f-strings, whose places Python mistakes."""
    yield node
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.JoinedStr):
            yield from walked(inner)


def changes_of(module: str, text: str) -> Iterator[tuple[Change, Replacement]]:
    """Yield each change that can be made in a module, and where it is made."""
    source = Source(text)
    seen: Counter[tuple[str, str, str]] = Counter()
    for scope in scopes_of(ast.parse(text).body):
        for node in (node for part in scope.parts for node in walked(part)):
            for made in replacements(node, source):
                kind = scope.constants if made.kind == "constant" else made.kind
                before, after = source.lines(made)
                number = seen[scope.name, before, after]
                yield Change(module, scope.name, kind, before, after, number), made
                seen[scope.name, before, after] += 1


def modules_of(tree: Path) -> dict[str, Path]:
    """Return the files of the packages by the names of their modules."""
    return {
        ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in sorted((tree / package).rglob("*.py"))
    }


def source_after(change: Change, modules: dict[str, Path]) -> tuple[str, str] | None:
    """Return the module that has a change's lines, moved or not, and its text after the change."""
    for module in sorted(modules, key=lambda module: module != change.module):
        text = modules[module].read_text()
        for candidate, made in changes_of(module, text):
            if candidate[1:] == change[1:]:
                return module, Source(text).mutated_text(made)
    return None
