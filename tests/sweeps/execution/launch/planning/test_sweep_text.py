"""Arguments of a sweep's call are changed, and no other byte of its file is."""

import ast

import pytest

from sweeps.execution.launch.planning.sweep_text import with_arguments

NEW = {"seeds": "list(range(3, 9))", "margin_points": "0.5"}
FORMS = {
    "a line each": (
        "SWEEP = Sweep(\n    name='x',\n    seeds=[0, 1],  # two\n    plan=p,\n)\n",
        "SWEEP = Sweep(\n    name='x',\n    margin_points=0.5,\n"
        "    seeds=list(range(3, 9)),  # two\n    plan=p,\n)\n",
    ),
    "one line": (
        "SWEEP = Sweep(name='x', seeds=(0, 1))\n",
        "SWEEP = Sweep(name='x', margin_points=0.5, seeds=list(range(3, 9)))\n",
    ),
    "over several lines": (
        "SWEEP: Sweep = spaces.Sweep(name='x', seeds=[\n  0,  # first\n  1,\n], plan=p)",
        "SWEEP: Sweep = spaces.Sweep(name='x', margin_points=0.5, seeds=list(range(3, 9)), plan=p)",
    ),
    "with letters of several bytes": (
        "é = 'ü'; SWEEP = Sweep(name='ß', seeds=SEEDS, plan=p)  # Größe\n",
        "é = 'ü'; SWEEP = Sweep(name='ß', margin_points=0.5, seeds=list(range(3, 9)), plan=p)"
        "  # Größe\n",
    ),
    "with a margin": (
        "SWEEP = Sweep(margin_points=2, seeds=[0])",
        "SWEEP = Sweep(margin_points=0.5, seeds=list(range(3, 9)))",
    ),
    "lines of Windows": (
        "SWEEP = Sweep(\r\n\tseeds=[0],\r\n)\r\n",
        "SWEEP = Sweep(\r\n\tmargin_points=0.5,\r\n\tseeds=list(range(3, 9)),\r\n)\r\n",
    ),
    "in brackets": (
        "SWEEP = Sweep(seeds=(\n    [0, 1]\n))",
        "SWEEP = Sweep(margin_points=0.5, seeds=(\n    list(range(3, 9))\n))",
    ),
    "the last of two": (
        "SWEEP = Sweep(seeds=[7])\nSWEEP = Sweep(seeds=[0])\n",
        "SWEEP = Sweep(seeds=[7])\nSWEEP = Sweep(margin_points=0.5, seeds=list(range(3, 9)))\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), FORMS.values(), ids=FORMS)
def test_the_arguments_alone_change(old: str, new: str) -> None:
    found = with_arguments(old.encode(), NEW, before="seeds").decode()
    assert found == new
    assert ast.parse(found)
    assert with_arguments(found.encode(), NEW, before="seeds").decode() == new


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SWEEP = QUICKSTART.changed(seeds=[0])", "does not write its sweep as SWEEP = Sweep"),
        ("SWEEP = make()", "does not write its sweep as"),
        ("OTHER = Sweep(seeds=[0])", "does not write its sweep as"),
        ("if True:\n    SWEEP = Sweep(seeds=[0])", "does not write its sweep as"),
        ("SWEEP = Sweep(**arguments)", "does not write seeds=..."),
    ],
)
def test_a_sweep_that_is_written_otherwise_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        with_arguments(text.encode(), NEW, before="seeds")
