"""Percent is made of fractions where readers are shown them, and nowhere before.

Records, results, tables and figures hold fractions; what a metric's unit asks for is done by the
metric, which is asked where cells, drawings and lines of a terminal are made.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = [
    path
    for name in ("capsmodel", "search_spaces", "sweeps")
    for path in ROOT.glob(f"{name}/**/*.py")
]
TREES = {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}

MAKE_PERCENT = {
    "capsmodel/metrics.py",
    "sweeps/execution/search/promotion.py",  # a rank among rivals, as numpy takes percentiles
}
SHOW = (
    "capsmodel/health/alarms.py",  # its sentences
    "capsmodel/metrics.py",
    "sweeps/aggregation/rendering/",
    "sweeps/aggregation/sensitivity/sensitivity.py",  # rounding decides a forest's splits
    "sweeps/aggregation/results/split_alarms.py",  # its sentences
    "sweeps/aggregation/results/targets.py",  # its sentences
    "sweeps/cli/",
    "sweeps/execution/view/live_view.py",
)


def multiplies_by_a_hundred(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    sides = (node.left, node.right)
    return any(isinstance(side, ast.Constant) and side.value == 100 for side in sides)


def asks_what_readers_see(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_call and node.func.attr in {"shown", "written"}


def test_a_fraction_is_multiplied_in_one_place() -> None:
    result = {
        name for name, tree in TREES.items() if any(map(multiplies_by_a_hundred, ast.walk(tree)))
    }
    assert result == MAKE_PERCENT


def test_only_what_shows_numbers_asks_for_them_as_readers_see_them() -> None:
    asking = {
        name for name, tree in TREES.items() if any(map(asks_what_readers_see, ast.walk(tree)))
    }
    figures = "_figure.py"
    assert {name for name in asking if not name.startswith(SHOW) and figures not in name} == set()
    assert any(name.startswith("sweeps/aggregation/rendering/") for name in asking)


def test_every_format_of_tables_is_reached_through_the_literal_table() -> None:
    formats = {"to_markdown", "to_csv", "to_latex", "to_rich"}
    using = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and formats & {alias.name for alias in node.names}
    }
    assert using == {"sweeps/aggregation/rendering/renderers.py"}
