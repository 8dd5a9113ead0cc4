"""Mutants change what they say, and a verdict is what the tests say of a change."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants.changes import changes_of, modules_of, source_after
from tools.mutants.closest_tests import importers
from tools.mutants.drawing import draw

pytestmark = pytest.mark.nightly

CHECKOUT = Path(__file__).parents[2]


def mutated_lines(text: str) -> set[tuple[str, str]]:
    return {(change.kind, change.mutated) for change, _ in changes_of("module", text)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x < y", {("comparison", "((x) >= (y))"), ("edge", "((x) <= (y))")}),
        ("x is y", {("comparison", "((x) is not (y))")}),
        ("x + y", {("operator", "((x) - (y))")}),
        ("x and y", {("boolean", "((x) or (y))")}),
        ("x[:3]", {("constant", f"x[:({other})]") for other in (4, 2, -3)}),
        (
            "x - 0.5",
            {("operator", "((x) + (0.5))")}
            | {("constant", f"x - ({v})") for v in (1.5, 1.0, -0.5)},
        ),
        ("x(True)", {("call", "None"), ("constant", "x(False)")}),
        ("x if y else z", {("condition", "x if (not (y)) else z")}),
        ("return x", {("result", "return None")}),
        ("return None", set()),
        ("x(y, z)", {("call", "None"), ("arguments", "x(z, y)")}),
        ("x(a=y, b=z)", {("call", "None"), ("arguments", "x(a=z, b=y)")}),
        ("x(*y, z)", {("call", "None")}),
        ("x = max(y, z)", set()),
        ('x = f"{y + z}"', set()),
    ],
)
def test_a_line_is_changed_in_each_way_there_is(line: str, expected: set[tuple[str, str]]) -> None:
    assert mutated_lines(f"def function():\n    {line}\n") == expected


def test_defaults_fields_and_constants_of_modules_are_changed_by_their_names() -> None:
    text = "MOST = 2\nclass Part:\n    share: float = 0.0\n    def go(self, near=True): pass\n"
    assert [
        (change.kind, change.function, change.mutated) for change, _ in changes_of("m", text)
    ] == [
        ("default", "MOST", "MOST = (3)"),
        ("default", "MOST", "MOST = (1)"),
        ("default", "MOST", "MOST = (-2)"),
        ("default", "Part.share", "share: float = (1.0)"),
        ("default", "Part.go", "def go(self, near=False): pass"),
    ]


def test_a_change_is_found_where_its_lines_have_moved(tmp_path: Path) -> None:
    (tmp_path / "sweeps").mkdir()
    old, new = tmp_path / "sweeps/old.py", tmp_path / "sweeps/new.py"
    old.write_text("def go(x):\n    return x - 1, x - 1\n")
    (*_, (change, _)) = changes_of("sweeps.old", old.read_text())
    new.write_text("FIRST = 1\n\n" + old.read_text())
    old.write_text("")
    found = source_after(change, modules_of(tmp_path))
    assert found == ("sweeps.new", new.read_text().replace("x - 1\n", "x - (-1)\n"))
    new.write_text("")
    assert source_after(change, modules_of(tmp_path)) is None


def test_any_change_of_the_packages_can_be_parsed() -> None:
    for change in draw(CHECKOUT, 1, 30, within=["capsmodel", "search_spaces", "sweeps"]):
        found = source_after(change, modules_of(CHECKOUT))
        assert found is not None
        compile(found[1], change.module, "exec")


def test_a_draw_is_its_seeds_and_takes_no_function_twice() -> None:
    areas = ["sweeps.execution.recorder", "sweeps.storage"]
    first = draw(CHECKOUT, 1, 9, within=areas)
    assert draw(CHECKOUT, 1, 9, within=areas) == first != draw(CHECKOUT, 2, 9, within=areas)
    assert [change.module.startswith(areas[0]) for change in first] == [True] * 5 + [False] * 4
    further = draw(CHECKOUT, 1, 9, within=areas, without=first)
    assert len({(change.module, change.function) for change in first + further}) == 18


def test_the_files_that_import_a_module_are_its_tests_those_of_its_name_first(
    tmp_path: Path,
) -> None:
    texts = {
        "sweeps/storage/lock.py": "def hold(): pass\n",
        "tests/test_lock.py": "from sweeps.storage.lock import hold\n",
        "tests/test_other.py": "from sweeps.storage import hold\nhold()\nhold()\n",
        "tests/test_part.py": "from sweeps import storage\nstorage\n",
        "tests/test_stranger.py": "from sweeps.storage import folder\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    module, path = "sweeps.storage.lock", tmp_path / "sweeps/storage/lock.py"
    tests = [name for name in texts if name.startswith("tests")]
    assert importers(module, path, tmp_path, tests) == [
        "tests/test_lock.py",
        "tests/test_other.py",
        "tests/test_part.py",
    ]


def test_after_the_files_that_import_a_module_come_those_of_its_folder_and_the_golden_ones(
    tmp_path: Path,
) -> None:
    texts = {
        "sweeps/tables/front_notes.py": "",
        "tests/sweeps/tables/test_data.py": "",
        "tests/sweeps/tables/test_front.py": "",
        "tests/sweeps/test_front.py": "",
        "tests/golden/test_stores.py": "",
        "tests/search_spaces/test_front.py": "import sweeps.tables.front_notes\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    path, *others, importer = texts
    expected = [
        "tests/sweeps/tables/test_front.py",
        "tests/sweeps/tables/test_data.py",
        "tests/golden/test_stores.py",
    ]
    module, path = "sweeps.tables.front_notes", tmp_path / path
    assert importers(module, path, tmp_path, others) == expected
    assert importers(module, path, tmp_path, [*others, importer]) == [importer, *expected]


MODULE = """
def larger(x, y):
    return x if x > y else y


def half(x):
    return x / 2
"""
TESTS = """
from sweeps.numbers import half, larger


def test_that_is_broken():
    assert half(2) == 7


def test_of_different_numbers():
    assert larger(1, 2) == larger(2, 1) == 2
"""
VERDICTS = {
    "((x) <= (y))": "killed: tests/test_numbers.py::test_of_different_numbers",
    "((x) >= (y))": "survived",
    "((x) * (2))": "survived",
}


def test_verdicts_are_written_into_the_list_and_compared(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps/numbers.py").write_text(MODULE)
    (tmp_path / "sweeps/__init__.py").touch()
    (tmp_path / "tests/test_numbers.py").write_text(TESTS)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = tmp_path / "list.json"
    changes = [
        change._asdict()
        for change, made in changes_of("sweeps.numbers", MODULE)
        if made.new in VERDICTS
    ]
    listed.write_text(json.dumps([{"suite": "test", **change} for change in changes]))

    printed = mutants("run", str(listed), "--column", "before", "--tree", str(tmp_path))
    assert "fails without a mutant too: tests/test_numbers.py::test_that_is_broken" in printed
    entries = json.loads(listed.read_text())
    verdicts = {entry["outcomes"]["before"] for entry in entries}
    assert verdicts == set(VERDICTS.values())
    for entry in entries:
        entry["outcomes"]["after"] = "survived"
    listed.write_text(json.dumps(entries))

    assert mutants("run", str(listed), "--column", "after") == "3 survived\n"
    compared = mutants("compare", str(listed), "--before", "before", "--after", "after", code=1)
    assert compared.startswith("1 killed in before, survive in after\n  sweeps.numbers larger: ")
    assert "2 survive in before and after\n" in compared
    compared = mutants("compare", str(listed), "--before", "before", "--after", "aftr", code=1)
    assert "3 without a verdict in aftr\n" in compared


def mutants(*arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "tools.mutants", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_a_list_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tools.mutants", "run", str(tmp_path / "no"), "--column", "x"]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"There is no list {tmp_path / 'no'}: `draw` makes one." in done.stderr
