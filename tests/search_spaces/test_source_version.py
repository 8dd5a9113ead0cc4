"""The version of a user's own part changes with what it does, and with nothing else."""

import pytest

from search_spaces.source_version import part_version

FILE = '''
"""A sweep."""
import math
from capsmodel.routing import VectorRouting

SCALE = 2.0
TABLE = {}
TABLE["a"] = 1
UNUSED = 1

def unused(x):
    return x

def deeper(x):
    return x + SCALE

def helper(x):
    return deeper(x) * TABLE["a"]

if math.pi > 3:
    def branch(x):
        return x
else:
    def branch(x):
        return -x

class Mine(VectorRouting):
    """A routing."""

    kind: str = "mine"
    strength: float = 1.0  # how much

    def route(self, votes, *, generator):
        """Return poses."""
        base = helper(votes)
        return [item for item in branch(base)]

base = 3
seeds = (0, 1)
SWEEP = dict(seeds=seeds, arms={f"{item}": item for item in range(2)}, routing=Mine, base=base)
'''

VERSION = part_version(FILE, "Mine")


def changed(old: str, new: str) -> bool:
    assert old in FILE
    return part_version(FILE.replace(old, new), "Mine") != VERSION


def test_a_version_is_sixteen_hexadecimal_digits() -> None:
    assert len(VERSION) == 16
    assert int(VERSION, 16) >= 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# how much", "# how little"),
        ('"""A routing."""', '"""Another text\n    over lines."""'),
        ('    """A routing."""\n', ""),
        ('"""Return poses."""', '"""Return them."""'),
        ('deeper(x) * TABLE["a"]', '(deeper( x )\n  * TABLE[ "a" ])'),
        ("seeds = (0, 1)", "seeds = (5,)"),
        ("range(2)", "range(3)"),
        ("base = 3", "base = 4"),
        ("UNUSED = 1", "UNUSED = 2"),
        ("return x\n\ndef deeper", "return 2 * x\n\ndef deeper"),
    ],
    ids=[
        "comment",
        "docstring",
        "no docstring",
        "method's docstring",
        "formatting",
        "seeds",
        "arms",
        "a name that is local to the part",
        "a constant it does not reach",
        "a function it does not reach",
    ],
)
def test_what_the_part_does_not_depend_on_leaves_its_version(old: str, new: str) -> None:
    assert not changed(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("strength: float = 1.0", "strength: float = 1.5"),
        ("strength: float = 1.0", "strength: float = 1"),
        ("strength: float = 1.0", "strength: int = 1.0"),
        ("helper(votes)", "-helper(votes)"),
        ("deeper(x) * TABLE", "deeper(x) + TABLE"),
        ("SCALE = 2.0", "SCALE = 3.0"),
        ('TABLE["a"] = 1', 'TABLE["a"] = 2'),
        ("return -x", "return 0"),
        ("math.pi > 3", "math.pi > 4"),
        ("import math\n", "import numpy as math\n"),
        ('"mine"', '"yours"'),
        ("class Mine(VectorRouting)", "class Mine(VectorRouting, metaclass=type)"),
    ],
)
def test_what_the_part_depends_on_changes_its_version(old: str, new: str) -> None:
    assert changed(old, new)


def test_empty_values_are_told_apart() -> None:
    empties = ["0", "0.0", "0j", "False", '""', 'b""', "None", "()", "[]", "{}", "..."]
    texts = [f"class A:\n    value = {empty}\n" for empty in empties]
    assert len({part_version(text, "A") for text in texts}) == len(texts)


def test_one_and_true_are_told_apart() -> None:
    texts = [f"class A:\n    value = {value}\n" for value in ("1", "True", "1.0", '"1"', "'True'")]
    assert len({part_version(text, "A") for text in texts}) == len(texts)


def test_names_bound_by_later_statements_enter_too() -> None:
    once = "N = 1\nclass A:\n    def f(self): return N\n"
    assert part_version(once, "A") != part_version(once + "N += 1\n", "A")


def test_a_class_that_a_function_makes_depends_on_the_whole_file() -> None:
    text = "def make(n):\n    class A:\n        value = n\n    return A\nMine = make(1)\n"
    assert part_version(text, "A") != part_version(text.replace("make(1)", "make(2)"), "A")


def test_recursion_ends() -> None:
    text = "def f(x): return A if x else f(1)\nclass A:\n    def g(self): return f(0)\n"
    assert part_version(text, "A") == part_version(text + "\n", "A")
