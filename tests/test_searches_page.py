"""The page on searches shows searches that can be declared, and the file that it reports on."""

import ast
from pathlib import Path

import pytest

import search_spaces
from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.plan.definition import Changes, define
from tests.pages import page, snippets

*SEARCHES, SMALL_AND_GOOD, PRUNED = snippets(page("searches"))


@pytest.fixture
def small_and_good(tmp_path: Path) -> search_spaces.Sweep:
    path = tmp_path / "small_and_good.py"
    path.write_text(SMALL_AND_GOOD, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    return sweep


@pytest.mark.parametrize(
    "snippet",
    [*SEARCHES, PRUNED],
    ids=["forbid", "random", "promotion", "ends", "limits", "measured limits", "cost", "pruned"],
)
def test_its_searches_can_be_declared_and_defined(
    small_and_good: search_spaces.Sweep, snippet: str
) -> None:
    plan = small_and_good.plan
    assert isinstance(plan, search_spaces.Search)
    names = {name: getattr(search_spaces, name) for name in ("Search", "Confirm")}
    *imports, shown = ast.parse(snippet).body
    assert isinstance(shown, ast.Expr)
    names["SPACE"] = plan.space
    exec(compile(ast.Module(imports, []), "docs/searches.md", "exec"), names)
    search = eval(compile(ast.Expression(shown.value), "docs/searches.md", "eval"), names)
    manifest = define(small_and_good.model_copy(update={"plan": search}), Changes(), ()).manifest
    assert manifest.num_expected > search.trials


def test_its_file_costs_what_it_says(small_and_good: search_spaces.Sweep) -> None:
    manifest = define(small_and_good, Changes(), ()).manifest
    assert manifest.num_expected == 66
    assert "40 proposals on 8x8 digits, 66 trainings" in page("searches")
